# What is told of refused writes and of grants over a crash, under load and on a standby.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;
use Time::HiRes qw(usleep);

# Nothing else in the background writes or flushes the log.
my $node = new_server('kept', conf => "wal_level = minimal\nmax_wal_senders = 0\nwal_writer_delay = 10ms\n");
query($node, q(ALTER DATABASE postgres SET gatepost.history_retention = '1 h'));
query($node, q(CREATE TABLE job (id int PRIMARY KEY, fence bigint)));
my $old = query($node, 'SELECT gatepost.token_draw()');
query($node, 'INSERT INTO job SELECT n, gatepost.token_draw() FROM generate_series(1, 2) AS n');
query($node, q(
	CREATE FUNCTION refused(token bigint, times int) RETURNS int LANGUAGE plpgsql AS $$
	DECLARE
	  refusals int := 0;
	BEGIN
	  FOR i IN 1 .. times LOOP
	    BEGIN
	      PERFORM gatepost.fenced_update('job', '{"id": 1}', '{}', token);
	    EXCEPTION WHEN SQLSTATE 'LG001' THEN
	      refusals := refusals + 1;
	    END;
	  END LOOP;
	  RETURN refusals;
	END $$));
my $counted = q(SELECT relation, reason, count FROM gatepost.refusals);

# On disk by itself, although no transaction that has an xid commits; checkpoints of their own come later than this gives up.
sub flushed
{
	my ($what) = @_;
	my $lsn = query($node, 'SELECT pg_current_wal_insert_lsn()');
	my $flushed = 'f';
	for (1 .. 600)
	{
		last if ($flushed = query($node, "SELECT pg_current_wal_flush_lsn() >= '$lsn'")) eq 't';
		usleep(100_000);
	}
	is($flushed, 't', "$what: on disk soon") or die 'it stays in memory';
	return;
}

# The whole page in the log, or the change alone.
for my $round (1 .. 2)
{
	query($node, 'CHECKPOINT');
	for my $more (1 .. 2)
	{
		my $session = session($node);
		session_query($session, 'BEGIN');
		is(session_query($session, "SELECT refused($old, 5)"), 5, 'refused');
		session_query($session, 'ROLLBACK');
		flushed("round $round, $more");
		$node->stop('immediate');
		end_session($session);
		start_server($node);
		my $count = 5 * (2 * $round + $more - 2);
		is(query($node, $counted), "job|stale_token|$count", "round $round, $more: counted over the crash");
		is(query($node, q(SELECT count(*) FROM gatepost.history WHERE event = 'refusal')), $count, '... and in the history');
	}
}

# A grant that was not committed is in no history, over a crash too.
acquire($node, 'granted', '1 h');
my $open = session($node);
session_query($open, 'BEGIN');
session_query($open, q(SELECT gatepost.lease_acquire('open', '1 h')));
query($node, 'CHECKPOINT');
$node->stop('immediate');
end_session($open);
start_server($node);
is(query($node, q(SELECT string_agg(name, ' ') FROM gatepost.history WHERE event = 'grant')), 'granted',
	'a grant has its line exactly when it is made');

# Counted by several at once.
query($node, 'SELECT gatepost.refusals_reset()');
my @sessions = map { session($node) } 1 .. 4;
send_query($_, "SELECT refused($old, 300)") for @sessions;
is(sent_result($_), 300, 'refused under load') for @sessions;
# Who did not get its turn counts with its next look.
session_query($_, $counted) for @sessions;
is(query($node, $counted), 'job|stale_token|1200', 'each counted once');
is(query($node, q(SELECT count(*), max(at) > min(at) FROM gatepost.history WHERE event = 'refusal')), '1024|t',
	'the history keeps the last ones');
# Rewritten meanwhile.
send_query($_, "SELECT refused($old, 300)") for @sessions;
query($node, "VACUUM FULL gatepost.$_") for qw(refusal_counters refusal_history refusal_counters refusal_history);
is(sent_result($_), 300, 'refused while the tables are rewritten') for @sessions;
session_query($_, $counted) for @sessions;
is(query($node, $counted), 'job|stale_token|2400', 'each counted once');
is(query($node, q(SELECT count(*) FROM gatepost.history WHERE event = 'refusal')), 1024, 'the history is whole');
no_lock_left($node, 'no lock is left');
# A session that dies inside a refusal takes nothing along.
my $pid = session_query($sessions[0], 'SELECT pg_backend_pid()');
send_query($sessions[0], "SELECT refused($old, 1000000)");
$node->poll_query_until('postgres', "SELECT state = 'active' FROM pg_stat_activity WHERE pid = $pid") or die 'it does not begin';
ok(query($node, "SELECT pg_cancel_backend($pid)"), 'cancelled');
is((sent_result($sessions[0]))[1], '57014', 'the statement ends as cancelled');
cmp_ok(query($node, q(SELECT count FROM gatepost.refusals)), '>=', 2400, 'the counters are there');
end_session($_) for @sessions;
$node->stop;

done_testing();

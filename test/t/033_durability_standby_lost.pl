# A synchronous standby is lost and comes back: before a grant, between a grant and its commit, and during the commit's wait.
# Nothing is reported as granted that no standby has, and what waits goes on by itself.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $primary = new_server('primary', allows_streaming => 1, conf => q(
synchronous_standby_names = 'left, right'
synchronous_commit = local
));
my %standby = map { $_ => new_standby($_, $primary) } qw(left right);

sub wait_standbys
{
	my ($states) = @_;
	$primary->poll_query_until('postgres',
		"SELECT coalesce(string_agg(sync_state, ' ' ORDER BY sync_state), '') = '$states' FROM pg_stat_replication")
	  or die "the standbys are not: $states";
	return;
}
wait_standbys('potential sync');

my $session = session($primary);
my $pid = session_query($session, 'SET gatepost.durability = standby; SELECT pg_backend_pid()');
my $renewed = session_query($session, q(SELECT gatepost.lease_acquire('renewed', '1 h')));
ok($renewed > 0, 'granted while both standbys are there');

# One of two, where one is enough: the other takes over.
$standby{left}->stop('immediate');
wait_standbys('sync');
ok(session_query($session, q(SELECT gatepost.lease_acquire('with one', '1 h'))) > 0, 'one is lost: the other is enough');

# The last one is lost inside a transaction: its commit is refused, and the session goes on.
session_query($session, 'BEGIN');
ok(session_query($session, q(SELECT gatepost.lease_acquire('between', '1 h'))) > 0, 'granted in a block');
is(session_query($session, "SELECT gatepost.lease_renew('renewed', $renewed, '2 h')"), 't', 'and renewed');
$standby{right}->stop('immediate');
wait_standbys('');
is(session_error($session, 'COMMIT'), 'LG007', 'the standby is lost before the commit: refused');
is(session_query($session, q(SELECT count(*) FROM gatepost.leases WHERE name = 'between')), 0, 'nothing was granted');
is(query($primary, q(SELECT ttl FROM gatepost.leases WHERE name = 'renewed')), '01:00:00', 'and the renewal is undone');
is(session_query($session, "SELECT gatepost.lease_status('renewed', $renewed)"), 'held', 'the lease is as it was');
no_lock_left($primary, 'no lock is left');

# It comes back while a transaction is open.
session_query($session, 'BEGIN');
ok(session_query($session, q(SELECT gatepost.lease_acquire('back', '1 h'))) > 0,
	'granted in a block while no standby is there');
start_server($standby{right});
wait_standbys('sync');
session_query($session, 'COMMIT');
is(query($primary, q(SELECT state FROM gatepost.leases WHERE name = 'back')), 'held',
	'it is back before the commit: granted');

# Lost during the wait: the session waits on, and nothing but the standby lets it go.
my $receiver = stop_receiver($standby{right});
session_query($session, 'BEGIN');
my $during = session_query($session, q(SELECT gatepost.lease_acquire('during', '1 h')));
# Time enough for a COMMIT on a machine that stands still now and then.
session_query($session, q(SET LOCAL statement_timeout = '5s'; SET LOCAL lock_timeout = '5s'));
send_query($session, 'COMMIT');
ok(wait_blocked($primary, $pid, 'SyncRep'), 'a commit waits for a standby that does not answer');
$standby{right}->stop('immediate');
kill 'CONT', $receiver;
wait_standbys('');
is(acquire($primary, 'during', '1 h'), '', 'the standby is lost during the wait: in flight for others');
ok( $primary->poll_query_until('postgres',
		"SELECT clock_timestamp() > query_start + interval '5.2 s' FROM pg_stat_activity
		 WHERE pid = $pid AND wait_event = 'SyncRep'"),
	'neither statement_timeout nor lock_timeout ends the wait');
start_server($standby{left});
is((sent_result($session))[1], '', 'another standby comes: granted');
cmp_ok($during, '>', $renewed, 'with a larger token');
is(status($primary, 'during', $during), 'held', 'and held');

# Two are asked for and one is there.
configure($primary, synchronous_standby_names => 'ANY 2 (left, right)');
wait_standbys('quorum');
wait_session($session, 'SHOW synchronous_standby_names', 'ANY 2 (left, right)');
is(session_error($session, q(SELECT gatepost.lease_acquire('one of two', '1 h'))), 'LG007',
	'one of two that are asked for: refused');
start_server($standby{right});
wait_standbys('quorum quorum');
my $both = session_query($session, q(SELECT gatepost.lease_acquire('one of two', '1 h')));
ok($both > $during, 'with both: granted');

# What was reported is on the standbys when the primary is gone.
$primary->stop('immediate');
end_session($session);
for my $side (qw(left right))
{
	query($standby{$side}, 'ALTER SYSTEM RESET synchronous_standby_names');
	is(status($standby{$side}, 'one of two', $both), 'held', "$side has the last grant");
}
finish_promotion($standby{left});
cmp_ok(acquire($standby{left}, 'next', '1 h'), '>', $both, 'and draws above it when it is promoted');

done_testing();

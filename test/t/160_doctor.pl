# What doctor() finds of other sessions, standbys and the configuration, on a primary and on a standby; and what of it the
# view stats counts. The rest is in sql/doctor.sql and sql/stats.sql.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $conf = q(
max_connections = 20
max_locks_per_transaction = 10
max_prepared_transactions = 5
idle_in_transaction_session_timeout = '10 min'
wal_receiver_status_interval = '1 s'
);
my $primary = new_server('primary', allows_streaming => 1, conf => $conf);

# What a subject has, without what the fixes say.
sub found
{
	my ($subject, $node) = @_;
	return query($node // $primary, "SELECT severity || ': ' || detail FROM gatepost.doctor() WHERE subject = '$subject'");
}

# A transaction that has a token in use, an advisory lock, a mark and a lease in flight, and then does nothing.
my $token = acquire($primary, 'used', '1 h');
my $idle = session($primary);
my $pid = session_query($idle, 'SELECT pg_backend_pid()');
session_query(
	$idle, qq(
	BEGIN;
	SELECT gatepost.fence_use('used', $token), gatepost.advisory_xact_lock('locked'), gatepost.fence_advance('marked', $token);
	SELECT gatepost.lease_acquire('flying', '1 h') > 0));
my $keeps = 'idle in its transaction for \d+ s, and keeps names: tokens in use: 1, advisory locks: 1, marks: 1, leases in flight';
is( query(
		$primary, "SELECT count(*) = 0 OR (SELECT clock_timestamp() - state_change >= '5 s' FROM pg_stat_activity WHERE pid = $pid)
		FROM gatepost.doctor() WHERE subject = 'transactions'"),
	't',
	'who has been idle for a moment only is not reported');
like(query($primary, q(SELECT detail FROM gatepost.doctor_transactions('0'))), qr/^pid $pid \(.*$keeps$/, 'what an idle transaction keeps');
is(query($primary, 'SELECT keepers, oldest_keeper_seconds > 0 FROM gatepost.stats'), '1|t', 'it is counted');
my $reader = session($primary);
session_query($reader, 'BEGIN; SELECT count(*) FROM gatepost.leases');
is(query($primary, q(SELECT count(*) FROM gatepost.doctor_transactions('0'))), 1, 'who only reads keeps nothing');
session_query($reader, 'COMMIT');

# Who waits is counted.
my $waiter = session($primary);
send_query($waiter, q(SELECT gatepost.lease_acquire('used', '1 h', '1 h')));
ok($primary->poll_query_until('postgres', 'SELECT waiters = 1 FROM gatepost.stats'), 'who waits is counted');
is(query($primary, 'SELECT waiters_outside FROM gatepost.stats'), 0, 'inside the server');

# Test servers do not flush.
is( found('durability'),
	'error: fsync is off: a crash of the machine can lose or spoil grants that were reported, and draw their tokens again',
	'fsync = off');
configure($primary, fsync => 'on', full_page_writes => 'off');
is(found('durability'), 'warning: full_page_writes is off: a crash of the machine can spoil pages of leases and tokens', 'full_page_writes = off');
configure($primary, full_page_writes => 'on');
is(found('durability'), '', 'a server alone that flushes');

# Standbys.
query($primary, q(SELECT pg_create_physical_replication_slot('kept', true)));
my $standby = new_standby('standby', $primary, conf => "primary_slot_name = 'kept'\nhot_standby_feedback = on\n");
my $connected = sub { return "SELECT count(*) = $_[0] FROM pg_stat_replication WHERE state = 'streaming'" };
$primary->poll_query_until('postgres', $connected->(1));
is(found('durability'), 'notice: grants wait for no standby, and standby may lack the last of them when promoted', 'an asynchronous standby');
configure($primary, 'gatepost.durability_floor' => 'standby');
my $asked = 'error: durability "standby" is asked here, in the configuration';
is( found('durability'),
	"$asked, and synchronous_standby_names is empty: grants fail with LG007",
	'a floor without synchronous standbys');
my $names = sub {
	my ($value, $synchronous) = @_;
	configure($primary, synchronous_standby_names => $value);
	$primary->poll_query_until('postgres', "SELECT count(*) = $synchronous FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')") or die;
};
for my $case ([ 'other', 0, 1 ], [ 'any 2 (other, standby)', 1, 2 ], [ '2 (standby, other)', 1, 2 ])
{
	my ($value, $have, $need) = @$case;
	$names->($value, $have);
	my $async = $have == 0 ? '. Asynchronous: standby' : '';
	is( found('durability'),
		"$asked, and $have of $need synchronous standbys are connected: grants fail with LG007$async", "synchronous_standby_names = $value");
}
for my $value ('other, standby', 'FIRST 1 (standby, other)', 'ANY 1 (other, standby)')
{
	$names->($value, 1);
	is(found('durability'), '', "a synchronous standby by $value");
}
$names->('standby', 1);
configure($primary, synchronous_commit => 'local');
like(found('durability'), qr/^notice: synchronous_commit is local: .* failover may lose it$/, 'synchronous_commit = local');
configure($primary, synchronous_commit => 'on');
my $second = new_standby('second', $primary);
$primary->poll_query_until('postgres', $connected->(2));
is(found('durability'), 'notice: standby second is asynchronous: promoted, it may lack grants that were reported', 'an asynchronous one beside it');
$second->stop;
$primary->poll_query_until('postgres', $connected->(1));

# Lowered for a role.
query($primary, q(CREATE ROLE worker; ALTER ROLE worker SET gatepost.durability_floor = 'local'; ALTER ROLE worker SET gatepost.durability = 'local'));
is( found('durability'), 'warning: gatepost.durability_floor is "local" for role worker, and "standby" in the configuration',
	'a floor that is lowered for a role');
configure($primary, 'gatepost.durability_floor' => 'local', 'gatepost.durability' => 'standby');
is( found('durability'), 'warning: gatepost.durability is "local" for role worker, and "standby" in the configuration',
	'a level that is lowered for a role');
query($primary, q(ALTER ROLE worker RESET ALL; ALTER DATABASE postgres SET gatepost.durability = 'local'));
is( query($primary, q(SET gatepost.durability = 'standby'; SELECT detail FROM gatepost.doctor() WHERE subject = 'durability')),
	'gatepost.durability is "local" in database postgres, and "standby" in the configuration', 'for a database');
query($primary, 'ALTER DATABASE postgres RESET ALL');
is(found('durability'), '', 'and is reset');

# On the standby every look is made, none fails, and nothing of the primary's is said.
$primary->wait_for_catchup($standby);
my $worst = q(SELECT count(*) FILTER (WHERE severity <> 'notice'), count(*) FILTER (WHERE detail LIKE 'not looked at%') FROM gatepost.doctor() WHERE detail NOT LIKE 'fsync%');
is(query($standby, $worst), '0|0', 'the standby is healthy');
is(query($standby, 'SELECT timeline IS NULL, boot IS NOT NULL FROM gatepost.doctor_facts()'), 't|t', 'it knows its boot');
is(query($standby, 'SELECT leases_held, waiters, keepers FROM gatepost.stats'), '1|0|0', 'stats on the standby');
query($primary, 'CREATE TABLE job (id int, fence bigint); INSERT INTO job VALUES (1, 9007199254740000); CREATE INDEX ON job (fence)');
query($primary, q(SELECT gatepost.fence_protect('job', fence_column => 'fence')));
$primary->wait_for_catchup($standby);
like(found('marks', $_), qr/^error: table public.job has the mark 9007199254740000/, $_->name . ': a mark from elsewhere') for $primary, $standby;
# Another session's temporary table, and on a standby an unlogged one, hide nobody's marks.
my $temporary = session($primary);
session_query($temporary, 'CREATE TEMP TABLE own (id int, fence bigint); CREATE UNLOGGED TABLE light (id int, fence bigint)');
session_query($temporary, qq(CREATE INDEX ON $_ (fence); SELECT gatepost.fence_protect('$_', fence_column => 'fence'))) for qw(own light);
$primary->wait_for_catchup($standby);
like(found('marks', $_), qr/\Aerror: table public.job has the mark 9007199254740000, [^\n]*\z/, $_->name . ': tables out of reach')
  for $primary, $standby;
session_query($temporary, 'DROP TABLE own, light');
$temporary->quit;
query($primary, 'DROP TABLE job');
$standby->stop;
$primary->poll_query_until('postgres', $connected->(0));
like(found('durability'), qr/^error: .* 0 of 1 synchronous standbys are connected/, 'the standby is lost');
configure($primary, 'gatepost.durability' => 'local', synchronous_standby_names => '', fsync => 'off');

# The shared lock table: 250 entries by the formula.
is(found('lock table'), '', 'the lock table has room');
my $locker = session($primary);
my $lock = sub { session_query($locker, "BEGIN; SELECT count(gatepost.advisory_xact_lock('lock ' || n)) FROM generate_series(1, $_[0]) AS n") };
my $locker_pid = session_query($locker, 'SELECT pg_backend_pid()');
for my $case ([ 190, 'warning' ], [ 240, 'error' ])
{
	my ($count, $severity) = @$case;
	$lock->($count);
	like(found('lock table'), qr/^$severity: \d+ of about 250 entries of the shared lock table are taken, pid $locker_pid has $count of them/, "$count locks");
	session_query($locker, 'ROLLBACK');
}
is(found('lock table'), '', 'and has room again');

# Event triggers can be switched off for a server, a database or a role, where the server knows how.
SKIP:
{
	skip 'no event_triggers before PostgreSQL 17', 3 if $primary->pg_version < 17;
	configure($primary, event_triggers => 'off');
	my $unguarded = 'what comes to a protected table there is not guarded';
	is(found('protection'), "error: event_triggers is off here: $unguarded", 'event triggers are off');
	configure($primary, event_triggers => 'on');
	query($primary, 'ALTER DATABASE postgres SET event_triggers = false; ALTER ROLE worker IN DATABASE template1 SET event_triggers = off');
	is( query($primary, q(SET event_triggers = on; SELECT detail FROM gatepost.doctor() WHERE subject = 'protection')),
		"event_triggers is off in database postgres: $unguarded", 'off for the database');
	query($primary, 'ALTER DATABASE postgres RESET event_triggers; ALTER ROLE worker SET event_triggers = off');
	is(found('protection'), "error: event_triggers is off for role worker: $unguarded", 'off for a role');
	query($primary, 'ALTER ROLE worker RESET ALL');
}

# By now it has been idle for long.
ok($primary->poll_query_until('postgres', q(SELECT count(*) = 1 FROM gatepost.doctor() WHERE subject = 'transactions')), 'the idle transaction is reported');
like(found('transactions'), qr/^warning: pid $pid \(.*$keeps$/, 'with what it keeps');
is(query($primary, q(SELECT fix LIKE '%pg_terminate_backend%' FROM gatepost.doctor() WHERE subject = 'transactions')), 't', 'and how it is ended');
session_query($idle, 'COMMIT');
is(found('transactions'), '', 'until it ends');
query($primary, q(SELECT gatepost.lease_release('used', token) FROM gatepost.leases WHERE name = 'used'));
isnt(scalar sent_result($waiter), '', 'who waited is served');
is(query($primary, 'SELECT waiters, keepers FROM gatepost.stats'), '0|0', 'nobody waits, nobody keeps');

# Old snapshots, and renewals under them that nothing cleans up.
my $renewed = acquire($primary, 'renewed', '1 h');
query(
	$primary, qq(
	CREATE PROCEDURE renew(rounds int) LANGUAGE plpgsql AS \$\$
	BEGIN
		FOR round IN 1 .. rounds LOOP
			PERFORM gatepost.lease_renew('renewed', $renewed);
			COMMIT;
		END LOOP;
		PERFORM pg_stat_force_next_flush();
	END \$\$));

sub keeps_versions
{
	my ($who, $end) = @_;
	is(found('snapshots'), '', "$who keeps nothing yet");
	query($primary, 'CALL renew(1500)');
	ok($primary->poll_query_until('postgres', q(SELECT count(*) = 1 FROM gatepost.doctor() WHERE subject = 'snapshots')), 'then versions');
	like(found('snapshots'), qr/^warning: $who keeps a snapshot that is \d+ transactions old, and lease_slots has 1\d\d\d dead versions of \d rows$/, 'which is reported');
	$end->();
	is(found('snapshots'), '', 'until it ends');
	query($primary, 'VACUUM gatepost.lease_slots');
	$primary->poll_query_until('postgres', q(SELECT pg_stat_get_dead_tuples('gatepost.lease_slots'::regclass) < 1000));
	return;
}
# Of the standby, which has gone.
keeps_versions('replication slot kept', sub { query($primary, q(SELECT pg_drop_replication_slot('kept'))) });
my $old = session($primary);
my $old_pid = session_query($old, 'SELECT pg_backend_pid()');
session_query($old, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
keeps_versions("pid $old_pid", sub { session_query($old, 'COMMIT') });
session_query($old, q(BEGIN; CREATE TABLE made (); PREPARE TRANSACTION 'left'));
keeps_versions(q(prepared transaction 'left'), sub { query($primary, q(ROLLBACK PREPARED 'left')) });

is(query($primary, $worst), '0|0', 'a healthy server at last');
$_->quit for $idle, $reader, $waiter, $locker, $old;
$primary->stop;

done_testing();

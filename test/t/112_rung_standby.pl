# A standby grants no named lock: the server would, apart from the primary. What only reads is answered.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $primary = new_server('primary', allows_streaming => 1);
my $standby = new_standby('standby', $primary);
my $holder = session($primary);
session_query($holder, q(SELECT gatepost.advisory_lock('x')));
my $lapsed = acquire($primary, 'lapsed', '1 ms');
$primary->poll_query_until('postgres', "SELECT gatepost.lease_status('lapsed', $lapsed) = 'lapsed'");
$primary->wait_for_catchup($standby);

my $session = session($standby);
for my $name (qw(x free lapsed))
{
	for my $call (
		"advisory_xact_lock('$name')", "advisory_xact_lock('$name', true)", "try_advisory_xact_lock('$name')",
		"try_advisory_xact_lock('$name', '1 s')", "advisory_lock('$name')", "advisory_lock('$name', true)",
		"try_advisory_lock('$name')", "try_advisory_lock('$name', '1 s', true)", "advisory_unlock('$name')")
	{
		is(session_error($session, "SELECT gatepost.$call"), '25006', "$call is refused on a standby");
	}
}
no_lock_left($standby, 'no lock is held there');
is(session_query($session, q(SELECT gatepost.advisory_key('a'))), '-3848465438864589366', 'advisory_key answers');
is(session_query($session, 'SELECT count(*) FROM gatepost.advisory_locks'), 0, 'the view is there, and of that server only');

# The mark of a takeover is in the log.
query($primary, q(SELECT gatepost.try_advisory_xact_lock('lapsed'); CREATE TABLE something ()));
$primary->wait_for_catchup($standby);
is(status($standby, 'lapsed', $lapsed), 'superseded', 'a takeover on the primary is seen on the standby');

# What it remembers of a name that had no row there is good until the name has one: by the log that it replays, and by its own.
for my $name (qw(replayed late))
{
	session_query($session, "SELECT gatepost.advisory_key('$name')");
	is(session_query($session, "SELECT gatepost.lease_status('$name', $lapsed)"), 'unknown', "$name has no row on the standby")
	  for 1, 2;
}
acquire($primary, 'replayed', '1 h');
$primary->wait_for_catchup($standby);

# A session that has lived through the promotion locks.
finish_promotion($standby);
acquire($standby, 'late', '1 h');
is(session_query($session, "SELECT gatepost.try_advisory_lock('$_')"), 'f', "nor is $_ taken for a name without a row")
  for qw(replayed late);
is(session_query($session, q(SELECT gatepost.try_advisory_lock('x'))), 't', 'after the promotion the session gets the lock');
is(status($standby, 'lapsed', $lapsed), 'superseded', 'the lapsed lease is superseded there, too');
is(query($standby, "SELECT gatepost.lease_renew('lapsed', $lapsed)"), 'f', 'and not renewed');
$session->quit;
$holder->quit;

done_testing();

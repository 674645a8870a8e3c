# The configuration is reloaded between a grant and its commit: the commit is judged by what its session has read last.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $primary = new_server('primary', allows_streaming => 1);
my $standby = new_standby('standby', $primary);

# Sets in the file, and waits until the session has read it.
sub reload
{
	my ($session, $setting, $value) = @_;
	configure($primary, $setting => $value);
	wait_session($session, "SELECT current_setting('$setting')", $value);
	return;
}

sub wait_state
{
	my ($state) = @_;
	return $primary->poll_query_until('postgres', "SELECT sync_state = '$state' FROM pg_stat_replication");
}

my $session = session($primary);
my $pid = session_query($session, q(LOAD 'gatepost'; SET synchronous_commit = local; SELECT pg_backend_pid()));
my $number = 0;

sub begin_grant
{
	$number++;
	session_query($session, 'BEGIN');
	my $token = session_query($session, "SELECT gatepost.lease_acquire('name $number', '1 h')");
	ok($token > 0, "grant $number is made");
	return $token;
}

sub granted { return query($primary, "SELECT count(*) FROM gatepost.leases WHERE name = 'name $number'"); }

# The floor rises and falls.
begin_grant();
reload($session, 'gatepost.durability_floor', 'standby');
is(session_error($session, 'COMMIT'), 'LG007', 'the floor has risen since the grant: refused');
is(granted(), 0, 'nothing was granted');
begin_grant();
reload($session, 'gatepost.durability_floor', 'local');
session_query($session, 'COMMIT');
is(granted(), 1, 'the floor has fallen since the grant: granted');

# A standby is asked for by the session, and named in the meantime, or no longer.
session_query($session, 'SET gatepost.durability = standby');
begin_grant();
is(session_error($session, 'COMMIT'), 'LG007', 'no standby is named: refused');
begin_grant();
reload($session, 'synchronous_standby_names', 'standby');
ok(wait_state('sync'), 'the standby is named');
session_query($session, 'COMMIT');
is(granted(), 1, 'named before the commit: granted');
begin_grant();
reload($session, 'synchronous_standby_names', '');
ok(wait_state('async'), 'the standby is not named any more');
is(session_error($session, 'COMMIT'), 'LG007', 'not named any more: refused');
is(granted(), 0, 'nothing was granted');
begin_grant();
reload($session, 'synchronous_standby_names', 'another');
ok(wait_state('async'), 'another is named, which is not there');
is(session_error($session, 'COMMIT'), 'LG007', 'another is named: refused');

$session->quit;
done_testing();

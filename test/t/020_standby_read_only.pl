# A hot standby answers questions, says that its answers are not authoritative, and refuses every change.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $primary = new_server('primary', allows_streaming => 1);
my $standby = new_standby('standby', $primary);

query($primary, 'CREATE TABLE job (id int PRIMARY KEY, state text, fence bigint); INSERT INTO job VALUES (1, $$new$$)');
my $token = acquire($primary, 'x', '1 h');
my $gone = acquire($primary, 'y', '1 h');
query($primary, "BEGIN; SELECT gatepost.lease_release('y', $gone); COMMIT");
$primary->wait_for_catchup($standby);

my %changes = (
	lease_acquire => q(lease_acquire('x', '1 s')),
	'lease_acquire of a free name' => q(lease_acquire('free', '1 s')),
	lease_renew => qq(lease_renew('x', $token)),
	'lease_renew with a wrong token' => qq(lease_renew('x', $gone)),
	lease_release => qq(lease_release('x', $token)),
	lease_break => q(lease_break('x')),
	lease_purge => q(lease_purge('0')),
	lease_queue => q(lease_queue('x', '6f1c3d3e-0000-4000-8000-000000000001', '1 s', '1 s')),
	lease_unqueue => q(lease_unqueue('x', '6f1c3d3e-0000-4000-8000-000000000001')),
	lease_transfer => qq(lease_transfer('x', $token, '6f1c3d3e-0000-4000-8000-000000000001')),
	lease_watch => q(lease_watch('x')),
	lease_unwatch => q(lease_unwatch('x')),
	fenced_update => qq(fenced_update('job', '{"id": 1}', '{"state": "done"}', $token)),
	token_draw => q(token_draw()),
	token_raise_generation => q(token_raise_generation()));
my $session = session($standby);
for my $what (sort keys %changes)
{
	is(session_error($session, "SELECT gatepost.$changes{$what}"), '25006', "$what is refused on a standby");
}

is(session_query($session, 'SELECT count(*) FROM gatepost.waiters'), 0, 'the view waiters answers');
is(session_query($session, "SELECT gatepost.lease_status('x', $token)"), 'held', 'lease_status answers: held');
is(session_query($session, "SELECT gatepost.lease_status('y', $gone)"), 'released', 'lease_status answers: released');
is(session_query($session, "SELECT gatepost.lease_status('z', $gone)"), 'unknown', 'lease_status answers: unknown');
my $view = q(SELECT name, token, state, authoritative FROM gatepost.leases ORDER BY name);
is(session_query($session, $view), "x|$token|held|f\ny|$gone|released|f", 'the view is there and not authoritative');
is(query($primary, $view), "x|$token|held|t\ny|$gone|released|t", 'that of the primary is');
is( session_query($session, 'SELECT gatepost.token_generation()'),
	query($primary, 'SELECT gatepost.token_generation()'),
	'the generation is read');
session_query($session, 'BEGIN ISOLATION LEVEL REPEATABLE READ');
is(session_query($session, $view), "x|$token|held|f\ny|$gone|released|f", 'the same in a REPEATABLE READ transaction');
session_query($session, 'COMMIT');
is(our_locks($standby), 0, 'no lock is left behind');

# A session that was refused here goes on.
is(query($primary, "SELECT gatepost.lease_renew('x', $token, '2 h')"), 't', 'the primary renews');
$primary->wait_for_catchup($standby);
is(session_query($session, q(SELECT ttl FROM gatepost.leases WHERE name = 'x')), '02:00:00', 'and the standby shows it');
$session->quit;

done_testing();

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

# A call of each function that changes something, or takes what the primary alone may give.
my $id = q('6f1c3d3e-0000-4000-8000-000000000001');
my %changes = (
	fence_advance => [qq(fence_advance('resource', $token))],
	fence_claim => [qq(fence_claim('resource', 'key', $token))],
	fence_protect => [q(fence_protect('job', 'x'))],
	fence_purge => [q(fence_purge('0'))],
	fence_unprotect => [q(fence_unprotect('job'))],
	fenced_update => [qq(fenced_update('job', '{"id": 1}', '{"state": "done"}', $token))],
	grant_administrator => [q(grant_administrator(current_user::regrole))],
	grant_rights => [q(grant_rights(current_user::regrole, '{USAGE ON SCHEMA gatepost}'))],
	grant_user => [q(grant_user(current_user::regrole))],
	lease_acquire => [ q(lease_acquire('x', '1 s')), q(lease_acquire('free', '1 s')) ],
	lease_acquire_all => [ q(lease_acquire_all('{x}', '1 s')), q(lease_acquire_all('{free}', '1 s')) ],
	lease_acquire_wait => [q(lease_acquire_wait('free', '1 s', '1 s'))],
	lease_break => [ q(lease_break('x')), q(lease_break('free')) ],
	lease_purge => [q(lease_purge('0'))],
	lease_queue => [qq(lease_queue('x', $id, '1 s', '1 s'))],
	lease_release => [ qq(lease_release('x', $token)), qq(lease_release('x', $gone)) ],
	lease_release_many => [qq(lease_release_many('{x}', '{$token}'))],
	lease_renew => [ qq(lease_renew('x', $token)), qq(lease_renew('x', $gone)) ],
	lease_renew_many => [qq(lease_renew_many('{x}', '{$token}'))],
	lease_request_yield => [q(lease_request_yield('x'))],
	lease_transfer => [qq(lease_transfer('x', $token, $id))],
	lease_unqueue => [qq(lease_unqueue('x', $id))],
	lease_unwatch => [q(lease_unwatch('x'))],
	lease_watch => [q(lease_watch('x'))],
	refusals_reset => [q(refusals_reset())],
	rule_add => [q(rule_add('prefix', current_user::regrole, 'hold'))],
	rule_drop => [q(rule_drop('prefix', current_user, 'hold'))],
	semaphore_acquire => [q(semaphore_acquire('permits', 1, '1 s'))],
	semaphore_resize => [q(semaphore_resize('permits', 2))],
	token_draw => [q(token_draw())],
	token_raise_generation => [q(token_raise_generation())]);
# A lock and a use change no data: a READ ONLY transaction may have them, a standby may not.
my %holds = (
	advisory_lock => [q(advisory_lock('x'))],
	advisory_unlock => [q(advisory_unlock('x'))],
	advisory_xact_lock => [q(advisory_xact_lock('x'))],
	fence_use => [qq(fence_use('x', $token))],
	try_advisory_lock => [q(try_advisory_lock('x'))],
	try_advisory_xact_lock => [q(try_advisory_xact_lock('x'))]);
my @reads = (
	qw(advisory_key advisory_known fence_mark fence_rows history_rows lease_rows lease_status library_version queued_keys
	  refusal_rows rule_rows semaphore_rows stats_row token_generation waiter_places doctor doctor_clock doctor_durability
	  doctor_facts doctor_findings doctor_history doctor_keepers doctor_lock_table doctor_mark_above doctor_marks
	  doctor_protection doctor_rights doctor_snapshots doctor_stats doctor_tokens doctor_transactions doctor_versions));
my $callable = q(
	FROM pg_proc WHERE pronamespace = 'gatepost'::regnamespace AND prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype));
is( query($primary, "SELECT string_agg(DISTINCT proname, ' ' ORDER BY proname) $callable"),
	join(' ', sort keys %changes, keys %holds, @reads),
	'every function is known to change something, to hold something or to read');

sub statement { return (($_[0] =~ /^lease_acquire_wait/ ? 'CALL' : 'SELECT') . " gatepost.$_[0]"); }
my $session = session($standby);
for my $call (map { @$_ } map { my $of = $_; map { $of->{$_} } sort keys %$of } \%changes, \%holds)
{
	is(session_error($session, statement($call)), '25006', "$call is refused on a standby");
}
my $reader = session($primary);
for my $call (map { @{ $changes{$_} } } sort keys %changes)
{
	# It commits before it waits, and so is no call for a transaction that was begun.
	my $begin = $call =~ /^lease_acquire_wait/ ? 'SET default_transaction_read_only = on' : 'BEGIN READ ONLY';
	session_query($reader, $begin);
	is(session_error($reader, statement($call)), '25006', "$call is refused in a READ ONLY transaction");
	session_query($reader, $begin =~ /^BEGIN/ ? 'ROLLBACK' : 'RESET default_transaction_read_only');
}
end_session($reader);
for my $name (split /\n/, query($primary, "SELECT DISTINCT proname $callable AND pronargs = 0 ORDER BY proname"))
{
	next if $changes{$name} || $holds{$name};
	is(session_error($session, "SELECT count(*) FROM gatepost.$name()"), '', "$name answers on a standby");
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
no_lock_left($standby, 'no lock is left behind');

# A session that was refused here goes on.
is(query($primary, "SELECT gatepost.lease_renew('x', $token, '2 h')"), 't', 'the primary renews');
$primary->wait_for_catchup($standby);
is(session_query($session, q(SELECT ttl FROM gatepost.leases WHERE name = 'x')), '02:00:00', 'and the standby shows it');
$session->quit;

done_testing();

# An error at any point of a call leaves the session usable, no lock of ours behind and nothing half done, outside a block,
# after ROLLBACK TO and in a PL/pgSQL exception block.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../../perl";
use Gatepost;
use Test::More;

my $node = new_server('faults');
my $locks = q(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid NOT IN (1, 2) AND pid = pg_backend_pid());
query(
	$node, q(
	CREATE FUNCTION survived(call text) RETURNS text LANGUAGE plpgsql AS $$
	BEGIN
		EXECUTE call;
		RETURN 'no error';
	EXCEPTION WHEN internal_error THEN
		RETURN SQLERRM;
	END $$));

# Point, call, what the lease is before it ('' when there is none), and the call's answer when it does not fail.
my @cases = (
	(map { [ $_, q(lease_acquire('NAME', '1 h') > LAST), '', 't' ] }
		  qw(acquire_looked acquire_mutexed acquire_tagged token_drawn acquire_written)),
	(map { [ $_, q(lease_acquire('NAME', '1 h') > LAST), 'released', 't' ] } qw(look_started acquire_written)),
	[ 'renew_mutexed', q(lease_renew('NAME', TOKEN, '2 h')), 'held', 't' ],
	[ 'release_mutexed', q(lease_release('NAME', TOKEN)), 'held', 't' ],
	[ 'token_drawn', q(lease_break('NAME') > TOKEN), 'held', 't' ],
	(map { [ $_, q(lease_transfer('NAME', TOKEN, 'REQUEST') > TOKEN), 'queued', 't' ] } qw(transfer_tagged token_drawn transfer_written)),
	(map { [ $_, q(lease_acquire_all('{NAME,NAME too}', '1 h') IS NOT NULL), '', 't' ] }
		  qw(acquire_looked acquire_tagged token_drawn acquire_written all_took_one)));
my $request = '6f1c3d3e-0000-4000-8000-000000000001';

my $session = session($node);
my $last = 0;
for my $case (@cases)
{
	my ($point, $pattern, $state, $answer) = @$case;
	my ($what) = $pattern =~ /^(\w+)/;
	for my $where (qw(autocommit block exception))
	{
		my $name = "$point $what $state $where";
		my $token = $state eq '' ? 1 : acquire($node, $name, '1 h');
		query($node, "SELECT gatepost.lease_release('$name', $token)") if $state eq 'released';
		$last = query($node, 'SELECT last_value FROM gatepost.token_sequence');
		query($node, "SELECT gatepost.lease_queue('$name', '$request', '1 h', '5 min')") if $state eq 'queued';
		(my $call = "SELECT gatepost.$pattern") =~ s/NAME/$name/g;
		$call =~ s/TOKEN/$token/g;
		$call =~ s/LAST/$last/;
		$call =~ s/REQUEST/$request/;
		# What is written of it: the lease, and the place of who waits for it.
		my $row = "SELECT l.*::text FROM gatepost.lease_slots l WHERE name IN ('$name', '$name too') UNION ALL SELECT q.*::text FROM gatepost.queue q WHERE name = '$name' ORDER BY 1";
		my $before = query($node, $row);

		if ($where eq 'autocommit')
		{
			session_query($session, "SET gatepost.test_fault = '$point'");
			is(session_error($session, $call), 'XX000', "$name: fails");
			no_lock_left($node, "$name: no lock is left");
		}
		elsif ($where eq 'block')
		{
			session_query($session, "BEGIN; SAVEPOINT s; SET LOCAL gatepost.test_fault = '$point'");
			is(session_error($session, $call), 'XX000', "$name: fails");
			session_query($session, 'ROLLBACK TO s');
			is(session_query($session, $locks), 0, "$name: no lock is left");
			session_query($session, "SET LOCAL gatepost.test_fault = ''");
		}
		else
		{
			session_query($session, "BEGIN; SET LOCAL gatepost.test_fault = '$point'");
			is(session_query($session, "SELECT survived(\$call\$$call\$call\$)"), "fault at $point", "$name: fails");
			is(session_query($session, $locks), 0, "$name: no lock is left");
			session_query($session, "SET LOCAL gatepost.test_fault = ''");
		}
		session_query($session, 'RESET gatepost.test_fault') if $where eq 'autocommit';

		is(query($node, $row), $before, "$name: the row is as it was");
		is(session_query($session, $call), $answer, "$name: the same call works in the same session");
		session_query($session, 'COMMIT') if $where ne 'autocommit';
		no_lock_left($node, "$name: no lock is left after it");
		is(query($node, "SELECT count(*) FROM gatepost.lease_slots WHERE name = '$name'"), 1, "$name: one row");
	}
}
is( query($node, 'SELECT count(*) - count(DISTINCT token) FROM gatepost.lease_slots'),
	0, 'no token was given twice');
$session->quit;

done_testing();

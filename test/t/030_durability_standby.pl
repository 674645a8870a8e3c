# gatepost.durability = standby: a grant is reported only when a standby has it, and refused where none is connected.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $primary = new_server('primary', allows_streaming => 1);
my $ask = 'SET gatepost.durability = standby;';

sub unavailable
{
	my ($when) = @_;
	my $held = acquire($primary, "held $when", '1 h');
	my $expires = q(SELECT expires_at, renewed_at FROM gatepost.leases WHERE name = 'held ) . $when . q(');
	my $before = query($primary, $expires);
	is(query_error($primary, "$ask SELECT gatepost.lease_acquire('x', '1 h')"), 'LG007', "$when: a grant is refused");
	is(query_error($primary, "$ask BEGIN; SELECT gatepost.lease_acquire('x', '1 h'); COMMIT"),
		'LG007', "$when: a grant in a block is refused at its end");
	is( query_error($primary,
			"BEGIN; SELECT gatepost.lease_acquire('x', '1 h'); SET LOCAL gatepost.durability = standby; COMMIT"),
		'LG007', "$when: and when the level is asked for after the grant");
	is(query($primary, q(SELECT count(*) FROM gatepost.leases WHERE name = 'x')), 0, "$when: nothing was granted");
	is(query_error($primary, "$ask SELECT gatepost.lease_renew('held $when', $held, '2 h')"),
		'LG007', "$when: a renewal is refused");
	is(query($primary, $expires), $before, "$when: and changed nothing");
	is(query($primary, "$ask SELECT gatepost.lease_acquire('held $when', '1 h')"), '', "$when: busy is an answer");
	is(query($primary, "$ask SELECT gatepost.lease_release('held $when', $held)"), 't', "$when: a release needs no standby");
	no_lock_left($primary, "$when: no lock is left");
	return;
}
unavailable('no standby is named');
configure($primary, synchronous_commit => 'local', synchronous_standby_names => 'standby');
unavailable('the standby is away');

my $standby = new_standby('standby', $primary);
$primary->poll_query_until('postgres', q(SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'))
  or die 'no synchronous standby';
my $token = query($primary, "$ask SELECT gatepost.lease_acquire('x', '1 h')");
ok($token > 0, 'with the standby connected the grant goes through');

# A standby that takes nothing: who asks for it waits.
my $receiver = stop_receiver($standby);
END { kill 'CONT', $receiver if defined $receiver; }
my $waiting = session($primary);
my $pid = session_query($waiting, "SET synchronous_commit = off; $ask SELECT pg_backend_pid()");
send_query($waiting, "SELECT gatepost.lease_acquire('awaited', '1 h')");
ok(wait_blocked($primary, $pid, 'SyncRep'), 'a grant waits for the standby whatever synchronous_commit says');
is(acquire($primary, 'awaited', '1 h'), '', 'meanwhile it is in flight');
my $local = acquire($primary, 'local', '1 h');
ok($local > 0, 'who does not ask for the standby does not wait');
is(query($primary, "$ask SELECT gatepost.lease_release('local', $local)"), 't', 'nor does a lone release');
kill 'CONT', $receiver;
my $awaited = sent_result($waiting);
ok($awaited > $token, 'the grant is reported once the standby has it');

# A wait that is cancelled ends in a warning: the grant is there, and nobody knows whether the standby has it.
kill 'STOP', $receiver;
$waiting->{stderr} = '';
send_query($waiting, "SELECT gatepost.lease_renew('awaited', $awaited)");
ok(wait_blocked($primary, $pid, 'SyncRep'), 'a renewal waits, too');
query($primary, "SELECT pg_cancel_backend($pid)");
$waiting->query('');
like($waiting->{stderr}, qr/WARNING/, 'a cancelled wait ends in a warning');
kill 'CONT', $receiver;

# What was reported survives the loss of the primary.
my $reported = query($primary, "$ask SELECT gatepost.lease_acquire('reported', '1 h')");
$primary->stop('immediate');
end_session($waiting);
query($standby, q(ALTER SYSTEM RESET synchronous_standby_names));
finish_promotion($standby);
like(status($standby, 'reported', $reported), qr/^(held|recovering)$/, 'the promoted standby has the grant');

done_testing();

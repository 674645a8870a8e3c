# Leases of every age meet a reboot, and in the middle of recovering a failover to another machine: none is granted to anybody
# before its whole ttl has passed since, and none is kept from anybody after that.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../../perl";
use Gatepost;
use Test::More;

my $second = 1_000_000;
my $node = new_server('old', allows_streaming => 1);

# Since how many seconds the machine of the node runs.
sub at { override($node, 'boottime', $_[0] * $second); return; }

# The lease's name says its ttl and how long before the reboot it was taken, in seconds.
my @leases = map {
	my $ttl = $_;
	map { { name => "ttl $ttl, age $_", ttl => $ttl, age => $_ } } (0, 1, $ttl / 2, $ttl - 1, $ttl, 3 * $ttl)
} (4, 60, 3600, 86_400);
override($node, 'boot_id', 'one');
my $reboot = 1_000_000;
for my $lease (sort { $b->{age} <=> $a->{age} } @leases)
{
	at($reboot - $lease->{age});
	die "$lease->{name}: not granted" if acquire($node, $lease->{name}, "$lease->{ttl} s") eq '';
}
at($reboot - 1);
my %ended = map { $_ => acquire($node, $_, '1 day') } qw(released broken superseded);
query($node, "BEGIN; SELECT gatepost.lease_release('released', $ended{released}); COMMIT");
query($node, q(SELECT gatepost.lease_break('broken')));
$ended{superseded} = acquire($node, 'taken by a rung', '500 ms');
at($reboot);
is(query($node, q(SELECT gatepost.try_advisory_xact_lock('taken by a rung'))), 't', 'a rung takes a lapsed name');
my $renewed = acquire($node, 'renewed', '60 s');

my $standby = new_standby('new', $node);

sub reboot
{
	my ($boot, $seconds) = @_;
	$node->stop('fast');
	override($node, 'boot_id', $boot);
	at($seconds);
	start_server($node);
	return;
}

# Every lease is counted as live until its ttl has passed since that moment of the node, to the microsecond.
sub counted_from
{
	my ($since, $when, @ttls) = @_;
	for my $ttl (@ttls)
	{
		my $names = join ', ', map { "'$_->{name}'" } grep { $_->{ttl} == $ttl } @leases;
		my $tries = "SELECT count(gatepost.lease_acquire(name, '1 ms')) FROM unnest(ARRAY[$names]) name";
		my $states = "SELECT string_agg(DISTINCT state, ' ') FROM gatepost.leases WHERE name IN ($names)";
		override($node, 'boottime', ($since + $ttl) * $second - 1);
		is(query($node, $tries), 0, "$when: with a ttl of $ttl s none is granted too early");
		is(query($node, $states), 'recovering', "$when: all are recovering");
		at($since + $ttl);
		is(query($node, $states), 'lapsed', "$when: in the next microsecond all have lapsed");
	}
	return;
}

# The reboot. The first call counts, whoever makes it.
reboot('two', 5);
is(acquire($node, $leases[0]{name}, '1 s'), '', 'refused after the reboot');
is(query($node, "SELECT gatepost.lease_renew('renewed', $renewed)"), 't', 'a holder renews');
is(status($node, 'released', $ended{released}), 'released', 'what was released stays so');
is(status($node, 'broken', $ended{broken}), 'broken', 'and what was broken');
is(status($node, 'taken by a rung', $ended{superseded}), 'superseded', 'and what a rung has taken');
counted_from(5, 'rebooted', 4, 60);
is(status($node, 'renewed', $renewed), 'lapsed', 'a renewed lease counts from its renewal');

# The failover, to a machine that has been up for long, before the longer ones are over.
at(1000);
$node->wait_for_catchup($standby);
$node->stop('immediate');
$node = $standby;
override($node, 'boot_id', 'another machine');
at(5_000_000);
finish_promotion($node);
at(5_000_007);
my $last = query($node, 'SELECT max(token) FROM gatepost.leases');
my $first_there = acquire($node, 'first there', '1 s');
cmp_ok($first_there, '>', $last, 'promoted: the first token there is above all');
is(status($node, 'taken by a rung', $ended{superseded}), 'superseded', 'promoted: what a rung has taken stays so');
cmp_ok(acquire($node, 'taken by a rung', '1 s'), '>', $last, 'promoted: its name is free');
cmp_ok(acquire($node, 'released', '1 s'), '>', $last, 'promoted: so is one that was released');
counted_from(5_000_007, 'promoted', 4, 60, 3600, 86_400);

# Nothing is shut for ever: a day after the last event every name is granted.
my $left = query($node, q(SELECT count(*) FROM gatepost.leases WHERE state IN ('held', 'recovering')));
is($left, 0, 'after the longest ttl no lease is left');
my $names = query($node, 'SELECT count(*) FROM gatepost.leases');
is(query($node, q(SELECT count(gatepost.lease_acquire(name, '1 h')) FROM (SELECT name FROM gatepost.leases) l)), $names,
	'and every name is granted');
is(query($node, "SELECT count(*) FROM gatepost.leases WHERE token <= $first_there"), 0, 'with larger tokens');

done_testing();

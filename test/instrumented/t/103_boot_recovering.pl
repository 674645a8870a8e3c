# After a reboot nobody knows how long the machine was down: a lease of an earlier boot is recovering, counted as live,
# until its ttl has passed since the first changing call of this boot, even a refused one. Restarts of the server within
# the boot do not prolong that.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../../perl";
use Gatepost;
use Test::More;

my $second = 1_000_000;
my $node = new_server('boot');
my @names = qw(renewed released abandoned);

sub reboot
{
	my ($boot, $seconds) = @_;
	$node->stop('fast');
	override($node, 'boot_id', $boot);
	override($node, 'boottime', $seconds * $second);
	start_server($node);
	return;
}

# Since how many seconds the machine runs.
sub at { override($node, 'boottime', $_[0] * $second); return; }

reboot('one', 1000);
my %token = map { $_ => acquire($node, $_, '60 s') } @names;
my $lapsed = acquire($node, 'lapsed', '1 s');
at(1002);
is(status($node, 'lapsed', $lapsed), 'lapsed', 'a lease has lapsed');
is(status($node, $_, $token{$_}), 'held', "$_: held") for @names;

reboot('two', 5);
for my $name (@names)
{
	is(status($node, $name, $token{$name}), 'recovering', "$name: recovering after the reboot");
	is(acquire($node, $name, '60 s'), '', "$name: not granted");
}
is(query($node, q(SELECT remaining FROM gatepost.leases WHERE name = 'abandoned')), '00:01:00', 'what is left of it');
at(8);
is(query($node, "SELECT gatepost.lease_renew('renewed', $token{renewed})"), 't', 'its holder renews');
is(status($node, 'renewed', $token{renewed}), 'held', 'and holds it in this boot');
is(query($node, "SELECT gatepost.lease_release('released', $token{released})"), 't', 'its holder releases');
my $next = acquire($node, 'released', '60 s');
cmp_ok($next, '>', $_, 'the next token is larger') for values %token;

for my $seconds (20, 40, 64.999)
{
	reboot('two', $seconds);
	is(status($node, 'abandoned', $token{abandoned}), 'recovering', "recovering $seconds s after the boot");
	is(acquire($node, 'abandoned', '60 s'), '', 'and not granted');
}
at(65);
is(status($node, 'abandoned', $token{abandoned}), 'lapsed', 'after its ttl it has lapsed');
is(query($node, "SELECT gatepost.lease_renew('abandoned', $token{abandoned})"), 'f', 'and cannot be renewed');
is(status($node, 'renewed', $token{renewed}), 'held', 'the renewed one counts from its renewal');
at(67.999);
is(status($node, 'renewed', $token{renewed}), 'held', 'to the end');
at(68);
is(status($node, 'renewed', $token{renewed}), 'lapsed', 'and no longer');
cmp_ok(acquire($node, 'abandoned', '60 s'), '>', $token{abandoned}, 'the name is granted with a larger token');
is(status($node, 'abandoned', $token{abandoned}), 'superseded', 'and the old one superseded');

done_testing();

# A standby on another machine is promoted: leases of the old primary are recovering until their ttl has passed since the
# first changing call there, even a refused one, so that a name is neither granted early nor shut for ever.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../../perl";
use Gatepost;
use Test::More;

my $second = 1_000_000;
my $primary = new_server('primary', allows_streaming => 1);
override($primary, 'boot_id', 'old machine');
override($primary, 'boottime', 1000 * $second);
my %token = map { $_ => acquire($primary, $_, '60 s') } qw(held kept);
my $done = acquire($primary, 'done', '60 s');
query($primary, "BEGIN; SELECT gatepost.lease_release('done', $done); COMMIT");

my $standby = new_standby('standby', $primary);
sub at { override($standby, 'boottime', $_[0] * $second); return; }
override($standby, 'boot_id', 'new machine');
at(10_000);
$primary->wait_for_catchup($standby);

is(status($standby, $_, $token{$_}), 'recovering', "$_: recovering on the standby, whose clock is another") for qw(held kept);
is(status($standby, 'done', $done), 'released', 'what was released stays released');

$primary->stop('immediate');
my $connected = session($standby);
session_query($connected, 'SELECT gatepost.token_generation()');
finish_promotion($standby);
my $generation = query($standby, 'SELECT gatepost.token_generation()');

# Nothing has begun to count yet.
at(20_000);
is(status($standby, 'held', $token{held}), 'recovering', 'recovering until the first changing call');

is(session_query($connected, q(SELECT gatepost.lease_acquire('held', '60 s'))), '', 'the first call is refused');
cmp_ok(query($standby, 'SELECT gatepost.token_generation()'), '>', $generation, 'and has raised the generation');
is(query($standby, q(SELECT remaining FROM gatepost.leases WHERE name = 'held')), '00:01:00', 'now the ttl counts');
at(20_030);
is(query($standby, "SELECT gatepost.lease_renew('kept', $token{kept})"), 't', 'the holder renews');
is(status($standby, 'kept', $token{kept}), 'held', 'and holds it here');
at(20_059.999);
is(acquire($standby, 'held', '60 s'), '', 'not granted before the ttl has passed');

# A raise without a fork does not begin it anew, nor does a restart.
query($standby, 'SELECT gatepost.token_raise_generation()');
$standby->stop('immediate');
start_server($standby);
is(status($standby, 'held', $token{held}), 'recovering', 'recovering to the end');
at(20_060);
is(status($standby, 'held', $token{held}), 'lapsed', 'then lapsed');
my $new = acquire($standby, 'held', '60 s');
cmp_ok($new, '>', $_, 'granted with a larger token') for values %token;
is(status($standby, 'kept', $token{kept}), 'held', 'the renewed one is held');
is(query($standby, "SELECT gatepost.lease_renew('held', $token{held})"), 'f', 'the old holder cannot renew');
end_session($connected);

done_testing();

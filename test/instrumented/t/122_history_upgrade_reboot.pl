# pg_upgrade, and the new cluster is started after a reboot or on another machine: leases are recovering for their whole ttl from
# the first changing call on.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../../perl";
use Gatepost;
use Test::More;

my $second = 1_000_000;
my $old = server_to_upgrade('old');
override($old, 'boot_id', 'one');
override($old, 'boottime', 100_000 * $second);
my $held = acquire($old, 'held', '60 s');
my $renewed = acquire($old, 'renewed', '60 s');
my $released = acquire($old, 'released', '60 s');
query($old, "BEGIN; SELECT gatepost.lease_release('released', $released); COMMIT");
# By the clock of the old boot it lapses before the upgrade.
my $lapsed = acquire($old, 'lapsed', '30 s');
override($old, 'boottime', 100_031 * $second);
is(status($old, 'lapsed', $lapsed), 'lapsed', 'one has lapsed');
my $last = query($old, 'SELECT gatepost.token_draw()');

my $new = upgrade($old, 'new');
override($new, 'boot_id', 'two');
override($new, 'boottime', 1000 * $second);
$new->start;
is(query($new, q(SELECT string_agg(state, ' ' ORDER BY name) FROM gatepost.leases)),
	'recovering recovering released recovering', 'nothing has called: what was not released is recovering');
override($new, 'boottime', 5000 * $second);
is(status($new, 'held', $held), 'recovering', 'without end');

# A refused call is the first.
is(acquire($new, 'held', '1 s'), '', 'a recovering name is not granted');
cmp_ok(query($new, 'SELECT gatepost.token_generation()'), '>', $last >> 34, 'the generation rose with that call');
is(query($new, "SELECT gatepost.lease_renew('renewed', $renewed)"), 't', 'a holder renews');
is(status($new, 'renewed', $renewed), 'held', 'and holds');
override($new, 'boottime', 5060 * $second - 1);
is(status($new, 'held', $held), 'recovering', 'to the end of its ttl');
is(acquire($new, 'held', '1 s'), '', 'it is not granted');
override($new, 'boottime', 5060 * $second);
is(status($new, 'held', $held), 'lapsed', 'then it has lapsed');
my $token = acquire($new, 'held', '60 s');
cmp_ok($token, '>', $last, 'and is granted, with a token above all of the old cluster');
is(status($new, 'held', $held), 'superseded', 'the old holder is superseded');

done_testing();

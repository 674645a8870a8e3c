# A server that is started again in another time namespace has another clock in the same boot: what it granted before is
# recovering there, and recovering once more when it comes back. Needs a system that lets users make namespaces.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my @apart = qw(unshare --user --map-current-user --time --boottime 100000 --monotonic 100000);
plan skip_all => 'no time namespace is to be had here' if system("@apart true >/dev/null 2>&1") != 0;

my $node = new_server('namespace');
my $token = acquire($node, 'x', '1 h');
$node->stop;

my $programs = PostgreSQL::Test::Utils::tempdir();
my $real = $node->config_data('--bindir') . '/pg_ctl';
PostgreSQL::Test::Utils::append_to_file("$programs/pg_ctl", qq(#!/bin/sh\nexec @apart "$real" "\$@"\n));
chmod 0755, "$programs/pg_ctl" or die "$programs/pg_ctl: $!";
{
	local $ENV{PATH} = "$programs:$ENV{PATH}";
	start_server($node);
}

# By its clock the lease has long been over.
is(status($node, 'x', $token), 'recovering', 'a lease of another namespace is recovering');
is(acquire($node, 'x', '1 h'), '', 'its name is not granted');
is(query($node, "SELECT gatepost.lease_renew('x', $token)"), 't', 'its holder renews it');
is(status($node, 'x', $token), 'held', 'and holds it here');
$node->stop;

# And here it would last for more than a day.
start_server($node);
is(status($node, 'x', $token), 'recovering', 'back in the first it is recovering again');
is(query($node, "SELECT gatepost.lease_release('x', $token)"), 't', 'until it is given back');

done_testing();

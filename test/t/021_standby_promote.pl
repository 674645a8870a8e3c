# An asynchronous standby that missed the last grants is promoted: its tokens are above all of the old primary's, also
# for a backend that was connected all the while, and nobody is granted a name before the old holder's deadline.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $primary = new_server('primary', allows_streaming => 1);
my $standby = new_standby('standby', $primary);

my $long = acquire($primary, 'long', '1 h');
# The first grant has raised it.
my $generation = query($primary, 'SELECT gatepost.token_generation()');
my $asked = monotonic();
my $short = acquire($primary, 'short', '4 s');
$primary->wait_for_catchup($standby);

# This backend reads as a standby's and lives on.
my $connected = session($standby);
is(session_query($connected, "SELECT gatepost.lease_status('long', $long)"), 'held', 'the standby knows the lease');
is(session_error($connected, "SELECT gatepost.lease_acquire('long', '1 s')"), '25006', 'and refuses to grant');

# More grants than the sequence logs ahead never get there.
query($standby, q(ALTER SYSTEM SET primary_conninfo = ''; SELECT pg_reload_conf()));
$standby->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_stat_wal_receiver') or die 'still streaming';
my $highest = query($primary,
	q(SELECT max(gatepost.lease_acquire('unseen-' || n, '1 h')) FROM generate_series(1, 300) n));
my $unseen = acquire($primary, 'unseen', '1 h');
cmp_ok($unseen, '>', $highest, 'the primary went on alone');

$primary->stop('immediate');
finish_promotion($standby);

like(session_query($connected, "SELECT gatepost.lease_status('long', $long)"),
	qr/^(held|recovering)$/, 'a lease of the old primary is live');
is(session_query($connected, "SELECT gatepost.lease_acquire('long', '1 s')"), '', 'its name is not granted');
my $token = session_query($connected, "SELECT gatepost.lease_acquire('unseen', '1 h')");
cmp_ok($token, '>', $unseen, 'a backend connected through the promotion draws above all of the old primary');
my $raised = query($standby, 'SELECT gatepost.token_generation()');
cmp_ok($raised, '>', $generation, 'the generation rose');
cmp_ok(acquire($standby, 'fresh', '1 h'), '>', $token, 'a new backend draws from the same');
is(query($standby, 'SELECT gatepost.token_generation()'), $raised, 'and does not raise it again');

is(query($standby, "SELECT gatepost.lease_renew('long', $long, '1 h')"), 't', 'the old holder renews');
is(status($standby, 'long', $long), 'held', 'and holds on');
ok($standby->poll_query_until('postgres', "SELECT gatepost.lease_status('short', $short) = 'lapsed'"),
	'the lease of a holder that is gone lapses');
cmp_ok(monotonic() - $asked, '>=', 4, 'but not before its deadline');
cmp_ok(acquire($standby, 'short', '1 h'), '>', $unseen, 'its name is granted with a larger token');
is(query($standby, "SELECT gatepost.lease_renew('short', $short)"), 'f', 'the old holder cannot renew any more');
is(query_error($standby, "SELECT gatepost.lease_renew('long', $token + (1::bigint << 34))"),
	'LG004', 'a token of a later generation is unknown');

$connected->quit;
done_testing();

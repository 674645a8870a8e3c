# A dump loaded with its triggers off raises no generation by itself: the next call that could change a lease finds the
# token in floor, also in a session that has long been connected.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('triggers_off');
my $file = PostgreSQL::Test::Utils::tempdir() . '/dump';
query($node, "CREATE DATABASE $_") for qw(source target);
query($node, 'CREATE EXTENSION gatepost', dbname => $_) for qw(source target);

# The source is ahead of the target by generations.
query($node, 'SELECT gatepost.token_raise_generation()', dbname => 'source') for 1 .. 5;
my $last = query($node, 'SELECT gatepost.token_draw()', dbname => 'source');
my $session = session($node, dbname => 'target');
cmp_ok(session_query($session, q(SELECT gatepost.lease_acquire('before', '1 h'))), '<', $last, 'the target is behind');

$node->command_ok([ 'pg_dump', '--format=custom', "--file=$file", $node->connstr('source') ], 'dumped');
$node->command_ok(
	[ 'pg_restore', '--exit-on-error', '--data-only', '--disable-triggers', '--dbname=' . $node->connstr('target'), $file ],
	'loaded with triggers off');
is(query($node, 'SELECT max(token) FROM gatepost.floor', dbname => 'target'), $last, 'the token stays in floor');

cmp_ok(session_query($session, q(SELECT gatepost.lease_acquire('connected', '1 h'))), '>', $last,
	'a session that was connected draws above it');
my $next = query($node, 'SELECT gatepost.token_draw()', dbname => 'target');
cmp_ok($next, '>', $last, 'so does a new one');
my $generation = query($node, 'SELECT gatepost.token_generation()', dbname => 'target');
query($node, q(SELECT gatepost.lease_acquire('later', '1 h')), dbname => 'target');
is(query($node, 'SELECT gatepost.token_generation()', dbname => 'target'), $generation, 'the generation rose once');

end_session($session);
done_testing();

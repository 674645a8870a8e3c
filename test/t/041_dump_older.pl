# Loading an older dump into a database where the extension lives does not set its tokens back, and leaves its guards on.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('older');
my $directory = PostgreSQL::Test::Utils::tempdir();
my $connection = $node->connstr('postgres');

query($node, q(CREATE TABLE job (id int PRIMARY KEY, fence bigint); INSERT INTO job VALUES (1)));
acquire($node, 'before the dump', '1 h');
my %dump = (
	'data only' => ['--data-only'],
	'data only, triggers off' => [ '--data-only', '--disable-triggers' ],
	'clean' => ['--clean']);
for my $how (sort keys %dump)
{
	$node->command_ok([ 'pg_dump', '--format=custom', "--file=$directory/$how", $connection ], "$how: dumped");
}

# The server goes on, and a session stays connected.
my $session = session($node);
my $last = query($node, q(SELECT max(gatepost.lease_acquire('n-' || n, '1 h')) FROM generate_series(1, 500) n));

# The one that drops and creates the extension comes first: it forgets a generation that is ahead of the hours.
for my $how ('clean', 'data only', 'data only, triggers off')
{
	query($node, 'DELETE FROM job');
	my $held = session_query($session, "SELECT gatepost.lease_acquire('held $how', '1 h')");
	my $generation = query($node, 'SELECT gatepost.token_generation()');
	$node->command_ok(
		[ 'pg_restore', '--exit-on-error', @{ $dump{$how} }, "--dbname=$connection", "$directory/$how" ],
		"$how: an older dump is loaded");
	is(query($node, 'SELECT count(*) FROM job'), 1, "$how: with its rows");
	my $token = session_query($session, "SELECT gatepost.lease_acquire('after $how', '1 h')");
	cmp_ok($token, '>', $last, "$how: the next token is above all earlier ones");
	cmp_ok(query($node, 'SELECT gatepost.token_generation()'), '>', $generation, "$how: the generation rose")
	  if $how eq 'data only';
	is(status($node, "held $how", $held), $how eq 'clean' ? 'unknown' : 'held', "$how: leases go with the extension only");
	is(query_error($node, q(UPDATE gatepost.lease_slots SET token = 1)), '55000', "$how: rows are guarded");
	is(query_error($node, q(UPDATE gatepost.identity SET system = 1)), '55000', "$how: so is the identity");
	$last = $token;
}
$session->quit;

done_testing();

# Marks and claims come along with a dump of the database, and loading one never lowers a mark or opens a claimed key:
# what the dump has is added, what is lower is left out, and where the guards are off the load fails.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('dump');
my $directory = PostgreSQL::Test::Utils::tempdir();
my $source = $node->connstr('postgres');
my @token = split /\n/, query($node, 'SELECT gatepost.token_draw() FROM generate_series(1, 3)');
query($node, "SELECT gatepost.fence_claim('own', 'k', $token[1]), gatepost.fence_advance('zxid', 70, 'any')");

my %dump = (whole => [], inserts => ['--inserts'], data => ['--data-only'], off => [ '--data-only', '--disable-triggers' ],
	clean => [ '--clean', '--if-exists' ]);
$node->command_ok([ 'pg_dump', @{ $dump{$_} }, "--file=$directory/$_", $source ], "$_: dumped") for sort keys %dump;

sub loaded
{
	my ($dump, $database) = @_;
	my @psql = ('psql', '--quiet', '--no-psqlrc', '--set=ON_ERROR_STOP=1', "--file=$directory/$dump", $node->connstr($database));
	return PostgreSQL::Test::Utils::run_log(\@psql);
}
sub marks { return query($node, 'SELECT resource, token FROM gatepost.marks ORDER BY 1', dbname => $_[0]); }
my $dumped = "own|$token[1]\nzxid|70";

# Into a new database.
for my $dump (qw(whole inserts data off))
{
	query($node, "CREATE DATABASE $dump");
	query($node, 'CREATE EXTENSION gatepost', dbname => $dump) if $dump =~ /data|off/;
	ok(loaded($dump, $dump), "$dump: restored");
	is(marks($dump), $dumped, "$dump: with its marks");
	my $next = acquire($node, 'own', '1 h', dbname => $dump);
	is(query($node, "SELECT gatepost.fence_advance('own', $token[0])", dbname => $dump), 'f', "$dump: an older token is stale");
	is(query($node, "SELECT gatepost.fence_advance('zxid', 69, 'any')", dbname => $dump), 'f', "$dump: of another system too");
	is(query($node, "SELECT gatepost.fence_claim('own', 'k', $next)", dbname => $dump), 'f', "$dump: a claimed key is claimed");
	is(query($node, "SELECT gatepost.fence_advance('own', $next)", dbname => $dump), 't', "$dump: the tokens of here go on");
}

# Over a database that has gone on: its marks are higher, lower and others.
query($node, "SELECT gatepost.fence_claim('own', 'later', $token[2]), gatepost.fence_advance('since', 5, 'any')");
ok(loaded('data', 'postgres'), 'an older dump is loaded over its own database');
is(marks('postgres'), "own|$token[2]\nsince|5\nzxid|70", 'and lowers no mark');
is(query($node, 'SELECT key FROM gatepost.claims ORDER BY 1'), "k\nlater", 'nor loses a claim');
query($node, 'CREATE DATABASE lower');
query($node, q(CREATE EXTENSION gatepost; SELECT gatepost.fence_advance('zxid', 7, 'any')), dbname => 'lower');
ok(loaded('data', 'lower'), 'a dump is loaded over lower marks');
is(marks('lower'), $dumped, 'and raises them');
ok(!loaded('off', 'postgres'), 'with its triggers off it is not');
is(marks('postgres'), "own|$token[2]\nsince|5\nzxid|70", 'and no mark has changed');

# The extension dropped and made anew has the marks of the dump, as the rest of the database has.
ok(loaded('clean', 'postgres'), 'an older dump with --clean is loaded');
is(marks('postgres'), $dumped, 'and brings its marks');
is(query_error($node, 'UPDATE gatepost.marks SET token = 1'), '55000', 'under guard');

done_testing();

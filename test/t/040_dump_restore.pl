# Dump and restore: a database made from a dump draws above everything the dumped one had drawn, so its fence marks and
# those outside stay good. --schema-only is a new database: it has no rows whose marks could be above its tokens.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('dump');
my $directory = PostgreSQL::Test::Utils::tempdir();

# Far ahead of the hours, as a server with a long history of failovers is.
query($node, 'SELECT gatepost.token_raise_generation() FROM generate_series(1, 5)');
query(
	$node, q(
	CREATE TABLE job (id int PRIMARY KEY, state text, fence bigint);
	INSERT INTO job VALUES (1, 'new');
	SELECT count(gatepost.lease_acquire('name-' || n, '1 h')) FROM generate_series(1, 100) n));
my $last = acquire($node, 'job', '1 h');
my $update = q(SELECT gatepost.fenced_update('job', '{"id": 1}', '{"state": "%s"}', %s));
is(query($node, sprintf $update, 'old', $last), 't', 'a fenced write before the dump');

sub restored
{
	my ($database, $how) = @_;
	my $token = acquire($node, 'job', '1 h', dbname => $database);
	if ($token eq '')
	{
		pass("$how: the lease came along");
		$token = acquire($node, 'another job', '1 h', dbname => $database);
	}
	cmp_ok($token, '>', $last, "$how: the next token is above all of the dumped database");
	is(query($node, sprintf($update, 'new', $token), dbname => $database), 't', "$how: a fenced write");
	is(query_error($node, sprintf($update, 'old', $last), dbname => $database), 'LG001', "$how: the old holder's is refused");
	return;
}

sub new_database
{
	my ($database) = @_;
	query($node, "CREATE DATABASE $database");
	return $node->connstr($database);
}
my $source = $node->connstr('postgres');

my $custom = "$directory/custom";
$node->command_ok([ 'pg_dump', '--format=custom', "--file=$custom", $source ], 'custom: dumped');
$node->command_ok([ 'pg_restore', '--exit-on-error', '--dbname=' . new_database('custom'), $custom ], 'custom: restored');
restored('custom', 'custom');

for my $option ([], ['--inserts'], [ '--clean', '--if-exists' ])
{
	my $how = join ' ', 'plain', @$option;
	my $database = 'plain' . @$option . (@$option == 1 ? 'i' : '');
	my $file = "$directory/$database.sql";
	$node->command_ok([ 'pg_dump', @$option, "--file=$file", $source ], "$how: dumped");
	$node->command_ok(
		[ 'psql', '--quiet', '--no-psqlrc', '--set=ON_ERROR_STOP=1', "--file=$file", new_database($database) ],
		"$how: restored");
	restored($database, $how);
}

# Data only, into a database that has the extension and the table.
for my $option ([], ['--disable-triggers'])
{
	my $how = join ' ', 'data only', @$option;
	my $database = 'data' . @$option;
	my $file = "$directory/$database.sql";
	my $target = new_database($database);
	query($node, 'CREATE EXTENSION gatepost; CREATE TABLE job (id int PRIMARY KEY, state text, fence bigint)', dbname => $database);
	$node->command_ok([ 'pg_dump', '--data-only', @$option, "--file=$file", $source ], "$how: dumped");
	$node->command_ok(
		[ 'psql', '--quiet', '--no-psqlrc', '--set=ON_ERROR_STOP=1', "--file=$file", $target ], "$how: restored");
	restored($database, $how);
}

my $schema = "$directory/schema.sql";
$node->command_ok([ 'pg_dump', '--schema-only', "--file=$schema", $source ], 'schema only: dumped');
$node->command_ok(
	[ 'psql', '--quiet', '--no-psqlrc', '--set=ON_ERROR_STOP=1', "--file=$schema", new_database('schema') ],
	'schema only: restored');
ok(acquire($node, 'job', '1 h', dbname => 'schema') > 0, 'schema only: a new database grants');

done_testing();

# Dumps that leave Gatepost's own number out: of one application schema, of one table, of definitions only. Loaded into a
# database where the extension lives they change no lease and no token; marks from a history that is ahead shut their rows
# until the generation is raised above them.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('schema');
my $directory = PostgreSQL::Test::Utils::tempdir();
my $update = q(SELECT gatepost.fenced_update('app.job', '{"id": %s}', '{"state": "%s"}', %s));

query($node, "CREATE DATABASE $_") for qw(source fresh);
query($node, 'CREATE EXTENSION gatepost', dbname => $_) for qw(source fresh);
query($node, 'SELECT gatepost.token_raise_generation() FROM generate_series(1, 5)', dbname => 'source');
query(
	$node, q(
	CREATE SCHEMA app;
	CREATE TABLE app.job (id int PRIMARY KEY, state text, fence bigint);
	INSERT INTO app.job VALUES (1, 'new'), (2, 'new')), dbname => 'source');
my $of_source = acquire($node, 'job', '1 h', dbname => 'source');
is(query($node, sprintf($update, 1, 'source', $of_source), dbname => 'source'), 't', 'a fenced write in the source');

sub dump_and_load
{
	my ($how, $target, @options) = @_;
	my $file = "$directory/$how";
	$node->command_ok([ 'pg_dump', '--format=custom', @options, "--file=$file", $node->connstr('source') ], "$how: dumped");
	$node->command_ok([ 'pg_restore', '--exit-on-error', '--dbname=' . $node->connstr($target), $file ], "$how: loaded");
	return;
}

# A database with leases and tokens of its own, and a session that stays.
my $session = session($node, dbname => 'fresh');
my $held = session_query($session, q(SELECT gatepost.lease_acquire('held', '1 h')));
my $generation = session_query($session, 'SELECT gatepost.token_generation()');

sub unchanged
{
	my ($how) = @_;
	is(session_query($session, "SELECT gatepost.lease_status('held', $held)"), 'held', "$how: leases are as they were");
	is(session_query($session, 'SELECT gatepost.token_generation()'), $generation, "$how: so is the generation");
	is(query($node, 'SELECT count(*) FROM gatepost.floor', dbname => 'fresh'), 0, "$how: no number is left behind");
	is(query_error($node, 'UPDATE gatepost.lease_slots SET token = 1', dbname => 'fresh'), '55000',
		"$how: rows are guarded");
	return;
}

dump_and_load('definitions', 'fresh', '--schema-only');
unchanged('definitions');
is(query($node, 'SELECT count(*) FROM app.job', dbname => 'fresh'), 0, 'definitions: no rows');
query($node, 'DROP SCHEMA app CASCADE', dbname => 'fresh');

for my $case ([ 'schema', '--schema=app' ], [ 'table', '--table=app.job' ])
{
	my ($how, @options) = @$case;
	query($node, 'CREATE SCHEMA app', dbname => 'fresh') if $how eq 'table';
	dump_and_load($how, 'fresh', @options);
	unchanged($how);

	# Row 1 bears a mark of the source, row 2 none.
	my $token = session_query($session, "SELECT gatepost.lease_acquire('job $how', '1 h')");
	cmp_ok($token, '<', $of_source, "$how: tokens here are below the mark");
	is(session_query($session, sprintf $update, 2, 'fresh', $token), 't',
		"$how: a row without a mark takes a token of here");
	is(session_error($session, sprintf $update, 1, 'fresh', $token), 'LG001',
		"$how: a row with a mark of elsewhere does not");
	is(session_error($session, sprintf $update, 1, 'fresh', $of_source), 'LG004',
		"$how: the holder of elsewhere is unknown");
	is(session_error($session, sprintf $update, 2, 'fresh', $of_source), 'LG004', "$how: at every row");
	query($node, 'DROP SCHEMA app CASCADE', dbname => 'fresh');
}

# With the extension named, the number comes along, and nothing need be done.
dump_and_load('with the extension', 'fresh', '--schema=app', '--extension=gatepost');
my $token = session_query($session, q(SELECT gatepost.lease_acquire('job', '1 h')));
cmp_ok($token, '>', $of_source, 'with the extension: tokens here are above the mark');
is(session_query($session, sprintf $update, 1, 'fresh', $token), 't', 'with the extension: the row takes them');
is(session_error($session, sprintf $update, 1, 'source', $of_source), 'LG001',
	'with the extension: the old holder is refused');
is(session_query($session, "SELECT gatepost.lease_status('held', $held)"), 'held',
	'with the extension: leases are as they were');

$session->quit;
done_testing();

# Rules are dumped, and hold where their roles are not: the prefix stays shut until there is a role of that name.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $directory = PostgreSQL::Test::Utils::tempdir();
my $old = new_server('old');
query($old, q(
	CREATE ROLE tenant;
	CREATE ROLE "Odd, role";
	SELECT gatepost.rule_add('tenant/', 'tenant', a) FROM unnest('{hold,see,break}'::text[]) AS a;
	SELECT gatepost.rule_add(E'odd\tprefix\x5c', '"Odd, role"', 'hold')));
my %option = (custom => ['--format=custom'], plain => [], inserts => ['--inserts'], data => [ '--format=custom', '--data-only' ]);
for my $how (sort keys %option)
{
	$old->command_ok([ 'pg_dump', @{ $option{$how} }, "--file=$directory/$how", $old->connstr('postgres') ], "$how: dumped");
}
my $rules = q(SELECT prefix, member, action FROM gatepost.rules ORDER BY 1, 2, 3);
my $dumped = query($old, $rules);

# A cluster that has none of those roles.
my $new = new_server('new');
query($new, 'CREATE ROLE app');

sub new_database
{
	my ($database) = @_;
	query($new, "CREATE DATABASE $database");
	return $new->connstr($database);
}

sub grant_lists
{
	my ($database, $role) = @_;
	query(
		$new, qq(
		GRANT USAGE ON SCHEMA gatepost TO $role;
		GRANT EXECUTE ON FUNCTION gatepost.lease_acquire, gatepost.lease_status, gatepost.lease_break TO $role), dbname => $database);
	return;
}

sub acquired_by
{
	my ($database, $role, $name) = @_;
	return query_error($new, "SET ROLE $role; SELECT gatepost.lease_acquire('$name', '1 h')", dbname => $database);
}

sub shut
{
	my ($database, $how) = @_;
	is(query($new, $rules, dbname => $database), $dumped, "$how: the rules are there");
	is(query($new, 'SELECT count(*) FROM gatepost.rules WHERE member_exists', dbname => $database), 0, "$how: their roles are not");
	is(acquired_by($database, 'app', 'tenant/job'), '42501', "$how: the prefix is shut");
	is(acquired_by($database, 'app', 'odd	prefix\\'), '42501', "$how: so is the other");
	is(acquired_by($database, 'app', 'free'), '', "$how: other names are not");
	is(query_error($new, q(SELECT gatepost.lease_acquire('tenant/job', '1 h')), dbname => $database), '', "$how: nor to a superuser");
	is(query_error($new, q(DELETE FROM gatepost.name_rules), dbname => $database), '55000', "$how: rows are guarded");
	return;
}

$new->command_ok([ 'pg_restore', '--exit-on-error', '--dbname=' . new_database('custom'), "$directory/custom" ], 'custom: restored');
for my $how ('plain', 'inserts')
{
	$new->command_ok(
		[ 'psql', '--quiet', '--no-psqlrc', '--set=ON_ERROR_STOP=1', "--file=$directory/$how", new_database($how) ],
		"$how: restored");
}
# Into databases that have the extension: beside a rule that is there too, under a session that knows of no rule, and
# without triggers.
for my $how ('data', 'triggers_off')
{
	new_database($how);
	query($new, 'CREATE EXTENSION gatepost', dbname => $how);
}
query($new, q(INSERT INTO gatepost.name_rules VALUES ('tenant/', 'tenant', 'see')), dbname => 'data');
grant_lists($_, 'app') for qw(custom plain inserts data triggers_off);
my %session = map { $_ => session($new, dbname => $_) } qw(data triggers_off);
session_query($_, 'SET ROLE app') for values %session;
is(session_error($_, q(SELECT gatepost.lease_acquire('tenant/before', '1 h'))), '', 'a session before the load') for values %session;
$new->command_ok([ 'pg_restore', '--exit-on-error', '--data-only', '--dbname=' . $new->connstr('data'), "$directory/data" ],
	'data only: restored');
$new->command_ok(
	[ 'pg_restore', '--exit-on-error', '--data-only', '--disable-triggers', '--dbname=' . $new->connstr('triggers_off'), "$directory/data" ],
	'triggers off: restored');
is(session_error($session{$_}, q(SELECT gatepost.lease_acquire('tenant/after', '1 h'))), '42501', "$_: shut to a session that was connected")
  for sort keys %session;
end_session($_) for values %session;
shut($_, $_) for qw(custom plain inserts data triggers_off);

# Roles of those names.
query($new, 'CREATE ROLE tenant');
for my $database ('custom', 'triggers_off')
{
	grant_lists($database, 'tenant');
	is(acquired_by($database, 'tenant', 'tenant/own'), '', "$database: a role of that name may");
	is(acquired_by($database, 'app', 'tenant/other'), '42501', "$database: another may not");
	is(query_error($new, q(SET ROLE tenant; SELECT gatepost.lease_break('tenant/own')), dbname => $database), '', "$database: it breaks too");
}

# As the instructions say.
query($new, "ALTER TABLE gatepost.name_rules ENABLE ALWAYS TRIGGER $_", dbname => 'triggers_off') for qw(rule_loaded refuse_rows refuse_statements);
is(query($new, q(SELECT count(*) FILTER (WHERE gatepost.rule_drop(prefix, member, action)) FROM gatepost.rules), dbname => 'triggers_off'),
	4, 'rules are dropped, with and without their role');
is(acquired_by('triggers_off', 'app', 'tenant/other'), '', 'and the prefix is open');

done_testing();

# What somebody has prepared before CREATE EXTENSION: it is refused or unaffected. And what comes after DROP EXTENSION.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('prepared');
query($node, 'CREATE ROLE attacker LOGIN');
my $number = 0;

# A database without the extension, where the attacker may create schemas, after the given preparation.
sub prepared
{
	my ($by_attacker, $by_superuser) = @_;
	my $database = 'prepared' . ++$number;
	query($node, "CREATE DATABASE $database");
	query($node, "GRANT CREATE ON DATABASE $database TO attacker", dbname => $database);
	query($node, $by_attacker, dbname => $database, extra_params => [ '-U', 'attacker' ]) if $by_attacker ne '';
	query($node, $by_superuser, dbname => $database) if defined $by_superuser;
	return $database;
}
my $create = 'CREATE EXTENSION gatepost';
my $left = q(SELECT (SELECT count(*) FROM pg_event_trigger), (SELECT count(*) FROM pg_proc WHERE prosrc LIKE 'gatepost_%'));

for my $objects (
	'', 'CREATE TABLE gatepost.lease_slots (name text)', 'CREATE FUNCTION gatepost.lease_rows() RETURNS int LANGUAGE sql AS $$SELECT 1$$',
	'CREATE FUNCTION gatepost.eq(text, text) RETURNS bool LANGUAGE sql AS $$SELECT true$$; CREATE OPERATOR gatepost.= (FUNCTION = gatepost.eq, LEFTARG = text, RIGHTARG = text)')
{
	my $database = prepared("CREATE SCHEMA gatepost; $objects");
	is(query_error($node, $create, dbname => $database), '42P06', "refused: a schema gatepost that is there, $objects");
	is(query_error($node, "$create CASCADE", dbname => $database), '42P06', "with CASCADE too, $objects");
	is(query($node, $left, dbname => $database), '0|0', 'nothing is left of it');
}

my $database = prepared('', q(CREATE FUNCTION f() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END';
	CREATE EVENT TRIGGER gatepost_refuse_in_constraints ON ddl_command_end EXECUTE FUNCTION f()));
is(query_error($node, $create, dbname => $database), '42710', 'refused: an event trigger of that name');
is(query_error($node, $create, dbname => $database, extra_params => [ '-U', 'attacker' ]), '42501', 'refused: not a superuser');
is(query_error($node, "$create SCHEMA public", dbname => $database), '0A000', 'refused: another schema');

# Default privileges, of the superuser himself too, open nothing.
$database = prepared('ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC; ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO PUBLIC', q(
	ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC;
	ALTER DEFAULT PRIVILEGES GRANT ALL ON SEQUENCES TO PUBLIC;
	ALTER DEFAULT PRIVILEGES GRANT ALL ON FUNCTIONS TO PUBLIC;
	ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO PUBLIC;
	CREATE EXTENSION gatepost));
is( query(
		$node, q(
	SELECT string_agg(what, ', ') FROM (
		SELECT relname AS what, coalesce(relacl, acldefault('r', relowner)) AS acl FROM pg_class WHERE relnamespace = 'gatepost'::regnamespace
			AND relkind IN ('r', 'v', 'S')
		UNION ALL SELECT proname, coalesce(proacl, acldefault('f', proowner)) FROM pg_proc WHERE pronamespace = 'gatepost'::regnamespace
		UNION ALL SELECT nspname, coalesce(nspacl, acldefault('n', nspowner)) FROM pg_namespace WHERE nspname = 'gatepost') AS o
	WHERE EXISTS (SELECT FROM aclexplode(acl) AS a WHERE a.grantee = 0)), dbname => $database) // '',
	'', 'nothing is for PUBLIC, whatever the default privileges say');

# A session that has used the library meets a schema of the attacker's in its place.
query($node, "CREATE ROLE user_ LOGIN; GRANT USAGE ON SCHEMA gatepost TO user_; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA gatepost TO user_", dbname => $database);
my $session = session($node, dbname => $database, extra_params => [ '-U', 'user_' ]);
session_query($session, q(SELECT gatepost.lease_acquire('x', '1 h'), gatepost.fence_advance('x', 1, 'any')));
my $prepared = session($node, dbname => $database, extra_params => [ '-U', 'user_' ]);
session_query($prepared, q(PREPARE acquire AS SELECT gatepost.lease_acquire('y', '1 h'); EXECUTE acquire));
query($node, 'DROP EXTENSION gatepost', dbname => $database);
query(
	$node, q(CREATE SCHEMA gatepost; GRANT ALL ON SCHEMA gatepost TO PUBLIC;
	CREATE FUNCTION gatepost.lease_acquire(text, interval) RETURNS text LANGUAGE sql AS 'SELECT current_user::text';
	CREATE TABLE gatepost.lease_slots (); CREATE TABLE gatepost.marks (); CREATE TABLE gatepost.name_rules ()),
	dbname => $database, extra_params => [ '-U', 'attacker' ]);
is(session_query($session, q(CREATE TEMP TABLE t (id int); INSERT INTO t VALUES (1); SELECT gatepost.lease_acquire('x', '1 h'))),
	'user_', "calls are the attacker's functions, with the caller's rights");
is(session_error($session, q(SELECT gatepost.fence_advance('x', 1, 'any'))), '42883', 'and nothing of the library runs');
is(session_error($prepared, 'EXECUTE acquire'), '0A000', 'so does a prepared call look: the answer would be of another type');
is(query_error($node, $create, dbname => $database), '42P06', 'refused: to create it again beside that');
end_session($session);
end_session($prepared);

done_testing();

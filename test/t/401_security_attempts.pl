# Attempts of a role with the user list to have something done with the rights of the extension's owner, to act on tables
# that are another's, to stop others, or to lower what administrators have set.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('attempts');
query($node, q(
	CREATE ROLE attacker LOGIN;
	CREATE ROLE victim LOGIN;
	GRANT CREATE ON DATABASE postgres TO attacker;
	GRANT USAGE ON SCHEMA gatepost TO attacker, victim;
	GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA gatepost TO attacker, victim;
	CREATE SCHEMA own AUTHORIZATION attacker;
	CREATE SCHEMA other AUTHORIZATION attacker;
	GRANT ALL ON SCHEMA own, other TO victim));
my @attacker = (extra_params => [ '-U', 'attacker' ]);
my @victim = (extra_params => [ '-U', 'victim' ]);
my $attacker = session($node, @attacker);
my $attacker_pid = session_query($attacker, 'SELECT pg_backend_pid()');
my $superuser = session($node);

sub fences
{
	my ($table) = @_;
	return query($node, "SELECT count(*) FROM pg_trigger WHERE tgrelid = '$table'::regclass AND tgname LIKE 'zz_gatepost%'");
}

# Event triggers of others run as whoever runs the command, with his search_path. Nothing of ours is a command that the
# attacker has run as the extension's owner.
query($node, q(
	CREATE TABLE public.audit (who text, tag text);
	GRANT INSERT ON public.audit TO PUBLIC;
	CREATE FUNCTION public.audit() RETURNS event_trigger LANGUAGE plpgsql AS $$
	BEGIN
	  IF tg_tag = 'CREATE TRIGGER' OR tg_tag = 'DROP TRIGGER' OR tg_tag LIKE '%TABLE' THEN
	    INSERT INTO public.audit VALUES (current_user, tg_tag);
	  END IF;
	END $$;
	CREATE EVENT TRIGGER audit ON ddl_command_start EXECUTE FUNCTION public.audit();
	CREATE EVENT TRIGGER audit_end ON ddl_command_end EXECUTE FUNCTION public.audit();
	CREATE EVENT TRIGGER audit_drop ON sql_drop EXECUTE FUNCTION public.audit()));
session_query($attacker, q(
	CREATE FUNCTION own.planted(text, text) RETURNS boolean LANGUAGE plpgsql AS $$
	BEGIN
	  IF current_user OPERATOR(pg_catalog.<>) 'attacker'::name THEN
	    ALTER ROLE attacker SUPERUSER;
	  END IF;
	  RETURN $1 OPERATOR(pg_catalog.=) $2;
	END $$;
	CREATE OPERATOR own.= (FUNCTION = own.planted, LEFTARG = text, RIGHTARG = text);
	SET search_path = own, pg_catalog;
	CREATE TABLE own.parted (id int) PARTITION BY LIST (id);
	CREATE TABLE own.part PARTITION OF own.parted FOR VALUES IN (1);
	SELECT gatepost.fence_protect('own.parted', 'x');
	CREATE TABLE own.late PARTITION OF own.parted FOR VALUES IN (2);
	ALTER TABLE own.parted DETACH PARTITION own.late;
	SELECT gatepost.fence_protect('own.parted', 'x{id}');
	SELECT gatepost.fence_unprotect('own.parted');
	RESET search_path));
is(query($node, 'SELECT rolsuper FROM pg_roles WHERE rolname = $$attacker$$'), 'f', 'protecting runs no code of the caller as the owner');
is(query($node, 'SELECT string_agg(DISTINCT who, $$ $$) FROM public.audit'), 'attacker', 'nor a command that event triggers see');
query($node, 'DROP EVENT TRIGGER audit; DROP EVENT TRIGGER audit_end; DROP EVENT TRIGGER audit_drop');

# A tree that cannot be completed stops no DDL elsewhere, not even a superuser's, whose all tables are.
session_query($attacker, q(
	CREATE TABLE own.mess (id int);
	CREATE TABLE own.messy () INHERITS (own.mess);
	SELECT gatepost.fence_protect('own.mess', 'a');
	DROP TRIGGER zz_gatepost_fence ON own.messy;
	CREATE TRIGGER other BEFORE INSERT ON own.messy EXECUTE FUNCTION gatepost.fence_by_lease('b')));
my $unrelated = q(CREATE TABLE top (id int); CREATE TABLE below () INHERITS (top); ALTER TABLE below NO INHERIT top; DROP TABLE below, top);
is(query_error($node, $unrelated), '', 'a mess of one role stops no DDL of others');
# Nor does a lock on it.
session_query($attacker, q(DROP TRIGGER other ON own.messy; BEGIN; LOCK TABLE own.messy));
is(query_error($node, "SET lock_timeout = '5s'; $unrelated"), '', 'nor does a lock on what lacks a trigger');
session_query($attacker, 'ROLLBACK; DROP TABLE own.mess, own.messy');

# Rights are asked for before any lock, in the whole tree.
query($node, q(CREATE TABLE other.child (id int); ALTER TABLE other.child OWNER TO victim), @victim);
session_query($attacker, 'CREATE TABLE own.root (id int)');
query($node, 'ALTER TABLE other.child INHERIT own.root');
session_query($superuser, 'BEGIN; LOCK TABLE other.child IN ROW EXCLUSIVE MODE');
for my $call ('fence_protect(%s, $$x$$)', 'fence_unprotect(%s)')
{
	for my $table ('other.child', 'own.root')
	{
		my $sql = sprintf "SELECT gatepost.$call", "'$table'";
		is(session_error($attacker, "SET lock_timeout = '1s'; $sql"), '42501', "refused before the lock: $sql");
	}
}
session_query($superuser, 'ROLLBACK');
is(fences('other.child'), 0, "the victim's child has no trigger");

# What DDL of the attacker brings under his protected table: another's child is left as it is.
query($node, 'ALTER TABLE other.child NO INHERIT own.root');
session_query($attacker, q(CREATE TABLE own.middle (id int); SELECT gatepost.fence_protect('own.root', 'x')));
query($node, 'ALTER TABLE other.child INHERIT own.middle');
session_query($attacker, 'ALTER TABLE own.middle INHERIT own.root');
is(fences('other.child'), 0, 'linking gives no trigger to a child that is another\'s');
is(query($node, q(SELECT guarded FROM gatepost.fenced_tables WHERE relation = 'other.child'::regclass)), 'f', 'and the view shows the gap');
query($node, 'ALTER TABLE other.child NO INHERIT own.middle');
session_query($attacker, 'DROP TABLE own.middle, own.root');

# A name, an owner, that changes while DDL waits for its lock. The trigger is for the relation that was looked at.
session_query($attacker, q(
	CREATE TABLE own.top (id int);
	CREATE TABLE own.swapped () INHERITS (own.top);
	SELECT gatepost.fence_protect('own.top', 'x');
	DROP TRIGGER zz_gatepost_fence ON own.swapped));
query($node, 'CREATE TABLE other.swapped (id int)', @victim);
my $second = session($node, @attacker);
session_query($second, 'BEGIN; LOCK TABLE own.swapped IN ROW EXCLUSIVE MODE');
send_query($attacker, 'ALTER TABLE own.top ENABLE TRIGGER ALL');
ok(wait_blocked($node, $attacker_pid), 'DDL waits for the lock of a child');
session_query($second, 'ALTER SCHEMA own RENAME TO away; ALTER SCHEMA other RENAME TO own; COMMIT');
is((sent_result($attacker))[1], '', 'and goes on');
is(fences('own.swapped'), 0, "the victim's table of that name has no trigger");
is(fences('away.swapped'), 1, 'the table that was meant has it');
query($node, 'ALTER SCHEMA own RENAME TO other; ALTER SCHEMA away RENAME TO own');

session_query($attacker, 'DROP TRIGGER zz_gatepost_fence ON own.swapped');
session_query($superuser, 'BEGIN; LOCK TABLE own.swapped IN ROW EXCLUSIVE MODE');
send_query($attacker, 'ALTER TABLE own.top ENABLE TRIGGER ALL');
ok(wait_blocked($node, $attacker_pid), 'DDL waits again');
session_query($superuser, 'ALTER TABLE own.swapped OWNER TO victim; COMMIT');
is((sent_result($attacker))[1], '', 'and goes on');
is(fences('own.swapped'), 0, 'a table that was given away meanwhile is left alone');
session_query($superuser, 'ALTER TABLE own.swapped OWNER TO attacker');
session_query($attacker, 'DROP TABLE own.top CASCADE');

# Triggers of the names that fence_protect uses are not taken for its own.
session_query($attacker, q(CREATE TABLE own.named (id int);
	CREATE TRIGGER zz_gatepost_fence BEFORE INSERT ON own.named EXECUTE FUNCTION pg_catalog.suppress_redundant_updates_trigger()));
is(session_error($attacker, q(SELECT gatepost.fence_protect('own.named', 'x'))), '42710', 'a trigger of that name is there already');
session_query($attacker, 'DROP TABLE own.named');

# Temporary tables of another session of the same role.
session_query($second, 'CREATE TEMP TABLE temporary (id int)');
my $temporary = session_query($second, q(SELECT oid FROM pg_class WHERE relname = 'temporary'));
session_error($attacker, "SELECT gatepost.fence_protect($temporary\::regclass, 'x')");
is(session_error($second, 'INSERT INTO temporary VALUES (1); SELECT * FROM gatepost.fence_rows()'), query($node, "SELECT CASE WHEN EXISTS (SELECT FROM pg_trigger WHERE tgrelid = $temporary) THEN 'LG003' ELSE '' END"),
	'a temporary table of another session is protected, or it is not');
end_session($second);

# Functions inside what others run: with the rights of whoever runs it, and never taken for the maker's.
session_query($attacker, q(
	CREATE TABLE own.defaults (id int, token bigint DEFAULT gatepost.lease_break('held'));
	CREATE VIEW own.view AS SELECT gatepost.rule_drop('', 'attacker', 'hold');
	CREATE TABLE own.policies (id int);
	ALTER TABLE own.policies ENABLE ROW LEVEL SECURITY;
	CREATE POLICY all_ ON own.policies USING (gatepost.token_draw() IS NOT NULL);
	CREATE TABLE own.rules (id int);
	CREATE RULE r AS ON INSERT TO own.rules DO ALSO SELECT gatepost.lease_purge('0');
	CREATE DOMAIN own.domain AS bigint DEFAULT gatepost.token_raise_generation();
	CREATE TABLE own.domains (id int, v own.domain);
	GRANT USAGE ON SCHEMA own TO victim;
	GRANT ALL ON own.defaults, own.view, own.policies, own.rules, own.domains TO victim;
	INSERT INTO own.policies VALUES (1)));
acquire($node, 'held', '1 h');
is(query_error($node, $_, @victim), '42501', "as a user: $_") for 'INSERT INTO own.defaults VALUES (1)', 'TABLE own.view', 'TABLE own.policies',
  'INSERT INTO own.rules VALUES (1)', 'INSERT INTO own.domains VALUES (1)';
is(session_error($attacker, $_), '42501', "as their maker: $_") for 'INSERT INTO own.defaults VALUES (1)', 'TABLE own.view',
  'INSERT INTO own.rules VALUES (1)', 'INSERT INTO own.domains VALUES (1)';
is(query($node, q(SELECT count(*) FROM gatepost.rules)), 0, 'and nothing has been added');

# Forged tokens. A role that is no member learns of a held name what it learns of one that nobody has ever held.
my $token = query($node, q(SET ROLE victim; SELECT gatepost.lease_acquire('forged', '1 h')));
query($node, 'CREATE DATABASE elsewhere');
query($node, 'CREATE EXTENSION gatepost', dbname => 'elsewhere');
query($node, "SELECT gatepost.token_raise_generation($token + 100 * (1::bigint << 34))", dbname => 'elsewhere');
my $foreign = acquire($node, 'forged', '1 h', dbname => 'elsewhere');
my $guesses = qq(ARRAY[1, 31, $token - 32, $token - 1, $token, $token + 1, $token + 32, $foreign, 9007199254740991, 0, -1, 9223372036854775807]);
session_query($attacker, q(CREATE FUNCTION pg_temp.answer(statement text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
	  value text;
	BEGIN
	  EXECUTE statement INTO value;
	  RETURN coalesce(value, 'null');
	EXCEPTION WHEN OTHERS THEN
	  RETURN SQLSTATE || ' ' || replace(SQLERRM, 'never heard of', 'forged');
	END $$));
sub answers_to
{
	my ($name, $function) = @_;
	return session_query($attacker, qq(
		SELECT string_agg(guess || ' ' || pg_temp.answer(format('SELECT gatepost.$function(%L, %s)', '$name', guess)), ', ' ORDER BY guess)
		FROM unnest($guesses) AS guess));
}
is(answers_to('forged', 'fence_use'), answers_to('never heard of', 'fence_use'), 'fence_use tells a stranger nothing of a name');
is(answers_to('forged', $_) =~ s/$token 42501 permission denied for lease "forged"/$token false/r,
	answers_to('never heard of', $_), "$_ tells who has guessed the token that the lease is another's, and else nothing")
  for 'lease_renew', 'lease_release';
is(query($node, "SELECT gatepost.lease_status('forged', $token)"), 'held', 'and the lease is held');
is(query_error($node, "SELECT gatepost.fence_use('forged', $foreign)"), 'LG004', 'a token of another database is unknown here');

# Settings that came before the library: what a role may not set does not count once the library is there.
sub with_settings
{
	my ($sql) = @_;
	my $session = session($node, @attacker);
	session_error($session, $_) for @{ $_[1] };
	my $answer = session_query($session, $sql);
	end_session($session);
	return $answer;
}
$node->append_conf('postgresql.conf', "gatepost.durability_floor = 'standby'\n");
query($node, 'SELECT pg_reload_conf()');
$node->poll_query_until('postgres', q(SELECT current_setting('gatepost.durability_floor', true) = 'standby'));
my $shown = q(SELECT gatepost.library_version() <> ''; SELECT current_setting('NAME'));
my %set = ('gatepost.durability_floor' => 'local', 'gatepost.max_ttl' => '1000d', 'gatepost.log_refusals' => 'off', 'gatepost.history_retention' => '1d', 'gatepost.closed_after_lapse' => '1h');
my %kept = ('gatepost.durability_floor' => 'standby', 'gatepost.max_ttl' => '1d', 'gatepost.log_refusals' => 'on', 'gatepost.history_retention' => '0', 'gatepost.closed_after_lapse' => '0');
for my $name (sort keys %set)
{
	my $sql = $shown =~ s/NAME/$name/r;
	for my $how ("SET $name = '$set{$name}'", "SELECT set_config('$name', '$set{$name}', false)", "SET SESSION AUTHORIZATION attacker; SET $name = '$set{$name}'")
	{
		is(with_settings($sql, [$how]), "t\n$kept{$name}", "before the library: $how");
		is(with_settings($sql, ['SELECT gatepost.library_version()', $how ]), "t\n$kept{$name}", "after it: $how");
	}
	is(with_settings($sql, [ "ALTER ROLE attacker SET $name = '$set{$name}'" ]), "t\n$kept{$name}", "for the role: $name");
	is(with_settings($sql, []), "t\n$kept{$name}", "and in its next session: $name");
	is(query_error($node, "ALTER DATABASE postgres SET $name = '$set{$name}'", @attacker), '42501', "for the database: $name");
	query($node, "ALTER ROLE attacker RESET ALL");
	# Then the server would forget what the configuration says too.
	for my $later ('', "SET $name = '$set{$name}'", 'DISCARD ALL', "RESET $name")
	{
		my $options = session($node, extra_params => [ '-d', $node->connstr('postgres') . " user=attacker options='-c $name=$set{$name}'" ]);
		session_error($options, $later) if $later ne '';
		is(session_error($options, "SELECT gatepost.lease_acquire('x', '1 min')"), '42501', "with the connection: $name, $later") for 1 .. 2;
		end_session($options);
	}
}
is(query($node, q(LOAD 'gatepost'; SELECT string_agg(name, ' ' ORDER BY name) FROM pg_settings WHERE name LIKE 'gatepost.%' AND name NOT LIKE '%.test%' AND context <> 'user')),
	join(' ', sort keys %set), "these are all the administrators' settings");
query($node, q(GRANT SET ON PARAMETER gatepost.max_ttl TO victim));
my $granted = session($node, extra_params => [ '-d', $node->connstr('postgres') . " user=victim options='-c gatepost.max_ttl=1h'" ]);
is(session_query($granted, $shown =~ s/NAME/gatepost.max_ttl/r), "t\n1h", 'who may set one may bring it with the connection');
end_session($granted);
is(with_settings($shown =~ s/NAME/gatepost.unknown/r =~ s/current_setting\((.*?)\)/current_setting($1, true) IS NULL/r, ['SET gatepost.unknown = 1']), "t\nt", 'a setting that there is not is gone');
end_session($attacker);
end_session($superuser);
done_testing();

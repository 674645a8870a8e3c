# Hostile names: leases, schemas, tables, columns, roles, constants of a template, through every function that takes one, in
# errors, views and the log. Each comes back as it was given, and does nothing.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('names', conf => "gatepost.history_retention = '1 d'\nlog_line_prefix = '%m [%p] '\n");
query($node, q(
	CREATE TABLE public.canary (id int);
	CREATE FUNCTION public.count_triggers() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM pg_trigger'));
my $triggers = query($node, 'SELECT count_triggers()');

# Everything about one name, as one role that is called like it. Result: what went wrong.
query($node, <<'E2');
CREATE FUNCTION public.try(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE statement;
  RETURN 'done';
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE FUNCTION public.everything(hostile text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  -- As much of it as an identifier holds.
  short text := quote_ident(hostile::name::text);
  bare text := hostile::name::text;
  tab text := short || '.' || short;
  -- A brace is written twice, and no column can be in a template whose hostile has the closing one.
  plain text := replace(replace(hostile, '{', '{{'), '}', '}}');
  drawn bigint;
  found record;
BEGIN
  EXECUTE format('CREATE ROLE %s; GRANT USAGE ON SCHEMA gatepost TO %1$s; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA gatepost TO %1$s', short);
  EXECUTE format('GRANT SELECT ON gatepost.leases, gatepost.fenced_tables, gatepost.history, gatepost.refusals TO %s', short);
  EXECUTE format('CREATE SCHEMA %s AUTHORIZATION %1$s', short);
  EXECUTE format('SET LOCAL ROLE %s', short);
  EXECUTE format('SET LOCAL application_name = %L', hostile);
  EXECUTE format('CREATE TABLE %s (%s text, fence bigint)', tab, short);

  drawn := gatepost.lease_acquire(hostile, '1 h', owner => left(hostile, 60), metadata => jsonb_build_object(hostile, hostile));
  IF NOT gatepost.lease_renew(hostile, drawn) OR gatepost.lease_status(hostile, drawn) <> 'held' THEN
    RETURN NEXT 'not held';
  END IF;
  SELECT * INTO found FROM gatepost.leases WHERE token = drawn;
  IF found.name <> hostile OR found.owner <> left(hostile, 60) OR found.metadata ->> hostile <> hostile OR found.role <> short::regrole THEN
    RETURN NEXT 'leases: ' || found;
  END IF;

  -- By lease, by column, by template.
  PERFORM gatepost.fence_protect(tab::regclass, plain, exempt => ARRAY[short]::regrole[]);
  SELECT * INTO found FROM gatepost.fenced_tables WHERE relation = tab::regclass;
  IF found.lease <> hostile OR found.exempt <> ARRAY[bare] OR NOT found.guarded THEN
    RETURN NEXT 'fenced_tables: ' || found;
  END IF;
  IF try(format('INSERT INTO %s VALUES (1)', tab)) <> 'done' THEN
    RETURN NEXT 'not exempt';
  END IF;
  PERFORM gatepost.fence_protect(tab::regclass, plain);
  IF try(format('INSERT INTO %s VALUES (1)', tab)) <> format('LG003 no token of lease "%s" is in use', hostile) THEN
    RETURN NEXT 'by lease: ' || try(format('INSERT INTO %s VALUES (1)', tab));
  END IF;
  EXECUTE format('CREATE TABLE %s.child () INHERITS (%s)', short, tab);
  PERFORM gatepost.fence_use(hostile, drawn);
  IF try(format('INSERT INTO %s VALUES (1); INSERT INTO %s.child VALUES (1); DROP TABLE %2$s.child', tab, short)) <> 'done' THEN
    RETURN NEXT 'with a use: ' || try(format('INSERT INTO %s VALUES (1)', tab));
  END IF;
  PERFORM gatepost.fence_protect(tab::regclass, plain || '/{fence}');
  IF try(format('INSERT INTO %s VALUES (1, 7)', tab)) <> format('LG003 no token of lease "%s/7" is in use', hostile) THEN
    RETURN NEXT 'by template: ' || try(format('INSERT INTO %s VALUES (1, 7)', tab));
  END IF;
  IF bare !~ '}' THEN
    PERFORM gatepost.fence_protect(tab::regclass, 'c:{' || bare || '}');
    IF try(format('INSERT INTO %s VALUES (%L)', tab, hostile)) <> format('LG003 no token of lease "c:%s" is in use', hostile) THEN
      RETURN NEXT 'by a column of the template: ' || try(format('INSERT INTO %s VALUES (%L)', tab, hostile));
    END IF;
  END IF;
  EXECUTE format('ALTER TABLE %s ALTER %s TYPE bigint USING 1', tab, short);
  PERFORM gatepost.fence_protect(tab::regclass, plain, bare::name);
  EXECUTE format('INSERT INTO %s VALUES (7)', tab);
  EXECUTE format('SELECT count(*) AS count FROM %s WHERE %s = %s', tab, short, drawn) INTO found;
  IF found.count < 1 THEN
    RETURN NEXT 'by column: not stamped';
  END IF;
  PERFORM gatepost.fence_unprotect(tab::regclass);
  EXECUTE format('DELETE FROM %s; INSERT INTO %1$s VALUES (1, 1); CREATE UNIQUE INDEX ON %1$s (%s)', tab, short);
  IF NOT gatepost.fenced_update(tab::regclass, jsonb_build_object(bare, 1), '{}', drawn) THEN
    RETURN NEXT 'fenced_update: no row';
  END IF;

  -- What is outside, and locks.
  IF NOT gatepost.fence_advance(hostile, drawn) OR gatepost.fence_mark(hostile) <> drawn OR NOT gatepost.fence_claim(hostile, hostile, drawn) THEN
    RETURN NEXT 'marks';
  END IF;
  IF NOT gatepost.try_advisory_xact_lock('lock ' || hostile) THEN
    RETURN NEXT 'locks';
  END IF;
  PERFORM gatepost.advisory_key(hostile);
  IF try(format('SELECT gatepost.fence_use(%L, %s)', hostile || '/not held', drawn)) <> format('LG002 lease "%s/not held" is not held with token %s', hostile, drawn) THEN
    RETURN NEXT 'not held: ' || try(format('SELECT gatepost.fence_use(%L, %s)', hostile || '/not held', drawn));
  END IF;

  -- What administrators do.
  RESET ROLE;
  PERFORM gatepost.rule_add(hostile, short::regrole, 'see');
  IF NOT EXISTS (SELECT FROM gatepost.rules WHERE prefix = hostile AND member = bare) OR NOT gatepost.rule_drop(hostile, bare, 'see') THEN
    RETURN NEXT 'rules';
  END IF;
  IF gatepost.lease_break(hostile, drawn, hostile) IS NOT NULL AND NOT EXISTS (SELECT FROM gatepost.history WHERE event = 'break' AND name = hostile AND detail = hostile) THEN
    RETURN NEXT 'history';
  END IF;
  IF gatepost.lease_purge('1 d', hostile) + gatepost.fence_purge('1 d', hostile) <> 0 THEN
    RETURN NEXT 'purges';
  END IF;
END $$;
E2

my $sql = q(DROP TABLE public.canary; CREATE TABLE public.injected (););
my %hostile = (
	'a double quote' => 'a"b', 'two' => '""', 'a single quote' => "a'b", 'dollar quotes' => "\$\$;$sql--\$\$", 'a comment' => "*/$sql/*",
	'an end of a trigger' => qq(x" FOR EACH ROW EXECUTE FUNCTION f();$sql --), 'an end of an argument' => "x'); $sql --",
	'an escape string' => "x\\'; $sql --", 'backslashes' => '\\\\x41\\000\\', 'hex of bytea' => '\\x414243', 'a zero byte that is none' => 'a\\000b\\0',
	'a newline' => "a\nb", 'carriage return and tab' => "a\r\tb", 'a percent' => '%s%n%1$s%I%L', 'braces' => '{}{{x}}', 'one brace' => 'a{b',
	'a space' => ' ', 'a dot' => 'a.b', 'a semicolon' => ';', 'a keyword' => 'select', 'public' => 'PUBLIC', 'a number' => '1', 'a sign' => '-',
	'letters' => 'größe', 'wide letters' => "\xe8\xae\xa2\xe5\x8d\x95", 'beyond the plane' => "\xf0\x9f\x94\x92", 'a direction' => "a\xe2\x80\xaeb",
	'controls' => "\x01\x1b[2K\x7f", 'a long one' => 'x' x 63, 'a long one of quotes' => '"' x 63,
	'a placeholder of a setting' => "gatepost.max_ttl = '1'", 'an escape of json' => '\\u0000"}', 'commas of an array' => '{a,"b",NULL}');
for my $what (sort keys %hostile)
{
	my $literal = "convert_from('\\x" . unpack('H*', $hostile{$what} =~ /größe/ ? "gr\xc3\xb6\xc3\x9fe" : $hostile{$what}) . "', 'UTF8')";
	my $answer = eval { query($node, "BEGIN; SELECT everything($literal); ROLLBACK;") } // "failed: $@";
	is($answer, '', $what);
}
is(query($node, 'SELECT count_triggers(), (SELECT count(*) FROM pg_class WHERE relname IN ($$canary$$, $$injected$$))'), "$triggers|1", 'nothing else was done');

# Too long for an identifier, but not for a lease.
my $long = 'y' x 1024;
is(query_error($node, "CREATE TABLE long (id int); SELECT gatepost.fence_protect('long', '$long'); INSERT INTO long VALUES (1)"), 'LG003', 'a lease of 1,024 bytes');
is(query_error($node, "SELECT gatepost.fence_protect('long', '${long}y')"), '22023', 'and of one more');
is(query_error($node, "SELECT gatepost.fence_protect('long', '$long\{id}'); INSERT INTO long VALUES (1)"), '22023', 'and of a template that makes one more');

# The log has one line for each break, whatever name, role and reason are called.
my $offset = -s $node->logfile;
for my $forged ('x", token 1, by "nobody', "x\n2026-01-01 00:00:00.000 UTC [1] LOG:  lease broken", "\x1b[2K")
{
	my $literal = "convert_from('\\x" . unpack('H*', $forged) . "', 'UTF8')";
	query($node, "SELECT gatepost.lease_acquire($literal, '1 h'); SELECT gatepost.lease_break($literal, reason => $literal)");
}
my @lines = grep { /lease broken/ } split /\n/, slurp_file($node->logfile, $offset);
is(scalar @lines, 3, 'a line for each break');
my $value = qr/"(?:[^"\\[:cntrl:]]|\\["\\nrt]|\\x[0-9a-f]{2})*"/;
like($_, qr/LOG:  lease broken: name $value, token \d+, by $value, reason $value$/, 'of one form') for @lines;

done_testing();

# A session whose search_path begins with functions, operators, types and relations named like those of the server and of
# Gatepost: every call gives the answer it gives elsewhere, and none of them is run, neither as its maker nor as anybody else.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('shadowed');
query(
	$node, q(
	CREATE ROLE worker LOGIN;
	GRANT CREATE ON DATABASE postgres TO worker;
	CREATE TABLE public.job (shop text, id bigint, state text, at timestamptz, fence bigint, PRIMARY KEY (shop, id));
	INSERT INTO public.job SELECT 'north', n FROM generate_series(1, 2) n;
	GRANT SELECT, UPDATE ON public.job TO worker;
	GRANT USAGE ON SCHEMA gatepost TO worker;
	GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA gatepost TO worker;
	GRANT SELECT ON gatepost.leases, gatepost.advisory_locks, gatepost.refusals, gatepost.history TO worker));

# Whoever runs one of these learns of it by an error.
my @planted = ('CREATE SCHEMA evil', 'GRANT ALL ON SCHEMA evil TO PUBLIC');
for my $function (
	'now() timestamptz', 'clock_timestamp() timestamptz', 'nextval(regclass) int8', 'nextval(text) int8',
	'setval(regclass, int8) int8', 'setval(regclass, int8, bool) int8', 'current_database() name', 'pg_backend_pid() int4',
	'current_setting(text) text', 'lease_rows() int8', 'advisory_known() int8', 'sha256(bytea) bytea', 'to_jsonb(text) jsonb',
	'jsonb_populate_record(anyelement, jsonb) anyelement', 'jsonb_each(jsonb) jsonb', 'jsonb_object_keys(jsonb) text',
	'int8(text) int8', 'text(int8) text', 'format(text, text) text', 'quote_ident(text) text',
	'starts_with(text, text) bool', 'octet_length(text) int4')
{
	my ($signature, $type) = $function =~ /^(.*\)) (\w+)$/;
	$signature =~ s/(\w+)(?=[,)])/pg_catalog.$1/g;
	push @planted, "CREATE FUNCTION evil.$signature RETURNS pg_catalog.$type LANGUAGE plpgsql AS "
	  . q($$ BEGIN RAISE 'planted code ran as %', current_user; END $$);
}
for my $type (qw(text int8 int4 bool timestamptz name oid jsonb uuid interval), '"char"')
{
	my $argument = "pg_catalog.$type";
	(my $name = "op_$type") =~ s/\W//g;
	push @planted, "CREATE FUNCTION evil.$name($argument, $argument) RETURNS pg_catalog.bool LANGUAGE plpgsql AS "
	  . q($$ BEGIN RAISE 'planted code ran as %', current_user; END $$);
	push @planted, "CREATE OPERATOR evil.$_ (FUNCTION = evil.$name, LEFTARG = $argument, RIGHTARG = $argument)"
	  for qw(= < > <= >= <> || << |), '+';
}
push @planted, "CREATE TYPE evil.$_ AS ENUM ('planted')"
  for qw(text int8 int4 bool interval jsonb uuid timestamptz name regclass record);
my @relations = qw(leases lease_slots identity floor marks claims advisory_locks job pg_locks pg_class pg_database pg_proc pg_attribute
  pg_index pg_stat_activity pg_extension pg_namespace pg_roles pg_authid pg_trigger pg_inherits pg_depend name_rules);
push @planted, "CREATE TABLE evil.$_ (name pg_catalog.text, token pg_catalog.int8)" for @relations;
push @planted, 'CREATE SEQUENCE evil.token_sequence';
my @temporary = ((map { "CREATE TEMP TABLE $_ (name pg_catalog.text, token pg_catalog.int8)" } @relations),
	'CREATE TEMP SEQUENCE token_sequence',
	(map { "CREATE TYPE pg_temp.$_ AS ENUM ('planted')" } qw(text int8 bool interval jsonb uuid timestamptz)));

my @worker = (extra_params => [ '-U', 'worker' ]);
query($node, join(";\n", @planted), @worker);

# Calls and their answers. TOKEN is the token of the first call.
my @calls = (
	[
		q(SELECT gatepost.lease_acquire('NAME', '1 h', metadata => '{"a": 1}', owner => 'me',
			request_id => '00000000-0000-4000-8000-00000000000N')), undef
	],
	[ q(SELECT gatepost.lease_acquire('NAME', '1 h')), '' ],
	[ q(SELECT gatepost.lease_renew('NAME', TOKEN, '2 h')), 't' ],
	[ q(SELECT gatepost.lease_status('NAME', TOKEN)), 'held' ],
	[
		q(SELECT gatepost.fenced_update('public.job', '{"shop": "north", "id": 1}',
			'{"state": "NAME", "at": "2026-01-01"}', TOKEN)), 't'
	],
	[ q(SELECT gatepost.fenced_update('public.job', '{"shop": "north", "id": 9}', '{"state": "NAME"}', TOKEN)), 'f' ],
	[ q(CREATE TABLE evil.own_ROLE (id pg_catalog.int4, state pg_catalog.text, fence pg_catalog.int8)), '' ],
	[ q(SELECT gatepost.fence_protect('evil.own_ROLE', 'NAME')), '' ],
	[ q(CREATE TABLE evil.kid_ROLE () INHERITS (evil.own_ROLE)), '' ],
	[ q(BEGIN; SELECT gatepost.fence_use('NAME', TOKEN); INSERT INTO evil.own_ROLE VALUES (1, 'NAME'); INSERT INTO evil.kid_ROLE VALUES (1); COMMIT), '' ],
	[
		q(SELECT mode, lease, guarded FROM gatepost.fence_rows() WHERE relation OPERATOR(pg_catalog.=) 'evil.kid_ROLE'::pg_catalog.regclass),
		'lease|NAME|t'
	],
	[ q(SELECT gatepost.fence_protect('evil.own_ROLE', '{state}')), '' ],
	[ q(BEGIN; SELECT gatepost.fence_use('NAME', TOKEN); UPDATE ONLY evil.own_ROLE SET id = 2; DELETE FROM ONLY evil.own_ROLE; COMMIT), '' ],
	[ q(SELECT gatepost.fence_protect('evil.own_ROLE', 'NAME', 'fence')), '' ],
	[ q(BEGIN; SELECT gatepost.fence_use('NAME', TOKEN); INSERT INTO evil.own_ROLE VALUES (3); COMMIT), '' ],
	[ q(ALTER TABLE evil.kid_ROLE NO INHERIT evil.own_ROLE), '' ],
	[ q(SELECT fence OPERATOR(pg_catalog.=) TOKEN FROM ONLY evil.own_ROLE), 't' ],
	[ q(SELECT gatepost.fence_unprotect('evil.own_ROLE'), gatepost.fence_unprotect('evil.kid_ROLE')), '|' ],
	[ q(SELECT gatepost.lease_release('NAME', TOKEN)), 't' ],
	[ q(SELECT pg_catalog.count(*) FROM gatepost.refusals WHERE count OPERATOR(pg_catalog.<) 0), '0' ],
	[ q(SELECT pg_catalog.count(*) FROM gatepost.history WHERE token OPERATOR(pg_catalog.<) 0), '0' ],
	[ q(SELECT name, state FROM gatepost.leases ORDER BY token USING OPERATOR(pg_catalog.>) LIMIT 1), 'NAME|released' ],
	[ q(SELECT gatepost.try_advisory_xact_lock('NAME')), 't' ],
	[ q(SELECT gatepost.try_advisory_lock('NAME', '1 s', true)), 't' ],
	[ q(SELECT name, mode, scope FROM gatepost.advisory_locks), 'NAME|shared|session' ],
	[ q(SELECT gatepost.advisory_unlock('NAME', true)), '' ],
	[ q(SELECT gatepost.advisory_key('orders')), '2023957755765852388' ],
	[ q(SELECT gatepost.fence_advance('NAME', TOKEN)), 't' ],
	[ q(SELECT gatepost.fence_mark('NAME') OPERATOR(pg_catalog.=) TOKEN), 't' ],
	[ q(SELECT gatepost.fence_claim('NAME', 'key', TOKEN)), 't' ],
	[ q(SELECT gatepost.fence_claim('NAME', 'key', TOKEN)), 'f' ],
	[ q(SELECT gatepost.token_generation() OPERATOR(pg_catalog.>) 0), 't' ],
	[ q(SELECT gatepost.library_version() OPERATOR(pg_catalog.<>) ''), 't' ],
	[ q(CREATE TABLE evil.plain_ROLE (id pg_catalog.int4 CHECK (id OPERATOR(pg_catalog.>) 0))), '' ]);
my @of_administrators = (
	[ q(SELECT gatepost.rule_add('NAME/', 'worker', 'hold')), '' ],
	[ q(SELECT prefix, member, action FROM gatepost.rules), 'NAME/|worker|hold' ],
	[ q(SELECT gatepost.rule_drop('NAME/', 'worker', 'hold')), 't' ],
	[ q(SELECT gatepost.refusals_reset() OPERATOR(pg_catalog.>=) 0), 't' ],
	[ q(SELECT gatepost.lease_acquire('NAME, broken', '1 h') OPERATOR(pg_catalog.>) TOKEN), 't' ],
	[ q(SELECT gatepost.lease_break('NAME, broken') OPERATOR(pg_catalog.>) TOKEN), 't' ],
	[ q(SELECT gatepost.lease_purge('0', 'NAME, broken')), '1' ],
	[ q(SELECT gatepost.fence_purge('0', 'NAME')), '1' ],
	[ q(SELECT gatepost.token_draw() OPERATOR(pg_catalog.>) TOKEN), 't' ],
	[ q(SELECT gatepost.token_raise_generation(TOKEN) OPERATOR(pg_catalog.>) 0), 't' ]);

my $superuser = query($node, 'SELECT current_user');
my $number = 0;
for my $role ('worker', $superuser)
{
	for my $path ('evil, pg_temp, pg_catalog', 'pg_temp, evil, pg_catalog')
	{
		$number++;
		my $session = session($node, extra_params => [ '-U', $role ]);
		session_query($session, join '; ', @temporary);
		session_query($session, "SET search_path = $path");
		my $where = "$role, $path";
		is(session_error($session, "SELECT $_"), 'P0001', "$where: planted code runs where it is asked for: $_")
		  for q('a'::pg_catalog.text = 'b'::pg_catalog.text), '1::pg_catalog.int8 < 2::pg_catalog.int8', 'now()';
		my $token = 0;
		for my $call (@calls, $role eq $superuser ? @of_administrators : ())
		{
			my ($sql, $expected) = @$call;
			s/NAME/name $number/g, s/TOKEN/$token/g, s/0000N/0000$number/, s/ROLE/$number/g for $sql, $expected // ();
			my $answer = eval { session_query($session, $sql) } // "failed: $@";
			if (defined $expected) { is($answer, $expected, "$where: $sql"); next; }
			like($answer, qr/^\d+$/, "$where: $sql");
			$token = $answer;
		}
		my $guarded = q(CREATE TABLE evil.guarded (id pg_catalog.int4 CHECK (gatepost.lease_status('x', id) IS NOT NULL)));
		is( session_error($session, $guarded),
			'42P17', "$where: the guard of constraints");
		is(session_error($session, 'UPDATE gatepost.lease_slots SET token = 1'), $role eq 'worker' ? '42501' : '55000',
			"$where: the guard of rows");
		end_session($session);
	}
}

# The script, too.
my $session = session($node);
session_query($session, 'SET search_path = evil, pg_temp, pg_catalog');
session_query($session, 'DROP EXTENSION gatepost');
session_query($session, 'CREATE EXTENSION gatepost');
like(session_query($session, q(SELECT gatepost.lease_acquire('anew', '1 h'))), qr/^\d+$/, 'installed with that search_path');
end_session($session);

done_testing();

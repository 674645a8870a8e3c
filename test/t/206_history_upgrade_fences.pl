# pg_upgrade, by copying and by linking: what Gatepost keeps, and what it has put on the tables of others, is there afterwards
# and does its work. Leases of the same boot go on to their deadlines.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $old = server_to_upgrade('old');

# The first of two tokens of a name is superseded, the second current.
my %tokens;
for my $name ('report', 'order:1', 'stock')
{
	push @{ $tokens{$name} }, acquire($old, $name, '1 h');
	query($old, "SELECT gatepost.lease_release('$name', $tokens{$name}[0])");
	push @{ $tokens{$name} }, acquire($old, $name, '1 h');
}
my %ended = map { $_ => acquire($old, $_, $_ eq 'lapsed' ? '1 ms' : '1 h') } qw(lapsed released broken);
query($old, "BEGIN; SELECT gatepost.lease_release('released', $ended{released}); COMMIT");
query($old, q(SELECT gatepost.lease_break('broken')));

query($old, q(
	CREATE ROLE worker;
	GRANT USAGE ON SCHEMA gatepost TO worker;
	GRANT EXECUTE ON FUNCTION gatepost.lease_acquire, gatepost.lease_renew TO worker;
	SELECT gatepost.rule_add('worker/', 'worker', 'hold')));
my $workers = query($old, q(SET ROLE worker; SELECT gatepost.lease_acquire('worker/own', '1 h')));

query($old, q(
	CREATE TABLE report (id int PRIMARY KEY, body text);
	CREATE TABLE orders (id int, state text) PARTITION BY RANGE (id);
	CREATE TABLE orders_few PARTITION OF orders FOR VALUES FROM (0) TO (10);
	CREATE TABLE orders_many PARTITION OF orders FOR VALUES FROM (10) TO (1000) PARTITION BY RANGE (id);
	CREATE TABLE orders_most PARTITION OF orders_many FOR VALUES FROM (100) TO (1000);
	CREATE TABLE stock (id int PRIMARY KEY, amount int, fence bigint);
	SELECT gatepost.fence_protect('report', lease => 'report', exempt => '{worker}');
	SELECT gatepost.fence_protect('orders', lease => 'order:{id}');
	SELECT gatepost.fence_protect('stock', lease => 'stock', fence_column => 'fence')));

# What is protected, by which name, and one statement that writes it.
my @protected = (
	[ 'by lease', 'report', q(INSERT INTO report VALUES ((SELECT count(*) FROM report), 'written')) ],
	[ 'by template', 'order:1', q(INSERT INTO orders VALUES (1, 'written')) ],
	[ 'by column', 'stock', q(INSERT INTO stock VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET amount = 1) ]);

sub written { my ($name, $token, $sql) = @_; return "BEGIN; SELECT gatepost.fence_use('$name', $token); $sql; COMMIT"; }
query($old, written($_->[1], $tokens{ $_->[1] }[1], $_->[2])) for @protected;

my $outside = $tokens{report}[1];
query($old, "SELECT gatepost.fence_advance('printer', $outside), gatepost.fence_claim('printer', 'page 1', $outside)");

my $of_ours = q(IN (SELECT p.oid FROM pg_proc AS p WHERE p.pronamespace = 'gatepost'::regnamespace));
my %kept = (
	'leases' => q(SELECT name, token, deadline, ttl, boot, role::regrole, state FROM gatepost.lease_slots ORDER BY name),
	'rules' => q(SELECT prefix, member, action FROM gatepost.rules),
	'marks' => q(SELECT resource, issuer, token FROM gatepost.marks),
	'claims' => q(SELECT resource, key, token FROM gatepost.claims),
	'protected tables' => q(SELECT * FROM gatepost.fenced_tables ORDER BY relation::text),
	'triggers' => "SELECT tgrelid::regclass, tgname, tgtype, tgenabled, tgargs FROM pg_trigger
		WHERE tgfoid $of_ours ORDER BY tgrelid::regclass::text, tgname",
	'event triggers' => "SELECT evtname, evtevent, evttags, evtenabled FROM pg_event_trigger
		WHERE evtfoid $of_ours ORDER BY evtname",
	'grants' => q(SELECT proname, proacl FROM pg_proc WHERE pronamespace = 'gatepost'::regnamespace ORDER BY proname),
	# Types of rows are members from 17 on.
	'members' => q(SELECT pg_describe_object(classid, objid, objsubid) FROM pg_depend
		WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'gatepost') AND deptype = 'e'
			AND classid <> 'pg_type'::regclass ORDER BY 1),
	'tables to dump' => q(SELECT c.relation::regclass, e.extcondition[c.number]
		FROM pg_extension AS e, unnest(e.extconfig) WITH ORDINALITY AS c (relation, number)
		WHERE e.extname = 'gatepost' ORDER BY c.number),
	'columns of views' => q(SELECT c.relname, a.attname, a.atttypid::regtype FROM pg_class AS c, pg_attribute AS a
		WHERE c.relnamespace = 'gatepost'::regnamespace AND c.relkind = 'v' AND a.attrelid = c.oid AND a.attnum > 0
		ORDER BY c.relname, a.attnum));
my %before = map { $_ => query($old, $kept{$_}) } keys %kept;
my $last = query($old, 'SELECT gatepost.token_draw()');
is(query($old, 'SELECT count(*) FROM gatepost.fenced_tables WHERE NOT guarded'), 0,
	'before: every protected table is guarded');

chomp(my $share = `pg_config --sharedir`);
my $version = query($old, 'SELECT gatepost.library_version()');
my $script = "$share/extension/gatepost--$version--upgraded.sql";
PostgreSQL::Test::Utils::append_to_file($script, q(
	CREATE FUNCTION gatepost.added_later() RETURNS pg_catalog.int4 LANGUAGE sql RETURN 1;
));
END { unlink $script if defined $script; }

my %options = (copied => [], linked => ['--link']);
for my $how (qw(copied linked))
{
	my $new = upgrade($old, $how, @{ $options{$how} });
	$new->start;

	# Nothing has called yet.
	is(query($new, $kept{$_}), $before{$_}, "$how: as before: $_") for sort keys %kept;
	is(query($new, "SELECT count(*) FROM pg_trigger WHERE tgfoid $of_ours AND tgenabled <> 'A'"), 0,
		"$how: every trigger is always on");
	is(status($new, 'report', $tokens{report}[1]), 'held', "$how: a live lease is held");
	is(query($new, q(SELECT remaining BETWEEN interval '30 min' AND interval '1 h' FROM gatepost.leases WHERE name = 'report')),
		't', "$how: to its deadline");
	is(status($new, $_, $ended{$_}), $_, "$how: what was $_ is so") for sort keys %ended;
	is(query($new, 'SELECT count(*) FROM gatepost.advisory_locks'), 0, "$how: no advisory lock came along");

	# A refused call is the first.
	is(acquire($new, 'report', '1 h'), '', "$how: a held name is not granted");
	cmp_ok(query($new, 'SELECT gatepost.token_generation()'), '>', $last >> 34, "$how: the generation rose with that call");
	cmp_ok(acquire($new, 'fresh', '1 h'), '>', $last, "$how: tokens go on rising");
	is(query($new, "SET ROLE worker; SELECT gatepost.lease_renew('worker/own', $workers)"), 't',
		"$how: a lease belongs to its role");
	cmp_ok(query($new, q(SET ROLE worker; SELECT gatepost.lease_acquire('worker/other', '1 h'))), '>', $last,
		"$how: who is named by a rule holds its names");

	for my $case (@protected)
	{
		my ($kind, $name, $sql) = @$case;
		my ($stale, $current) = @{ $tokens{$name} };
		is(query_error($new, $sql), 'LG003', "$how: $kind: no token, no write");
		is(query_error($new, "SET session_replication_role = replica; $sql"), 'LG003', "$how: $kind: nor as a replica");
		is(query_error($new, written($name, $stale, $sql)), 'LG001', "$how: $kind: a superseded token is stale");
		is(query_error($new, written($name, $current, $sql)), '', "$how: $kind: the current one writes");
		is(query($new, "SELECT gatepost.lease_release('$name', $current)"), 't', "$how: $kind: it is released");
		my $next = acquire($new, $name, '1 h');
		cmp_ok($next, '>', $last, "$how: $kind: the name is granted anew");
		is(query_error($new, written($name, $current, $sql)), 'LG001', "$how: $kind: and the token of before is stale");
		is(query_error($new, written($name, $next, $sql)), '', "$how: $kind: and the new one writes");
	}
	my $changes = q('stock', '{"id": 1}', '{"amount": 2}');
	is(query_error($new, "SELECT gatepost.fenced_update($changes, $tokens{stock}[1])"), 'LG001',
		"$how: a row's mark refuses the token of before");
	is(query_error($new, q(SET ROLE worker; INSERT INTO report VALUES (0, 'exempt'))), '42501',
		"$how: who is exempt needs the table's rights all the same");

	# Tables outside.
	is(query($new, "SELECT gatepost.fence_advance('printer', $tokens{report}[0])"), 'f', "$how: a mark refuses what is lower");
	is(query($new, "SELECT gatepost.fence_claim('printer', 'page 1', $outside)"), 'f', "$how: a claim is not made twice");
	cmp_ok(query($new, 'SELECT gatepost.fence_mark(\'printer\')'), '==', $outside, "$how: and the mark is where it was");

	# The event triggers, and what belongs to the extension.
	query($new, 'CREATE TABLE orders_new PARTITION OF orders FOR VALUES FROM (1000) TO (2000)');
	is(query_error($new, q(INSERT INTO orders_new VALUES (1001, 'written'))), 'LG003', "$how: a new partition is protected");
	is(query_error($new, q(CREATE TABLE odd (id int CHECK (gatepost.lease_status('x', id) = 'held')))), '42P17',
		"$how: constraints are looked at");
	is(query_error($new, 'DROP FUNCTION gatepost.fence_by_lease() CASCADE'), '2BP01', "$how: no member is dropped alone");
	query($new, q(ALTER EXTENSION gatepost UPDATE TO 'upgraded'));
	is(query($new, 'SELECT gatepost.added_later()'), 1, "$how: the extension is updated");
	is(query($new, 'SELECT count(*) FROM gatepost.fenced_tables WHERE NOT guarded'), 0,
		"$how: and every protected table is guarded");
	$new->stop('fast');
}

done_testing();

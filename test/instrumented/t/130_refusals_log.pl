# One line of the log for each refusal, of one form whatever names and tables are called.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../../perl";
use Gatepost;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('log', allows_streaming => 1, conf => "log_line_prefix = '%m [%p] '\n");
query($node, q(
	CREATE FUNCTION refuse(relation oid, name text, token bigint, current bigint, reason "char") RETURNS void
	LANGUAGE c AS '$libdir/gatepost', 'gatepost_test_refuse';
	CREATE FUNCTION refused(relation oid, name text, token bigint, current bigint, reason "char") RETURNS text
	LANGUAGE plpgsql AS $$
	BEGIN
	  PERFORM refuse(relation, name, token, current, reason);
	EXCEPTION WHEN OTHERS THEN
	  RETURN SQLSTATE;
	END $$));

# What this session writes to the log while it asks for SQL, without the prefix.
my $session = session($node);
my $pid = session_query($session, q(SET application_name = 'worker'; SELECT pg_backend_pid()));

sub written
{
	my ($sql) = @_;
	my $before = -s $node->logfile;
	session_query($session, $sql);
	my $log = slurp_file($node->logfile, $before);
	# A line that does not begin with the prefix goes with the one before.
	return map { s/^\S+ \S+ \S+ \[$pid\] //r } grep { !/^\S+ \S+ \S+ \[(?!$pid\])\d+\] / } split /\n/, $log;
}
my $value = qr/(?:none|"(?:[^"\\[:cntrl:]]|\\["\\nrt]|\\x[0-9a-f]{2})*"(?:\.\.\.)?)/;
my $form = qr/^LOG:  write refused: table $value, name $value, token (?:\d+|none), current (?:\d+|none), reason [a-z_]+, role $value, pid $pid, application $value$/;

query($node, q(CREATE SCHEMA app; CREATE TABLE app.orders (); CREATE TABLE app."Odd.""one"""();));
is( join('|', written(q(SELECT refused('app.orders'::regclass, 'nightly', 41, 42, 's')))),
	qq(LOG:  write refused: table "app.orders", name "nightly", token 41, current 42, reason stale_token, role "@{[ query($node, 'SELECT current_user') ]}", pid $pid, application "worker"),
	'the form');
like((written(q(SELECT refused(NULL, NULL, NULL, NULL, 'r'))))[0],
	qr/table none, name none, token none, current none, reason token_required/, 'nothing known');
like((written(q(SELECT refused(1, 'x', 41, NULL, 'h'))))[0],
	qr/table none, name "x", token 41, current none, reason lease_not_held/, 'a table that is gone');
like((written(q(SELECT refused('app."Odd.""one"""'::regclass, 'größe/订单', 41, 42, 'u'))))[0],
	qr/table "app.\\"Odd.\\"\\"one\\"\\"\\"", name "größe\/订单", token 41, current 42, reason unknown_token/,
	'quotes, and letters of any language');

# Nobody forges a line, or hides one.
my $forged = q(x", token 41, current 42, reason stale_token, role "app", pid 1, application "worker");
my %hostile = (
	'a line break' => "x\\n$forged",
	'a prefix' => "x\\n2026-01-01 00:00:00.000 UTC [1] LOG:  write refused: table none, name \"$forged",
	'carriage return' => "x\\r$forged",
	'an end of the quotes' => $forged,
	'a backslash before the quotes' => "x\\\\\\\\\", token 1",
	'escape sequences of a terminal' => 'x\\x1b[2K\\x1b[1A\\x07\\x7f',
	'C1 controls' => 'x\\u0085\\u009b2K',
	'line separators' => 'x\\u2028\\u2029',
	'directions' => 'x\\u202e\\u2066\\u200f',
	'nothing but backslashes' => '\\\\' x 200,
	'many bytes' => 'ä' x 500);
for my $what (sort keys %hostile)
{
	(my $literal = $hostile{$what}) =~ s/'/''/g;
	my @lines = written("SELECT refused('app.orders'::regclass, E'$literal', 41, 42, 's')");
	is(scalar(@lines), 1, "$what: one line");
	like($lines[0], $form, "$what: of the form");
	cmp_ok(length $lines[0], '<', 1000, "$what: not long");
}
for my $what (sort keys %hostile)
{
	(my $name = $hostile{$what}) =~ s/'/''/g;
	session_query($session, qq(
		DO \$do\$ BEGIN
		  EXECUTE format('CREATE TABLE app.%I ()', left(E'$name', 30));
		  EXECUTE format('CREATE ROLE %I SUPERUSER', left(E'$name', 30));
		  EXECUTE format('SET ROLE %I', left(E'$name', 30));
		  EXECUTE format('SET application_name = %L', left(E'$name', 30));
		END \$do\$));
	my @lines = written("SELECT refused(('app.' || quote_ident(left(E'$name', 30)))::regclass, 'x', 41, 42, 's')");
	is(scalar(@lines), 1, "$what in table, role, application: one line");
	like($lines[0], $form, "$what in table, role, application: of the form");
	session_query($session, q(RESET ROLE));
}

# Switched off, and back; what is counted stays the same.
session_query($session, 'SELECT gatepost.refusals_reset()');
is(join('|', written(q(SET gatepost.log_refusals = off; SELECT refused(NULL, 'x', 1, 2, 's')))), '', 'off: no line');
is(query($node, 'SELECT name, count FROM gatepost.refusals'), 'x|1', 'off: counted');
is(scalar(written(q(RESET gatepost.log_refusals; SELECT refused(NULL, 'x', 1, 2, 's')))), 1, 'on again');

# What cannot be counted says so, beside the refusal's own line.
my @lines = written(q(
	BEGIN;
	ALTER TABLE gatepost.refusal_counters ADD more int;
	SELECT refused(NULL, 'x', 1, 2, 's');
	ROLLBACK));
is(scalar(@lines), 2, 'not counted: two lines');
like($lines[0], $form, '... of the refusal');
like($lines[1], qr/^LOG:  write refusal not counted: "relation gatepost.refusal_counters is not as/, '... and of the trouble');

# On a standby nothing is counted or told.
my $standby = new_standby('standby', $node);
$node->wait_for_catchup($standby);
my $before = -s $standby->logfile;
is(query($standby, q(SELECT refused(NULL, 'standby', 1, 2, 's'))), 'LG001', 'a standby refuses');
unlike(slurp_file($standby->logfile, $before), qr/write refus/, 'without a line');
is(query($standby, q(SELECT count(*) FROM gatepost.refusals WHERE name = 'standby')), 0, 'or a count');
$session->quit;

done_testing();

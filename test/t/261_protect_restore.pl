# Dumps carry protection: a whole one is loaded before its triggers are made, and protected from then on; data alone meets
# the protection that is there.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Gatepost::Protection;
use Test::More;

my $node = new_server('restore');
my $directory = PostgreSQL::Test::Utils::tempdir();
my $dump = "$directory/dump";
make_tables($node);
query($node, qq(INSERT INTO "$_".orders VALUES (1, 'north', 'old', 5), (1, 'south', 'old', NULL))) for @kinds;
protect_tables($node);
query($node, q(CREATE ROLE regress_loader; SELECT gatepost.fence_protect('lease.orders', 'order:1', exempt => '{regress_loader}')));
$node->command_ok([ 'pg_dump', '--format=custom', "--file=$dump", $node->connstr('postgres') ], 'dumped');

# pg_restore into a database. Result: its exit status and complaints.
sub restore
{
	my ($database, @options) = @_;
	my ($out, $err) = ('', '');
	IPC::Run::run([ 'pg_restore', '--exit-on-error', @options, '--dbname=' . $node->connstr($database), $dump ], '>', \$out, '2>', \$err);
	return ($? >> 8, $err);
}
sub protection
{
	my ($database) = @_;
	return query($node, q(SELECT string_agg(f::text, ' ' ORDER BY relation::text) FROM gatepost.fenced_tables f), dbname => $database)
	  . query($node, q(SELECT string_agg(tgrelid::regclass || ' ' || regexp_replace(tgname, '[0-9]+', '') || ' ' || tgenabled::text, ', '
	    ORDER BY tgrelid::regclass::text, tgname) FROM pg_trigger WHERE tgname LIKE 'zz%'), dbname => $database);
}
my $protection = protection('postgres');
like($protection, qr/regress_loader.* A\b/s, 'protected, always');
unlike($protection, qr/,f,| [ODR]\b/, '... and without gaps');

my %seen;
query($node, 'CREATE DATABASE whole');
my ($status, $complaints) = restore('whole');
is($status, 0, "all is restored: $complaints");
is(protection('whole'), $protection, '... with its protection');
for my $kind (@kinds)
{
	my $rows = query($node, qq(SELECT count(*) FROM "$kind".orders), dbname => 'whole');
	$seen{'pg_restore'}{$kind} = [ $rows == 2 ? 'passes' : $rows, '-', '-' ];
	is(query_error($node, qq(UPDATE "$kind".orders SET v = 'new'), dbname => 'whole'), 'LG003', "protected from then on: $kind");
}

# A database with the tables, leases, and no rows.
my %token;
sub empty_database
{
	my ($database) = @_;
	query($node, "CREATE DATABASE $database");
	is((restore($database, '--schema-only'))[0], 0, "$database: the schema alone");
	is(protection($database), $protection, "$database: ... with its protection");
	$token{$database}{$_} = acquire($node, $_, '1 h', dbname => $database) for 'older', 'order:1';
	return;
}
sub outcome
{
	my ($database, $kind, $status, $complaints, $token) = @_;
	my $rows = query($node, qq(SELECT count(*) FROM "$kind".orders), dbname => $database);
	return 'refused' if $status != 0 && $rows == 0 && $complaints =~ /no token .*in use/;
	return "$status, $rows rows: $complaints" if $status != 0 || $rows != 2;
	my $stamped = query($node, qq(SELECT count(*) = 2 FROM "$kind".orders WHERE fence = $token), dbname => $database);
	return $stamped eq 't' ? 'stamped' : 'passes';
}
# The data of one kind's tables as a script, in one transaction with a use.
sub load_using
{
	my ($database, $kind, $lease) = @_;
	my $file = "$directory/$database.$kind.sql";
	my ($out, $err) = ('', '');
	$node->command_ok([ 'pg_restore', '--data-only', "--schema=$kind", "--file=$file", $dump ], "$database, $kind: a script");
	IPC::Run::run(
		[ 'psql', '-X', '-q', '-1', '-v', 'ON_ERROR_STOP=1', '-c', "SELECT gatepost.fence_use('$lease', $token{$database}{$lease})", '-f', $file,
			$node->connstr($database) ], '>', \$out, '2>', \$err);
	return outcome($database, $kind, $? >> 8, $err, $token{$database}{$lease});
}
empty_database('data');
empty_database('older');
empty_database('disabled');
for my $kind (@kinds)
{
	my $without = outcome('data', $kind, restore('data', '--data-only', "--schema=$kind"), 0);
	my $used = load_using('data', $kind, 'order:1');
	my $stale = $kind eq 'column' ? load_using('older', $kind, 'older') : '-';
	$seen{'pg_restore --data-only'}{$kind} = [ $without, $used, $stale ];

	my @restored = restore('disabled', '--data-only', '--disable-triggers', "--schema=$kind");
	$seen{'pg_restore --data-only --disable-triggers'}{$kind} = [ outcome('disabled', $kind, @restored, 0), '-', '-' ];
	is(query_error($node, qq(UPDATE "$kind".orders SET v = 'new'), dbname => 'disabled'), 'LG003', "protected afterwards: $kind");
}
is(protection('disabled'), $protection, 'triggers that were off are on again, always');
my ($refused) = restore('older', '--data-only', '--schema=lease');
isnt($refused, 0, 'data alone is refused');
query($node, 'GRANT USAGE ON SCHEMA lease TO regress_loader; GRANT ALL ON lease.orders TO regress_loader', dbname => 'older');
is((restore('older', '--data-only', '--schema=lease', '--role=regress_loader'))[0], 0, '... but not to an exempt role');

for my $cell (expected_cells())
{
	my ($write, $kind, @outcomes) = @$cell;
	is_deeply(delete $seen{$write}{$kind}, [ @outcomes[ 0 .. 2 ] ], "$write: $kind");
}
is_deeply([ map { keys %$_ } values %seen ], [], 'the list has every cell');

done_testing();

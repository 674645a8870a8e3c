# The security matrix: every object of the extension x attempt x role, test/security/matrix.tsv. Every cell is run and
# undone; its answer is a value, "done", or the SQLSTATE. An object without a row is a failure.
#
# What a row says about a role that the two lists of docs/reference.md do not serve is what an attacker with that role gets.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $security = "$FindBin::RealBin/../security";

sub text_of
{
	my ($file) = @_;
	open my $in, '<', $file or die "$file: $!";
	local $/;
	return scalar <$in>;
}

# The lists as the document grants them, to the matrix's roles.
my $reference = text_of("$FindBin::RealBin/../../docs/reference.md");

sub list
{
	my ($name, $roles) = @_;
	my ($sql) = $reference =~ /^<!-- grants: $name -->\n```sql\n(.*?)^```$/ms or die "no list for $name";
	my ($role) = $sql =~ /^CREATE ROLE (\w+);\n/m;
	return $sql =~ s/^CREATE ROLE .*\n//mr =~ s/\b$role\b/$roles/gr;
}

my $node = new_server('matrix', conf => "gatepost.history_retention = '1 d'\n");
my ($roles, $objects) = split /^-- With the lists granted:\n/m, text_of("$security/setup.sql");
query($node, $roles);
query($node, list('user', 'stranger, holder') . list('administrator', 'administrator'));
query($node, $objects);

my ($header, @rows) = map { [ split /\t/, $_, -1 ] } split /\n/, text_of("$security/matrix.tsv");
my @who = @$header[ 3 .. $#$header ];
my %token = map { split /\|/ } split /\n/, query($node, 'SELECT * FROM sec.tokens');
my $words = join '|', sort keys %token;

# A session for each role would be another one for each statement: one session answers a row at a time.
my $session = session($node);
my $number = 0;
my (%shown, @printed);
for my $row (@rows)
{
	my ($object, $attempt, $statement, @expected) = @$row;
	$shown{$object} = 1;
	my @calls = map {
		$number++;
		my $sql = $statement =~ s/\b($words)\b/$token{$1}/gr =~ s/\bNAME\b/sec\/$number/gr;
		"(sec.outcome('$_', \$sql\$$sql\$sql\$))";
	} @who;
	my @answers = split /\|/, session_query($session, 'SELECT ' . join(', ', @calls)), -1;
	push @printed, join "\t", $object, $attempt, $statement, @answers;
	is_deeply(\@answers, \@expected, "$object: $attempt")
	  or diag('answered: ', join ', ', map { $answers[$_] eq $expected[$_] ? () : "$who[$_] $answers[$_]" } 0 .. $#who);
}
end_session($session);
# As it would have to be for this server to pass.
PostgreSQL::Test::Utils::append_to_file("$ENV{SECURITY_MATRIX}", join("\n", join("\t", @$header), @printed) . "\n")
  if defined $ENV{SECURITY_MATRIX};

my @objects = split /\n/, query(
	$node, q(
	SELECT CASE d.classid WHEN 'pg_proc'::regclass THEN 'function ' || (SELECT proname FROM pg_proc WHERE oid = d.objid)
		WHEN 'pg_class'::regclass THEN (SELECT CASE relkind WHEN 'r' THEN 'table ' WHEN 'v' THEN 'view ' WHEN 'S' THEN 'sequence '
			ELSE relkind::text || ' ' END || relname FROM pg_class WHERE oid = d.objid)
		ELSE i.type || ' ' || i.identity END
	FROM pg_depend AS d, pg_identify_object(d.classid, d.objid, 0) AS i
	WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
		AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'gatepost') AND i.type NOT IN ('type', 'composite type')));
ok(@objects > 40, 'the objects of the extension are known');
ok($shown{$_}, "$_ has a row") for @objects;
# Neither does what has been tried stay, nor is a lock kept.
is(query($node, q(SELECT string_agg(name || ' ' || state, ', ' ORDER BY name) FROM gatepost.leases)),
	'sec/held held, sec/pool held, sec/released released, sec/strange held, shut/held held, shut/pool held', 'nothing of it stays');
no_lock_left($node, 'no lock stays');

done_testing();

# docs/monitoring: the queries run as a member of pg_monitor, name exactly the columns that there are, as they are described
# in the database, and the alert rules name no metric that is not exported.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

sub text_of
{
	my ($file) = @_;
	open my $in, '<', "$FindBin::RealBin/../../docs/monitoring/$file" or die "$file: $!";
	local $/;
	return scalar <$in>;
}

my $node = new_server('monitoring');
query($node, 'CREATE ROLE exporter LOGIN IN ROLE pg_monitor');

my %exported;
my @namespaces = text_of('queries.yaml') =~ /^(\w+):\n(.*?)(?=^\w|\z)/msg;
is(scalar @namespaces, 4, 'two namespaces');
while (my ($namespace, $body) = splice @namespaces, 0, 2)
{
	my ($query) = $body =~ /^  query: "(.*)"$/m;
	my @columns = $body =~ /^    - (\w+):$/mg;
	my %usage = $body =~ /^    - (\w+):\n        usage: "(\w+)"$/mg;
	is(join(' ', sort keys %usage), join(' ', sort @columns), "$namespace: every column has a usage");
	is_deeply([ grep { $usage{$_} !~ /^(?:COUNTER|GAUGE|LABEL)$/ } @columns ], [], "$namespace: usages that the exporter knows");
	is_deeply([ grep { ($usage{$_} eq 'COUNTER') != /_total$/ } @columns ], [], "$namespace: counters are called so");

	# A view of the query says what its columns are, and the exporter gets its rows.
	query($node, "CREATE VIEW $namespace AS $query");
	is(query($node, "SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = '$namespace'::regclass AND attnum > 0"),
		join(' ', @columns), "$namespace: the columns are those of the query");
	is(query($node, "SELECT count(*) FROM pg_attribute WHERE attrelid = '$namespace'::regclass AND attnum > 0 AND attname <> 'severity' AND atttypid NOT IN ('int8'::regtype, 'float8'::regtype)"),
		0, "$namespace: numbers");
	my @rows = split /\n/, query($node, $query, extra_params => [ '-U', 'exporter' ]);
	is(scalar @rows, $namespace eq 'gatepost' ? 1 : 3, "$namespace: a member of pg_monitor gets it");

	my %description = $body =~ /^    - (\w+):\n.*\n        description: "(.*)"$/mg;
	for my $column ($namespace eq 'gatepost' ? @columns : ())
	{
		is($description{$column}, query($node, "SELECT col_description(attrelid, attnum) FROM pg_attribute WHERE attrelid = 'gatepost.stats'::regclass AND attname = '$column'"),
			"$column is described as in the database");
	}
	$exported{"${namespace}_$_"} = 1 for grep { $usage{$_} ne 'LABEL' } @columns;
}

my $alerts = text_of('alerts.yaml');
my @expressions = $alerts =~ /^        expr: (.*)$/mg;
cmp_ok(scalar @expressions, '>', 5, 'alert rules');
is(scalar @expressions, scalar(() = $alerts =~ /^      - alert: /mg), 'each with an expression');
my %named = map { $_ => 1 } map { /\b(gatepost_\w+)/g } @expressions;
# That one is of gatepost metrics --listen alone, whose test asks for it.
is_deeply([ grep { !$exported{$_} && $_ ne 'gatepost_up' } sort keys %named ], [], 'every metric of an alert is exported');
is_deeply([ grep { !/\bgatepost_\w+/ } @expressions ], [], 'and every expression names one');

# What is NULL while no history is kept is absent there.
query($node, "SELECT gatepost.lease_acquire('held', '1 h')");
my @absent = map { "gatepost_$_" } split /\n/, query($node,
	"SELECT attname FROM pg_attribute, gatepost.stats WHERE attrelid = 'gatepost.stats'::regclass AND attnum > 0 AND to_jsonb(stats)->>attname IS NULL AND attname <> 'oldest_keeper_seconds'");
is("@absent", 'gatepost_takeovers gatepost_breaks', 'what is absent without a history');
my $absent = join '|', @absent;
is_deeply([ grep { !grep { !/\b(?:$absent)\b/ } split / or / } @expressions ], [], 'no alert is blind without one');
for my $metric (qw(gatepost_up gatepost_waiters gatepost_waiters_outside gatepost_leases_lapsed gatepost_takeovers))
{
	ok($named{$metric}, "there is an alert for $metric");
}
$node->stop;

done_testing();

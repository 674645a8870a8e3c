# What programs in node do to protected tables, by node-postgres and by Knex, directly and behind PgBouncer in
# transaction mode: test/orm; and the examples of docs/with-an-orm.md. The packages come by "scripts/build.sh orm";
# without them, or without node, this test fails.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Gatepost::Pooler;
use Test::More;

my $project = "$FindBin::RealBin/../..";
$ENV{NODE_PATH} = "$project/build/orm/node_modules";
if (!-d $ENV{NODE_PATH})
{
	fail("node's packages are there");
	diag("scripts/build.sh orm installs them by npm, once, and needs the network for it");
	done_testing();
	exit;
}

my $node = new_server('orm');
my $user = query($node, 'SELECT current_user');
my %way = (directly => [ $node->host, $node->port ], pooled => [ start_pooler($node, connections => 2) ]);

# Runs a script with a database of its own; each of its tests is one here.
sub node_tests
{
	my ($script, $way) = @_;
	my $database = "${script}_$way";
	query($node, "CREATE DATABASE $database");
	query($node, 'CREATE EXTENSION gatepost', dbname => $database);
	local @ENV{qw(PGHOST PGPORT PGUSER PGDATABASE)} = (@{ $way{$way} }, $user, $database);
	my $output = qx(node --test-reporter=tap '$project/test/orm/$script.js' 2>&1);
	my $status = $?;
	my @results = $output =~ /^((?:not )?ok \d+ - .*\n(?:[ \t].*\n)*)/mg;
	for my $result (@results)
	{
		my ($not, $name) = $result =~ /^(not )?ok \d+ - (.*)/;
		# Nothing may be left out.
		ok(!$not && $name !~ /# (?:SKIP|TODO)/i, "$script, $way: $name") or diag($result);
	}
	ok(@results && $status == 0, "$script, $way: has run to its end") or diag($output);
	return;
}

node_tests('node_postgres', $_) for qw(directly pooled);
node_tests('knex', $_) for qw(directly pooled);
node_tests('pooler', 'pooled');
$ENV{DOCUMENT} = "$project/docs/with-an-orm.md";
node_tests('examples', $_) for qw(directly pooled);

done_testing();

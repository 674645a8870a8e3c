# 16 sessions ask for the same brand-new names: each name is granted once, everybody else is told that it is busy, and
# nobody meets an error.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('fresh');
query($node, 'CREATE UNLOGGED TABLE answers (name text, token bigint)');

# Every client walks through the names in one order, so they meet at each.
my %script = (
	autocommit => q(
\set n :n + 1
INSERT INTO answers SELECT 'autocommit-' || :n, gatepost.lease_acquire('autocommit-' || :n, '1 h');
),
	transaction => q(
\set n :n + 1
BEGIN;
SELECT coalesce(gatepost.lease_acquire('transaction-' || :n, '1 h'), 0) AS token \gset
INSERT INTO answers VALUES ('transaction-' || :n, nullif(:token, 0));
COMMIT;
));
for my $how (sort keys %script)
{
	my $names = 1000;
	my $all = 16 * $names;
	$node->pgbench(
		"--no-vacuum --client=16 --jobs=2 --transactions=$names --define=n=0",
		0, [qr{processed: $all/$all}], [qr{^(?!.*error)}si],
		"$how: 16 sessions, $names fresh names, no error",
		{ "090_$how" => $script{$how} });
	is( query($node, qq(
			SELECT count(*) FROM (
				SELECT FROM answers WHERE name LIKE '$how-%'
				GROUP BY name HAVING count(token) = 1 AND count(*) = 16) once)),
		$names,
		"$how: each name is granted to one of 16");
}
is(query($node, 'SELECT count(*) - count(DISTINCT token) FROM answers WHERE token IS NOT NULL'), 0, 'no token was given twice');
is( query($node, q(SELECT count(*) FROM answers JOIN gatepost.leases USING (name, token) WHERE state = 'held')),
	2000,
	'and each is the one that holds its name');
no_lock_left($node, 'no lock is left');

done_testing();

# Tables under each kind of protection, and what the list of cells says becomes of writes to them.
package Gatepost::Protection;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use FindBin;

use Gatepost::Session;

our @EXPORT = qw(@kinds make_tables protect_tables expected_cells);

our @kinds = qw(lease tree template column);

# KIND.orders, all of whose rows are of lease 'order:1'. Partitioned for the kind tree.
sub make_tables
{
	my ($node, %option) = @_;
	my $columns = '(id int, place text, v text, fence bigint, PRIMARY KEY (id, place))';
	my $sql = join '', map { "CREATE SCHEMA \"$_\"; CREATE TABLE \"$_\".orders $columns" . ($_ eq 'tree' ? ' PARTITION BY LIST (place);' : ';') } @kinds;
	$sql .= "CREATE TABLE tree.orders_$_ PARTITION OF tree.orders FOR VALUES IN ('$_');" for qw(north south);
	query($node, $sql, %option);
	return;
}

sub protect_tables
{
	my ($node, %option) = @_;
	query($node, "SELECT gatepost.fence_protect('$_.orders', 'order:1')", %option) for qw(lease tree);
	query($node, q(SELECT gatepost.fence_protect('template.orders', 'order:{id}')), %option);
	query($node, q(SELECT gatepost.fence_protect('"column".orders', NULL, 'fence')), %option);
	return;
}

# The cells of test/matrix/protection.tsv that name the running test, as [write, kind, without, used, stale].
sub expected_cells
{
	my $file = "$FindBin::RealBin/../matrix/protection.tsv";
	open my $in, '<', $file or die "$file: $!";
	my @cells = map { chomp; [ split /\t/ ] } <$in>;
	return grep { $_->[5] eq "test/t/$FindBin::RealScript" } @cells;
}

1;

# What a logical worker brings, by its first copy or applied, was judged where it was written and passes; marks come as
# they are. Everybody else on the subscriber needs a use.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Gatepost::Protection;
use Test::More;

my $publisher = new_server('publisher', allows_streaming => 'logical');
my $subscriber = new_server('subscriber');
make_tables($_) for $publisher, $subscriber;
protect_tables($subscriber);
query($publisher, qq(INSERT INTO "$_".orders VALUES (1, 'north', 'old', 5), (2, 'south', 'old', 5))) for @kinds;
my $connection = $publisher->connstr('postgres') =~ s{'}{''}gr;
query($publisher, 'CREATE PUBLICATION orders FOR TABLE ' . join ', ', map { qq("$_".orders) } @kinds);

sub rows { return query($_[0], qq(SELECT string_agg(o::text, ' ' ORDER BY id) FROM "$_[1]".orders o)); }

# Both as the publisher has them, and what was to change has changed.
sub passes
{
	my ($kind, $expected) = @_;
	my $rows = rows($subscriber, $kind);
	return $rows eq rows($publisher, $kind) && $rows eq $expected ? 'passes' : $rows;
}

my %seen;
query($subscriber, "CREATE SUBSCRIPTION sub CONNECTION '$connection' PUBLICATION orders");
$subscriber->wait_for_subscription_sync($publisher, 'sub');
$seen{'logical replication, first copy'}{$_} = passes($_, '(1,north,old,5) (2,south,old,5)') for @kinds;

query(
	$publisher, qq(
	INSERT INTO "$_".orders VALUES (3, 'north', 'new', 7);
	UPDATE "$_".orders SET v = 'new', fence = 6 WHERE id = 1;
	UPDATE "$_".orders SET place = 'north' WHERE id = 2;
	DELETE FROM "$_".orders WHERE id = 3)) for @kinds;
$publisher->wait_for_catchup('sub');
$seen{'logical replication, applied'}{$_} = passes($_, '(1,north,new,6) (2,north,old,5)') for @kinds;
query($publisher, qq(TRUNCATE "$_".orders; INSERT INTO "$_".orders VALUES (1, 'south', 'again', 8))) for @kinds;
$publisher->wait_for_catchup('sub');
is(passes($_, '(1,south,again,8)'), 'passes', "TRUNCATE is applied: $_") for @kinds;

for my $cell (expected_cells())
{
	my ($write, $kind, $without) = @$cell;
	is(delete $seen{$write}{$kind}, $without, "$write: $kind");
}
is_deeply([ map { keys %$_ } values %seen ], [], 'the list has every cell');
is(query_error($subscriber, qq(UPDATE "$_".orders SET v = 'mine')), 'LG003', "a user of the subscriber is refused: $_") for @kinds;

done_testing();

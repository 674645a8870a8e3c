# Two standbys of one server are promoted apart, then a standby of the first is promoted in turn: each draws above all
# that came before it in its own history.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $primary = new_server('primary', allows_streaming => 1);
my %node = map { $_ => new_standby($_, $primary) } qw(left right);

query($primary, 'CREATE TABLE job (id int PRIMARY KEY, worker text, fence bigint); INSERT INTO job VALUES (1)');
my $old = acquire($primary, 'x', '1 s');
is(query($primary, qq(SELECT gatepost.fenced_update('job', '{"id": 1}', '{"worker": "old"}', $old))), 't', 'a fenced write');
$primary->wait_for_catchup($_) for values %node;

# The old primary lives on: nothing told it.
my %token;
for my $side (qw(left right))
{
	finish_promotion($node{$side});
	$node{$side}->poll_query_until('postgres', "SELECT gatepost.lease_status('x', $old) = 'lapsed'")
	  or die 'the lease does not lapse';
	$token{$side} = acquire($node{$side}, 'x', '1 h');
	cmp_ok($token{$side}, '>', $old, "$side: the name is granted with a larger token");
}
my $still = acquire($primary, 'y', '1 h');
cmp_ok($still, '<', $token{$_}, "the old primary's next token is below that of $_") for qw(left right);

for my $side (qw(left right))
{
	my $update = q(SELECT gatepost.fenced_update('job', '{"id": 1}', '{"worker": "%s"}', %s));
	is(query($node{$side}, sprintf $update, $side, $token{$side}), 't', "$side: its holder writes");
	is(query_error($node{$side}, sprintf $update, 'old', $old), 'LG001', "$side: the old holder's write is refused");
}

my $third = new_standby('third', $node{left});
$node{left}->wait_for_catchup($third);
my $generation = query($third, 'SELECT gatepost.token_generation()');
my $highest = query($node{left},
	q(SELECT max(gatepost.lease_acquire('left-' || n, '1 h')) FROM generate_series(1, 300) n));
$node{left}->stop('immediate');
finish_promotion($third);
cmp_ok(acquire($third, 'fresh', '1 h'), '>', $highest, 'the second promotion draws above the first');
cmp_ok(query($third, 'SELECT gatepost.token_generation()'), '>', $generation, 'its generation is higher');

done_testing();

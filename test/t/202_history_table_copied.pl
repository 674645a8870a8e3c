# A table is copied in from a server whose tokens are of another history. Its marks shut its rows to the tokens of here, until
# the generation is raised above them; from then on the rows are as any others, also after a crash.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my %node = map { $_ => new_server($_) } qw(there here);
my $file = PostgreSQL::Test::Utils::tempdir() . '/job';
query($_, 'CREATE TABLE job (id int PRIMARY KEY, worker text, fence bigint)') for values %node;
query($node{there}, 'INSERT INTO job SELECT n FROM generate_series(1, 4) n');

sub write_error
{
	my ($node, $id, $token) = @_;
	return query_error($node, qq(SELECT gatepost.fenced_update('job', '{"id": $id}', '{"worker": "$token"}', $token)));
}

# Row 1: written long ago. Row 2: of a generation that is far ahead. Row 3: of the one after that. Row 4: never.
my $low = acquire($node{there}, 'low', '1 h');
is(write_error($node{there}, 1, $low), '', 'row 1 is written there');
query($node{there}, 'SELECT gatepost.token_raise_generation(gatepost.token_draw() + (1000::bigint << 34))');
my $middle = acquire($node{there}, 'middle', '1 h');
is(write_error($node{there}, 2, $middle), '', 'row 2 is written there');
query($node{there}, 'SELECT gatepost.token_raise_generation()');
my $high = acquire($node{there}, 'high', '1 h');
is(write_error($node{there}, 3, $high), '', 'row 3 is written there');

my $held = acquire($node{here}, 'held', '1 h');
query($node{there}, "COPY job TO '$file'");
query($node{here}, "COPY job FROM '$file'");
my $own = acquire($node{here}, 'own', '1 h');
cmp_ok($own, '<', $middle, 'tokens of here are below the marks');

# Shut, with an error that names both numbers or says that the token is of elsewhere.
is(write_error($node{here}, 4, $own), '', 'a row without a mark takes a token of here');
is(write_error($node{here}, $_, $own), 'LG001', "row $_ is shut to tokens of here") for 2, 3;
for my $token ($middle, $high)
{
	is(write_error($node{here}, $_, $token), 'LG004', "row $_ is shut to tokens of elsewhere") for 1 .. 4;
}
is(query($node{here}, q(SELECT count(*) FROM job WHERE fence = worker::bigint)), 4, 'and nothing was written with any');

# Raised above the lower mark only: the higher one still shuts its row.
my $generation = query($node{here}, "SELECT gatepost.token_raise_generation($middle)");
is($generation, ($middle >> 34) + 1, 'raised above the lower mark');
my $between = acquire($node{here}, 'between', '1 h');
is(write_error($node{here}, 2, $between), '', 'row 2 takes the tokens of here');
is(write_error($node{here}, 2, $middle), 'LG001', 'and those of elsewhere are stale');

# Raised above all marks, as the manual says.
my $raised = query($node{here}, 'SELECT gatepost.token_raise_generation((SELECT max(fence) FROM job))');
cmp_ok($raised, '>', $high >> 34, 'raised above all marks');
is(query($node{here}, 'SELECT gatepost.token_generation()'), $raised, 'and token_generation() says so');
$node{here}->stop('immediate');
start_server($node{here});
my $token = acquire($node{here}, 'after a crash', '1 h');
cmp_ok($token, '>', $high, 'after a crash tokens are above all marks');
is(write_error($node{here}, $_, $token), '', "row $_ takes it") for 1 .. 4;
is(write_error($node{here}, 3, $high), 'LG001', 'the highest of elsewhere is stale');
is(write_error($node{here}, 3, $own), 'LG001', 'and so is what was drawn here before');

# Leases of here are as they were, and a table without marks raises by one, as no argument does.
is(query($node{here}, "SELECT gatepost.lease_renew('held', $held)"), 't', 'a lease from before is renewed with its token');
query($node{here}, 'TRUNCATE job');
is(query($node{here}, 'SELECT gatepost.token_raise_generation((SELECT max(fence) FROM job))'), $raised + 1,
	'an empty table: by one');

done_testing();

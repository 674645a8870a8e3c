# A database copied by CREATE DATABASE .. TEMPLATE carries lease rows and the sequence along: its first changing call
# raises the generation, so that the copy never repeats a token of the original.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('template');
query($node, 'CREATE DATABASE original');
query($node, 'CREATE EXTENSION gatepost', dbname => 'original');
my %original = (dbname => 'original');

my $held = acquire($node, 'held', '1 h', %original);
my $last = acquire($node, 'last', '1 h', %original);

for my $strategy (qw(wal_log file_copy))
{
	query($node, "CREATE DATABASE copy_$strategy TEMPLATE original STRATEGY $strategy");
	my %copy = (dbname => "copy_$strategy");
	my $generation = query($node, 'SELECT gatepost.token_generation()', %copy);
	is($generation, query($node, 'SELECT gatepost.token_generation()', %original), "$strategy: copied as it was");

	is(acquire($node, 'held', '1 h', %copy), '', "$strategy: a lease of the original is live in the copy");
	my $token = acquire($node, 'fresh', '1 h', %copy);
	cmp_ok($token, '>', $last, "$strategy: the copy's tokens are above those it was made with");
	cmp_ok(query($node, 'SELECT gatepost.token_generation()', %copy), '>', $generation, "$strategy: its generation rose");
	is(query($node, "SELECT gatepost.lease_renew('held', $held)", %copy), 't', "$strategy: the holder renews in the copy");

	my $next = acquire($node, "next $strategy", '1 h', %original);
	cmp_ok($next, '>', $last, "$strategy: the original goes on");
	cmp_ok($next, '<', $token, "$strategy: below the copy's tokens");
	is(query_error($node, "SELECT gatepost.lease_renew('fresh', $token)", %original),
		'LG004', "$strategy: the copy's token is unknown to the original");
	$last = $next;
}

# Nothing of the copy's name space is the original's: the same name is held in both.
is(query($node, "SELECT gatepost.lease_release('held', $held)", %original), 't', 'released in the original');
is(acquire($node, 'held', '1 h', dbname => 'copy_wal_log'), '', 'still held in the copy');

done_testing();

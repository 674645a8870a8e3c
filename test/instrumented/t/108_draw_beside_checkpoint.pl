# A checkpoint that begins during a draw: it may have passed the sequence's page by before the draw has changed it, and
# recovery begins behind the last record of the page. The token is not drawn again after a crash all the same.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../../perl";
use Gatepost;
use Test::More;

my $node = new_server('draw');
query($node, 'CREATE EXTENSION pageinspect');
acquire($node, 'first', '1 h');
query($node, 'CHECKPOINT');
my $before = acquire($node, 'before', '1 h');

# What the checkpoint leaves on disk is as the page is before the draw.
my $file = $node->data_dir . '/' . query($node, q(SELECT pg_relation_filepath('gatepost.token_sequence')));
my $page = pack 'H*', query($node, q(SELECT encode(get_raw_page('gatepost.token_sequence', 0), 'hex')));
my $checksum = query($node, q(SELECT page_checksum(get_raw_page('gatepost.token_sequence', 0), 0)));
substr($page, 8, 2) = pack 's', $checksum;

my $controller = session($node);
session_query($controller, 'SELECT pg_advisory_lock(18256, 9)');
my $drawer = session($node);
my $pid = session_query($drawer, q(SET gatepost.test_pause = 'token_drawn'; SELECT pg_backend_pid()));
send_query($drawer, q(SELECT gatepost.lease_acquire('during', '1 h')));
wait_blocked($node, $pid);
query($node, 'CHECKPOINT');
session_query($controller, 'SELECT pg_advisory_unlock(18256, 9)');
my $seen = sent_result($drawer);
cmp_ok($seen, '>', $before, 'a token is seen');

$node->stop('immediate');
end_session($_) for $drawer, $controller;
open my $out, '+<:raw', $file or die "$file: $!";
print {$out} $page;
close $out or die "$file: $!";
start_server($node);
is(status($node, 'during', $seen), 'held', 'its lease is there after the crash');
cmp_ok(acquire($node, 'next', '1 h'), '>', $seen, 'and the token is not drawn again');

done_testing();

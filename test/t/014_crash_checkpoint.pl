# A checkpoint between draws takes worth from what was logged before it: recovery begins behind that. No token that was
# seen comes twice all the same, also from sessions that have drawn before the checkpoint.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

# Nobody but the draw itself brings the log to disk.
my $node = new_server('checkpoint', conf => "wal_writer_delay = 10s\nwal_writer_flush_after = 100MB\n");

for my $draws (1, 40)
{
	my $open = session($node);
	session_query($open, "SELECT gatepost.lease_acquire('first $draws', '1 h')");
	query($node, 'CHECKPOINT');
	session_query($open, 'BEGIN');
	my $seen = session_query($open,
		"SELECT max(gatepost.lease_acquire('open $draws ' || n, '1 h')) FROM generate_series(1, $draws) n");
	$node->stop('immediate');
	end_session($open);
	start_server($node);
	my $next = acquire($node, "next $draws", '1 h');
	cmp_ok($next, '>', $seen, "$draws draw(s) behind a checkpoint: the token is not handed out again");
}

done_testing();

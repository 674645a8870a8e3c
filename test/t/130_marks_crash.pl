# What a crash leaves of marks and claims: every one that was reported, also when the session asked for less; else an
# older token would be let in, or a key claimed twice.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

# Nobody but the call itself brings the log to disk.
my $node = new_server('crash', conf => "wal_writer_delay = 10s\nwal_writer_flush_after = 100MB\n");
my ($old, $new) = split /\n/, query($node, 'SELECT gatepost.token_draw() FROM generate_series(1, 2)');

# Runs a statement as the last before a crash.
sub crash_after
{
	my ($statement) = @_;
	my $answer = query($node, "SET synchronous_commit = off; $statement");
	$node->stop('immediate');
	start_server($node);
	return $answer;
}
sub advance { return query($node, "SELECT gatepost.fence_advance('$_[0]', $_[1])"); }
sub claim { return "SELECT gatepost.fence_claim('claimed', '$_[0]', $new)"; }

is(crash_after("SELECT gatepost.fence_advance('r', $old)"), 't', 'the first token of a resource');
is(query($node, "SELECT gatepost.fence_mark('r')"), $old, 'its mark is there after a crash');
is(crash_after("SELECT gatepost.fence_advance('r', $new)"), 't', 'a later token');
is(advance('r', $old), 'f', 'after a crash the older one is stale');
is(advance('r', $new), 't', 'and the later one is not');

# The mark is there already, so only the claim is written.
advance('claimed', $new);
is(crash_after(claim('k')), 't', 'a claim');
is(query($node, claim('k')), 'f', 'is not made again after a crash');
crash_after("INSERT INTO gatepost.marks (resource, token, issuer, changed_at) VALUES ('loaded', $new, 'gatepost', now())");
is(advance('loaded', $old), 'f', 'a mark that a dump brought is there after a crash');

# What was not committed is gone, and stands in nobody's way.
my $open = session($node);
session_query($open, "BEGIN; SELECT gatepost.fence_advance('open', $new), gatepost.fence_claim('open', 'k', $new)");
$node->stop('immediate');
end_session($open);
start_server($node);
is(query($node, "SELECT gatepost.fence_mark('open')"), '', 'an advance that was not committed is gone after a crash');
is(query($node, "SELECT gatepost.fence_claim('open', 'k', $old)"), 't', 'and the key can be claimed');

done_testing();

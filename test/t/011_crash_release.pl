# A release lost in a crash costs waiting, nothing else; a killed holder's lease ends with its ttl.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('release', conf => "wal_writer_delay = 10s\nwal_writer_flush_after = 100MB\n");

# Nothing flushes a release, so it is lost and the lease is as it was; but for one round or another in which the server
# happens to write its log just then.
my ($token, $state) = (0, '');
for my $round (1 .. 10)
{
	my $next = acquire($node, 'x', '1 h');
	cmp_ok($next, '>', $token, "round $round: the token is larger");
	$token = $next;
	is(query($node, "SELECT gatepost.lease_release('x', $token)"), 't', "round $round: a release is reported");
	$node->stop('immediate');
	start_server($node);
	$state = status($node, 'x', $token);
	last if $state ne 'released';
}
is($state, 'held', 'a release that a crash took is as if it had not been');
is(acquire($node, 'x', '1 h'), '', 'a lost release leaves the name held');
is(query($node, "SELECT gatepost.lease_release('x', $token)"), 't', 'by a holder who can release again');
cmp_ok(acquire($node, 'x', '1 h'), '>', $token, 'and the next grant has a larger token');

# A release that is part of more is as durable as the rest.
my $worker = acquire($node, 'y', '1 h');
query(
	$node, qq(
	CREATE TABLE work (n int);
	BEGIN;
	INSERT INTO work VALUES (1);
	SELECT gatepost.lease_release('y', $worker);
	COMMIT));
$node->stop('immediate');
start_server($node);
is(query($node, 'SELECT count(*) FROM work'), 1, 'work committed with its release is there after a crash');
is(status($node, 'y', $worker), 'released', 'and so is the release');

# The holder dies with the server: its lease ends at its deadline, neither earlier nor with a new ttl.
my $asked = monotonic();
my $dead = acquire($node, 'z', '3 s');
my $remaining = q(SELECT extract(epoch FROM remaining) FROM gatepost.leases WHERE name = 'z');
my $before = query($node, $remaining);
$node->stop('immediate');
start_server($node);
my $after = query($node, $remaining);
ok($after < $before || $after == 0, "the crash did not prolong the lease: $before s, then $after s");
ok($node->poll_query_until('postgres', "SELECT gatepost.lease_status('z', $dead) = 'lapsed'"),
	"a dead holder's lease lapses");
cmp_ok(monotonic() - $asked, '>=', 3, 'but not before its deadline');
cmp_ok(acquire($node, 'z', '1 h'), '>', $dead, 'its name is granted with a larger token');
is(query($node, "SELECT gatepost.lease_renew('z', $dead)"), 'f', 'the dead holder cannot renew');

done_testing();

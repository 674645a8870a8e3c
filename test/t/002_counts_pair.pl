# A lone acquire and release take two xids and one flush: the grant's. The release is asynchronous, and the records of
# the sequence are written so far ahead that they are flushed along.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $pairs = 320;
my $node = new_server(
	'pair', conf => q(
fsync = on
wal_sync_method = fdatasync
wal_writer_delay = 10s
wal_writer_flush_after = 100MB
));

# What a session writes and takes. A backend's figures arrive at the latest when it leaves.
sub figures
{
	my ($sql) = @_;
	my $count = 'SELECT ' . log_flushes($node) . ', pg_snapshot_xmax(pg_current_snapshot())';
	# Whoever was here before has to have left: a query's session does when the next is asked.
	query($node, 'SELECT true');
	$node->poll_query_until('postgres', q(SELECT count(*) = 1 FROM pg_stat_activity
		WHERE backend_type = 'client backend' AND pid <> pg_backend_pid())) or die 'others are here';
	my ($syncs, $xid) = split /\|/, query($node, $count);
	my $session = session($node);
	my $pid = session_query($session, 'SELECT pg_backend_pid()');
	session_query($session, $sql);
	$session->quit;
	$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid") or die 'still there';
	my ($syncs_after, $xid_after) = split /\|/, query($node, $count);
	return ($syncs_after - $syncs, $xid_after - $xid);
}

sub pairs
{
	my ($names) = @_;
	my $sql = '';
	$sql .= "SELECT gatepost.lease_acquire('$_', '1 h') AS token \\gset\nSELECT gatepost.lease_release('$_', :token);\n"
	  for map { 'name-' . $_ % $names } 1 .. $pairs;
	return $sql;
}

query($node, pairs(10));

for my $names (1, 10)
{
	my ($syncs, $xids) = figures(pairs($names));
	is($xids, 2 * $pairs, "$pairs pairs on $names name(s) take two xids each");
	cmp_ok($syncs, '>=', $pairs, 'each grant is flushed');
	cmp_ok($syncs, '<=', 1.05 * $pairs, 'and hardly anything else is');
}

# Nobody else commits here, so each record of the sequence has to be flushed by itself: that makes them countable.
my $grants = join '', map { "SELECT gatepost.lease_acquire('grant-$_', '1 h');\n" } 1 .. $pairs;
cmp_ok((figures("BEGIN;\n${grants}COMMIT;\n"))[0], '<=', 5, 'the sequence has a record in 128 draws');

my $released = q(SELECT bool_and(state = 'released') FROM gatepost.leases WHERE name LIKE 'name-%');
is(query($node, $released), 't', 'all were released');

# What the session asks for does not count for a grant.
my ($syncs, $xids) = figures("SET synchronous_commit = off;\n" . pairs(10));
cmp_ok($syncs, '>=', $pairs, 'a grant is flushed with synchronous_commit off, too');

# Inside a block the release commits with the rest, and is as durable.
my $block = '';
$block .= "SELECT gatepost.lease_acquire('name-$_', '1 h');\n" for 1 .. 32;
query($node, $block);
my $releases = join '', map {
	"BEGIN; SELECT gatepost.lease_release(name, token) FROM gatepost.leases WHERE name = 'name-$_'; COMMIT;\n"
} 1 .. 32;
($syncs) = figures($releases);
cmp_ok($syncs, '>=', 32, 'a release inside a transaction block is flushed');

# Work beside a release is not made asynchronous by it.
query($node, 'CREATE TABLE work (n int)');
query($node, $block);
my $beside = join '', map {
	"WITH work AS (INSERT INTO work VALUES ($_) RETURNING n) "
	  . "SELECT gatepost.lease_release(name, token) FROM gatepost.leases, work WHERE name = 'name-' || n;\n"
} 1 .. 32;
($syncs) = figures($beside);
is(query($node, $released), 't', 'all were released again');
cmp_ok($syncs, '>=', 32, 'a release beside other work in its statement is flushed');

done_testing();

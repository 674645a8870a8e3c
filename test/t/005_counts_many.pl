# Leases renewed in one call: one xid, one flush, the rows almost all heap-only after a while; released in one call: no flush.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server(
	'many', conf => q(
fsync = on
wal_sync_method = fdatasync
wal_writer_delay = 10s
wal_writer_flush_after = 100MB
));
query(
	$node, q(
	CREATE TABLE held AS SELECT n::text AS name, gatepost.lease_acquire(n::text, '1 h') AS token FROM generate_series(1, 1000) AS n;
	CREATE TABLE batch AS SELECT array_agg(name) AS names, array_agg(token) AS tokens FROM held));
my $figures = 'SELECT ' . log_flushes($node) . q(, pg_snapshot_xmax(pg_current_snapshot()), (SELECT pg_stat_get_tuples_updated(oid) FROM pg_class
	WHERE oid = 'gatepost.lease_slots'::regclass), (SELECT pg_stat_get_tuples_hot_updated(oid) FROM pg_class
	WHERE oid = 'gatepost.lease_slots'::regclass));

# What a session writes and takes. Its figures arrive when it leaves, and those of whoever was here before have arrived.
sub figures
{
	my ($commit, @statements) = @_;
	query($node, 'SELECT true');
	$node->poll_query_until('postgres', q(SELECT count(*) = 1 FROM pg_stat_activity
		WHERE backend_type = 'client backend' AND pid <> pg_backend_pid())) or die 'others are here';
	my @before = split /\|/, query($node, $figures);
	my $session = session($node);
	my $pid = session_query($session, 'SELECT pg_backend_pid()');
	session_query($session, "SET synchronous_commit = $commit");
	is(session_query($session, $_), '0', 'nothing is to be told') for @statements;
	$session->quit;
	$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid") or die 'still there';
	my @after = split /\|/, query($node, $figures);
	return map { $after[$_] - $before[$_] } 0 .. $#after;
}

my $renew = 'SELECT count(*) FROM batch, gatepost.lease_renew_many(names, tokens)';
figures('off', ($renew) x 20);
my ($syncs, $xids, $updates, $hot) = figures('off', ($renew) x 20);
is($xids, 20, 'a call takes one xid');
cmp_ok($syncs, '>=', 20, 'its commit is flushed, whatever the session asks for');
cmp_ok($syncs, '<=', 24, 'and hardly anything else is');
is($updates, 20_000, 'each lease is written once');
cmp_ok($hot, '>=', 0.98 * $updates, "$hot of $updates versions are heap-only");

# 50 at a time: now and then the WAL writer flushes, nobody waits for it.
query(
	$node, q(
	CREATE TABLE part AS SELECT name::int % 20 AS part, array_agg(name) AS names, array_agg(token) AS tokens FROM held GROUP BY 1));
my @releases =
  map { "SELECT count(*) FROM part, gatepost.lease_release_many(names, tokens) WHERE part = $_" } 0 .. 19;
($syncs, $xids) = figures('on', @releases);
is($xids, 20, 'a release of many takes one xid');
cmp_ok($syncs, '<=', 4, 'and no flush');
is(query($node, q(SELECT count(*) FROM gatepost.leases WHERE state = 'released')), 1000, 'all were released');
$node->stop;
done_testing();

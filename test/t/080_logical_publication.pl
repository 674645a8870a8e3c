# wal_level = logical, a publication FOR ALL TABLES and a slot: every call works, and what it wrote can be decoded.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('logical', allows_streaming => 'logical');
query(
	$node, q(
	CREATE TABLE job (id int PRIMARY KEY, state text, fence bigint);
	INSERT INTO job VALUES (1, 'new');
	CREATE PUBLICATION everything FOR ALL TABLES;
	SELECT pg_create_logical_replication_slot('slot', 'test_decoding')));

my $token = acquire($node, 'x', '1 h');
my @calls = (
	[ "lease_acquire('x', '1 h')", '' ],
	[ "lease_renew('x', $token, '2 h')", 't' ],
	[ "lease_status('x', $token)", 'held' ],
	[ qq(fenced_update('job', '{"id": 1}', '{"state": "done"}', $token)), 't' ],
	[ "lease_release('x', $token)", 't' ],
	[ "lease_acquire('y', '1 h', metadata => jsonb_build_object('long', repeat('x', 5000))) > $token", 't' ],
	[ "lease_acquire('y', '1 h')", '' ],
	[ "lease_break('y') > $token", 't' ],
	[ 'token_raise_generation() > 0', 't' ],
	[ "lease_acquire('y', '1 h') > $token", 't' ],
	[ "lease_purge('0', 'x')", '1' ]);
is(query($node, "SELECT gatepost.$_->[0]"), $_->[1], $_->[0]) for @calls;

# Rolled back work, and a table rewritten meanwhile.
query(
	$node, q(
	BEGIN;
	SELECT gatepost.lease_acquire('z', '1 h');
	SAVEPOINT s;
	SELECT gatepost.lease_acquire('zz', '1 h');
	ROLLBACK TO s;
	COMMIT;
	BEGIN; SELECT gatepost.lease_acquire('rolled back', '1 h'); ROLLBACK;
	VACUUM FULL gatepost.lease_slots;
	SELECT gatepost.lease_acquire('after', '1 h')));

my $decoded = query($node, q(SELECT data FROM pg_logical_slot_get_changes('slot', NULL, NULL)));
for my $line (
	qr/table gatepost.lease_slots: INSERT: .*name\[text\]:'x'/,
	qr/table gatepost.lease_slots: UPDATE: .*name\[text\]:'x'/,
	qr/table gatepost.lease_slots: DELETE: .*name\[text\]:'x'/,
	qr/table gatepost.lease_slots: INSERT: .*name\[text\]:'z'/,
	qr/table gatepost.lease_slots: INSERT: .*name\[text\]:'after'/,
	qr/table public.job: UPDATE: .*state\[text\]:'done'/)
{
	like($decoded, $line, "decoded: $line");
}
unlike($decoded, qr/rolled back|'zz'/, 'what was rolled back is not decoded');
is(query($node, q(SELECT count(*) FROM pg_logical_slot_get_changes('slot', NULL, NULL))), 0, 'the slot moves on');

done_testing();

# pg_upgrade: the new cluster has another system identifier and begins at timeline 1, and the tables come along as files. Its
# first changing call raises the generation; leases and marks are what they were.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

# Not by allows_streaming, which gives an older server settings that it does not know.
my $old = server_to_upgrade('old', conf => "wal_level = replica\n");

# A history of several timelines: the number of the timeline falls with the upgrade, tokens do not.
$old->stop('fast');
for (1 .. 2)
{
	$old->set_standby_mode;
	$old->start;
	finish_promotion($old);
	query($old, 'CHECKPOINT');
	$old->stop('fast');
}
$old->start;
is(query($old, 'SELECT timeline_id FROM pg_control_checkpoint()'), 3, 'the old cluster is at its third timeline');
query($old, 'SELECT gatepost.token_raise_generation() FROM generate_series(1, 5)');
query($old, 'CREATE TABLE job (id int PRIMARY KEY, worker text, fence bigint); INSERT INTO job VALUES (1)');
my $held = acquire($old, 'held', '1 h');
my $short = acquire($old, 'short', '1 ms');
my $released = acquire($old, 'released', '1 h');
query($old, "BEGIN; SELECT gatepost.lease_release('released', $released); COMMIT");
is(query($old, qq(SELECT gatepost.fenced_update('job', '{"id": 1}', '{"worker": "old"}', $held))), 't', 'a fenced write');
my $last = query($old, 'SELECT gatepost.token_draw()');
my $system = query($old, 'SELECT system_identifier FROM pg_control_system()');

my $new = upgrade($old, 'new');
$new->start;
is(query($new, 'SELECT timeline_id FROM pg_control_checkpoint()'), 1, 'the new cluster is at its first timeline');
isnt(query($new, 'SELECT system_identifier FROM pg_control_system()'), $system, 'and another system');

is(query($new, 'SELECT last_value FROM gatepost.token_sequence'), $last, 'the sequence came along');
is(status($new, 'held', $held), 'held', 'the lease is held');
is(status($new, 'released', $released), 'released', 'what was released is so');
is(acquire($new, 'held', '1 h'), '', 'its name is not granted');
cmp_ok(query($new, 'SELECT gatepost.token_generation()'), '>', $last >> 34, 'the generation rose with that call');
my $token = acquire($new, 'short', '1 h');
cmp_ok($token, '>', $last, 'a lapsed name is granted with a token above all of the old cluster');
is(query($new, "SELECT gatepost.lease_renew('held', $held)"), 't', 'the holder renews');
is(query($new, qq(SELECT gatepost.fenced_update('job', '{"id": 1}', '{"worker": "new"}', $token))), 't',
	'a write of the new holder');
is(query_error($new, qq(SELECT gatepost.fenced_update('job', '{"id": 1}', '{"worker": "old"}', $held))), 'LG001',
	'an old token is stale');
is(query($new, q(SELECT gatepost.try_advisory_xact_lock('rung'))), 't', 'rungs are taken');

# The guards came along.
is(query_error($new, 'UPDATE gatepost.lease_slots SET token = 1'), '55000', 'rows are guarded');
is(query_error($new, q(CREATE TABLE guarded (id int CHECK (gatepost.lease_status('x', id) = 'held')))), '42P17',
	'constraints are');
is(query($new, 'SELECT count(*) FROM gatepost.floor'), 0, 'nothing is left in floor');
my $ahead = $token + (2 << 34);
query($new, "INSERT INTO gatepost.floor VALUES ($ahead)");
cmp_ok(query($new, 'SELECT gatepost.token_draw()'), '>', $ahead, 'and a dump still raises the generation');

done_testing();

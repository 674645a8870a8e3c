# Counters and history on a standby: as the primary has written them, readable, and not to be changed.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $primary = new_server('primary', allows_streaming => 1, conf => "gatepost.history_retention = '1 h'\n");
my $standby = new_standby('standby', $primary);
query($primary, q(CREATE TABLE job (id int PRIMARY KEY, fence bigint)));
my $old = acquire($primary, 'x', '1 h');
my $new = query($primary, q(SELECT gatepost.lease_break('x', reason => 'test')));
query($primary, "INSERT INTO job VALUES (1, $new)");
my $stale = qq(SELECT gatepost.fenced_update('job', '{"id": 1}', '{}', $old));
is(query_error($primary, $stale), 'LG001', 'refused on the primary') for 1 .. 2;
my $open = session($primary);
session_query($open, q(BEGIN; SELECT gatepost.lease_acquire('open', '1 h')));
query($primary, 'CREATE TABLE sent ()');
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));

my $counted = q(SELECT relation, reason, count FROM gatepost.refusals);
my $history = q(SELECT event, name, token, relation FROM gatepost.history ORDER BY at, token);
my $told = "grant|x|$old|\nbreak|x|$new|\nrefusal||$old|job\nrefusal||$old|job";
for my $node ($primary, $standby)
{
	my $name = $node->name;
	is(query($node, $counted), 'job|stale_token|2', "$name: the counters");
	is(query($node, $history), $told, "$name: the history, without what is not committed");
	is(query($node, "BEGIN ISOLATION LEVEL REPEATABLE READ; $counted; COMMIT"), 'job|stale_token|2', "$name: at another level");
}
is(query_error($standby, $stale), '25006', 'a write on the standby is no refusal of this kind');
is(query_error($standby, 'SELECT gatepost.refusals_reset()'), '25006', 'the standby resets nothing');
is(query($standby, $counted), 'job|stale_token|2', 'and counts nothing');

# Promoted, it goes on counting.
session_query($open, 'COMMIT');
$primary->wait_for_catchup($standby);
$primary->stop;
end_session($open);
finish_promotion($standby);
is(query_error($standby, $stale), 'LG001', 'refused by the new primary');
is(query($standby, $counted), 'job|stale_token|3', 'and counted');
is(query($standby, q(SELECT count(*) FROM gatepost.history)), 6, 'and kept');
$standby->stop;

done_testing();

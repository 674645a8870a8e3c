# A subscriber of a publication FOR ALL TABLES cannot write another server's leases into its own tables: neither its
# apply worker nor the first copy gets past the guards.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $publisher = new_server('publisher', allows_streaming => 'logical');
my $subscriber = new_server('subscriber', allows_streaming => 'logical', conf => "wal_retrieve_retry_interval = 1s\n");

query($publisher, 'CREATE PUBLICATION everything FOR ALL TABLES');
# Both know a lease of this name, so that an applied update finds its row.
my $foreign = acquire($publisher, 'own', '1 h');
my $own = acquire($subscriber, 'own', '1 h');
query($publisher, q(SELECT gatepost.fence_claim('sent', 'k', 9, 'any')));
query($publisher, q(CREATE ROLE someone; SELECT gatepost.rule_add('sent/', 'someone', 'hold')));
my $leases = q(SELECT name, token FROM gatepost.lease_slots);
my $identity = query($subscriber, 'SELECT identity::text FROM gatepost.identity');
my $connection = $publisher->connstr . ' dbname=postgres';

sub refused
{
	my ($how, $options, $change) = @_;
	my $offset = -s $subscriber->logfile;
	query($subscriber, "CREATE SUBSCRIPTION sub CONNECTION '$connection' PUBLICATION everything WITH ($options)");
	$change->();
	ok($subscriber->wait_for_log(qr/ERROR: .*gatepost/, $offset), "$how is refused");
	is(query($subscriber, q(SELECT gatepost.fence_mark('sent'), (SELECT count(*) FROM gatepost.claims))), '|0',
		"$how brings no marks and claims");
	is(query($subscriber, q(SELECT count(*) FROM gatepost.rules)), 0, "$how brings no rules");
	is(query($subscriber, $leases), "own|$own", "$how leaves the subscriber's leases alone");
	is(query($subscriber, 'SELECT identity::text FROM gatepost.identity'), $identity, "$how leaves its identity alone");
	is(query($subscriber, "SELECT gatepost.lease_renew('own', $own)"), 't', "$how does not disturb a holder there");
	ok(acquire($subscriber, "shared $how", '1 h') > 0, "$how does not disturb a grant there");
	query($subscriber, qq(SELECT gatepost.lease_release(name, token) FROM gatepost.leases WHERE name = 'shared $how'));
	query($subscriber, "SELECT gatepost.lease_purge('0', 'shared')");
	query($subscriber, 'ALTER SUBSCRIPTION sub DISABLE; ALTER SUBSCRIPTION sub SET (slot_name = NONE); DROP SUBSCRIPTION sub');
	# Who copies a table may be making its slot.
	$publisher->poll_query_until('postgres', q(SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'walsender'))
	  or die 'still connected';
	query($publisher, 'SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots');
	return;
}
refused('a first copy', 'copy_data = true',
	sub { $subscriber->wait_for_log(qr/ERROR: .*gatepost.$_/) for qw(lease_slots marks claims) });
refused('an applied grant', 'copy_data = false', sub { acquire($publisher, 'more', '1 h') });
refused('an applied renewal', 'copy_data = false',
	sub { query($publisher, "SELECT gatepost.lease_renew('own', $foreign)") });
refused('an applied rule', 'copy_data = false',
	sub { query($publisher, q(SELECT gatepost.rule_add('sent/', 'someone', 'see'))) });
refused('an applied mark', 'copy_data = false',
	sub { query($publisher, q(SELECT gatepost.fence_advance('sent later', 10, 'any'))) });
refused('an applied event of the history', 'copy_data = false',
	sub { query($publisher, q(SET gatepost.history_retention = '1d'; SELECT gatepost.lease_acquire('kept', '1 h'))) });

# A table of the user's own that is replicated beside them.
query($_, 'CREATE TABLE job (id int PRIMARY KEY, fence bigint)') for $publisher, $subscriber;
query($publisher, 'CREATE PUBLICATION jobs FOR TABLE job; INSERT INTO job VALUES (1)');
query($subscriber, "CREATE SUBSCRIPTION jobs CONNECTION '$connection' PUBLICATION jobs");
$subscriber->wait_for_subscription_sync($publisher, 'jobs');
my $token = acquire($publisher, 'job', '1 h');
is(query($publisher, qq(SELECT gatepost.fenced_update('job', '{"id": 1}', '{}', $token))), 't', 'a fenced write on the publisher');
$publisher->wait_for_catchup('jobs');
is(query($subscriber, 'SELECT fence FROM job'), $token, 'arrives with its mark');

done_testing();

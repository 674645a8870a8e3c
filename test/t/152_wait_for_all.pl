# Waiting for the leases of several names: in the queue of the one that is busy, holding nothing, and in no queue that it
# has left.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Gatepost::Waiting qw(start_trace);
use Test::More;

my $node = new_server('waiting');
start_trace($node);

sub waits_for
{
	my ($pid, $name) = @_;
	$node->poll_query_until('postgres',
		"SELECT coalesce(string_agg(name, ' ' ORDER BY name), 'nobody') = '$name' FROM gatepost.waiters WHERE pid = $pid")
	  or die "process $pid does not wait for $name";
	return 1;
}

sub give_back
{
	my ($name) = @_;
	return query($node, "SELECT gatepost.lease_release(name, token) FROM gatepost.leases WHERE name = '$name'");
}

my $free = q(SELECT count(*) FROM gatepost.leases WHERE name = 'all/a' AND state IN ('held', 'in_flight'));

# all/b comes before all/a by key.
acquire($node, 'all/b', '1 h');
acquire($node, 'all/d', '1 h');
my $session = session($node);
my $pid = session_query($session, 'SELECT pg_backend_pid()');
limit_waits($session);
send_query($session, q(SELECT gatepost.lease_acquire_all('{all/a,all/b,all/d}', '1 h', '1 h')));
ok(waits_for($pid, 'all/b'), 'waits for the first that is busy');
is(query($node, $free), '0', 'holding nothing');
is(query($node, q(SELECT gatepost.lease_acquire('all/a', '1 h') IS NOT NULL)), 't', 'others are not held up');
give_back('all/b');
ok(waits_for($pid, 'all/a'), 'then for the next, and for no other any more');
is(query($node, q(SELECT gatepost.lease_acquire('all/b', '1 h') IS NOT NULL)), 't', 'what it does not wait for goes to others');
give_back('all/b');
give_back('all/a');
ok(waits_for($pid, 'all/d'), 'and the next');
give_back('all/d');
like(scalar(sent_result($session)), qr/^\{\d+,\d+,\d+\}$/, 'when the last is free, all are had');
is(query($node, q(SELECT count(*) FROM gatepost.leases WHERE name LIKE 'all/%' AND state = 'held')), 3, 'by the one');
is(query($node, 'SELECT count(*) FROM gatepost.waiters'), 0, 'and nobody is left in a queue');

# A mere waiter behind it is served when it leaves.
my $second = session($node);
my $second_pid = session_query($second, 'SELECT pg_backend_pid()');
limit_waits($second);
send_query($second, q(SELECT gatepost.lease_acquire_all('{all/a,free}', '1 h', '1 h')));
ok(waits_for($second_pid, 'all/a'), 'another waits for one of them');
my $third = session($node);
my $third_pid = session_query($third, 'SELECT pg_backend_pid()');
limit_waits($third);
send_query($third, q(SELECT gatepost.lease_acquire('all/a', '1 h', '1 h')));
ok(waits_for($third_pid, 'all/a'), 'and a third behind');
acquire($node, 'free', '1 h');
give_back('all/a');
like(scalar(sent_result($third)), qr/^\d+$/, 'who stands behind is served when the first turns to another name');
# The third may have been there before the first's last look, who then has stood in both queues; no transaction has a
# place in one queue twice, and looks again and again without one.
give_back('all/a');
ok( $node->poll_query_until('postgres',
		"SELECT coalesce(string_agg(name, ' '), 'nobody') IN ('free', 'nobody') FROM gatepost.waiters WHERE pid = $second_pid"),
	'which he does');
is(query($node, q(SELECT count(*) FROM gatepost.leases WHERE name = 'all/a' AND state IN ('held', 'in_flight'))), 0, 'holding nothing');
query($node, "SELECT pg_cancel_backend($second_pid)");
is((sent_result($second))[1], '57014', 'and is cancelled');
is(query($node, 'SELECT count(*) FROM gatepost.waiters'), 0, 'nobody is left');
no_lock_left($node, 'and no lock');

# A rollback and a lapse wake as they do for one name.
my $holder = session($node);
acquire($node, 'ends', '1 h');
give_back('ends');
session_query($holder, 'BEGIN');
session_query($holder, q(SELECT gatepost.lease_acquire('ends', '1 h')));
send_query($session, q(SELECT gatepost.lease_acquire_all('{ends,other}', '1 h', '1 h')));
ok(waits_for($pid, 'ends'), 'waits for a grant in flight');
session_query($holder, 'ROLLBACK');
like(scalar(sent_result($session)), qr/^\{\d+,\d+\}$/, 'a rollback wakes');
acquire($node, 'lapses', '300 ms');
is(query($node, q(SELECT cardinality(gatepost.lease_acquire_all('{lapses,more}', '1 h', '1 h')))), 2, 'a lapse is waited for');
is(query($node, q(SELECT gatepost.lease_acquire_all('{lapses,yet}', '1 h', '30 ms') IS NULL)), 't', 'a wait that is over is NULL');
is(query($node, q(SELECT count(*) FROM gatepost.leases WHERE name = 'yet')), 0, 'with nothing taken');

$_->quit for $session, $third, $holder;
$node->stop;
done_testing();

# A wait that is woken again and again keeps nothing of its looks.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('memory', conf => "fsync = off");
query($node, q(SELECT gatepost.semaphore_acquire('permits', 2, '1 h')));
query($node, q(SELECT gatepost.lease_acquire('lease', '1 h')));
query($node, q(CREATE PROCEDURE wake(n int) LANGUAGE plpgsql AS $$ DECLARE permit bigint; BEGIN
	FOR i IN 1 .. n LOOP
		BEGIN
			PERFORM gatepost.lease_release('lease', token) FROM gatepost.leases WHERE name = 'lease';
			permit := gatepost.semaphore_acquire('permits', 2, '1 h');
			RAISE EXCEPTION USING ERRCODE = 'ZZ001';
		EXCEPTION WHEN SQLSTATE 'ZZ001' THEN NULL; END;
		COMMIT;
		PERFORM pg_sleep(0.002);
	END LOOP; END $$));

sub used
{
	my ($pid) = @_;
	my $from = -s $node->logfile;
	query($node, "SELECT pg_log_backend_memory_contexts($pid)");
	$node->wait_for_log(qr/\[$pid\].*Grand total.*/, $from);
	my $log = PostgreSQL::Test::Utils::slurp_file($node->logfile, $from);
	my @totals = $log =~ /Grand total:.*; (\d+) used/g;
	return $totals[-1];
}

for my $call (
	q(SELECT gatepost.lease_acquire('lease', '1 h', '1 h')),
	q(SELECT gatepost.lease_acquire_all('{lease}', '1 h', '1 h')),
	q(SELECT gatepost.semaphore_acquire('permits', 2, '1 h', '1 h', weight => 2)))
{
	my $waiter = session($node);
	my $pid = session_query($waiter, 'SELECT pg_backend_pid()');
	send_query($waiter, $call);
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM gatepost.waiters WHERE pid = $pid") or die 'nobody waits';
	query($node, 'CALL wake(50)');
	my $before = used($pid);
	query($node, 'CALL wake(500)');
	cmp_ok(used($pid) - $before, '<', 20_000, "$call keeps nothing");
	query($node, "SELECT pg_cancel_backend($pid)");
	is((sent_result($waiter))[1], '57014', '.. and ends');
	$waiter->quit;
}
done_testing();

# A place outside the server outlives the server's process, and the sessions that were before it do not. Transactions are
# numbered from the beginning then, so a later session may have the number of an earlier one: it stands behind all the same.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('restarted', conf => "restart_after_crash = on\n");
my $token = acquire($node, 'job', '1 h');

sub queue_of_job
{
	return query($node, q(SELECT string_agg(coalesce(pid::text, application_name), ', ' ORDER BY place) FROM gatepost.waiters WHERE name = 'job'));
}

# The number of the session's transaction: of the server's process, and of the session's next.
sub numbers
{
	my ($session) = @_;
	my ($process, $transaction) = split m{/}, session_query($session,
		q(SELECT virtualtransaction FROM pg_locks WHERE locktype = 'virtualxid' AND pid = pg_backend_pid()));
	return ($process, $transaction + 1);
}

# Waits inside; comes back when it stands in the queue.
sub wait_inside
{
	my ($session) = @_;
	my $pid = session_query($session, 'SELECT pg_backend_pid()');
	send_query($session, q(SELECT gatepost.lease_acquire('job', '1 h', '1 h')));
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM gatepost.waiters WHERE pid = $pid") or die 'nobody waits';
	my $number = query($node, "SELECT virtualtransaction FROM pg_locks WHERE pid = $pid AND locktype = 'virtualxid'");
	return ($pid, $number);
}

my $request = 0;
for my $how ('the server is started again', 'a session has crashed')
{
	my $first = session($node);
	# Later sessions get to its number from below.
	session_query($first, 'DO $$ BEGIN FOR i IN 1 .. 300 LOOP COMMIT; END LOOP; END $$');
	my ($pid, $number) = wait_inside($first);
	my $place = sprintf q(SELECT gatepost.lease_queue('job', '6f1c3d3e-0000-4000-8000-%012d', '1 h', '5 min', 'outside')), ++$request;
	my $channel = query($node, $place);
	is(queue_of_job(), "$pid, outside", "$how: one waits inside, then one outside");

	if ($how =~ /crashed/)
	{
		my $started = query($node, 'SELECT pg_postmaster_start_time()');
		my $victim = session($node);
		kill 'KILL', session_query($victim, 'SELECT pg_backend_pid()');
		# Their psql goes when the server has cut them off.
		end_session($_) for ($victim, $first);
		$node->poll_query_until('postgres', "SELECT pg_postmaster_start_time() = '$started'") or die 'server does not answer';
	}
	else
	{
		$node->stop('immediate');
		end_session($first);
		start_server($node);
	}
	# Before a client of this test has the number.
	my ($process, $transaction) = split m{/}, $number;
	my @others;
	my $second;
	for (1 .. 30)
	{
		$second = session($node);
		last if (numbers($second))[0] == $process;
		push @others, $second;
		undef $second;
	}
	die "no session has the number $process" unless defined $second;
	is(query($node, $place), $channel, 'who is outside keeps his place');
	my $next = (numbers($second))[1];
	die "the session is beyond $transaction already" if $next + 2 > $transaction;
	# One for this, one for the question for its process.
	my $skipped = $transaction - $next - 2;
	session_query($second, "DO \$\$ BEGIN FOR i IN 1 .. $skipped LOOP COMMIT; END LOOP; END \$\$");
	my ($later, $same) = wait_inside($second);
	is($same, $number, 'another comes to wait inside, with the number of the one that is gone');
	is(queue_of_job(), "outside, $later", 'and stands behind');

	my $listener = session($node);
	session_query($listener, qq(LISTEN "$channel"; LISTEN marker));
	is(query($node, "SELECT gatepost.lease_release('job', $token)"), 't', 'the lease outlives it too, and is given back');
	query($node, 'NOTIFY marker');
	my $heard = '';
	for (1 .. 6000)
	{
		$heard .= session_query($listener, 'SELECT pg_sleep(0.01)');
		last if $heard =~ /"marker"/;
	}
	like($heard, qr/"$channel"/, 'who is outside is told');
	$token = sent_result($second);
	query($node, $place =~ s/lease_queue\((.*?, .*?), .*/lease_unqueue($1)/r);
	$_->quit for ($second, $listener, @others);
}

done_testing();

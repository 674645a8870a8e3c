# Sessions that wait for a lease inside the server; and, in the test build, what became of them: who woke whom, who slept.
package Gatepost::Waiting;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use Time::HiRes 'usleep';

use Gatepost::Session;

our @EXPORT = qw(start_trace traced wait_traced waiting_session wait_again woken give_back);

sub _file { return $_[0]->data_dir . '/gatepost_test_trace'; }

# Test build: from here on the server writes down what its waiters do.
sub start_trace
{
	my ($node) = @_;
	open my $out, '>', _file($node) or die _file($node) . ": $!";
	close $out;
	return;
}

# What it has written since start_trace, as [pid, event, number]:
#   wakes PID     the latch of that process was set      stops POINT   stopped at that point
#   sleeps US     for so long at most; then              latched, timed
#   leaves 0|1    the queue, 1: with the lease
sub traced
{
	my ($node) = @_;
	open my $in, '<', _file($node) or die _file($node) . ": $!";
	my @lines = map { chomp; [ split / / ] } <$in>;
	close $in;
	return @lines;
}

# Waits until it has written down so many such events of a process.
sub wait_traced
{
	my ($node, $pid, $event, $count) = @_;
	for (1 .. 20_000)
	{
		my $seen = grep { $_->[0] == $pid && $_->[1] eq $event } traced($node);
		return if $seen >= $count;
		usleep(3000);
	}
	die "process $pid: no $event";
}

# A session that waits for the lease, in the queue and asleep: { session, pid, name }. %option: before, a query of the
# session's; wait; ttl; call, instead of lease_acquire.
sub waiting_session
{
	my ($node, $name, %option) = @_;
	my $session = session($node);
	my %waiter = (session => $session, name => $name, pid => session_query($session, 'SELECT pg_backend_pid()'));
	session_query($session, $option{before}) if defined $option{before};
	# A wait that nobody ends fails. The server lets an alarm that an earlier statement has set go off all the same, and
	# that wakes; so no earlier statement has set one, and the one for idle sessions comes after 10 s.
	session_query($session, "SET statement_timeout = '7s'");
	wait_again($node, \%waiter, %option);
	return \%waiter;
}

# The same for a session that is there already.
sub wait_again
{
	my ($node, $waiter, %option) = @_;
	my ($ttl, $wait) = ($option{ttl} // '1 h', $option{wait} // '1 h');
	my $slept = grep { $_->[0] == $waiter->{pid} && $_->[1] eq 'sleeps' } traced($node);
	send_query($waiter->{session}, $option{call} // "SELECT gatepost.lease_acquire('$waiter->{name}', '$ttl', '$wait')");
	wait_traced($node, $waiter->{pid}, 'sleeps', $slept + 1);
	return;
}

# How often the one process has set the latch of the other.
sub woken
{
	my ($node, $by, $whom) = @_;
	return scalar grep { $_->[0] == $by && $_->[1] eq 'wakes' && $_->[2] == $whom } traced($node);
}

# Releases the lease, whoever has it.
sub give_back
{
	my ($node, $name) = @_;
	return query($node, "SELECT gatepost.lease_release(name, token) FROM gatepost.leases WHERE name = '$name'");
}

1;

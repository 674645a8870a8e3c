# Sessions that wait for a lease inside the server; and, in the test build, what became of them: who woke whom, who slept.
package Gatepost::Waiting;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use Time::HiRes 'usleep';

use Gatepost::Server;
use Gatepost::Session;

our @EXPORT = qw(stop_clock later start_trace traced traced_bytes wait_traced waiting_session wait_again woken give_back);

# Test build: from here on the clock of leases goes on only by later, so that no lease lapses before a test is ready for it.
my %clock;
sub stop_clock
{
	my ($node) = @_;
	$clock{$node} = 1_000_000_000;
	override($node, 'boottime', $clock{$node});
	return;
}

sub later
{
	my ($node, $seconds) = @_;
	$clock{$node} += 1_000_000 * $seconds;
	override($node, 'boottime', $clock{$node});
	return;
}

sub _file { return $_[0]->data_dir . '/gatepost_test_trace'; }

# Test build: from here on the server writes down what its waiters do, and nobody wakes them but who writes that down.
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

# How much that is.
sub traced_bytes { return -s _file($_[0]); }

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
# session's; wait; ttl; call, instead of lease_acquire; until, where it has come to: sleeps, or stops at a stop point.
sub waiting_session
{
	my ($node, $name, %option) = @_;
	my $session = session($node);
	my %waiter = (session => $session, name => $name, pid => session_query($session, 'SELECT pg_backend_pid()'));
	session_query($session, $option{before}) if defined $option{before};
	limit_waits($session);
	wait_again($node, \%waiter, %option);
	return \%waiter;
}

# The same for a session that is there already.
sub wait_again
{
	my ($node, $waiter, %option) = @_;
	my ($ttl, $wait) = ($option{ttl} // '1 h', $option{wait} // '1 h');
	my $until = $option{until} // 'sleeps';
	my $before = grep { $_->[0] == $waiter->{pid} && $_->[1] eq $until } traced($node);
	send_query($waiter->{session}, $option{call} // "SELECT gatepost.lease_acquire('$waiter->{name}', '$ttl', '$wait')");
	wait_traced($node, $waiter->{pid}, $until, $before + 1);
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

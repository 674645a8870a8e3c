# Who waits hears a cancel and a terminate at once, in whatever sort of wait, the first and who stands behind him. Timers
# are out of the way in the test build: who does not hear it sleeps until statement_timeout, a minute.
# A machine that stalls is late now and then, deafness is late every time. So each end has half that minute, and the
# quickest of three a second.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../../perl";
use Gatepost;
use Gatepost::Waiting;
use List::Util 'min';
use Test::More;
use Time::HiRes 'usleep';

my $node = new_server('cut');
start_trace($node);
my $operator = session($node);

sub waiter
{
	my ($name, $call) = @_;
	my $session = session($node);
	my %waiter = (session => $session, name => $name, pid => session_query($session, 'SELECT pg_backend_pid()'));
	session_query($session, q(SET statement_timeout = '60s'));
	wait_again($node, \%waiter, call => $call);
	return \%waiter;
}

# Seconds until he waits no more.
sub cut
{
	my ($waiter, $how) = @_;
	my $began = monotonic();
	session_query($operator, "SELECT pg_${how}_backend($waiter->{pid})");
	my $active = "SELECT count(*) FROM pg_stat_activity WHERE pid = $waiter->{pid} AND state = 'active'";
	while (session_query($operator, $active) ne '0')
	{
		die "after a $how he waits on" if monotonic() - $began > 30;
		usleep(2000);
	}
	return monotonic() - $began;
}

my %waits = (
	'a lease' => q(SELECT gatepost.lease_acquire('NAME', '1 h', '1 h')),
	'a lease, without a snapshot' => q(CALL gatepost.lease_acquire_wait('NAME', '1 h', '1 h')),
	'all of several leases' => q(SELECT gatepost.lease_acquire_all('{NAME, beside}', '1 h', '1 h')),
	'a permit' => q(SELECT gatepost.semaphore_acquire('NAME', 1, '1 h', '1 h')),
	'a lock' => q(SELECT gatepost.advisory_lock('NAME')),
);
for my $what (sort keys %waits)
{
	my $name = $what =~ s/\W+/_/gr;
	my $call = $waits{$what} =~ s/NAME/$name/r;
	session_query($operator, $what eq 'a permit' ? "SELECT gatepost.semaphore_acquire('$name', 1, '1 h')"
		: "SELECT gatepost.lease_acquire('$name', '1 h')");
	my @queue = map { waiter($name, $call) } 1 .. 2;
	for my $how ('cancel', 'terminate')
	{
		for my $place (0, 1)
		{
			my @took;
			for (1 .. 3)
			{
				my ($one) = splice @queue, $place, 1;
				push @took, cut($one, $how);
				is(query($node, "SELECT count(*) FROM gatepost.waiters WHERE pid = $one->{pid}"), 0, 'who is cut off is gone');
				if ($how eq 'cancel')
				{
					is((sent_result($one->{session}))[1], '57014', 'and told so');
					wait_again($node, $one, call => $call);
				}
				else
				{
					end_session($one->{session});
					$one = waiter($name, $call);
				}
				push @queue, $one;
			}
			cmp_ok(min(@took), '<', 1, "$what: a $how is heard by the " . ($place == 0 ? 'first' : 'second'));
		}
	}
	cut($_, 'terminate') for @queue;
	end_session($_->{session}) for @queue;
}

$operator->quit;
no_lock_left($node, 'nothing is left locked');
$node->stop;
done_testing();

# Waiters, holders and all that can happen to them, at random: whatever happens, nobody has a lease that another has,
# nobody sleeps while the name is free, and nothing is left locked. Timers are out of the way in the test build, so a wake
# that is lost stays lost.
#   GATEPOST_WAIT_SEED=N      the same events again, as far as the machine's timing goes
#   GATEPOST_WAIT_EVENTS=500
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../../perl";
use Gatepost;
use Gatepost::Waiting;
use Test::More;
use Time::HiRes 'usleep';

my $seed = $ENV{GATEPOST_WAIT_SEED} // time ^ $$ << 8;
my $events = $ENV{GATEPOST_WAIT_EVENTS} // 500;
srand $seed;
diag("GATEPOST_WAIT_SEED=$seed");

my $node = new_server('events');
start_trace($node);
my @names = ('a' .. 'd');
my @sessions;
my %held;    # by name: the token of a grant that was reported and not given back
my %seen;    # what has happened how often
my $serial = 0;
my @wrong;

# A psql whose answers are read when they come. state: idle, waiting, or open: in a transaction that has taken something.
sub begin_session
{
	my $psql = session($node);
	return { psql => $psql, state => 'idle', pid => session_query($psql, 'SELECT pg_backend_pid()') };
}

sub ask
{
	my ($session, $sql) = @_;
	$serial++;
	$session->{asked} = $serial;
	$session->{psql}{stdout} = $session->{psql}{stderr} = '';
	$session->{psql}{stdin} .= "$sql;\n\\echo asked $serial\n";
	$session->{psql}{run}->pump_nb;
	return;
}

# Its answer when it has come; a session that was ended is replaced. Result: undef when it has not.
sub answer
{
	my ($session) = @_;
	my $gone = !eval { $session->{psql}{run}->pump_nb; $session->{psql}{run}->pumpable };
	if ($gone || $session->{psql}{stderr} =~ /terminating|server closed|connection to server was lost/)
	{
		end_session($session->{psql});
		%$session = %{ begin_session() };
		return '';
	}
	return $session->{psql}{stdout} =~ /^(.*?)^?asked $session->{asked}\n/ms ? $1 =~ s/\n.*//sr : undef;
}

sub answer_now
{
	my ($session) = @_;
	my $answer;
	for (1 .. 20_000)
	{
		return $answer if defined($answer = answer($session));
		usleep(1000);
	}
	die "no answer of process $session->{pid}";
}

# Notes the grants that have been reported meanwhile.
sub settle
{
	for my $session (grep { $_->{state} eq 'waiting' } @sessions)
	{
		my $name = $session->{name};
		my $token = answer($session) // next;
		$session->{state} = 'idle';
		$seen{$token =~ /^\d+$/ ? 'granted' : 'not granted'}++;
		next unless $token =~ /^\d+$/;
		push @{ $held{$name} }, $token;
	}
	return 1;
}

# Whoever has it, also a session whose client has gone. A lease that was reported is there to be given back, unless its
# report came late and it has been given back by this already.
my $helper = session($node);
my %given;
sub release
{
	my ($name) = @_;
	settle();
	for my $token (@{ delete $held{$name} // [] })
	{
		next if $given{$token}++;
		push @wrong, "$name: $token was held, and is not"
		  if session_query($helper, "SELECT gatepost.lease_release('$name', $token)") ne 't';
	}
	# A row in flight is another session's; its end comes by itself.
	my $token = session_query($helper, "SELECT token FROM gatepost.leases WHERE name = '$name' AND state = 'held'");
	return if $token eq '' || $given{$token};
	$given{$token} = 1 if (session_error_or_answer("SELECT gatepost.lease_release('$name', $token)") // '') eq 't';
	return;
}

sub session_error_or_answer
{
	my ($sql) = @_;
	my $answer = $helper->query($sql);
	$helper->{stderr} = '';
	return $answer;
}

sub any_of { return $_[ int rand @_ ]; }

sub one_that_is
{
	my ($state) = @_;
	settle();
	my @such = grep { $_->{state} eq $state } @sessions;
	return @such ? any_of(@such) : undef;
}

sub wait_for_it
{
	my ($wait, $name, $session) = @_;
	$session //= one_that_is('idle') // return;
	# More often for what an open transaction has.
	my @open = map { $_->{name} } grep { $_->{state} eq 'open' } @sessions;
	@$session{ 'state', 'name' } = ('waiting', $name // any_of(@names, @open, @open, @open));
	ask($session, "SELECT gatepost.lease_acquire('$session->{name}', '1 h', '$wait')");
	return $session;
}

# In a transaction, or a part of one, a grant or a lock that is to be taken back.
sub take_in_transaction
{
	my $session = one_that_is('idle') // return;
	my $name = any_of(@names);
	# Of what nobody has there is something to be taken.
	release($name) if rand() < 0.5;
	$session->{savepoint} = rand() < 0.5;
	my $take = any_of("gatepost.lease_acquire('$name', '1 h')", "gatepost.try_advisory_xact_lock('$name')");
	ask($session, 'BEGIN' . ($session->{savepoint} ? '; SAVEPOINT s' : '') . "; SELECT $take");
	my $taken = answer_now($session) =~ /^(\d+|t)$/;
	# One that was replaced has been asked nothing yet.
	return unless defined $session->{asked};
	if ($taken)
	{
		@$session{ 'state', 'name' } = ('open', $name);
		return;
	}
	ask($session, 'ROLLBACK');
	answer_now($session);
	return;
}

sub roll_back
{
	my $session = $_[0] // one_that_is('open') // return;
	$seen{'rolled back before waiters'}++ if grep { $_->{state} eq 'waiting' && $_->{name} eq $session->{name} } @sessions;
	ask($session, $session->{savepoint} ? 'ROLLBACK TO s' : 'ROLLBACK');
	answer_now($session);
	$session->{state} = 'idle' unless $session->{savepoint};
	$session->{savepoint} = 0;
	return;
}

# Until he has gone to sleep, or has been served or refused.
sub sleeps
{
	my ($session) = @_;
	for (1 .. 1000)
	{
		return 1 if session_query($helper, "SELECT count(*) FROM pg_stat_activity WHERE pid = $session->{pid} AND wait_event = 'Extension'");
		settle();
		return 0 if $session->{state} ne 'waiting';
		usleep(2000);
	}
	return 0;
}

# Somebody goes to sleep behind what is rolled back then.
sub roll_back_before_a_waiter
{
	my $open = one_that_is('open') // return;
	my $waiter = wait_for_it('1 h', $open->{name}) // return;
	roll_back($open) if sleeps($waiter) && $open->{state} eq 'open';
	return;
}

# A lease that nobody gives back; behind it one who loses his patience stands before one who does not, and keeps his
# transaction open. How long he has it, in milliseconds: longer each time that the other came too late.
my $has_patience = 150;

sub leave_before_a_waiter
{
	# It takes longer than others.
	return if rand() < 0.5;
	my $name = any_of(@names);
	my $leaves = one_that_is('idle') // return;
	release($name);
	my $token = session_error_or_answer("SELECT gatepost.lease_acquire('$name', '" . 2 * $has_patience . " ms')") // '';
	return unless $token =~ /^\d+$/;
	ask($leaves, 'BEGIN');
	answer_now($leaves);
	return unless defined $leaves->{asked};
	wait_for_it("$has_patience ms", $name, $leaves);
	my $asleep = sleeps($leaves);
	my $stays = $asleep ? wait_for_it('1 h', $name) : undef;
	my $stood_behind = defined $stays && sleeps($stays) && settle() && $leaves->{state} eq 'waiting';
	if ($stood_behind) { $seen{'left before waiters'}++; }
	elsif ((defined $stays || !$asleep) && $has_patience < 5000) { $has_patience *= 1.5; }
	settle() && usleep(2000) while $leaves->{state} eq 'waiting';
	usleep(2000) while session_query($helper, "SELECT gatepost.lease_status('$name', $token)") eq 'held';
	check_invariants('left');
	ask($leaves, 'COMMIT');
	answer_now($leaves);
	return;
}

my %event = (
	wait => sub { wait_for_it('1 h') },
	'wait again' => sub { wait_for_it('1 h') },
	release => sub { release(any_of(@names)) },
	'release again' => sub { release(any_of(@names)) },
	'take in a transaction' => \&take_in_transaction,
	'take again in a transaction' => \&take_in_transaction,
	'roll back' => sub { roll_back() },
	'roll back before a waiter' => \&roll_back_before_a_waiter,
	'leave before a waiter' => \&leave_before_a_waiter,
	cancel => sub { my $session = one_that_is('waiting') // return; query($node, "SELECT pg_cancel_backend($session->{pid})") },
	terminate => sub {
		my $session = one_that_is(any_of('waiting', 'waiting', 'open')) // return;
		query($node, "SELECT pg_terminate_backend($session->{pid})");
	},
	'kill the client' => sub {
		my $session = one_that_is(any_of('waiting', 'waiting', 'open')) // return;
		$session->{psql}{run}->kill_kill(grace => 0);
		%$session = %{ begin_session() };
	},
	'time out at a grant' => sub {
		my $wait = 10 + int rand 20;
		my $session = wait_for_it("$wait ms") // return;
		usleep(1000 * ($wait - 5 + rand 8));
		release($session->{name});
	});

# Nobody waits for a name that nobody has. Who has just been called needs a moment.
my $patience = 30;
my $stuck = q(
SELECT count(*) FROM gatepost.waiters AS w
WHERE NOT EXISTS (SELECT FROM gatepost.leases AS l WHERE l.name = w.name AND l.state IN ('held', 'in_flight', 'recovering'))
AND NOT EXISTS (SELECT FROM gatepost.advisory_locks AS a WHERE a.key = gatepost.advisory_key(w.name)));
sub check_invariants
{
	my ($when) = @_;
	settle();
	for (@sessions) { answer($_) if $_->{state} eq 'open' }
	# Nothing moves any more: no waiter writes anything down.
	my ($since, $written) = (monotonic(), -1);
	while (session_query($helper, $stuck) > 0)
	{
		my $now = traced_bytes($node);
		($since, $written) = (monotonic(), $now) if $now != $written;
		if (monotonic() - $since > $patience)
		{
			push @wrong, "$when: " . session_query($helper, $stuck) . ' sleep while the name is free';
			return;
		}
		usleep(5_000);
	}
	return;
}

# From now on each name has a row, which the view of waiters knows it by.
acquire($node, $_, '1 h') && give_back($node, $_) for @names;
@sessions = map { begin_session() } 1 .. 12;
# What the lots and the machine have brought too little of comes with further events.
my %enough = (granted => $events / 20, 'rolled back before waiters' => $events / 50, 'left before waiters' => $events / 500);
my $number = 0;
while ($number++ < $events || $number < 10 * $events && grep { ($seen{$_} // 0) <= $enough{$_} } keys %enough)
{
	my $what = any_of(sort keys %event);
	$seen{$what}++;
	$event{$what}->();
	check_invariants("event $number, $what");
	last if @wrong;
}

# All open ends: transactions are rolled back, and leases given back until nobody waits.
for my $session (grep { $_->{state} eq 'open' } @sessions)
{
	ask($session, 'ROLLBACK');
	answer_now($session);
	$session->{state} = 'idle';
}
for (1 .. 3000)
{
	release($_) for @names;
	settle();
	last unless session_query($helper, 'SELECT count(*) FROM gatepost.waiters');
	usleep(20_000);
}
release($_) for @names;
check_invariants('the end');
is(join("\n", @wrong), '', "$events events leave nobody waiting for a free name, and nobody holds what another holds");
is(session_query($helper, 'SELECT count(*) FROM gatepost.waiters'), 0, 'nobody is left in the queues');
# Who is stuck would not hear that he is to go.
query($node, 'SELECT pg_terminate_backend(pid) FROM gatepost.waiters');
end_session($_->{psql}) for @sessions;
$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_locks WHERE locktype = 'advisory'");
no_lock_left($node, 'nothing is left locked');
cmp_ok($seen{granted} // 0, '>', $enough{granted}, 'leases were granted to waiters');
cmp_ok($seen{'rolled back before waiters'} // 0, '>', $enough{'rolled back before waiters'}, 'and what others waited for was rolled back');
cmp_ok($seen{'left before waiters'} // 0, '>', $enough{'left before waiters'}, 'and who stood before others has left');
diag(join ', ', map { "$_: $seen{$_}" } sort keys %seen);

$helper->quit;
$node->stop;
done_testing();

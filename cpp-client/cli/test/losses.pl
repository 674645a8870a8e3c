# Leases that are lost under commands deaf to SIGTERM: each was killed the margin before the server's deadline, whatever
# the loss came from.   losses.pl [LOSSES [SEED]]
use strict;
use warnings FATAL => 'all';
no warnings 'exec';
use lib "$ENV{GATEPOST_TREE}/cpp-client/cli/test";
use Faults;
use POSIX ();
use Time::HiRes qw(sleep time clock_gettime);
use constant CLOCK_BOOTTIME => 7;

my $losses = shift // $ENV{GATEPOST_LOSSES} // 1000;
my $seed = shift // $ENV{GATEPOST_SEED} // time ^ $$;
srand $seed;
# Each fault has its turn.
my $at_once = $losses < 300 ? POSIX::ceil($losses / 5) : 60;
my $ttl = 4;    # of which the margin is a quarter
my $child = "$ENV{GATEPOST_HELPERS}/child";
my $proxy = Faults::proxy();
my ($done, $late, $beaten, $wrong, $unbegun, %fault, $tightest) = (0, 0, 0, 0, 0);

# A processor that stands still, as those of virtual machines do, holds up whatever has to be done on it. For each there is
# a witness who writes down from when to when it did, in microseconds of boot time.
my ($allowed) = do { open my $in, '<', '/proc/self/status' or die "status: $!"; local $/; <$in> } =~ /^Cpus_allowed_list:\s*(\S+)/m;
my @processors = map { /(\d+)-(\d+)/ ? $1 .. $2 : $_ } split /,/, $allowed;
my $witness = 'use Time::HiRes qw(sleep clock_gettime); $| = 1; my $before = clock_gettime(7); while (getppid == $ARGV[0]) { sleep 0.005;'
	. ' my $now = clock_gettime(7); printf "%d %d\n", ($before + 0.005) * 1e6, $now * 1e6 if $now - $before > 0.025; $before = $now }';
for my $processor (@processors)
{
	next if fork // die "no process: $!";
	open STDOUT, '>', "witness.$processor" or die "witness: $!";
	exec 'taskset', '-c', $processor, $^X, '-e', $witness, getppid;
	POSIX::_exit(127);
}
# stood_still(FROM, TO)    how long of this any did
sub stood_still
{
	my ($from, $to) = @_;
	my ($sum, $end) = (0, $from);
	my @gaps;
	for my $processor (@processors) { open my $in, '<', "witness.$processor" or next; push @gaps, map { [split] } <$in> }
	for my $gap (sort { $a->[0] <=> $b->[0] } @gaps)
	{
		my $begin = $gap->[0] > $end ? $gap->[0] : $end;
		my $stop = $gap->[1] < $to ? $gap->[1] : $to;
		next if $stop <= $begin;
		$sum += $stop - $begin;
		$end = $stop;
	}
	return $sum;
}

sub first_line { my ($file) = @_; open my $in, '<', $file or return ''; return scalar <$in> // '' }
sub text { my ($file) = @_; open my $in, '<', $file or return ''; local $/; return <$in> // '' }

for (my $round = 0; $done < $losses; $round++)
{
	my (%run, @ended);
	for my $i (1 .. ($losses - $done < $at_once ? $losses - $done : $at_once))
	{
		my $name = "loss/$round/$i";
		my $pid = fork // die "no process: $!";
		if ($pid == 0)
		{
			open STDERR, '>', "err.$i";
			$ENV{PGHOST} = '127.0.0.1';
			$ENV{PGPORT} = $proxy->{port};
			exec { 'gatepost' } 'gatepost', '--json', 'run', $name, '--ttl', "${ttl}s", '--', $child, 'beat', "beat.$i";
			POSIX::_exit(127);
		}
		$run{$pid} = { name => $name, number => $i, pid => $pid };
	}
	my $patience = time + 60;
	while (time < $patience && grep { !-s "beat.$_->{number}" && text("/proc/$_->{pid}/stat") !~ /^\d+ \(gatepost\) Z/ } values %run) { sleep 0.02 }
	# Some have renewed once by now, some have not.
	sleep rand 2;
	my $fault = qw(cut stall freeze stop half)[ $round % 5 ];
	$fault{$fault}++;
	my $undo = Faults::inflict_until($fault, $proxy);
	# What does not end is wrong, and is not waited for.
	my $end = time + 120;
	while (%run)
	{
		my $pid = waitpid -1, POSIX::WNOHANG;
		if ($pid <= 0)
		{
			kill 'KILL', keys %run if time > $end;
			sleep 0.01;
			next;
		}
		my $run = delete $run{$pid} or next;
		$run->{status} = $? & 127 ? 128 + ($? & 127) : $? >> 8;
		$run->{beat} = first_line("beat.$run->{number}");
		open my $err, '<', "err.$run->{number}";
		my $told = join '', <$err>;
		($run->{killed}) = $told =~ /"event":"killed".*?"at":([\d.]+)/;
		($run->{token}) = $told =~ /"token":"(\d+)"/;
		$run->{told} = $told;
		push @ended, $run;
	}
	$undo->();
	# A machine that is busy may lose one before the fault; it is given back then, and the row no longer has its deadline.
	my $offset = time - clock_gettime(CLOCK_BOOTTIME);
	my $deadlines = Faults::query("SELECT name, token, greatest(deadline, (extract(epoch FROM renewed_at) - $offset) * 1000000"
			. " + ttl)::bigint FROM gatepost.lease_slots WHERE name LIKE 'loss/$round/%'");
	my %deadline = map { my ($name, $token, $deadline) = split /\|/; ($name => [ $token, $deadline ]) } split /\n/, $deadlines;
	for my $run (@ended)
	{
		$done++;
		unlink "beat.$run->{number}", "err.$run->{number}";
		if (!$run->{token} || !$run->{beat}) { $unbegun++; next }
		my ($token, $deadline) = @{ $deadline{ $run->{name} } // [ 0, 0 ] };
		if ($run->{status} != 76 || $token != $run->{token} || !$run->{killed})
		{
			$wrong++;
			print "# $run->{name}: status $run->{status}, $run->{told}\n" if $wrong < 5;
			next;
		}
		my $limit = $deadline - $ttl * 1e6 / 4;
		# The command is told to end long before, and killed a quarter of a second before the margin.
		my $due = $limit - 250_000;
		my $killed = $run->{killed} * 1e6;
		$killed -= stood_still($due, $killed) if $killed >= $limit;
		$run->{beat} -= stood_still($due, $run->{beat}) if $run->{beat} >= $limit;
		my $left = ($limit - $killed) / 1000;
		$tightest = $left if !defined $tightest || $left < $tightest;
		$late++ if $left < 0;
		$beaten++ if $run->{beat} >= $limit;
		printf "# %s by %s: killed %.0f ms before the margin, last sign of life %.0f ms before it\n", $run->{name}, $fault, $left,
			($limit - $run->{beat}) / 1000 if $left < 0 || $run->{beat} >= $limit;
	}
}
printf "# seed %d, rounds: %s; the latest SIGKILL came %.0f ms before the margin\n", $seed, join(', ', map { "$fault{$_} $_" } sort keys %fault),
	$tightest // 0;
my $number = 0;
sub report { my ($right, $name) = @_; printf "%sok %d - %s\n", $right ? '' : 'not ', ++$number, $name; return }
my $tried = $done - $unbegun;
report($late == 0, "SIGKILL was sent the margin before the server's deadline: $late of $tried late");
report($beaten == 0, "... and the command did nothing after it: $beaten of $tried did");
report($wrong == 0, "... and the status is 76: $wrong of $tried had another");
report($unbegun * 10 <= $done, "nearly all were begun when the loss came: $unbegun of $done were not");
print "1..$number\n";

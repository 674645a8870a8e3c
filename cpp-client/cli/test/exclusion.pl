# Fifty processes run commands under one name, and the commands take a file lock: never two at once, while runs are
# killed, the server is stopped, frozen and restarted, and the network is cut.   exclusion.pl [RUNS [SEED]]
use strict;
use warnings FATAL => 'all';
no warnings 'exec';
use lib "$ENV{GATEPOST_TREE}/cpp-client/cli/test";
use Faults;
use POSIX ();
use Time::HiRes qw(sleep time);

my $runs = shift // $ENV{GATEPOST_RUNS} // 1000;
my $seed = shift // $ENV{GATEPOST_SEED} // time ^ $$;
srand $seed;
my $child = "$ENV{GATEPOST_HELPERS}/child";
my $proxy = Faults::proxy();
my ($begun, $killed, %running, %ended) = (0, 0);
my @faults = qw(kill kill kill cut cut half stall freeze restart);
my ($next_fault, %fault) = (time + 0.5);
my $end = time + ($ENV{GATEPOST_SECONDS} // 840) * ($runs > 1000 ? $runs / 1000 : 1);

# Some wait in line, some try and go; some through the proxy, some directly.
sub begin
{
	$begun++;
	my @wait = rand() < 0.8 ? ('--wait', '2m') : ();
	my $stay = int rand 20;
	my $pid = fork // die "no process: $!";
	if ($pid == 0)
	{
		open STDERR, '>>', 'stderr.txt';
		if (rand() < 0.6) { $ENV{PGHOST} = '127.0.0.1'; $ENV{PGPORT} = $proxy->{port}; }
		exec { 'gatepost' } 'gatepost', 'run', 'one', '--ttl', '3s', @wait, '--', $child, 'lock', 'lock.file', 'log.txt', $stay;
		POSIX::_exit(127);
	}
	$running{$pid} = 1;
	return;
}

while (($begun < $runs || %running) && time < $end)
{
	begin() if $begun < $runs && keys %running < 50;
	while ((my $pid = waitpid -1, POSIX::WNOHANG) > 0)
	{
		next unless delete $running{$pid};
		my $status = $? & 127 ? 'signal ' . ($? & 127) : $? >> 8;
		$ended{$status}++;
		# Who found no server has not run, and is begun again.
		$begun-- if $status eq '69';
	}
	if (time >= $next_fault)
	{
		my $fault = $faults[ rand @faults ];
		$fault{$fault}++;
		if ($fault eq 'kill') { my @pids = keys %running; kill 'KILL', $pids[ rand @pids ] if @pids }
		else { Faults::inflict($fault, $proxy) }
		$next_fault = time + 0.3 + rand 1.5;
	}
	sleep 0.01;
}
my $left = keys %running;
kill 'KILL', keys %running if $left;
waitpid $_, 0 for keys %running;

open my $log, '<', 'log.txt' or die "log.txt: $!";
my @lines = <$log>;
my $overlaps = grep { /overlap/ } @lines;
my @tokens = grep { /^\d+$/ } @lines;
my $fallen = grep { $tokens[$_] <= $tokens[ $_ - 1 ] } 1 .. $#tokens;
my $odd = join ', ', grep { !/^(?:0|69|75|76|signal 9)$/ } sort keys %ended;
printf "# seed %d: %d runs, %d commands, faults: %s\n", $seed, $begun - $left, scalar @tokens,
	join ', ', map { "$fault{$_} $_" } sort keys %fault;
printf "# statuses: %s\n", join ', ', map { "$ended{$_} of $_" } sort keys %ended;
my $number = 0;
sub report { my ($right, $name) = @_; printf "%sok %d - %s\n", $right ? '' : 'not ', ++$number, $name; return }
report($overlaps == 0, sprintf 'never two commands at once: %d overlaps in %d', $overlaps, scalar @tokens);
report($fallen == 0, "each command has a greater token than the one before: $fallen fell");
report($odd eq '', 'no status that is none of ours' . ($odd && ": $odd"));
report(@tokens > $runs / 4, sprintf '%d of %d runs came to their turn', scalar @tokens, $runs);
report($left < $runs / 10, sprintf 'in time: %d were not done', $left + $runs - $begun);
print "1..$number\n";

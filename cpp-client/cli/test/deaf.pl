# A server that is there and does not answer: every subcommand says so after its time limit, and ends at once when a signal
# asks for it, whatever it was waiting for.   deaf.pl [WHAT]    only the subcommand WHAT, or "end", the end of run and hold
use strict;
use warnings FATAL => 'all';
no warnings 'exec';
use lib "$ENV{GATEPOST_TREE}/cpp-client/cli/test";
use DeafServer;
use POSIX ();
use Time::HiRes qw(sleep time);

my $number = 0;
sub report
{
	my ($right, $name, $more) = @_;
	printf "%sok %d - %s\n", $right ? '' : 'not ', ++$number, $name;
	print "#   $more\n" unless $right;
	return;
}
my @servers;
sub serve { my ($pid, $port) = DeafServer::serve(@_); push @servers, $pid; return $port }
END { my $status = $?; kill 'KILL', @servers; $? = $status }

# What is to be protected is there.
system('psql', '-Xqc', 'SET client_min_messages = error; CREATE TABLE IF NOT EXISTS t ()') == 0 or die "no table: $?";

# Two for each of 30 subcommands; no more than a few at once, on a slow machine.
my $at_once = 12;
my $files = 0;
# begin(PORT, ARGUMENT...)
sub begin
{
	my ($port, @arguments) = @_;
	my %run = (said => 'said.' . ++$files, name => "run.$files");
	$run{pid} = fork // die "no process: $!";
	return \%run if $run{pid};
	@ENV{qw(PGHOST PGPORT PGAPPNAME)} = ('127.0.0.1', $port, $run{name});
	$ENV{PGCONNECT_TIMEOUT} //= 2;
	open STDIN, '<', '/dev/zero';
	open STDOUT, '>', $run{said};
	open STDERR, '>&', \*STDOUT;
	exec { 'gatepost' } 'gatepost', @arguments;
	POSIX::_exit(127);
}
# ended(RUN)    its status; 'none', and it is killed, when it does not end within a minute
sub ended
{
	my ($run) = @_;
	my $end = time + ($ENV{GATEPOST_PATIENCE} // 60);
	while (waitpid($run->{pid}, POSIX::WNOHANG) == 0)
	{
		if (time > $end) { kill 'KILL', $run->{pid}; waitpid $run->{pid}, 0; return 'none' }
		sleep 0.01;
	}
	return $? & 127 ? 128 + ($? & 127) : $? >> 8;
}
sub text { my ($file) = @_; open my $in, '<', $file or return ''; local $/; return <$in> // '' }
sub within { my ($check) = @_; my $end = time + 60; sleep 0.01 while !$check->() && time < $end; return }
# Until the server that is to fall silent has: it is waited for. What is not even taken is waited for while it sleeps, and
# goes on sleeping.
sub waits
{
	my ($run, $falls_silent) = @_;
	return within(sub { -e "silent.$run->{name}" }) if $falls_silent;
	my $slept = 0;
	within(sub {
		my $stat = text("/proc/$run->{pid}/stat");
		$slept = $stat =~ /^\d+ \(gatepost\) S/ ? $slept + 1 : 0;
		return $slept >= 20;
	});
	return;
}

my @ask = ('acquire x', 'renew x 1', 'release x 1', 'run x -- true', 'hold x', 'ls', 'status x', 'status x 1', 'break x', 'request-yield x',
	'waiters', 'history', 'timeline --svg t.svg', 'init', 'protect', 'protect t --lease x', 'purge --older-than 1d', 'doctor', 'metrics');
# These go on trying once they have begun.
my @wait = ('acquire x --wait 10m', 'run x --wait 10m -- true', 'run x --elect -- true', 'hold x --wait 10m', 'ls --watch',
	'metrics --listen 0');

my $only = shift // '';
@$_ = grep { !$only || /^\Q$only\E\b/ } @$_ for \@ask, \@wait;

# each_of(COMMANDS, CALL)    several beside each other
sub each_of
{
	my ($commands, $begin, $end) = @_;
	my @left = @$commands;
	while (my @now = splice @left, 0, $at_once)
	{
		my @runs = map { $begin->($_) } @now;
		$end->($now[$_], $runs[$_]) for 0 .. $#now;
	}
	return;
}
for my $server ([ 'takes no connection', undef, 1 ], [ 'has only greeted', qr/^[PQ]/, 1 ], [ 'knows the extension', qr/gatepost\.|EXTENSION/, 0 ])
{
	my ($kind, $regex, $first) = @$server;
	my $port = serve($regex);
	each_of([ @ask, $first ? @wait : () ], sub { begin($port, '--timeout', '300ms', split / /, $_[0]) }, sub {
		my ($name, $run) = @_;
		my ($status, $said) = (ended($run), text($run->{said}));
		report($status eq '69' && $said =~ /^gatepost: [^\n]+\n\z/, "$name, of a server that $kind: 69", "status $status, $said");
	});
	# Limits that do not end it before the signal.
	local $ENV{PGCONNECT_TIMEOUT} = 600;
	each_of([ @ask, @wait ], sub { begin($port, '--timeout', '10m', split / /, $_[0]) }, sub {
		my ($name, $run) = @_;
		waits($run, defined $regex);
		kill 'TERM', $run->{pid};
		my $status = ended($run);
		report($status eq '143', "$name, of a server that $kind: a signal ends it", "status $status, " . text($run->{said}));
	});
}

# The end of run and hold.
if ($only && $only ne 'end') { print "1..$number\n"; exit }
my $child = "$ENV{GATEPOST_HELPERS}/child";
my $port = serve(qr/lease_release/);
my $run = begin($port, 'run', 'ended', '--', 'sh', '-c', 'exit 3');
report(ended($run) eq '3', 'run ends with its command, though the release is not answered', text($run->{said}));
$run = begin($port, '--timeout', '10m', 'run', 'signalled', '--', 'sh', '-c', 'touch signalled; exit 4');
waits($run, 1);
kill 'TERM', $run->{pid};
report(ended($run) eq '4', '... and a signal ends the wait for it', text($run->{said}));
$run = begin($port, '--timeout', '10m', '--json', 'hold', 'held');
within(sub { text($run->{said}) =~ /granted/ });
kill 'TERM', $run->{pid};
my $status = ended($run);
report($status eq '0' && text($run->{said}) =~ /"event":"released",[^\n]*"not_confirmed"[^\n]*\n\z/, '... hold says that it is not confirmed',
	"status $status, " . text($run->{said}));

# What looks again and again.
$port = serve(qr/gatepost\./, 'silent');
my %look = (
	'ls --watch' => [ begin($port, '--timeout', '10m', 'ls', '--watch', '--interval', '100ms'), qr/NAME/, 143 ],
	'metrics --listen' => [ begin($port, '--timeout', '10m', 'metrics', '--listen', '0'), qr/port (\d+)/, 0 ]);
for my $name (sort keys %look) { my ($run, $begun) = @{ $look{$name} }; within(sub { text($run->{said}) =~ $begun }) }
open my $silent, '>', 'silent';
my ($at) = text($look{'metrics --listen'}[0]{said}) =~ /port (\d+)/;
my $scraper = IO::Socket::INET->new("localhost:$at") or die "nobody serves figures: $!";
print $scraper "GET /metrics HTTP/1.1\r\n\r\n";
for my $name (sort keys %look)
{
	my ($run, undef, $wanted) = @{ $look{$name} };
	waits($run, 1);
	kill 'TERM', $run->{pid};
	my $status = ended($run);
	report($status eq $wanted, "$name, of a server that falls silent: a signal ends it", "status $status, " . text($run->{said}));
}

# Losses: renewals are not answered, and nothing else is from then on.
$port = serve(qr/lease_renew|lease_release/);
my %loss = (
	run => begin($port, '--timeout', '10m', '--json', 'run', 'lost', '--ttl', '2s', '--', $child, 'beat', 'beat'),
	hold => begin($port, '--timeout', '10m', '--json', 'hold', 'lost2', '--ttl', '2s'));
for my $what (sort keys %loss)
{
	my $status = ended($loss{$what});
	report($status eq '76' && text($loss{$what}{said}) =~ /"event":"lost"/, "$what: a loss is 76, though nothing is answered",
		"status $status, " . text($loss{$what}{said}));
}
print "1..$number\n";

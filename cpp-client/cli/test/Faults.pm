# What may go wrong between a command and its server.
package Faults;
use strict;
use warnings FATAL => 'all';
use IPC::Open2;
use Time::HiRes qw(sleep);

my $data = "$ENV{PGHOST}/data";
my $host = $ENV{PGHOST};

sub proxy
{
	my %proxy;
	$proxy{pid} = open2($proxy{out}, $proxy{in}, "$ENV{GATEPOST_HELPERS}/proxy", $host);
	chomp($proxy{port} = readline $proxy{out});
	return \%proxy;
}

sub order
{
	my ($proxy, $line) = @_;
	print { $proxy->{in} } "$line\n";
	$proxy->{in}->flush;
	readline $proxy->{out};
	return;
}

sub query
{
	my ($sql) = @_;
	my $text = `psql -h '$host' -p 5432 -XAtqc "$sql"`;
	die "psql: $?" if $?;
	return $text;
}

# Stops the postmaster and all its children, and says which. It comes first, and what it has begun before it stops is
# looked for again: a server process that goes on would go on renewing.
sub freeze
{
	open my $file, '<', "$data/postmaster.pid" or return;
	chomp(my $pid = <$file>);
	kill 'STOP', $pid;
	my %stopped = ($pid => 1);
	for my $quiet (1 .. 3)
	{
		my @more = grep { !$stopped{$_}++ } split ' ', `pgrep -P $pid`;
		kill 'STOP', @more;
		redo if @more;
		sleep 0.02;
	}
	return keys %stopped;
}

sub control { system("pg_ctl -D '$data' -w -l '$host/server.log' @_ >/dev/null 2>&1"); return }

# For a moment.
sub inflict
{
	my ($fault, $proxy) = @_;
	if ($fault eq 'cut' || $fault eq 'half') { order($proxy, $fault) }
	elsif ($fault eq 'restart') { control('-m', rand() < 0.5 ? 'immediate' : 'fast', 'restart') }
	else
	{
		my $undo = inflict_until($fault, $proxy);
		sleep 0.2 + rand 1;
		$undo->();
	}
	return;
}

# Until what is returned is called.
sub inflict_until
{
	my ($fault, $proxy) = @_;
	if ($fault eq 'stall')
	{
		order($proxy, 'stall 1');
		return sub { order($proxy, 'cut'); order($proxy, 'stall 0') };
	}
	if ($fault eq 'freeze')
	{
		my @pids = freeze();
		return sub { kill 'CONT', @pids; return };
	}
	if ($fault eq 'stop')
	{
		control('-m', 'immediate', 'stop');
		return sub { control('start') };
	}
	# A half-closed connection says nothing; new ones are refused.
	order($proxy, 'refuse 1');
	order($proxy, $fault);
	return sub { order($proxy, 'cut'); order($proxy, 'refuse 0') };
}

1;

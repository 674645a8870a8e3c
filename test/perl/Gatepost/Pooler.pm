# PgBouncer in transaction mode before a server.
package Gatepost::Pooler;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use IPC::Run;
use Time::HiRes 'usleep';

use PostgreSQL::Test::Utils;

our @EXPORT = qw(start_pooler);

my @running;

# Its clients take turns on so many server connections for each database, in order. Result: host and port, which lead to
# every database of the server; whoever asks, as its superuser.
sub start_pooler
{
	my ($node, %option) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir_short();
	my %pooler = (host => $dir, port => 6432, log => '');
	my ($server_host, $server_port) = ($node->host, $node->port);
	my $user = $node->safe_psql('postgres', 'SELECT current_user');
	PostgreSQL::Test::Utils::append_to_file("$dir/pgbouncer.ini", qq(
[databases]
* = host=$server_host port=$server_port user=$user
[pgbouncer]
pool_mode = transaction
default_pool_size = $option{connections}
server_round_robin = 1
query_wait_timeout = 30
auth_type = any
listen_addr =
listen_port = $pooler{port}
unix_socket_dir = $dir
));
	# Where Debian puts it is not in everybody's path.
	local $ENV{PATH} = "$ENV{PATH}:/usr/sbin";
	$pooler{run} = IPC::Run::start([ 'pgbouncer', "$dir/pgbouncer.ini" ], '>&', \$pooler{log});
	push @running, \%pooler;
	for (1 .. 6000)
	{
		return @pooler{ 'host', 'port' } if -S "$dir/.s.PGSQL.$pooler{port}";
		last unless $pooler{run}->pumpable;
		$pooler{run}->pump_nb;
		usleep(10_000);
	}
	die "pgbouncer does not start: $pooler{log}";
}

END
{
	local $?;
	# Its polite end waits for clients.
	$_->{run}->signal('KILL') && $_->{run}->finish for @running;
}

1;

# A server that is there and falls silent: what is said passes through to the real one until a statement matches.
package DeafServer;
use strict;
use warnings FATAL => 'all';
use IO::Select;
use IO::Socket::INET;
use IO::Socket::UNIX;

# serve(REGEX, FILE)    in a process of its own; its id and port. Without a regex not even connections are taken; with a
# file, not before that is there. When it has fallen silent for a client whose application_name is N there is a file
# silent.N.
sub serve
{
	my ($regex, $file) = @_;
	my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 128) or die "no port: $!";
	my $port = $listener->sockport;
	my $pid = fork // die "no process: $!";
	return ($pid, $port) if $pid;
	my $files = IO::Select->new(defined $regex ? $listener : ());
	my (%other, %client, %name);
	while (1)
	{
		for my $end ($files->can_read(60))
		{
			if ($end == $listener)
			{
				my $client = $listener->accept or next;
				my $server = IO::Socket::UNIX->new(Peer => "$ENV{PGHOST}/.s.PGSQL.5432") or next;
				($other{$client}, $other{$server}, $client{$client}) = ($server, $client, 1);
				$files->add($client, $server);
				next;
			}
			my $other = $other{$end} or next;
			my $said = "";
			if (!sysread $end, $said, 65536) { $files->remove($end, $other); close $_ for $end, $other; delete @other{ $end, $other }; next }
			$name{$end} = $1 if $client{$end} && !$name{$end} && $said =~ /\0application_name\0([\w.]+)\0/;
			# From here on nobody says anything on this connection.
			if ($client{$end} && $said =~ $regex && (!$file || -e $file)) {
				$files->remove($end, $other);
				if ($name{$end}) { open my $silent, '>', "silent.$name{$end}" or die "silent: $!" }
				next;
			}
			syswrite $other, $said;
		}
	}
}

1;

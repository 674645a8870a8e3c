# Crashes: of the whole server, or of one backend, after which the server restarts all of them.
package Gatepost::Crash;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';

use Gatepost::Server;

our @EXPORT = qw(ways_to_crash crash);

sub ways_to_crash { return qw(immediate backend); }

# Comes back when the server answers again, recovered. For "backend" it is $pid that dies, and restart_after_crash must be on.
sub crash
{
	my ($node, $how, $pid) = @_;
	if ($how eq 'immediate')
	{
		$node->stop('immediate');
		return start_server($node);
	}
	kill('KILL', $pid) == 1 or die "backend $pid is gone already";
	# The old backends end before the new ones begin, so none of them answers.
	my $alive = "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid";
	$node->poll_query_until('postgres', $alive) or die 'server does not answer';
	return;
}

1;

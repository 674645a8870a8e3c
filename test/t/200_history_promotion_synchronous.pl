# A synchronous standby is promoted: every grant that was reported is there, whatever the sessions that took them had asked
# for, as long as the administrator's floor is standby.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $primary = new_server('primary', allows_streaming => 1);
my $standby = new_standby('standby', $primary);
query($primary, 'ALTER DATABASE postgres SET gatepost.durability_floor = standby');
configure($primary, synchronous_standby_names => 'standby');
$primary->poll_query_until('postgres', q(SELECT sync_state = 'sync' FROM pg_stat_replication)) or die 'no synchronous standby';
my $receiver;
END { kill 'CONT', $receiver if defined $receiver; }

# More grants than a sequence logs ahead, at every level a session may ask for.
my %reported;
for my $level (qw(off local remote_write on remote_apply))
{
	my $session = session($primary);
	session_query($session, "SET gatepost.durability = local; SET synchronous_commit = $level");
	for my $n (1 .. 28)
	{
		my $name = "$level $n";
		my $token = session_query($session, "SELECT gatepost.lease_acquire('$name', '1 h')");
		die "$name: not granted" if $token !~ /^\d+$/;
		$reported{$name} = $token;
	}
	my $first = "$level 1";
	is(session_query($session, "SELECT gatepost.lease_renew('$first', $reported{$first}, '2 h')"), 't',
		"$level: granted and renewed");
	end_session($session);
}

# From here on the standby takes nothing. Each of these asks for less, and none is told of its grant.
$receiver = stop_receiver($standby);
my @waiting;
for my $level (qw(off local remote_write))
{
	my $session = session($primary);
	my $pid = session_query($session,
		"SET gatepost.durability = local; SET synchronous_commit = $level; SELECT pg_backend_pid()");
	send_query($session, "SELECT gatepost.lease_acquire('unheard $level', '1 h')");
	$primary->poll_query_until('postgres',
		"SELECT wait_event = 'SyncRep' OR state = 'idle' AND query ~ 'unheard' FROM pg_stat_activity WHERE pid = $pid")
	  or die "$level: neither waits nor has ended";
	push @waiting, $session;
}

# The primary is gone.
$primary->stop('immediate');
for my $session (@waiting)
{
	end_session($session);
	my ($heard) = $session->{stdout} =~ /^(\d+)$/m;
	is($heard, undef, 'a grant that no standby has is not reported');
}
kill 'CONT', $receiver;
query($standby, 'ALTER SYSTEM RESET synchronous_standby_names');
finish_promotion($standby);
query($standby, 'ALTER DATABASE postgres RESET gatepost.durability_floor');

my $rows = query($standby, 'SELECT count(*), max(token) FROM gatepost.leases WHERE name !~ $$^unheard$$');
my ($highest) = sort { $b <=> $a } values %reported;
is($rows, scalar(keys %reported) . "|$highest", 'the promoted standby has all grants that were reported');
my $values = join ', ', map { "('$_', $reported{$_})" } sort keys %reported;
my $lost = "SELECT name FROM (VALUES $values) v(name, token) WHERE gatepost.lease_status(name, token) !~ 'held|recovering'";
is(query($standby, $lost),
	'', 'each with its token');
is(query($standby, q(SELECT count(*) FROM gatepost.leases WHERE name ~ ' 1$' AND ttl = '2 h')), 5, 'and all renewals');
my $next = acquire($standby, 'next', '1 h');
cmp_ok($next, '>', $highest, 'the next token is above all of them');
is(acquire($standby, 'off 12', '1 h'), '', 'and the last name taken is busy');

done_testing();

# A rule that is made while somebody waits counts for him too: he is refused when his turn comes.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('ruled');
query($node, q(CREATE ROLE worker; CREATE ROLE other; SELECT gatepost.grant_user('worker'); SELECT gatepost.grant_user('other')));

my $holder = session($node);
for my $wait (
	q(SELECT gatepost.lease_acquire('ruled/lease', '1 h', '1 h')),
	q(CALL gatepost.lease_acquire_wait('ruled/lease', '1 h', '1 h', token => NULL)),
	q(SELECT gatepost.lease_acquire_all('{ruled/free,ruled/lease}', '1 h', '1 h')),
	q(SELECT gatepost.semaphore_acquire('ruled/permits', 1, '1 h', wait => '1 h')),
	q(SELECT gatepost.advisory_lock('ruled/lease')),
	q(SELECT gatepost.advisory_lock('ruled/lock')))
{
	my ($name) = $wait =~ m{(ruled/(?!free)\w+)};
	my $locked = $name =~ /lock/;
	my $take = $locked ? 'advisory_lock(%s)' : $name =~ /permits/ ? q(semaphore_acquire(%s, 1, '1 h')) : q(lease_acquire(%s, '1 h'));
	my $token = session_query($holder, 'SELECT gatepost.' . sprintf $take, "'$name'");
	my $waiting = session($node);
	my $pid = session_query($waiting, 'SET ROLE worker; SELECT pg_backend_pid()');
	send_query($waiting, $wait);
	$node->poll_query_until('postgres',
		"SELECT EXISTS (SELECT FROM gatepost.waiters WHERE pid = $pid) OR EXISTS (SELECT FROM pg_locks WHERE pid = $pid AND NOT granted)")
	  or die 'nobody waits';
	query($node, q(SELECT gatepost.rule_add('ruled/', 'other', 'hold')));
	session_query($holder, 'SELECT gatepost.' . ($locked ? "advisory_unlock('$name')" : "lease_release('$name', $token)"));
	my (undef, $code) = sent_result($waiting);
	is($code, '42501', "$wait: refused by a rule that has come since");
	no_lock_left($node, 'no lock is left');
	query($node, q(SELECT gatepost.rule_drop(prefix, member, action) FROM gatepost.rules));
	$waiting->quit;
}
$holder->quit;

done_testing();

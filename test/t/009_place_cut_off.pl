# A session remembers where it last found the row of a name. Meanwhile the table is cut short, and another name's row put
# in the very place. On a server of its own: what VACUUM may cut off depends on whoever else has a snapshot.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('place');
my $session = session($node);
my $purge = q(SELECT gatepost.lease_purge('0', 'here'));
my $size = q(SELECT pg_relation_size('gatepost.lease_slots'));
my $lock = q(SELECT gatepost.try_advisory_xact_lock('here'));
my $acquire = q(SELECT gatepost.lease_acquire('here', '1 h') IS NOT NULL);

for my $other (0, 1)
{
	is(session_query($session, q(SELECT gatepost.lease_release('here', gatepost.lease_acquire('here', '1 h')))),
		't', 'the session knows the place');
	is(query($node, $purge), 1, 'the row goes');
	query($node, 'VACUUM (TRUNCATE) gatepost.lease_slots');
	is(query($node, $size), 0, 'and the block with it');
	isnt(acquire($node, 'other', '1 h'), '', 'another name comes there') if $other;
	is(session_query($session, $lock), 't', 'a lock looks past it');
	is(session_query($session, $acquire), 't', 'and a grant does');
	query($node, q(SELECT gatepost.lease_break('here')));
	query($node, $purge);
	query($node, 'VACUUM (TRUNCATE) gatepost.lease_slots');
}

$session->quit;
$node->stop;
done_testing();

# gatepost.durability_floor belongs to administrators: whatever a user sets, and whenever, the greater of the two counts.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

# No standby is ever connected: a transaction that has to wait for one fails with LG007.
my $node = new_server('floor', allows_streaming => 1);
query(
	$node, q(
	CREATE ROLE worker LOGIN;
	GRANT USAGE ON SCHEMA gatepost TO worker;
	GRANT EXECUTE ON FUNCTION gatepost.lease_acquire, gatepost.lease_renew, gatepost.lease_release TO worker;
	GRANT CREATE ON SCHEMA public TO worker));

my $count = 0;

sub grant_error
{
	my ($role, $setting) = @_;
	$count++;
	return query_error($node, "$setting SELECT gatepost.lease_acquire('name $count', '1 h')", extra_params => [ '-U', $role ]);
}
my $superuser = query($node, 'SELECT current_user');

is(grant_error('worker', ''), '', 'by default a grant asks for the local disk');
is(grant_error('worker', 'SET gatepost.durability = standby;'), 'LG007', 'a user may ask for more');
is(grant_error($superuser, 'SET gatepost.durability_floor = standby;'), 'LG007', 'an administrator may set the floor');

query($node, 'ALTER DATABASE postgres SET gatepost.durability_floor = standby');
is(grant_error('worker', ''), 'LG007', 'the floor counts for a user');
is(grant_error('worker', 'SET gatepost.durability = local;'), 'LG007', 'who cannot go below it');
is(grant_error($superuser, 'SET gatepost.durability_floor = local;'), '', 'an administrator can');

# The library is loaded by the first call; until then the setting is a placeholder that anybody may write.
my $early = session($node, extra_params => [ '-U', 'worker' ]);
session_error($early, 'SET gatepost.durability_floor = local');
is(session_error($early, q(SELECT gatepost.lease_acquire('early', '1 h'))), 'LG007', 'a placeholder set early does not count');
is(session_error($early, 'SET gatepost.durability_floor = local'), '42501', 'and later the setting is refused');
is(session_error($early, 'RESET gatepost.durability_floor'), '42501', 'to reset, too');
is(session_error($early, q(SELECT gatepost.lease_acquire('early', '1 h'))), 'LG007', 'the floor is where it was');
is(session_error($early, 'SET gatepost.durability = everywhere'), '22023', 'a level that does not exist is refused');
is(session_error($early, 'SET gatepost.durabilty = standby'), '42602', 'and so is a mistyped setting');
$early->quit;

# The level is judged at the commit, where nothing of the user's runs any more.
query(
	$node, q(
	CREATE FUNCTION quiet(name text) RETURNS bigint LANGUAGE sql SET gatepost.durability = local SET synchronous_commit = off
		AS $$ SELECT gatepost.lease_acquire(name, '1 h') $$));
is(query_error($node, q(SELECT quiet('a')), extra_params => [ '-U', 'worker' ]), 'LG007', 'a function with settings of its own');
is( query_error(
		$node, q(BEGIN; SELECT gatepost.lease_acquire('b', '1 h'); SET LOCAL gatepost.durability = local; COMMIT),
		extra_params => [ '-U', 'worker' ]),
	'LG007',
	'a level lowered after the grant');
is(query($node, 'SELECT count(*) FROM gatepost.leases WHERE name IN ($$a$$, $$b$$, $$early$$)'), 0, 'none was granted');

done_testing();

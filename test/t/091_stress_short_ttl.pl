# Eight sessions hammer one name with a ttl of two milliseconds: each grant begins after the end of the one before it.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('hammer');
query(
	$node, q(
	CREATE UNLOGGED TABLE grants (
		position bigint GENERATED ALWAYS AS IDENTITY, asked timestamptz, token bigint, answered timestamptz,
		acquired_at timestamptz, expires_at timestamptz);
	CREATE FUNCTION hammer() RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		asked timestamptz := clock_timestamp();
		drawn bigint := gatepost.lease_acquire('x', '2 ms');
		answered timestamptz := clock_timestamp();
	BEGIN
		IF drawn IS NOT NULL THEN
			INSERT INTO grants (asked, token, answered, acquired_at, expires_at)
				SELECT asked, drawn, answered, l.acquired_at, l.expires_at FROM gatepost.leases l WHERE l.token = drawn;
		END IF;
	END $$));
load_until($node, '8 sessions, 5 s, no error', 5, '--client=8 --jobs=2 --protocol=prepared',
	{ '091_hammer' => "SELECT hammer();\n" }, 'SELECT count(*) > 100 FROM grants');

my $grants = query($node, 'SELECT count(*) FROM grants');
cmp_ok($grants, '>', 100, "$grants grants");

# A row's position is drawn while its grant is in flight, so positions are in the order of the grants.
is(query($node, q(
	SELECT count(*) FROM (SELECT token, lag(token) OVER (ORDER BY position) AS before FROM grants) t WHERE token <= before)),
	0, 'tokens rise from grant to grant');

# A grant's deadline is its ttl after it was asked for, or later; the next one was decided before it was answered.
is(query($node, q(
	SELECT count(*) FROM (
		SELECT answered, lag(asked) OVER (ORDER BY token) + interval '2 ms' AS deadline FROM grants) t
	WHERE answered < deadline)), 0, 'no grant was answered before the end of the one before it');
is(query($node, q(
	SELECT count(*) FROM grants WHERE expires_at <= acquired_at OR acquired_at < asked OR acquired_at > answered)),
	0, 'what the view says of a grant lies within the call');
is(query($node, 'SELECT count(*) - count(DISTINCT token) FROM grants'), 0, 'no token was given twice');

# Fractions are not rounded to nothing.
for my $ttl ('0.4 s', '1500 microseconds', '0.9999 s')
{
	my $token = acquire($node, "ttl $ttl", $ttl);
	is(query($node, "SELECT ttl = '$ttl'::interval FROM gatepost.leases WHERE token = $token"), 't', "a ttl of $ttl is kept");
}

done_testing();

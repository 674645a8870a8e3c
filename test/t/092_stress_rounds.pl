# 10,000 rounds of acquire, renew and release by eight sessions on four names: renewals keep the token, each new grant has
# a larger one, and one holder works at a time.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('rounds');
query(
	$node, q(
	CREATE UNLOGGED TABLE grants (position bigint GENERATED ALWAYS AS IDENTITY, name text, token bigint);
	CREATE TABLE job (name text PRIMARY KEY, rounds bigint DEFAULT 0, fence bigint);
	INSERT INTO job SELECT 'name-' || n FROM generate_series(0, 3) n));

# The counter of a name is read, then written by a fenced update: a second holder would lose rounds.
my $script = q(
\set n :client_id % 4
SELECT coalesce(gatepost.lease_acquire('name-' || :n, '1 h'), 0) AS token \gset
\if :token
INSERT INTO grants (name, token) VALUES ('name-' || :n, :token);
SELECT rounds + 1 AS rounds FROM job WHERE name = 'name-' || :n \gset
SELECT 1 / gatepost.lease_renew('name-' || :n, :token)::int;
SELECT 1 / gatepost.fenced_update('job', jsonb_build_object('name', 'name-' || :n), jsonb_build_object('rounds', :rounds), :token)::int;
SELECT 1 / gatepost.lease_release('name-' || :n, :token)::int;
\endif
);
$node->pgbench(
	'--no-vacuum --client=8 --jobs=2 --transactions=1250',
	0, [qr{processed: 10000/10000}], [qr{^(?!.*error)}si],
	'10,000 rounds, no error',
	{ '092_rounds' => $script });

my $grants = query($node, 'SELECT count(*) FROM grants');
cmp_ok($grants, '>', 1000, "$grants grants");
is(query($node, 'SELECT count(DISTINCT token) FROM grants'), $grants, 'all tokens are different');
is(query($node, q(
	SELECT count(*) FROM (
		SELECT token, lag(token) OVER (PARTITION BY name ORDER BY position) AS before FROM grants) t
	WHERE token <= before)), 0, 'tokens of a name rise in the order of its grants');
is(query($node, 'SELECT sum(rounds) FROM job'), $grants, 'no round was lost to a second holder');
is( query($node, q(SELECT count(*) FROM job WHERE fence <> (SELECT max(token) FROM grants g WHERE g.name = job.name))),
	0,
	"each row's mark is the last grant's token");
is(query($node, q(SELECT count(*) FROM gatepost.leases WHERE state <> 'released')), 0, 'all were released');
no_lock_left($node, 'no lock is left');

done_testing();

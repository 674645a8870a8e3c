# Eight sessions take permits of one semaphore with random weights, use and release them, let them lapse, wait and resize:
# at no commit of a grant are more permits live than there are, but for what a resize has left.
#
# Then the server crashes, and as many are live as before.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

# make bench runs it for longer.
my $seconds = $ENV{GATEPOST_STRESS_SECONDS} // 10;
my $node = new_server('permits', conf => "synchronous_commit = off\n");
query(
	$node, q(
	-- How many there are; only resizes change it, one at a time.
	CREATE TABLE size (permits int);
	INSERT INTO size VALUES (6);
	-- What is surely held: from the answer on until it is given back, or may have lapsed.
	CREATE UNLOGGED TABLE held (weight int, asked timestamptz, since timestamptz, until timestamptz);
	-- A number may count from begun until the next one is done.
	CREATE UNLOGGED TABLE resized (n bigserial, permits int, begun timestamptz, done timestamptz);
	CREATE UNLOGGED TABLE answers (what text, answer text);
	INSERT INTO resized (permits, begun) VALUES (6, '-infinity');
	CREATE TABLE guarded (token bigint);
	INSERT INTO guarded VALUES (0);
	CREATE FUNCTION acquired(weight int, ttl interval, wait interval) RETURNS bigint LANGUAGE plpgsql AS $$
	DECLARE
		token bigint;
	BEGIN
		token := gatepost.semaphore_acquire('pool', (SELECT permits FROM size), ttl, wait => wait, weight => weight);
		INSERT INTO answers VALUES ('acquire', CASE WHEN token IS NULL THEN 'busy' ELSE 'granted' END);
		RETURN coalesce(token, 0);
	EXCEPTION WHEN SQLSTATE 'LG009' OR SQLSTATE '22023' THEN
		INSERT INTO answers VALUES ('acquire', SQLSTATE);
		RETURN 0;
	END $$;
	CREATE FUNCTION held(weight int, token bigint, asked double precision, ttl interval) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		since timestamptz := clock_timestamp();
		until timestamptz;
		renewed boolean := false;
	BEGIN
		PERFORM pg_sleep(random() * 0.012);
		until := clock_timestamp();
		BEGIN
			renewed := gatepost.lease_renew('pool', token);
		EXCEPTION WHEN SQLSTATE 'LG010' THEN
			NULL;
		END;
		IF NOT renewed THEN
			until := least(until, to_timestamp(asked) + ttl - interval '10 us');
		END IF;
		IF until > since THEN
			INSERT INTO held VALUES (weight, to_timestamp(asked), since, until);
		END IF;
		INSERT INTO answers VALUES ('renew', renewed::text);
	END $$;
	CREATE FUNCTION used(token bigint) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		answer text := 'used';
	BEGIN
		BEGIN
			PERFORM gatepost.fence_use('pool', token);
			PERFORM pg_sleep(random() * 0.003);
		EXCEPTION WHEN SQLSTATE 'LG001' OR SQLSTATE 'LG002' THEN
			answer := SQLSTATE;
		END;
		INSERT INTO answers VALUES ('use', answer);
	END $$;
	CREATE FUNCTION released(token bigint) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		answer text;
	BEGIN
		BEGIN
			answer := gatepost.lease_release('pool', token);
		EXCEPTION WHEN SQLSTATE 'LG010' THEN
			answer := SQLSTATE;
		END;
		INSERT INTO answers VALUES ('release', answer);
	END $$;
	CREATE FUNCTION resized(to_permits int) RETURNS bigint LANGUAGE plpgsql AS $$
	DECLARE
		since timestamptz;
		number bigint := 0;
	BEGIN
		UPDATE size SET permits = to_permits;
		since := clock_timestamp();
		IF gatepost.semaphore_resize('pool', to_permits) THEN
			INSERT INTO resized (permits, begun) VALUES (to_permits, since) RETURNING n INTO number;
			INSERT INTO answers VALUES ('resize', 'true');
		END IF;
		RETURN number;
	EXCEPTION WHEN SQLSTATE 'LG010' OR undefined_object THEN
		INSERT INTO answers VALUES ('resize', SQLSTATE);
		RETURN 0;
	END $$));

my $head = "\\set weight random(1, 2) * random(1, 2)\n\\set wait random(0, 1) * random(1, 10)\n\\set ttl random(2, 12)\n\\set heavy random(0, 3)\n"
  . "\\if :heavy\n\\set weight 1\n\\endif\n";
my $acquire = "SELECT extract(epoch FROM clock_timestamp()) AS asked, acquired(:weight, :ttl * interval '1 ms', :wait * interval '1 ms') AS token \\gset\n";
my %scripts = (
	'120_hold@6' => "$head$acquire\\if :token\nSELECT held(:weight, :token, :asked, :ttl * interval '1 ms');\nSELECT released(:token);\n\\endif\n",
	'120_use@2' => "$head$acquire\\if :token\nSELECT used(:token);\n\\endif\n",
	# Lapses; used late.
	'120_late@1' => "$head$acquire\\if :token\nSELECT pg_sleep(0.01);\nSELECT used(:token);\n\\endif\n",
	'120_undone@1' => "$head\\set wait 0\nBEGIN;\n${acquire}ROLLBACK;\n",
	'120_release_undone@1' => "$head$acquire\\if :token\nBEGIN;\nSELECT released(:token);\nROLLBACK;\nSELECT released(:token);\n\\endif\n");
my $check = q(SELECT max(taken) FROM (SELECT sum(weight) OVER (ORDER BY at, weight) AS taken FROM
	(SELECT weight, since AS at FROM held UNION ALL SELECT -weight, until FROM held) AS e) AS t);

# The number stays: never more than that.
load_until($node, '8 sessions, no error', $seconds / 2, '--client=8 --jobs=2', \%scripts, "SELECT ($check) >= 5");
cmp_ok(query($node, $check), '<=', 6, 'no more were held at once than there are');
cmp_ok(query($node, $check), '>=', 5, 'and nearly as many');
query($node, 'TRUNCATE held');

# It changes between 3 and 6: what a grant found held all the while fits into the greatest number that can have counted.
my %resizing = map { s/^120/121/r => $scripts{$_} } keys %scripts;
my @counts = (
	[ acquire => 'granted' ], [ acquire => 'busy' ], [ acquire => 'LG009' ], [ renew => 'true' ], [ renew => 'false' ],
	[ release => 'true' ], [ release => 'false' ], [ use => 'used' ], [ use => 'LG001' ], [ resize => 'true' ]);
my $each = join ' AND ', map { "bool_or(what = '$_->[0]' AND answer = '$_->[1]')" } @counts;
load_until($node, '8 sessions and resizes, no error', $seconds / 2, '--client=8 --jobs=2',
	{
		%resizing,
		'121_resize@1' => "\\set to random(3, 6)\nSELECT resized(:to) AS number \\gset\nUPDATE resized SET done = clock_timestamp() WHERE n = :number;\n"
	},
	"SELECT $each FROM answers");
is( query(
		$node, q(
		WITH size AS (SELECT permits, begun, coalesce(lead(done) OVER (ORDER BY n), 'infinity') AS over FROM resized)
		SELECT count(*), min(found || ' of ' || permits) FROM (
			SELECT g.weight + coalesce((SELECT sum(h.weight) FROM held AS h WHERE h.since < g.asked AND h.until > g.since), 0) AS found,
				(SELECT max(permits) FROM size WHERE begun < g.since AND over > g.asked) AS permits
			FROM held AS g) AS f
		WHERE found > permits)),
	'0|', 'no grant beside more than a resize had left');
for my $count (@counts)
{
	my ($what, $answer) = @$count;
	cmp_ok(query($node, "SELECT count(*) FROM answers WHERE what = '$what' AND answer = '$answer'"), '>', 0, "$what: answers $answer");
}
no_lock_left($node, 'no lock is left');
note(query($node, q(SELECT string_agg(format('%s %s: %s', what, coalesce(answer, 'null'), count), E'\n' ORDER BY what, answer)
	FROM (SELECT what, answer, count(*) FROM answers GROUP BY what, answer) AS a)));

# Nobody else asks: as many as there are, and none that is free is denied.
query($node, "SELECT gatepost.lease_break('pool')");
query($node, "SELECT gatepost.semaphore_resize('pool', 6)");
my @tokens = map { query($node, "SELECT gatepost.semaphore_acquire('pool', 6, '1 h')") } 1 .. 6;
is(scalar(grep { $_ ne '' } @tokens), 6, 'six are free after all that');
my $ask = "SELECT gatepost.semaphore_acquire('pool', 6, '1 h')";
is(query($node, $ask), '', 'and no seventh');

# Given back twice, one permit is one.
is(query($node, "SELECT gatepost.lease_release('pool', $tokens[0]), gatepost.lease_release('pool', $tokens[0])"), 't|f', 'given back once');
isnt($tokens[0] = query($node, $ask), '', 'one more');
is(query($node, $ask), '', 'and no second');

# A crash changes nothing, and undoes what was open.
query($node, "SELECT gatepost.lease_release('pool', $tokens[5])");
my $open = session($node);
session_query($open, 'BEGIN');
isnt($tokens[5] = session_query($open, $ask), '', 'a grant that is still open');
is(query($node, $ask), '', 'counts');
# What was given back is on disk: a release alone may be lost with a crash.
query($node, 'CHECKPOINT');
$node->stop('immediate');
end_session($open);
$node->start;
is(query($node, "SELECT permits, live, free FROM gatepost.semaphores WHERE name = 'pool'"), '6|5|1', 'after a crash as many are live');
isnt(query($node, $ask), '', 'the open one is free');
is(query($node, $ask), '', 'and none is granted');
is(query($node, "SELECT gatepost.lease_renew('pool', $tokens[3])"), 't', 'the holders go on');
is(query($node, "SELECT gatepost.lease_release('pool', $tokens[4])"), 't', 'or give back');
isnt(query($node, $ask), '', 'which is free then');
is(query($node, $ask), '', 'once');

# A holder who is over his time and still at work: he may go on until the slot is granted again, not afterwards.
query($node, "SELECT gatepost.fence_protect('guarded', lease => 'pool')");
query($node, "SELECT gatepost.lease_break('pool')");
my $late = query($node, "SELECT gatepost.semaphore_acquire('pool', 6, '1 ms', weight => 6)");
$node->poll_query_until('postgres', "SELECT gatepost.lease_status('pool', $late) = 'lapsed'");
my $write = "BEGIN; SELECT gatepost.fence_use('pool', $late); UPDATE guarded SET token = $late; COMMIT;";
my ($status, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY sqlstate\n$write", on_error_stop => 1);
is($status, 0, 'over his time he may still write');
isnt(query($node, "SELECT gatepost.semaphore_acquire('pool', 6, '1 h', weight => 6)"), '', 'until somebody else has the permits');
($status, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY sqlstate\n$write", on_error_stop => 1);
like($stderr, qr/LG001/, 'then his writes are refused');
is(query($node, 'SELECT count(*) FROM guarded WHERE token = ' . $late), 1, 'what he wrote before stays');

done_testing();

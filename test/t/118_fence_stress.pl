# Eight sessions acquire short leases of three names, use old and new tokens on protected tables, let them lapse, release
# and break them, and take locks of the same names: what is written rises in the order of the commits.
#
# Each change of a protected row, each grant and each work under a lock notes a token when its transaction commits; work
# under a lock counts as one above the last token of the name. A note with a token lower than one before it is a stale
# write, or a grant beside an open use.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

# make bench runs it for longer.
my $seconds = $ENV{GATEPOST_STRESS_SECONDS} // 10;
my $node = new_server('fences', conf => "synchronous_commit = off\ndeadlock_timeout = 20\n");
query(
	$node, q(
	CREATE UNLOGGED TABLE done (name text, what text, token bigint);
	CREATE UNLOGGED TABLE committed (n bigserial, name text, what text, token bigint);
	CREATE UNLOGGED TABLE answers (what text, answer text);
	-- Tokens that were told, those of grants that are in flight or were rolled back among them.
	CREATE SEQUENCE told_1; CREATE SEQUENCE told_2; CREATE SEQUENCE told_3;
	CREATE FUNCTION note_committed() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO committed (name, what, token) VALUES (NEW.name, NEW.what, NEW.token);
		RETURN NULL;
	END $$;
	CREATE CONSTRAINT TRIGGER note_committed AFTER INSERT ON done DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION note_committed();
	CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO done VALUES (TG_ARGV[0], 'change', NEW.token);
		RETURN NULL;
	END $$;
	-- The second kind of table is partitioned, and its row moves with each change.
	DO $do$
	BEGIN
		FOR n IN 1 .. 3 LOOP
			EXECUTE format($$
				CREATE UNLOGGED TABLE plain_%1$s (token bigint);
				CREATE TABLE parted_%1$s (part int, token bigint) PARTITION BY LIST (part);
				CREATE UNLOGGED TABLE parted_%1$s_0 PARTITION OF parted_%1$s FOR VALUES IN (0);
				CREATE UNLOGGED TABLE parted_%1$s_1 PARTITION OF parted_%1$s FOR VALUES IN (1);
				INSERT INTO plain_%1$s VALUES (0);
				INSERT INTO parted_%1$s VALUES (0, 0);
				CREATE TRIGGER note AFTER INSERT OR UPDATE ON plain_%1$s FOR EACH ROW EXECUTE FUNCTION note_change('%1$s');
				CREATE TRIGGER note AFTER INSERT ON parted_%1$s FOR EACH ROW EXECUTE FUNCTION note_change('%1$s');
				SELECT gatepost.fence_protect('plain_%1$s', lease => '%1$s');
				SELECT gatepost.fence_protect('parted_%1$s', lease => '%1$s') $$, n);
		END LOOP;
	END $do$;
	CREATE FUNCTION told(name text) RETURNS bigint LANGUAGE plpgsql AS $$
	DECLARE
		token bigint;
	BEGIN
		EXECUTE format('SELECT last_value FROM told_%s', name) INTO token;
		-- Or an old one.
		IF random() < 0.3 THEN
			token := coalesce((SELECT c.token FROM (SELECT * FROM committed ORDER BY n DESC LIMIT 50) AS c
				WHERE c.name = told.name AND c.what = 'grant' ORDER BY random() LIMIT 1), token);
		END IF;
		RETURN token;
	END $$;
	CREATE FUNCTION used(name text, live boolean DEFAULT false) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		mine bigint := told(name);
		answer text := 'used';
	BEGIN
		BEGIN
			PERFORM gatepost.fence_use(name, mine, live);
			IF random() < 0.2 THEN
				EXECUTE format('UPDATE parted_%s SET part = 1 - part, token = $1', name) USING mine;
			ELSIF random() < 0.2 THEN
				EXECUTE format('TRUNCATE plain_%s', name);
				EXECUTE format('INSERT INTO plain_%s VALUES ($1)', name) USING mine;
			ELSE
				EXECUTE format('UPDATE plain_%s SET token = $1', name) USING mine;
			END IF;
			PERFORM pg_sleep(random() * 0.002);
		EXCEPTION WHEN SQLSTATE 'LG001' OR SQLSTATE 'LG002' OR SQLSTATE 'LG005' OR serialization_failure OR deadlock_detected THEN
			answer := SQLSTATE;
		END;
		INSERT INTO answers VALUES ('use', answer);
	END $$;
	-- Without a use, in the same transaction or another: never.
	CREATE FUNCTION unused(name text) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		EXECUTE format('UPDATE plain_%s SET token = $1', name) USING told(name);
		INSERT INTO answers VALUES ('no use', 'done');
	EXCEPTION WHEN SQLSTATE 'LG003' THEN
		INSERT INTO answers VALUES ('no use', SQLSTATE);
	END $$;
	CREATE FUNCTION granted(name text, ttl interval) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		token bigint := gatepost.lease_acquire(name, ttl);
	BEGIN
		IF token IS NOT NULL THEN
			PERFORM setval('told_' || name, token);
			INSERT INTO done VALUES (name, 'grant', token);
		END IF;
		INSERT INTO answers VALUES ('acquire', CASE WHEN token IS NULL THEN 'busy' ELSE 'granted' END);
	END $$;
	CREATE FUNCTION changed(what text, name text, call text) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		answer text;
	BEGIN
		BEGIN
			EXECUTE 'SELECT gatepost.' || call INTO answer USING name, told(name);
		EXCEPTION WHEN SQLSTATE 'LG010' THEN
			answer := SQLSTATE;
		END;
		IF what = 'break' AND answer NOT LIKE 'LG%' THEN
			INSERT INTO done VALUES (name, 'broken', answer::bigint);
			answer := 'broken';
		END IF;
		INSERT INTO answers VALUES (what, answer);
	END $$;
	CREATE FUNCTION locked(name text, wait interval, shared boolean) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		locked boolean := gatepost.try_advisory_xact_lock(name, wait, shared);
	BEGIN
		IF locked THEN
			INSERT INTO done SELECT locked.name, 'lock', token + 1 FROM gatepost.leases l WHERE l.name = locked.name;
			PERFORM pg_sleep(random() * 0.001);
		END IF;
		INSERT INTO answers VALUES ('lock', locked::text);
	END $$));

my $head = "\\set n random(1, 3)\n\\set wait random(0, 1) * random(1, 5)\n\\set ttl random(1, 15)\n";
my %scripts = (
	'118_acquire@4' => "${head}SELECT granted(:n::text, :ttl * interval '1 ms');\n",
	'118_acquire_and_use@2' => "${head}BEGIN;\nSELECT granted(:n::text, :ttl * interval '1 ms');\nSELECT used(:n::text);\nCOMMIT;\n",
	'118_acquire_undone@1' => "${head}BEGIN;\nSELECT granted(:n::text, :ttl * interval '1 ms');\nROLLBACK;\n",
	'118_use@5' => "${head}SELECT used(:n::text);\n",
	'118_use_live@2' => "${head}SELECT used(:n::text, true);\n",
	'118_use_repeatable@2' => "${head}BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT used(:n::text);\nSELECT used(:n::text);\nCOMMIT;\n",
	'118_use_undone@2' => "${head}BEGIN;\nSAVEPOINT one;\nSELECT used(:n::text);\nROLLBACK TO one;\nSELECT unused(:n::text);\nCOMMIT;\n",
	'118_use_release@2' => "${head}BEGIN;\nSELECT used(:n::text);\n"
	  . "SELECT changed('release', :n::text, 'lease_release(\$1, \$2)');\nCOMMIT;\n",
	'118_release_lock@1' => "${head}BEGIN;\nSELECT changed('release', :n::text, 'lease_release(\$1, \$2)');\n"
	  . "SELECT locked(:n::text, '0', false);\nCOMMIT;\n",
	'118_renew@2' => "${head}SELECT changed('renew', :n::text, 'lease_renew(\$1, \$2, ''5 ms'')');\n",
	'118_break@1' => "${head}SELECT changed('break', :n::text, 'lease_break(\$1)');\n",
	'118_lock@2' => "${head}SELECT locked(:n::text, :wait * interval '1 ms', random() < 0.3);\n");
$node->pgbench("--no-vacuum --client=8 --jobs=2 --time=$seconds",
	0, [qr{number of failed transactions: 0}], [qr{^(?!.*error)}si], "8 sessions, $seconds s, no error", \%scripts);

for my $count (
	[ use => 'used' ], [ use => 'LG001' ], [ use => 'LG002' ], [ use => 'LG005' ], [ 'no use' => 'LG003' ], [ acquire => 'granted' ],
	[ acquire => 'busy' ], [ release => 'true' ], [ release => 'false' ], [ renew => 'true' ], [ break => 'broken' ],
	[ lock => 'true' ], [ lock => 'false' ])
{
	my ($what, $answer) = @$count;
	cmp_ok(query($node, "SELECT count(*) FROM answers WHERE what = '$what' AND answer = '$answer'"), '>', 0, "$what: answers $answer");
}
is( query(
		$node, q(
		SELECT count(*), min(what || ' with ' || token || ' after ' || before || ', note ' || n) FROM (
			SELECT *, max(token) OVER (PARTITION BY name ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
			FROM committed) AS c
		WHERE token < before)),
	'0|', 'tokens rise in the order of the commits');
is(query($node, q(SELECT count(*) FROM answers WHERE what = 'no use' AND answer <> 'LG003')), 0, 'nothing is written without a use');
is(our_locks($node), 0, 'no lock is left');
note(query($node, q(SELECT string_agg(format('%s %s: %s', what, coalesce(answer, 'null'), count), E'\n' ORDER BY what, answer)
	FROM (SELECT what, answer, count(*) FROM answers GROUP BY what, answer) AS a)));

done_testing();

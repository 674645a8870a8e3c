# Eight sessions acquire short leases of three names, use old and new tokens on protected tables, let them lapse, release
# and break them, and take locks of the same names: what is written rises in the order of the commits.
#
# Each change of a protected row, each grant and each work under a lock notes a token when its transaction commits; work
# under a lock counts as one above the last token of the name. A note with a token lower than one before it is a stale
# write, or a grant beside an open use.
#
# Rows with a mark of their own, in a table that is protected by its column and in one that is not, are written with the
# same tokens, and by two writers with tokens that rise and fall. Each write is noted while the row is locked: its mark
# never falls, and what the row says was written by whoever left the mark.
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
	CREATE UNLOGGED TABLE rows (id int PRIMARY KEY, token bigint);
	INSERT INTO rows SELECT n, 0 FROM generate_series(1, 3) AS n;
	CREATE FUNCTION note_row() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO done VALUES (NEW.id::text, 'change', NEW.token);
		RETURN NULL;
	END $$;
	CREATE TRIGGER note AFTER UPDATE ON rows FOR EACH ROW EXECUTE FUNCTION note_row();
	SELECT gatepost.fence_protect('rows', lease => '{id}');
	CREATE UNLOGGED TABLE marked (id int PRIMARY KEY, value bigint, fence bigint);
	CREATE UNLOGGED TABLE guarded (LIKE marked INCLUDING ALL);
	INSERT INTO marked SELECT n FROM generate_series(1, 4) AS n;
	INSERT INTO guarded SELECT n FROM generate_series(1, 4) AS n;
	CREATE UNLOGGED TABLE marks (n bigserial, target text, id int, value bigint, mark bigint);
	CREATE FUNCTION note_mark() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO marks (target, id, value, mark) VALUES (TG_RELNAME, NEW.id, NEW.value, NEW.fence);
		RETURN NULL;
	END $$;
	CREATE TRIGGER note AFTER UPDATE ON marked FOR EACH ROW EXECUTE FUNCTION note_mark();
	CREATE TRIGGER note AFTER UPDATE ON guarded FOR EACH ROW EXECUTE FUNCTION note_mark();
	SELECT gatepost.fence_protect('guarded', fence_column => 'fence');
	CREATE FUNCTION written(what text, target regclass, id int, token bigint) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		answer text;
	BEGIN
		BEGIN
			answer := gatepost.fenced_update(target, jsonb_build_object('id', id), jsonb_build_object('value', token), token);
		EXCEPTION WHEN SQLSTATE 'LG001' THEN
			answer := SQLSTATE;
		END;
		INSERT INTO answers VALUES (what, answer);
	END $$;
	-- With a lease of the writer's own, which has been granted now or some time before.
	CREATE UNLOGGED TABLE held (name text PRIMARY KEY, token bigint);
	CREATE FUNCTION written_in_use(name text, id int) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		mine bigint := (SELECT h.token FROM held AS h WHERE h.name = written_in_use.name);
		answer text := 'true';
	BEGIN
		IF mine IS NULL OR random() < 0.5 THEN
			PERFORM gatepost.lease_release(name, mine) WHERE mine IS NOT NULL;
			mine := gatepost.lease_acquire(name, '1 h');
			INSERT INTO held VALUES (name, mine) ON CONFLICT ON CONSTRAINT held_pkey DO UPDATE SET token = EXCLUDED.token;
		END IF;
		BEGIN
			PERFORM gatepost.fence_use(name, mine);
			UPDATE guarded AS g SET value = mine WHERE g.id = written_in_use.id;
		EXCEPTION WHEN SQLSTATE 'LG001' THEN
			answer := SQLSTATE;
		END;
		INSERT INTO answers VALUES ('two in use', answer);
	END $$;
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
				UPDATE rows SET token = mine WHERE id = name::int;
			ELSIF random() < 0.2 THEN
				UPDATE guarded SET value = mine WHERE id = name::int;
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
		IF random() < 0.3 THEN
			UPDATE rows SET token = told(name) WHERE id = name::int;
		ELSIF random() < 0.3 THEN
			UPDATE guarded SET value = told(name) WHERE id = name::int;
		ELSE
			EXECUTE format('UPDATE plain_%s SET token = $1', name) USING told(name);
		END IF;
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
	'118_write@2' => "${head}SELECT written('write', 'marked', :n, told(:n::text));\n",
	'118_write_guarded@2' => "${head}SELECT written('write guarded', 'guarded', :n, told(:n::text));\n",
	'118_lock@2' => "${head}SELECT locked(:n::text, :wait * interval '1 ms', random() < 0.3);\n");
my @counts = (
	[ use => 'used' ], [ use => 'LG001' ], [ use => 'LG002' ], [ use => 'LG005' ], [ 'no use' => 'LG003' ], [ acquire => 'granted' ],
	[ acquire => 'busy' ], [ release => 'true' ], [ release => 'false' ], [ renew => 'true' ], [ break => 'broken' ],
	[ lock => 'true' ], [ lock => 'false' ], [ write => 'true' ], [ write => 'LG001' ], [ 'write guarded' => 'true' ],
	[ 'write guarded' => 'LG001' ]);
my $each = join ' AND ', map { "bool_or(what = '$_->[0]' AND answer = '$_->[1]')" } @counts;
load_until($node, "8 sessions, $seconds s, no error", $seconds, '--client=8 --jobs=2', \%scripts, "SELECT $each FROM answers");
push @counts, [ two => 'true' ], [ two => 'LG001' ], [ 'two in use' => 'true' ], [ 'two in use' => 'LG001' ];

# Half of the tokens are new when they are drawn, the others have been drawn some time before.
my $writes = $ENV{GATEPOST_STRESS_SECONDS} ? 10_000 : 2_000;
$node->pgbench("--no-vacuum --client=2 --jobs=2 --transactions=$writes",
	0, [qr{number of failed transactions: 0}], [qr{^(?!.*error)}si], "2 writers, $writes writes each, no error",
	{
		'118_two@2' => q(
			\set back random(0, 1) * random(1, 20)
			\set guarded random(0, 1)
			SELECT written('two', CASE :guarded WHEN 1 THEN 'guarded' ELSE 'marked' END::regclass, 4, gatepost.token_draw() - 32 * :back);
		),
		'118_two_in_use@1' => q(
			\set k random(1, 5)
			SELECT written_in_use(format('writer %s, lease %s', :client_id, :k), 4);
		)
	});
is(query($node, q(SELECT count(*) FROM answers WHERE what LIKE 'two%')), 2 * $writes, 'each write was answered');
for my $target (qw(marked guarded))
{
	is( query(
			$node, qq(
			SELECT count(*) > 0, count(*) FILTER (WHERE mark < before), count(*) FILTER (WHERE value <> mark)
			FROM (SELECT *, lag(mark) OVER (PARTITION BY id ORDER BY n) AS before FROM marks WHERE target = '$target') AS m)),
		't|0|0', "$target: no mark falls, each value belongs to its mark");
	is( query(
			$node, qq(
			SELECT count(*) FROM $target AS t
			LEFT JOIN (SELECT DISTINCT ON (id) * FROM marks WHERE target = '$target' ORDER BY id, n DESC) AS m USING (id)
			WHERE (t.value, t.fence) IS DISTINCT FROM (m.value, m.mark))),
		0, "$target: the rows are as the last writes left them");
}

for my $count (@counts)
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
no_lock_left($node, 'no lock is left');
note(query($node, q(SELECT string_agg(format('%s %s: %s', what, coalesce(answer, 'null'), count), E'\n' ORDER BY what, answer)
	FROM (SELECT what, answer, count(*) FROM answers GROUP BY what, answer) AS a)));

done_testing();

# What sessions remember of hundreds of names, each by the index page that would have it, while at random names come and
# go and all that can happen to an index does: pages split, are emptied, deleted and used again; files are made anew,
# moved, emptied and rolled back, with the log and, where wal_level is minimal, without. A session is asked after each,
# and says what a look at the whole table says.
#   GATEPOST_PAGE_SEED=N      the same events again
#   GATEPOST_PAGE_EVENTS=120
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = $ENV{GATEPOST_PAGE_SEED} // time ^ $$ << 8;
my $events = $ENV{GATEPOST_PAGE_EVENTS} // 120;
srand $seed;
diag("GATEPOST_PAGE_SEED=$seed");

# take and give: leases of the names first to last. stand and leave: places of a request. wrong: how many names are free
# though they are held, or not though they are free, to the session; misplaced: the same of places, which it leaves.
my $setup = q(
	CREATE TABLE name AS SELECT n, lpad(n::text, 40, '0') AS name FROM generate_series(1, 800) AS n;
	CREATE FUNCTION request(id int) RETURNS uuid LANGUAGE sql IMMUTABLE AS
		$$ SELECT ('6f1c3d3e-0000-4000-8000-' || lpad(id::text, 12, '0'))::uuid $$;
	CREATE FUNCTION take(first int, last int) RETURNS bigint LANGUAGE sql AS
		$$ SELECT count(gatepost.lease_acquire(name, '1 h')) FROM name WHERE n BETWEEN first AND last $$;
	CREATE FUNCTION give(first int, last int) RETURNS bigint LANGUAGE sql AS
		$$ SELECT count(gatepost.lease_release(l.name, token)) FROM gatepost.leases AS l JOIN name USING (name)
		   WHERE n BETWEEN first AND last AND state = 'held' $$;
	CREATE FUNCTION stand(first int, last int, id int) RETURNS bigint LANGUAGE sql AS
		$$ SELECT count(gatepost.lease_queue(name, request(id), '1 h', '5 min')) FROM name WHERE n BETWEEN first AND last $$;
	CREATE FUNCTION wrong(first int) RETURNS bigint LANGUAGE sql AS
		$$ WITH asked AS MATERIALIZED (
		     SELECT name, gatepost.try_advisory_xact_lock(name) AS free FROM name WHERE n BETWEEN first AND first + 40)
		   SELECT count(*) FROM asked
		   WHERE free = EXISTS (SELECT FROM gatepost.lease_slots AS s WHERE s.name || '' = asked.name AND state = 'h') $$;
	CREATE FUNCTION misplaced(first int, id int) RETURNS bigint LANGUAGE sql AS
		$$ WITH there AS MATERIALIZED (SELECT name FROM gatepost.queue WHERE request_id = request(id)),
		     asked AS MATERIALIZED (
		     SELECT name, gatepost.lease_unqueue(name, request(id)) AS had FROM name WHERE n BETWEEN first AND first + 10)
		   SELECT count(*) FROM asked WHERE had <> EXISTS (SELECT FROM there WHERE there.name = asked.name) $$;
	-- So that it can be emptied.
	ALTER TABLE gatepost.lease_slots DISABLE TRIGGER ALL);

# An event, and what it is about. A look inside a transaction that finds something wrong is a division by zero.
sub event
{
	my $first = 1 + int rand 800;
	my $last = $first + int rand(rand() < 0.3 ? 300 : 10);
	my $id = 1 + int rand 3;
	my ($take, $give, $few) = ("SELECT take($first, $last)", "SELECT give($first, $last)", "SELECT take($first, $first + 3)");
	my ($stand, $look) = ("SELECT stand($first, $last, $id)", "SELECT 1 / (wrong($first) = 0)::int");
	my @happens = (
		($take, $give, q(SELECT gatepost.lease_purge('0')), 'VACUUM (INDEX_CLEANUP ON) gatepost.lease_slots') x 2, $stand,
		"BEGIN; $take; ROLLBACK", "BEGIN; SAVEPOINT s; $take; ROLLBACK TO s; $look; $few; COMMIT", "BEGIN; $stand; ROLLBACK",
		"BEGIN ISOLATION LEVEL SERIALIZABLE; $take; $stand; COMMIT", 'VACUUM (INDEX_CLEANUP ON, TRUNCATE ON) gatepost.queue',
		'VACUUM FULL gatepost.lease_slots', 'VACUUM FULL gatepost.queue', 'CLUSTER gatepost.lease_slots USING lease_slots_pkey',
		'REINDEX TABLE CONCURRENTLY gatepost.lease_slots', 'REINDEX TABLE CONCURRENTLY gatepost.queue', 'REINDEX TABLE gatepost.queue',
		"BEGIN; TRUNCATE gatepost.lease_slots; $take; TRUNCATE gatepost.lease_slots; $look; $few; $look; ROLLBACK",
		"BEGIN; TRUNCATE gatepost.lease_slots; $take; SAVEPOINT s; $give; TRUNCATE gatepost.lease_slots; $few; ROLLBACK TO s; $look; ROLLBACK",
		(map { ("BEGIN; REINDEX INDEX gatepost.lease_slots_pkey; $take; $look; $_") } 'COMMIT', 'ROLLBACK'),
		"BEGIN; SAVEPOINT s; ALTER INDEX gatepost.lease_slots_pkey SET TABLESPACE elsewhere; $take; $look; ROLLBACK TO s; $look; $few; COMMIT",
		map {
			("BEGIN; ALTER INDEX gatepost.lease_slots_pkey SET TABLESPACE $_; $take; $look; COMMIT",
				"BEGIN; ALTER INDEX gatepost.queue_pkey SET TABLESPACE $_; $stand; COMMIT")
		} 'elsewhere', 'pg_default');
	return ($first, $last, $id, $happens[ rand @happens ]);
}

for my $level ('replica', 'minimal')
{
	my $node = new_server($level,
		conf => "wal_level = $level\nwal_skip_threshold = 0\n" . ($level eq 'minimal' ? "max_wal_senders = 0\n" : ''));
	my $place = PostgreSQL::Test::Utils::tempdir();
	query($node, "CREATE TABLESPACE elsewhere LOCATION '$place'");
	query($node, $setup);
	my @sessions = map { session($node) } 1 .. 3;
	my @wrong;
	for my $number (1 .. $events)
	{
		my ($first, $last, $id, $event) = event();
		session_query($sessions[ rand @sessions ], $event);
		for my $session (@sessions)
		{
			my $count = session_query($session, "SELECT wrong($first) + wrong($last) + wrong(1 + (random() * 800)::int)");
			push @wrong, "$number: $event: $count leases" if $count ne '0';
		}
		my $count = session_query($sessions[ rand @sessions ], "SELECT misplaced($first, $id)");
		push @wrong, "$number: $event: $count places" if $count ne '0';
	}
	is(join("\n", @wrong), '', "$level: nobody believed what was so no more");
	is(query($node, 'SELECT count(*) - count(DISTINCT (name, slot)) FROM gatepost.lease_slots'), 0, 'no name has two rows');
	is(query($node, 'SELECT count(*) - count(DISTINCT (name, request_id)) FROM gatepost.queue'), 0, 'no request has two places');
	$_->quit for @sessions;
	$node->stop;
}

done_testing();

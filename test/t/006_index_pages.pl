# A name without a row at slot 0 is looked up on one index page. Where its entries may go on to the next page, that page
# says nothing.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

# Where a file made anew is logged from its first change on.
my $node = new_server('pages', conf => "wal_level = replica\n");

# The permits of one name over several pages, behind names that share the first page with them.
query($node, q(SELECT count(gatepost.lease_acquire('a' || n, '1 h')) FROM generate_series(1, 50) n));
query($node, q(SELECT count(gatepost.semaphore_acquire('wide', 1000, '1 h')) FROM generate_series(1, 1000)));
query($node, 'CREATE EXTENSION pageinspect');
my $spread = q(
	SELECT count(*) FROM generate_series(1, pg_relation_size('gatepost.lease_slots_pkey') / 8192 - 1) AS n,
		bt_page_stats('gatepost.lease_slots_pkey', n::int) WHERE type = 'l');
cmp_ok(query($node, $spread), '>', 3, 'the permits are on several pages');

# The first ones go, the limit with them, as no call would take them away: the first page has none of the name then.
query(
	$node, q(
	ALTER TABLE gatepost.lease_slots DISABLE TRIGGER ALL;
	DELETE FROM gatepost.lease_slots WHERE name = 'wide' AND slot < 400));
query($node, 'VACUUM (INDEX_CLEANUP ON) gatepost.lease_slots');
is(query($node, q(SELECT count(*) FROM gatepost.lease_slots WHERE name = 'wide')), 601, 'the rest is there');
is(query($node, q(SELECT gatepost.try_advisory_xact_lock('wide'))), 'f', 'and keeps a lock away');
is( query($node, q(SELECT gatepost.try_advisory_xact_lock('wide'); SELECT gatepost.try_advisory_xact_lock('wide'))),
	"f\nf",
	'again and again');

# Emptied twice in one transaction, the second time in its file, which then ends before the page.
is( query(
		$node, q(
	BEGIN;
	TRUNCATE gatepost.lease_slots;
	SELECT gatepost.lease_acquire('other', '1 h') IS NOT NULL;
	SELECT gatepost.try_advisory_xact_lock('nobody');
	TRUNCATE gatepost.lease_slots;
	SELECT gatepost.try_advisory_xact_lock('nobody');
	ROLLBACK)),
	"t\nt\nt",
	'a page that is gone is not asked for');

done_testing();

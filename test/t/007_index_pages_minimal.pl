# Where wal_level is minimal, a file that a transaction makes is changed without the log, and the pages that it took over
# keep their positions in it: they tell nothing until the file is another's to change.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use PostgreSQL::Test::Utils;
use Test::More;

# No such file is logged at the commit instead.
my $node = new_server('minimal', conf => "wal_level = minimal\nmax_wal_senders = 0\nwal_skip_threshold = 0\n");
my $place = PostgreSQL::Test::Utils::tempdir();
query($node, "CREATE TABLESPACE elsewhere LOCATION '$place'");
acquire($node, 'first', '1 h');

# Of the name a session remembers that it has no row; it gets one in a file with the same positions.
my $idle = session($node);
is(session_query($idle, q(SELECT gatepost.try_advisory_xact_lock('late'))), 't', 'a session finds a name without a row')
  for 1, 2;
query($node, 'CREATE EXTENSION pageinspect');
my $position = q(SELECT string_agg(lsn::text, ' ') FROM page_header(get_raw_page('gatepost.lease_slots_pkey', 1)));
my $before = query($node, $position);
is( query(
		$node, q(
	BEGIN;
	ALTER INDEX gatepost.lease_slots_pkey SET TABLESPACE elsewhere;
	SELECT gatepost.lease_acquire('late', '1 h') IS NOT NULL;
	SELECT gatepost.lease_acquire('late', '1 h') IS NOT NULL;
	COMMIT)),
	"t\nf",
	'who moves the index sees what he has added to it');
is(query($node, $position), $before, 'which the position of the page does not tell');
is(session_query($idle, q(SELECT gatepost.try_advisory_xact_lock('late'))),
	'f', 'nor is it believed by who remembers the page of the former file');

# A page that was built without the log has no position at all.
my $queue = q(SELECT gatepost.lease_queue('late', '6f1c3d3e-0000-4000-8000-000000000001', '1 h', '5 min') IS NOT NULL;);
query($node, $queue);
query($node, 'REINDEX INDEX gatepost.queue_pkey');
is(query($node, q(SELECT lsn FROM page_header(get_raw_page('gatepost.queue_pkey', 1)))), '0/0', 'a page has no position');
query($node, $queue x 3);
is(query($node, 'SELECT count(*) FROM gatepost.queue'), 1, 'and is not taken for one that is remembered');

$idle->quit;
$node->stop;
done_testing();

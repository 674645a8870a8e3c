# What a crash leaves of a takeover: the lapsed lease stays superseded, since work under the lock may have been committed.
# The locks are gone, and with them what the sessions knew of them.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

# Only commits bring the log to disk.
my $node = new_server('crash', conf => "wal_writer_delay = 10s\nwal_writer_flush_after = 100MB\n");
query($node, 'CREATE TABLE work (what text)');

my %takes = (
	transaction => q(BEGIN; SELECT gatepost.try_advisory_xact_lock('NAME'); INSERT INTO work VALUES ('NAME'); COMMIT),
	shared => q(BEGIN; SELECT gatepost.advisory_xact_lock('NAME', true); INSERT INTO work VALUES ('NAME'); COMMIT),
	session => q(SELECT gatepost.advisory_lock('NAME'); INSERT INTO work VALUES ('NAME')),
	'session, rolled back' => q(BEGIN; SELECT gatepost.advisory_lock('NAME'); ROLLBACK; INSERT INTO work VALUES ('NAME')),
	'read only' => q(BEGIN READ ONLY; SELECT gatepost.advisory_lock('NAME'); COMMIT; INSERT INTO work VALUES ('NAME')));
my %token = map { $_ => acquire($node, $_, '1 ms') } sort keys %takes;
$node->poll_query_until('postgres', q(SELECT count(*) = 0 FROM gatepost.leases WHERE state = 'held'));
# A full image of the page in the log, or the change alone.
query($node, 'CHECKPOINT');
for my $what (sort keys %takes)
{
	my $session = session($node);
	(my $sql = $takes{$what}) =~ s/NAME/$what/g;
	session_query($session, $sql);
	is(status($node, $what, $token{$what}), 'superseded', "$what: superseded before the crash");
	$node->stop('immediate');
	end_session($session);
	start_server($node);
	is(query($node, "SELECT count(*) FROM work WHERE what = '$what'"), 1, "$what: the work is there after the crash");
	is(status($node, $what, $token{$what}), 'superseded', "$what: the lapsed lease is still superseded");
	is(query($node, "SELECT gatepost.lease_renew('$what', $token{$what})"), 'f', "$what: its token renews nothing");
	no_lock_left($node, "$what: no lock is left");
	is(query($node, "SELECT gatepost.try_advisory_xact_lock('$what')"), 't', "$what: the name is free");
	cmp_ok(acquire($node, $what, '1 h'), '>', $token{$what}, "$what: and granted with a larger token");
}

# One that was live stays live, whoever tried.
my $live = acquire($node, 'live', '1 h');
is(query($node, q(SELECT gatepost.try_advisory_lock('live'))), 'f', 'a live lease is in the way');
query($node, q(INSERT INTO work VALUES ('other')));
$node->stop('immediate');
start_server($node);
is(status($node, 'live', $live), 'held', 'and held after the crash');

done_testing();

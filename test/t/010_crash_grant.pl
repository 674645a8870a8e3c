# What a crash leaves: every grant that was reported, and no token that anybody has seen to be handed out again.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Gatepost::Crash;
use Test::More;

# Nobody but the grant itself brings the log to disk.
my $node = new_server('crash', conf => "wal_writer_delay = 10s\nwal_writer_flush_after = 100MB\nrestart_after_crash = on\n");

is( query($node, q(
		SELECT count(*) FROM pg_class
		WHERE relnamespace = 'gatepost'::regnamespace AND relkind IN ('r', 'S', 'm', 't') AND relpersistence <> 'p')),
	0,
	'no relation of the extension is unlogged');

# The session's own setting does not count.
my $last = 0;
for my $round (1 .. 3)
{
	query($node, 'CHECKPOINT') if $round == 2;
	my @tokens = split /\n/, query(
		$node, qq(
		SET synchronous_commit = off;
		SELECT gatepost.lease_acquire('other-' || n, '1 h') FROM generate_series(40 * $round + 1, 40 * $round + 40) n;
		SELECT gatepost.lease_acquire('held $round', '1 h');
	));
	$node->stop('immediate');
	start_server($node);
	is(status($node, "held $round", $tokens[-1]), 'held', "round $round: a reported grant is there after a crash");
	is(acquire($node, "held $round", '1 h'), '', "round $round: and nobody else is granted the name");
	$last = acquire($node, "next $round", '1 h');
	cmp_ok($last, '>', $tokens[-1], "round $round: the next token is larger");
}

# Each by itself: what is flushed later takes along what was logged before.
my $held = acquire($node, 'renewed', '1 h');
acquire($node, 'broken', '1 h');
query($node, q(SELECT gatepost.semaphore_acquire('permits', 3, '1 h')));
my $semaphore = q(FROM gatepost.semaphores WHERE name = 'permits');
for my $case (
	[
		'a renewal', "gatepost.lease_renew('renewed', $held, '2 h')",
		q(SELECT ttl FROM gatepost.leases WHERE name = 'renewed'), '02:00:00'
	],
	[ 'a break', q(gatepost.lease_break('broken') > 0), q(SELECT state FROM gatepost.leases WHERE name = 'broken'), 'broken' ],
	[ 'a permit', q(gatepost.semaphore_acquire('permits', 3, '1 h') > 0), "SELECT live $semaphore", 2 ],
	[ 'a resize', q(gatepost.semaphore_resize('permits', 5)), "SELECT permits $semaphore", 5 ])
{
	my ($what, $call, $look, $found) = @$case;
	is(query($node, "SET synchronous_commit = off; SELECT $call"), 't', "$what is reported");
	$node->stop('immediate');
	start_server($node);
	is(query($node, $look), $found, "$what that was reported is there after a crash");
}

# A token that was seen, whose grant was never committed.
for my $how (ways_to_crash())
{
	for my $draws (1, 40)
	{
		query($node, 'CHECKPOINT') if $draws == 1;
		my $open = session($node);
		my $pid = session_query($open, 'SELECT pg_backend_pid()');
		session_query($open, 'BEGIN');
		my $seen = session_query($open,
			"SELECT max(gatepost.lease_acquire('open $how $draws ' || n, '1 h')) FROM generate_series(1, $draws) n");
		cmp_ok($seen, '>', $last, "$how, $draws draw(s): a token is seen inside a transaction");
		crash($node, $how, $pid);
		end_session($open);
		is(status($node, "open $how $draws 1", $seen), 'unknown', "$how, $draws draw(s): its grant is gone");
		$last = acquire($node, "open $how $draws 1", '1 h');
		cmp_ok($last, '>', $seen, "$how, $draws draw(s): the token is not handed out again");
	}
}

done_testing();

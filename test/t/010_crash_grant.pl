# What a crash leaves: every grant that was reported, and no token that anybody has seen to be handed out again.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
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

# A token that was seen, whose grant was never committed.
for my $how (qw(immediate backend))
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
		if ($how eq 'immediate')
		{
			$node->stop('immediate');
			end_session($open);
			start_server($node);
		}
		else
		{
			# One backend dies; the server restarts all of them.
			kill 'KILL', $pid;
			end_session($open);
			$node->poll_query_until('postgres', 'SELECT true');
		}
		is(status($node, "open $how $draws 1", $seen), 'unknown', "$how, $draws draw(s): its grant is gone");
		$last = acquire($node, "open $how $draws 1", '1 h');
		cmp_ok($last, '>', $seen, "$how, $draws draw(s): the token is not handed out again");
	}
}

done_testing();

# A crash at any point of lease_acquire_all leaves all its leases or none, and no token that was drawn for them comes again.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../../perl";
use Gatepost;
use Gatepost::Crash;
use List::Util qw(max);
use Test::More;

# Nobody but the calls themselves brings the log to disk.
my $node = new_server('all', conf => "wal_writer_delay = 10s\nwal_writer_flush_after = 100MB\nrestart_after_crash = on\n");
my $last = 0;

# The call that takes so many names that begin so.
sub acquire_all
{
	my ($prefix, $names) = @_;
	return "SELECT array_to_string(gatepost.lease_acquire_all(array_agg('$prefix ' || n), '1 h'), ' ') FROM generate_series(1, $names) AS n";
}

sub held
{
	my ($prefix) = @_;
	return query($node, "SELECT count(*) FROM gatepost.leases WHERE name LIKE '$prefix %' AND state = 'held'");
}

# Takes them. Result: the highest token.
sub taken
{
	my ($session, $prefix, $names) = @_;
	my @tokens = split / /, session_query($session, acquire_all($prefix, $names));
	is(scalar @tokens, $names, "$prefix: all are taken");
	cmp_ok((sort { $a <=> $b } @tokens)[0], '>', $last, "$prefix: with tokens above all before");
	return max(@tokens);
}

# None is held, and all can be had.
sub none_left
{
	my ($prefix, $names) = @_;
	is(held($prefix), 0, "$prefix: none is held");
	no_lock_left($node, "$prefix: no lock is left");
	my $session = session($node);
	$last = taken($session, $prefix, $names);
	end_session($session);
	return;
}

# Between the stop points, at the first name and at the third.
my %point = (acquire_looked => 1, acquire_tagged => 3, token_drawn => 9, acquire_written => 4, all_took_one => 20);
for my $how (ways_to_crash())
{
	for my $point (sort keys %point)
	{
		my $prefix = "$point, $how";
		# Otherwise what the call has not flushed is on disk by chance.
		query($node, 'CHECKPOINT');
		my $controller = session($node);
		session_query($controller, "SELECT pg_advisory_lock(18256, $point{$point})");
		my $taker = session($node);
		my $pid = session_query($taker, "SET gatepost.test_pause = '$point'; SELECT pg_backend_pid()");
		send_query($taker, acquire_all($prefix, 5));
		ok(wait_blocked($node, $pid), "$prefix: stopped");
		crash($node, $how, $pid);
		end_session($_) for $taker, $controller;
		none_left($prefix, 5);
	}

	for my $names (5, 50)
	{
		# Their tokens have been seen, and they are not committed.
		my $prefix = "open $names, $how";
		query($node, 'CHECKPOINT');
		my $taker = session($node);
		my $pid = session_query($taker, 'BEGIN; SELECT pg_backend_pid()');
		$last = taken($taker, $prefix, $names);
		crash($node, $how, $pid);
		end_session($taker);
		none_left($prefix, $names);

		# They were reported; the session's setting does not count.
		$prefix = "reported $names, $how";
		$taker = session($node);
		$pid = session_query($taker, 'SET synchronous_commit = off; SELECT pg_backend_pid()');
		$last = taken($taker, $prefix, $names);
		crash($node, $how, $pid);
		end_session($taker);
		is(held($prefix), $names, "$prefix: all are held");
		cmp_ok(acquire($node, "$prefix, next", '1 h'), '>', $last, "$prefix: the next token is larger");
	}
}

done_testing();

# A crash at any point of a transfer leaves all of it or nothing: the giver's lease and the receiver's place, or the
# receiver's lease and no place. No token that was drawn for it comes again.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../../perl";
use Gatepost;
use Gatepost::Crash;
use Test::More;

# Nobody but the calls themselves brings the log to disk.
my $node = new_server('transfer', conf => "wal_writer_delay = 10s\nwal_writer_flush_after = 100MB\nrestart_after_crash = on\n");
my $id = '6f1c3d3e-0000-4000-8000-000000000001';
my $last = 0;

# A lease and a request with a place: its token, and the call that hands it over.
sub lease_to_give
{
	my ($name) = @_;
	my $token = acquire($node, $name, '1 h');
	cmp_ok($token, '>', $last, "$name: the token is above all before");
	query($node, "SELECT gatepost.lease_queue('$name', '$id', '1 h', '5 min', 'receiver')");
	# Otherwise what the transfer has not flushed is on disk by chance.
	query($node, 'CHECKPOINT');
	return ($token, "SELECT gatepost.lease_transfer('$name', $token, '$id')");
}

sub places
{
	my ($name) = @_;
	return query($node, "SELECT count(*) FROM gatepost.waiters WHERE name = '$name'");
}

# The giver has his lease, and can hand it over all the same.
sub is_untouched
{
	my ($name, $token, $transfer) = @_;
	is(status($node, $name, $token) . ', ' . places($name), 'held, 1', "$name: the giver has the lease, the receiver his place");
	no_lock_left($node, "$name: no lock is left");
	$last = query($node, $transfer);
	cmp_ok($last, '>', $token, "$name: it can be handed over");
	is_handed_over($name, $token, $last);
	return;
}

sub is_handed_over
{
	my ($name, $token, $new) = @_;
	is( join(', ', status($node, $name, $token), status($node, $name, $new), places($name)),
		'superseded, held, 0', "$name: the receiver has the lease, and no place any more");
	is(query($node, "SELECT gatepost.lease_acquire('$name', '1 h', request_id => '$id')"), $new, "$name: his request is answered with it");
	is(acquire($node, $name, '1 h'), '', "$name: nobody else is granted the name");
	return;
}

# Between the stop points.
my %point = (transfer_tagged => 24, token_drawn => 9, transfer_written => 25);
for my $how (ways_to_crash())
{
	for my $point (sort keys %point)
	{
		my $name = "$point, $how";
		my ($token, $transfer) = lease_to_give($name);
		my $controller = session($node);
		session_query($controller, "SELECT pg_advisory_lock(18256, $point{$point})");
		my $giver = session($node);
		my $pid = session_query($giver, "SET gatepost.test_pause = '$point'; SELECT pg_backend_pid()");
		send_query($giver, $transfer);
		ok(wait_blocked($node, $pid), "$name: stopped");
		crash($node, $how, $pid);
		end_session($_) for $giver, $controller;
		is_untouched($name, $token, $transfer);
	}

	# Its token has been seen, and it is not committed.
	my $name = "open, $how";
	my ($token, $transfer) = lease_to_give($name);
	my $giver = session($node);
	my $pid = session_query($giver, 'BEGIN; SELECT pg_backend_pid()');
	my $seen = session_query($giver, $transfer);
	cmp_ok($seen, '>', $token, "$name: a token is seen");
	crash($node, $how, $pid);
	end_session($giver);
	$last = $seen;
	is(status($node, $name, $seen), 'unknown', "$name: it is nobody's");
	cmp_ok(acquire($node, "$name, next", '1 h'), '>', $seen, "$name: nor is it drawn again");
	is_untouched($name, $token, $transfer);

	# It was reported; the session's setting does not count.
	$name = "reported, $how";
	($token, $transfer) = lease_to_give($name);
	$giver = session($node);
	$pid = session_query($giver, 'SET synchronous_commit = off; SELECT pg_backend_pid()');
	my $new = session_query($giver, $transfer);
	crash($node, $how, $pid);
	end_session($giver);
	is_handed_over($name, $token, $new);
	$last = $new;
}

done_testing();

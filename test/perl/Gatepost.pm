# What the TAP tests use: servers, sessions, and what is asked of leases again and again.
package Gatepost;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use Test::More;
use Time::HiRes qw(clock_gettime usleep CLOCK_MONOTONIC);

use Gatepost::Server;
use Gatepost::Session;

our @EXPORT = (
	@Gatepost::Server::EXPORT, @Gatepost::Session::EXPORT,
	qw(acquire status our_locks no_lock_left log_flushes monotonic wait_monotonic));

# One grant in a transaction of its own. Result: the token, '' when busy.
sub acquire
{
	my ($node, $name, $ttl, %option) = @_;
	return query($node, "SELECT gatepost.lease_acquire('$name', '$ttl')", %option);
}

sub status
{
	my ($node, $name, $token, %option) = @_;
	return query($node, "SELECT gatepost.lease_status('$name', $token)", %option);
}

# Advisory locks outside the two classes of core: the extension's own tags, whoever has them.
my $our_locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid NOT IN (1, 2)";

sub our_locks
{
	my ($node) = @_;
	return query($node, $our_locks);
}

# A test: that there is none. The backend of a session that has ended may be about to give back its own.
sub no_lock_left
{
	my ($node, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok($node->poll_query_until('postgres', $our_locks, '0'), $name);
}

# How often the log was flushed so far, as an expression: where the server counts it depends on the version.
sub log_flushes
{
	my ($node) = @_;
	return $node->pg_version < 18
	  ? '(SELECT wal_sync FROM pg_stat_wal)'
	  : q((SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal'));
}

sub monotonic { return clock_gettime(CLOCK_MONOTONIC); }

# Waits for a moment of the monotonic clock.
sub wait_monotonic
{
	my ($moment) = @_;
	usleep(1000 * (1 + 1000 * ($moment - monotonic()))) while monotonic() < $moment;
	return;
}

1;

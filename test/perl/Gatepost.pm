# What the TAP tests use: servers, sessions, and what is asked of leases again and again.
package Gatepost;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use Time::HiRes qw(clock_gettime usleep CLOCK_MONOTONIC);

use Gatepost::Server;
use Gatepost::Session;

our @EXPORT = (
	@Gatepost::Server::EXPORT, @Gatepost::Session::EXPORT,
	qw(acquire status our_locks monotonic wait_monotonic));

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
sub our_locks
{
	my ($node) = @_;
	return query($node, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid NOT IN (1, 2)");
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

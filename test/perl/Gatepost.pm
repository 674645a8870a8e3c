# What the TAP tests share: a server with the extension, calls that are expected to fail, sessions that block.
package Gatepost;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use Time::HiRes qw(clock_gettime usleep CLOCK_MONOTONIC);

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

our @EXPORT = qw(
  new_server start_server new_standby finish_promotion
  query query_error session session_query session_error send_query sent_result
  wait_blocked end_session start_load end_load
  acquire status our_locks override monotonic wait_monotonic
);

# Settings of every server here: nothing in the background that moves the figures a test counts.
my $settings = q(
log_statement = none
autovacuum = off
);

# A running server with the extension in database postgres. %option: conf, and what Cluster's init takes.
sub new_server
{
	my ($name, %option) = @_;
	my $conf = delete $option{conf} // '';
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(%option);
	$node->append_conf('postgresql.conf', $settings . $conf);
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION gatepost');
	return $node;
}

# Starts a server that was stopped in a way that leaves its pid file behind.
sub start_server
{
	my ($node) = @_;
	$node->start;
	$node->poll_query_until('postgres', 'SELECT true') or die 'server does not answer';
	return;
}

# A streaming standby of a server made with allows_streaming.
sub new_standby
{
	my ($name, $primary, %option) = @_;
	$primary->backup($name);
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init_from_backup($primary, $name, has_streaming => 1);
	$node->append_conf('postgresql.conf', $option{conf}) if defined $option{conf};
	$node->start;
	return $node;
}

# Promotes and waits until the server takes writes.
sub finish_promotion
{
	my ($node) = @_;
	$node->promote;
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'server was not promoted';
	return;
}

# The answer of a query, in psql's unaligned form.
sub query
{
	my ($node, $sql, %option) = @_;
	return $node->safe_psql($option{dbname} // 'postgres', $sql);
}

sub _sqlstate
{
	my ($stderr) = @_;
	return $stderr =~ /(?:ERROR|FATAL):\s+([0-9A-Z]{5})\b/ ? $1 : '';
}

# The SQLSTATE of a query that fails, '' when it does not.
sub query_error
{
	my ($node, $sql, %option) = @_;
	my ($stdout, $stderr) = ('', '');
	$node->psql(
		$option{dbname} // 'postgres', $sql,
		stdout => \$stdout,
		stderr => \$stderr,
		extra_params => [ '-v', 'VERBOSITY=sqlstate', @{ $option{extra_params} // [] } ]);
	return _sqlstate($stderr);
}

# A session that stays open and goes on after errors, which it shows as SQLSTATEs.
sub session
{
	my ($node, %option) = @_;
	my $session = $node->background_psql(
		$option{dbname} // 'postgres',
		on_error_stop => 0,
		extra_params => [ '-v', 'VERBOSITY=sqlstate', @{ $option{extra_params} // [] } ]);
	return $session;
}

# The answer of a session's query; dies when it fails.
sub session_query
{
	my ($session, $sql) = @_;
	my $answer = $session->query($sql);
	my $errors = $session->{stderr};
	$session->{stderr} = '';
	die "$sql: $errors" if _sqlstate($errors) ne '';
	return $answer;
}

# The SQLSTATE of a session's query that fails, '' when it does not.
sub session_error
{
	my ($session, $sql) = @_;
	$session->query($sql);
	my $errors = $session->{stderr};
	$session->{stderr} = '';
	return _sqlstate($errors);
}

# Starts a query whose answer is fetched later, by sent_result.
sub send_query
{
	my ($session, $sql) = @_;
	$session->query_until(qr/sent\n/, "\\echo sent\n$sql;\n");
	return;
}

# The answer of what send_query started, and in list context the SQLSTATE beside it.
sub sent_result
{
	my ($session) = @_;
	my $answer = $session->query('');
	my $errors = $session->{stderr};
	$session->{stderr} = '';
	return wantarray ? ($answer, _sqlstate($errors)) : $answer;
}

# Ends a session whose server may have gone away.
sub end_session
{
	my ($session) = @_;
	# A psql that has noticed is gone, and writing to it fails; one that has not waits for its input.
	eval {
		$session->{run}->pump_nb;
		$session->{stdin} .= "\\q\n" if $session->{run}->pumpable;
		$session->{run}->finish;
	};
	return;
}

# Waits until a backend waits: for a heavyweight lock, or for the event that is named.
sub wait_blocked
{
	my ($node, $pid, $event) = @_;
	my $condition = defined $event ? "wait_event = '$event'" : "wait_event_type = 'Lock'";
	return $node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE pid = $pid AND $condition");
}

# pgbench with a script and further options, in the background.
sub start_load
{
	my ($node, $script, @options) = @_;
	my %load = (out => '', err => '');
	my $file = PostgreSQL::Test::Utils::tempdir() . '/load.sql';
	PostgreSQL::Test::Utils::append_to_file($file, $script);
	$load{run} = IPC::Run::start([ 'pgbench', '--no-vacuum', "--file=$file", @options, $node->connstr('postgres') ],
		'>', \$load{out}, '2>', \$load{err});
	return \%load;
}

# Ends it, unless it has ended by itself. Result: what it had to complain about.
sub end_load
{
	my ($load) = @_;
	$load->{run}->signal('TERM') if $load->{run}->pumpable;
	$load->{run}->finish;
	return $load->{err};
}

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

# Test build: what the clocks say (boottime, wallclock: microseconds; boot_id: any text). undef: the real one again.
sub override
{
	my ($node, $what, $value) = @_;
	my $file = $node->data_dir . "/gatepost_test_$what";
	unlink $file unless defined $value;
	return unless defined $value;
	# Never half written for a server that reads it meanwhile.
	PostgreSQL::Test::Utils::append_to_file("$file.new", "$value\n");
	rename "$file.new", $file or die "$file: $!";
	return;
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

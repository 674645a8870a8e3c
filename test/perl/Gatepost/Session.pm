# Queries: each in a session of its own, in a session that stays, in one that blocks, or many of them as a load.
package Gatepost::Session;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use Time::HiRes 'usleep';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

our @EXPORT = qw(
  query query_error session session_query session_error end_session
  wait_session send_query sent_result limit_waits wait_blocked start_load end_load load_until
);

# The SQLSTATE in what psql printed, '' when there is none. For VERBOSITY sqlstate.
sub _sqlstate
{
	my ($errors) = @_;
	return $errors =~ /(?:ERROR|FATAL):\s+([0-9A-Z]{5})\b/ ? $1 : '';
}

# The answer of a session's query, and what it printed as errors, warnings and notices.
sub _ask
{
	my ($session, $sql) = @_;
	my $answer = $session->query($sql);
	my $errors = $session->{stderr};
	$session->{stderr} = '';
	return ($answer, $errors);
}

# One psql for each server and user, which connects anew for each query: a new backend without a new process here.
my %clients;

sub _client
{
	my ($node, @params) = @_;
	my $key = join "\n", $node->connstr, @params;
	if (!defined $clients{$key} || !$clients{$key}{run}->pumpable)
	{
		$clients{$key} = $node->background_psql('postgres', on_error_stop => 0, extra_params => \@params);
		$clients{$key}->set_query_timer_restart;
		$clients{$key}->query('SELECT pg_backend_pid() AS former \gset');
	}
	return $clients{$key};
}

# psql takes leave of a backend when it has the next; what was the old one's, locks and figures, is its own until it has gone.
my $gone = q(
WITH RECURSIVE looks AS (
	SELECT 1 AS n
	UNION ALL
	SELECT n + 1 FROM looks
	WHERE EXISTS (SELECT FROM pg_catalog.pg_stat_get_activity(CASE WHEN n OPERATOR(pg_catalog.>) 0 THEN :former END))
		AND (pg_catalog.pg_sleep(0.001), pg_catalog.pg_stat_clear_snapshot()) IS NOT NULL)
SELECT pg_catalog.pg_backend_pid() AS former FROM (SELECT pg_catalog.max(n) FROM looks) AS looked \gset
);

sub _ask_anew
{
	my ($node, $verbosity, $sql, %option) = @_;
	my $client = _client($node, @{ $option{extra_params} // [] });
	my $database = $option{dbname} // 'postgres';
	return _ask($client, "\\set VERBOSITY $verbosity\n\\connect $database\n$gone$sql");
}

END
{
	local $?;
	end_session($_) for values %clients;
}

# The answer of a query in a session of its own, in psql's unaligned form; dies when it fails. %option: dbname,
# extra_params of psql.
sub query
{
	my ($node, $sql, %option) = @_;
	my ($answer, $errors) = _ask_anew($node, 'default', $sql, %option);
	die "$sql: $errors" if $errors =~ /ERROR|FATAL|error:/;
	return $answer;
}

# The SQLSTATE of such a query that fails, '' when it does not.
sub query_error
{
	my ($node, $sql, %option) = @_;
	my ($answer, $errors) = _ask_anew($node, 'sqlstate', $sql, %option);
	return _sqlstate($errors);
}

# A session that stays open and goes on after errors.
sub session
{
	my ($node, %option) = @_;
	my $session = $node->background_psql(
		$option{dbname} // 'postgres',
		on_error_stop => 0,
		extra_params => [ '-v', 'VERBOSITY=sqlstate', @{ $option{extra_params} // [] } ]);
	$session->set_query_timer_restart;
	return $session;
}

# The answer of its query; dies when it fails.
sub session_query
{
	my ($session, $sql) = @_;
	my ($answer, $errors) = _ask($session, $sql);
	die "$sql: $errors" if _sqlstate($errors) ne '';
	return $answer;
}

# The SQLSTATE of its query that fails, '' when it does not.
sub session_error
{
	my ($session, $sql) = @_;
	my ($answer, $errors) = _ask($session, $sql);
	return _sqlstate($errors);
}

# Asks until the session gives that answer: it may have to read the configuration first. Dies when it does not.
sub wait_session
{
	my ($session, $sql, $expected) = @_;
	for (1 .. 18_000)
	{
		return if session_query($session, $sql) eq $expected;
		usleep(10_000);
	}
	die "$sql: is not $expected";
}

# Starts a query whose answer is fetched later, by sent_result.
sub send_query
{
	my ($session, $sql) = @_;
	my $printed = $session->query_until(qr/sent\n/, "\\echo sent\n$sql;\n");
	# An answer that was as quick as the echo has come with it.
	$session->{stdout} = $printed =~ s/.*?sent\n//sr;
	return;
}

# The answer of what send_query started, and in list context the SQLSTATE beside it.
sub sent_result
{
	my ($session) = @_;
	my ($answer, $errors) = _ask($session, '');
	return wantarray ? ($answer, _sqlstate($errors)) : $answer;
}

# From here on a wait of the session's that nobody wakes ends as an error. What wakes it is no alarm of an earlier
# statement where there is a trace: Gatepost::Waiting.
sub limit_waits
{
	my ($session) = @_;
	session_query($session, q(SET statement_timeout = '60s'));
	return;
}

# Waits until a backend waits: for a heavyweight lock, or for the event that is named. Dies when it does not.
sub wait_blocked
{
	my ($node, $pid, $event) = @_;
	my $condition = defined $event ? "wait_event = '$event'" : "wait_event_type = 'Lock'";
	return $node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE pid = $pid AND $condition")
	  || die "process $pid does not wait: $condition";
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

# pgbench with a script and further options, in the background.
sub start_load
{
	my ($node, $script, @options) = @_;
	my %load = (node => $node, out => '', err => '');
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
	# Its backends end their statements first.
	$load->{node}->poll_query_until('postgres', q(SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'pgbench'))
	  or die 'the load goes on';
	return $load->{err};
}

# Runs pgbench with weighted scripts for so many seconds, and again for as long as the query does not answer true: how much
# a second brings is the machine's affair, not a test's. A test of each run: it meets no error.
sub load_until
{
	my ($node, $what, $seconds, $options, $scripts, $enough) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	for my $run (1 .. 5)
	{
		$node->pgbench("--no-vacuum $options --time=$seconds",
			0, [qr{number of failed transactions: 0}], [qr{^(?!.*error)}si], $run == 1 ? $what : "$what, run $run",
			{ map { ("${run}_$_" => $scripts->{$_}) } keys %$scripts });
		last if query($node, $enough) eq 't';
	}
	return;
}

1;

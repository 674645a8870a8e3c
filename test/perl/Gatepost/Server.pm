# Servers: a primary with the extension, standbys, promotion, and what the test build believes of its clocks.
package Gatepost::Server;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

our @EXPORT = qw(new_server start_server new_standby configure stop_receiver finish_promotion server_to_upgrade upgrade override);

# Settings of every server here: nothing in the background that moves the figures a test counts, and no replication that is
# given up because a test has stopped one end of it, or the machine both.
my $settings = q(
log_statement = none
autovacuum = off
checkpoint_timeout = 1h
bgwriter_lru_maxpages = 0
wal_sender_timeout = 0
wal_receiver_timeout = 0
);

# initdb takes longer than many a test: what it makes is made once a run, or once for many (GATEPOST_TEMPLATES), and
# copied. The copies share their identifier.
my $system_or_bail = \&PostgreSQL::Test::Utils::system_or_bail;

sub _copy_initdb
{
	my ($program, @arguments) = @_;
	return $system_or_bail->($program, @arguments)
	  if $program ne 'initdb' || "@arguments[2 .. $#arguments]" ne '-A trust -N';
	my $template = ($ENV{GATEPOST_TEMPLATES} // $PostgreSQL::Test::Utils::tmp_check) . '/template';
	if (!-d $template)
	{
		$system_or_bail->('initdb', '-D', "$template.$$", @arguments[ 2 .. $#arguments ]);
		# Fails where a test beside this one was quicker.
		rename "$template.$$", $template;
	}
	return $system_or_bail->('cp', '-RPp', $template, $arguments[1]);
}
{
	no warnings 'redefine';
	*PostgreSQL::Test::Utils::system_or_bail = \&_copy_initdb;
}

# A server that is starting refuses psql before that has read its query, and then writing the query fails.
my $poll_query_until = \&PostgreSQL::Test::Cluster::poll_query_until;

sub _poll_query_until
{
	my ($node, @arguments) = @_;
	my $end = time + $PostgreSQL::Test::Utils::timeout_default;
	for (;;)
	{
		my $met = eval { $poll_query_until->($node, @arguments) };
		return $met if $@ eq '';
		die $@ if $@ !~ /Broken pipe/ || time > $end;
		select undef, undef, undef, 0.1;
	}
}
{
	no warnings 'redefine';
	*PostgreSQL::Test::Cluster::poll_query_until = \&_poll_query_until;
}

# A running server with the extension in database postgres. %option: conf, install_path, and what Cluster's init takes.
sub new_server
{
	my ($name, %option) = @_;
	my $conf = delete $option{conf} // '';
	my $path = delete $option{install_path};
	my $node = PostgreSQL::Test::Cluster->new($name, defined $path ? (install_path => $path) : ());
	$node->init(%option);
	$node->append_conf('postgresql.conf', $settings . $conf);
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION gatepost');
	return $node;
}

# Starts a server that was stopped, and waits until it answers.
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

# Sets in the server's file; comes back when new sessions and the checkpointer have read it. Commits wait for standbys when the
# checkpointer knows their names. Sessions that are there read it at their next statement, or the one after.
sub configure
{
	my ($node, %setting) = @_;
	$node->safe_psql('postgres',
		join ' ', q(LOAD 'gatepost';), (map { "ALTER SYSTEM SET $_ = '$setting{$_}';" } sort keys %setting), 'SELECT pg_reload_conf()');
	for my $name (sort keys %setting)
	{
		$node->poll_query_until('postgres', "SELECT current_setting('$name', true) = '$setting{$name}'") or die "$name was not set";
	}
	# At the first it may be past the place where it reads.
	$node->safe_psql('postgres', 'CHECKPOINT; CHECKPOINT');
	return;
}

# Stops the process that receives a standby's log, when there is one. Result: its process, to be woken by CONT.
sub stop_receiver
{
	my ($standby) = @_;
	$standby->poll_query_until('postgres', q(SELECT count(*) = 1 FROM pg_stat_wal_receiver WHERE status = 'streaming'))
	  or die 'no receiver';
	my $receiver = $standby->safe_psql('postgres', 'SELECT pid FROM pg_stat_wal_receiver');
	kill 'STOP', $receiver;
	return $receiver;
}

# Promotes and waits until the server takes writes.
sub finish_promotion
{
	my ($node) = @_;
	$node->promote;
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'server was not promoted';
	return;
}

# What is the default differs between versions, and pg_upgrade wants two clusters that agree.
my @alike = ('--no-sync', '--data-checksums');

# Such a server, of the older version if the check was given one: its folder with bin and lib is GATEPOST_UPGRADE_FROM.
sub server_to_upgrade
{
	my ($name, %option) = @_;
	return new_server($name, %option, extra => \@alike, install_path => $ENV{GATEPOST_UPGRADE_FROM});
}

# A new cluster of this version, made by pg_upgrade out of such a server, which is stopped first. It is not started.
sub upgrade
{
	my ($old, $name, @options) = @_;
	$old->stop('fast');
	my $new = PostgreSQL::Test::Cluster->new($name);
	# Made by initdb itself, not copied: it has an identifier of its own.
	$new->init(extra => \@alike);
	$new->append_conf('postgresql.conf', $settings);
	my $directory = PostgreSQL::Test::Utils::tempdir_short();
	$old->command_ok(
		[
			'env', '-C', $directory, $new->config_data('--bindir') . '/pg_upgrade', '--no-sync', @options,
			'--old-datadir', $old->data_dir, '--new-datadir', $new->data_dir,
			'--old-bindir', $old->config_data('--bindir'), '--new-bindir', $new->config_data('--bindir'),
			'--socketdir', $directory, '--old-port', $old->port, '--new-port', $new->port
		],
		"$name: upgraded");
	return $new;
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

1;

# Servers: a primary with the extension, standbys, promotion, and what the test build believes of its clocks.
package Gatepost::Server;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

our @EXPORT = qw(new_server start_server new_standby finish_promotion server_to_upgrade upgrade override);

# Settings of every server here: nothing in the background that moves the figures a test counts.
my $settings = q(
log_statement = none
autovacuum = off
);

# initdb takes longer than many a test: what it makes is made once a run and copied. The copies share their identifier.
my $system_or_bail = \&PostgreSQL::Test::Utils::system_or_bail;

sub _copy_initdb
{
	my ($program, @arguments) = @_;
	return $system_or_bail->($program, @arguments)
	  if $program ne 'initdb' || "@arguments[2 .. $#arguments]" ne '-A trust -N';
	my $template = "$PostgreSQL::Test::Utils::tmp_check/template";
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

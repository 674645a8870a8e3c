# pg_upgrade makes a new system identifier and begins at timeline 1 again: leases come along as rows, the first changing
# call raises the generation, and tokens go on rising.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $old = new_server('old');
query($old, 'SELECT gatepost.token_raise_generation() FROM generate_series(1, 3)');
my $held = acquire($old, 'held', '1 h');
my $released = acquire($old, 'released', '1 h');
query($old, "BEGIN; SELECT gatepost.lease_release('released', $released); COMMIT");
my $last = query($old, q(SELECT max(gatepost.lease_acquire('n-' || n, '1 h')) FROM generate_series(1, 100) n));
query(
	$old, qq(
	CREATE ROLE worker;
	GRANT USAGE ON SCHEMA gatepost TO worker;
	GRANT EXECUTE ON FUNCTION gatepost.lease_acquire TO worker;
	CREATE TABLE job (id int PRIMARY KEY, state text, fence bigint);
	INSERT INTO job VALUES (1, 'new');
	SELECT gatepost.fenced_update('job', '{"id": 1}', '{"state": "old"}', $last)));
my $generation = query($old, 'SELECT gatepost.token_generation()');
my $system = query($old, 'SELECT system_identifier FROM pg_control_system()');
$old->stop('fast');

# An option of its own, so that initdb runs and makes another identifier.
my $new = PostgreSQL::Test::Cluster->new('new');
$new->init(extra => ['--no-instructions']);
chdir $PostgreSQL::Test::Utils::tmp_check or die "$!";
my $programs = $new->config_data('--bindir');
$new->command_ok(
	[
		'pg_upgrade', '--no-sync', '--old-datadir', $old->data_dir, '--new-datadir', $new->data_dir,
		'--old-bindir', $programs, '--new-bindir', $programs, '--socketdir', $new->host,
		'--old-port', $old->port, '--new-port', $new->port ],
	'pg_upgrade');
start_server($new);

isnt(query($new, 'SELECT system_identifier FROM pg_control_system()'), $system, 'the system identifier is another');
is(query($new, 'SELECT gatepost.token_generation()'), $generation, 'the generation came along');
is(acquire($new, 'held', '1 h'), '', 'a live lease is not granted');
is(status($new, 'released', $released), 'released', 'a released one stays released');
my $token = acquire($new, 'released', '1 h');
cmp_ok($token, '>', $last, 'the next token is above all earlier ones');
cmp_ok(query($new, 'SELECT gatepost.token_generation()'), '>', $generation, 'the generation rose');
is(query($new, "SELECT gatepost.lease_renew('held', $held)"), 't', 'the holder renews');
my $update = q(SELECT gatepost.fenced_update('job', '{"id": 1}', '{"state": "new"}', %s));
is(query($new, sprintf $update, $token), 't', 'the new holder writes');
is(query_error($new, sprintf $update, $last), 'LG001', "the old holder's write is refused");

# What guards the extension came along, too.
is(query_error($new, 'DELETE FROM gatepost.lease_slots'), '55000', 'rows are guarded');
is( query_error($new, q(CREATE TABLE wrong (name text CHECK (gatepost.lease_acquire(name, '1 s') > 0)))),
	'42P17', 'check constraints are refused');
is(query($new, q(SET ROLE worker; SELECT gatepost.lease_acquire('by a worker', '1 h') > 0)), 't', 'grants are as they were');

done_testing();

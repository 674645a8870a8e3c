# New files are installed under open sessions: the library that a session has loaded meets the SQL of another version. What
# does not fit is an error that says so, the rest goes on, and leases and tokens are as they were.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('versions');
my $version = query($node, q(SELECT extversion FROM pg_extension WHERE extname = 'gatepost'));
my $loaded = session($node);
my $held = session_query($loaded, q(SELECT gatepost.lease_acquire('held', '1 h')));

# Update scripts, as a later version would bring them.
chomp(my $share = `pg_config --sharedir`);
my @scripts;

sub update_script
{
	my ($from, $to, $sql) = @_;
	my $file = "$share/extension/gatepost--$from--$to.sql";
	PostgreSQL::Test::Utils::append_to_file($file, $sql);
	push @scripts, $file;
	return;
}
END { unlink @scripts; }

# First a function that this library has not. Where the new library is loaded it is made without an error; there is none
# here, so the catalog is brought to what it would be then.
update_script($version, 'refused', q(
	CREATE FUNCTION gatepost.lease_of_later(name pg_catalog.text) RETURNS pg_catalog.int8
	    LANGUAGE c AS 'MODULE_PATHNAME', 'gatepost_lease_of_later';
));
update_script($version, 'later', q(
	CREATE FUNCTION gatepost.lease_of_later(name pg_catalog.text) RETURNS pg_catalog.int8
	    LANGUAGE c AS 'MODULE_PATHNAME', 'gatepost_token_draw';
	UPDATE pg_catalog.pg_proc SET prosrc = 'gatepost_lease_of_later' WHERE proname = 'lease_of_later';
));
# Then another layout of a table that the library reads by itself.
update_script('later', 'latest', q(
	ALTER TABLE gatepost.lease_slots ADD COLUMN colour pg_catalog.text;
));
update_script('latest', 'back', q(
	ALTER TABLE gatepost.lease_slots DROP COLUMN colour;
));

# A session that has the old library cannot install what needs the new one; nothing of it is left.
is(session_error($loaded, q(ALTER EXTENSION gatepost UPDATE TO 'refused')), '42883',
	'updated where the library is the old one: refused');
is(query($node, q(SELECT extversion FROM pg_extension WHERE extname = 'gatepost')), $version, 'as a whole');
is(session_query($loaded, "SELECT gatepost.lease_renew('held', $held)"), 't', 'and the session goes on');

query($node, q(ALTER EXTENSION gatepost UPDATE TO 'later'));
my $fresh = session($node);
for my $case ([ 'a session that has the library', $loaded ], [ 'a new session', $fresh ])
{
	my ($who, $session) = @$case;
	is(session_error($session, q(SELECT gatepost.lease_of_later('x'))), '42883',
		"$who: a function of the new SQL is not in the library");
	is(session_query($session, 'SELECT gatepost.library_version()'), $version, "$who: the version of the library");
	is(session_query($session, q(SELECT extversion FROM pg_extension WHERE extname = 'gatepost')), 'later',
		"$who: and of the SQL");
	is(session_query($session, "SELECT gatepost.lease_renew('held', $held)"), 't', "$who: the lease is renewed");
	my $token = session_query($session, "SELECT gatepost.lease_acquire('$who', '1 h')");
	cmp_ok($token, '>', $held, "$who: tokens go on rising");
	is(session_query($session, "SELECT gatepost.try_advisory_xact_lock('$who, rung')"), 't', "$who: and rungs are taken");
}
my ($stdout, $stderr);
$node->psql('postgres', q(SELECT gatepost.lease_of_later('x')), stderr => \$stderr);
like($stderr, qr/could not find function "gatepost_lease_of_later" in file/, 'the error names the function and the file');

# A transaction that is open over the update.
session_query($loaded, 'BEGIN');
my $open = session_query($loaded, q(SELECT gatepost.lease_acquire('open', '1 h')));
my $updating = session($node);
my $pid = session_query($updating, 'SELECT pg_backend_pid()');
send_query($updating, q(ALTER EXTENSION gatepost UPDATE TO 'latest'));
ok(wait_blocked($node, $pid), 'the update waits for the transaction');
is(session_query($loaded, "SELECT gatepost.lease_renew('open', $open)"), 't', 'which goes on');
session_query($loaded, 'COMMIT');
is((sent_result($updating))[1], '', 'then it is done');

for my $case ([ 'a session that has the library', $loaded ], [ 'a new session', session($node) ])
{
	my ($who, $session) = @$case;
	for my $call ("lease_renew('held', $held)", q(lease_acquire('other', '1 h')), "lease_status('held', $held)",
		q(try_advisory_xact_lock('rung')))
	{
		is(session_error($session, "SELECT gatepost.$call"), '55000', "$who: the table is of another layout: $call");
	}
	is(session_query($session, 'SELECT gatepost.library_version()'), $version, "$who: and goes on");
}
no_lock_left($node, 'no lock is left');

# Undone, calls go on where they were.
session_query($updating, q(ALTER EXTENSION gatepost UPDATE TO 'back'));
is(session_query($loaded, "SELECT gatepost.lease_renew('held', $held)"), 't',
	'the layout is what it was: the lease is renewed');
cmp_ok(session_query($fresh, q(SELECT gatepost.lease_acquire('other', '1 h'))), '>', $open, 'and tokens go on rising');
is(query($node, q(SELECT pg_postmaster_start_time() > now() - interval '1 h')), 't', 'the server has not restarted');
is(session_query($_, 'SELECT true'), 't', 'nor was a session lost') for $loaded, $fresh, $updating;

$_->quit for $loaded, $fresh, $updating;
done_testing();

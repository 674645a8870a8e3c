# The counter of a generation fills up: draws carry into the next generation and go on rising, over crashes and raises. When
# the last generation is full nothing more can be drawn, and all else goes on.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $step = 32;
my $per_generation = 1 << 34;
my $highest_token = (1 << 53) - 1;
my $last_generation = (1 << 19) - 1;

my $node = new_server('counter');
my $held = acquire($node, 'held', '1 h');
query($node, 'CREATE TABLE job (id int PRIMARY KEY, worker text, fence bigint); INSERT INTO job VALUES (1)');
my $session = session($node);
session_query($session, "SELECT gatepost.lease_renew('held', $held)");

sub generation { return query($node, 'SELECT gatepost.token_generation()'); }

# Sets the sequence so that so many tokens are left in its generation.
sub leave
{
	my ($left) = @_;
	my $last = query($node, 'SELECT last_value FROM gatepost.token_sequence');
	my $first_of_next = (($last >> 34) + 1) * $per_generation + $last % $step;
	query($node, 'SELECT setval($$gatepost.token_sequence$$, ' . ($first_of_next - ($left + 1) * $step) . ')');
	return $last >> 34;
}

# Over the border by grants of one session.
my $generation = leave(3);
my @tokens = map { session_query($session, "SELECT gatepost.lease_acquire('grant $_', '1 h')") } 1 .. 6;
is("@{[ map { $_ >> 34 } @tokens ]}", join(' ', ($generation) x 3, ($generation + 1) x 3),
	'three tokens, then the next generation');
is(scalar(grep { $tokens[$_] <= $tokens[ $_ - 1 ] } 1 .. $#tokens), 0, 'tokens go on rising');
is(scalar(grep { $_ % $step != $tokens[0] % $step } @tokens), 0, 'with the nonce they had');
is(generation(), $generation + 1, 'token_generation() follows');
is(status($node, "grant $_", $tokens[ $_ - 1 ]), 'held', "the lease on its side of the border is held: $_") for 3, 4;
is(session_query($session, "SELECT gatepost.lease_renew('grant 3', $tokens[2])"), 't',
	'the last token of the old generation renews');
is(query($node, "SELECT generation FROM gatepost.leases WHERE name = 'grant 4'"), $generation + 1,
	'the view shows the new one');
is(query($node, qq(SELECT gatepost.fenced_update('job', '{"id": 1}', '{"worker": "new"}', $tokens[3]))), 't',
	'a write with the first of the new');
is(query_error($node, qq(SELECT gatepost.fenced_update('job', '{"id": 1}', '{"worker": "old"}', $tokens[2]))),
	'LG001', 'after it one with the last of the old is stale');

# Over the border by many at once.
$generation = leave(50);
my $load = start_load(
	$node,
	"SELECT gatepost.token_draw();\nSELECT gatepost.lease_acquire('load ' || gatepost.token_draw(), '1 h');\n",
	'--client=4', '--transactions=25');
$load->{run}->finish;
unlike(end_load($load), qr/error|aborted/i, 'four sessions draw over the border');
is(generation(), $generation + 1, 'into the next generation, and no further');
is(query($node, q(SELECT count(*) - count(DISTINCT token) FROM gatepost.leases)), 0, 'no token comes twice');
my $order = q(SELECT count(*) FROM (SELECT token, lag(token) OVER (ORDER BY acquired_at, token) AS earlier FROM gatepost.leases
	WHERE name LIKE 'load %' AND substr(name, 6)::bigint > token) l);
is(query($node, $order), 0, 'a grant is above what was drawn before it');

# A crash at the border, before and behind it.
for my $left (0, 1)
{
	$generation = leave($left);
	my $last = query($node, q(SELECT gatepost.token_draw()));
	is($last >> 34, $generation + ($left == 0), "$left left: drawn");
	$node->stop('immediate');
	start_server($node);
	cmp_ok(query($node, 'SELECT gatepost.token_draw()'), '>', $last, "$left left: after a crash the next token is larger");
	is(generation(), $generation + 1, "$left left: of the next generation");
}
$session = session($node);

# A raise at the border is the next generation as well.
$generation = leave(0);
is(query($node, 'SELECT gatepost.token_raise_generation()'), $generation + 1, 'a raise of a full generation');
cmp_ok(query($node, 'SELECT gatepost.token_draw()'), '>', query($node, 'SELECT max(token) FROM gatepost.leases'),
	'goes above it');
is(status($node, 'held', $held), 'held', 'a lease from before all this is held');

# The last generation: three tokens are left of all there are.
my $value = $highest_token - 3 * $step;
query($node, 'SELECT setval($$gatepost.token_sequence$$, ' . $value . ')');
is(generation(), $last_generation, 'the last generation');
my @last = map { session_query($session, "SELECT gatepost.lease_acquire('last $_', '1 h')") } 1 .. 3;
is($last[2], $highest_token, 'the last token is 2^53 - 1');
is(session_error($session, q(SELECT gatepost.lease_acquire('none left', '1 h'))), '2200H', 'no token is left: an error');
is(session_error($session, 'SELECT gatepost.token_draw()'), '2200H', 'for a draw, too');
is(session_error($session, q(SELECT gatepost.lease_break('last 1'))), '2200H', 'and a break, which needs one');
is(session_error($session, 'SELECT gatepost.token_raise_generation()'), '54000', 'nor is there a generation to raise to');
is(session_error($session, "SELECT gatepost.token_raise_generation($highest_token)"), '22023', 'or above the last');
no_lock_left($node, 'no lock is left');
is(query($node, q(SELECT count(*) FROM gatepost.leases WHERE name = 'none left')), 0, 'no row is left');

# What needs no token goes on.
is(session_query($session, q(SELECT gatepost.lease_acquire('last 1', '1 h'))), '', 'a held name is busy');
is(session_query($session, "SELECT gatepost.lease_renew('held', $held)"), 't', 'leases are renewed');
is(session_query($session, "SELECT gatepost.lease_renew('last 3', $last[2])"), 't', 'that of the last token, too');
is(session_query($session, qq(SELECT gatepost.fenced_update('job', '{"id": 1}', '{"worker": "last"}', $last[2]))), 't',
	'it writes');
is(session_query($session, "SELECT gatepost.lease_release('last 3', $last[2])"), 't', 'and is released');
is(session_error($session, q(SELECT gatepost.lease_acquire('last 3', '1 h'))), '2200H', 'the name cannot be granted again');
is(status($node, 'last 3', $last[2]), 'released', 'and is what it was');
is(session_query($session, q(SELECT gatepost.try_advisory_xact_lock('last 3'))), 't', 'the advisory rung needs no token');
is(query($node, 'SELECT gatepost.lease_purge($$0$$, $$last$$)'), 1, 'purged');
$node->stop('immediate');
start_server($node);
is(query($node, "SELECT gatepost.lease_renew('held', $held)"), 't', 'after a crash leases are renewed');
is(query_error($node, q(SELECT gatepost.lease_acquire('none left', '1 h'))), '2200H', 'and no token has come back');
my $file = PostgreSQL::Test::Utils::tempdir() . '/full';
$node->command_ok([ 'pg_dump', '--format=custom', "--file=$file", $node->connstr('postgres') ],
	'the database can be dumped');

end_session($session);
done_testing();

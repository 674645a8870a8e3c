# A wait that ends at about the moment in which the lock is granted: the answer is true if the lock is held, and only then.
# No session's lock is left behind by a false or by an error.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('race', conf => "synchronous_commit = off\n");
query(
	$node, q(
	CREATE UNLOGGED TABLE rounds (how text, answer text, held boolean);
	CREATE FUNCTION held() RETURNS boolean LANGUAGE sql AS $$
		SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid NOT IN (1, 2) AND pid = pg_backend_pid() AND granted)
	$$;
	-- One more try in each form; what is asked for is free again about as long after as is waited.
	CREATE FUNCTION race(how text, wait interval) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		answer text;
	BEGIN
		BEGIN
			IF how = 'try' THEN
				answer := gatepost.try_advisory_lock('race', wait);
			ELSIF how = 'try in transaction' THEN
				answer := gatepost.try_advisory_xact_lock('race', wait);
			ELSE
				PERFORM set_config('lock_timeout', extract(milliseconds FROM wait)::int::text, true);
				PERFORM gatepost.advisory_lock('race');
				answer := 'true';
			END IF;
		EXCEPTION WHEN lock_not_available THEN
			answer := SQLSTATE;
		END;
		INSERT INTO rounds VALUES (how, answer, held());
		IF answer = 'true' THEN
			PERFORM pg_sleep(extract(epoch FROM wait) * (0.85 + 0.3 * random()));
			IF how <> 'try in transaction' THEN
				PERFORM gatepost.advisory_unlock('race');
			END IF;
		END IF;
	END $$));
my $head = "\\set wait random(1, 5)\n";
my %scripts = map { ("113_$_->[0]" => "${head}SELECT race('$_->[1]', :wait * interval '1 ms');\n\\if 1\nSELECT 1 / (NOT held())::int;\n\\endif\n") }
  ([ 'try', 'try' ], [ 'transaction', 'try in transaction' ], [ 'timeout', 'lock_timeout' ]);
my %no = ('try' => 'false', 'try in transaction' => 'false', 'lock_timeout' => '55P03');
my $each = join ' AND ', map { my $how = $_; map { "count(*) FILTER (WHERE how = '$how' AND answer = '$_') > 50" } 'true', $no{$how} } sort keys %no;
load_until($node, '3 sessions, 8 s: nothing is held between the rounds', 8, '--client=3 --jobs=1', \%scripts, "SELECT $each FROM rounds");

for my $how (sort keys %no)
{
	my $no = $no{$how};
	for my $answer ('true', $no)
	{
		cmp_ok(query($node, "SELECT count(*) FROM rounds WHERE how = '$how' AND answer = '$answer'"), '>', 50, "$how: enough answers $answer");
	}
	is(query($node, "SELECT count(*) FROM rounds WHERE how = '$how' AND answer NOT IN ('true', '$no')"), 0, "$how: no other answer");
}
is(query($node, "SELECT count(*) FROM rounds WHERE held <> (answer = 'true')"), 0, 'the answer is true if the lock is held, and only then');
no_lock_left($node, 'no lock is left');

# Granted while the waiter's process is stopped, its time over when it goes on: whatever it makes of that, the answer is
# true if the lock is held, and a false leaves the name free.
# All of them at once, with time enough to be seen waiting.
my $limit = 10;
my $holder = session($node);
my $number = 0;
my @waiters;
for my $call ("try_advisory_lock('NAME', '$limit s')", "try_advisory_lock('NAME', '$limit s', true)",
	"try_advisory_xact_lock('NAME', '$limit s')", "advisory_lock('NAME')")
{
	my $name = 'stopped ' . ++$number;
	my %waiter = (session => session($node), call => $call =~ s/NAME/$name/r, name => $name);
	session_query($holder, "SELECT gatepost.advisory_lock('$name')");
	$waiter{pid} = session_query($waiter{session}, 'SELECT pg_backend_pid()');
	session_query($waiter{session}, q(SET lock_timeout = ') . ($call =~ /try/ ? 0 : "$limit s") . q('; BEGIN));
	push @waiters, \%waiter;
}
send_query($_->{session}, "SELECT gatepost.$_->{call}") for @waiters;
for (@waiters)
{
	ok(wait_blocked($node, $_->{pid}), "$_->{call}: waits");
	kill 'STOP', $_->{pid};
}
my $waited = monotonic();
session_query($holder, "SELECT gatepost.advisory_unlock('$_->{name}')") for @waiters;
wait_monotonic($waited + $limit + 0.1);
kill 'CONT', map { $_->{pid} } @waiters;
for (@waiters)
{
	my ($session, $call, $name, $pid) = @$_{qw(session call name pid)};
	my ($answer, $error) = sent_result($session);
	my $granted = $answer eq 't' || $call !~ /try/ && $error eq '';
	is($error, $granted || $call =~ /try/ ? '' : '55P03', "$call: an answer or its own error");
	is(query($node, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid NOT IN (1, 2) AND pid = $pid"),
		$granted ? 1 : 0, "$call: held if it was granted");
	session_query($session, 'ROLLBACK');
	session_query($session, 'SELECT pg_advisory_unlock_all()');
	is(query($node, "SELECT gatepost.try_advisory_xact_lock('$name')"), 't', "$call: the name is free again");
	$session->quit;
}
$holder->quit;

done_testing();

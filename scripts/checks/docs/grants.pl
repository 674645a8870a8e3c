# The rights and signatures of docs/reference.md against a database: grants.pl docs/reference.md
# PGHOST and PGUSER name a throwaway server. Both lists are granted as the document says, to roles with names of their own.
use strict;
use warnings FATAL => 'all';

use File::Basename 'dirname';

my ($document) = @ARGV;
open my $in, '<', $document or die "$document: $!";
my $text = do { local $/; <$in> };
my %role = (user => 'check_user', administrator => 'check_administrator');
my $failed = 0;

sub psql
{
	my ($database, @options) = @_;
	open my $out, '-|', 'psql', '-X', '-q', '-d', $database, '-v', 'ON_ERROR_STOP=1', @options or die "psql: $!";
	my @lines = <$out>;
	close $out or die 'psql has failed';
	chomp @lines;
	return @lines;
}

sub rows { return map { [ split /\|/, $_, -1 ] } psql('docs_grants', '-A', '-t', '-c', $_[0]); }

sub report
{
	my ($what, @wrong) = @_;
	$failed++ if @wrong;
	print @wrong ? 'not ok' : 'ok', " - $what\n";
	print "#   $_\n" for @wrong;
	return;
}

# The SQL of a list, for the role of the check.
sub list
{
	my ($name) = @_;
	my ($sql) = $text =~ /^<!-- grants: $name -->\n```sql\n(.*?)^```$/ms or die "no list for $name";
	my ($role) = $sql =~ /^CREATE ROLE (\w+);$/m or die "the list for $name creates no role";
	return $sql =~ s/\b$role\b/$role{$name}/gr;
}

psql('postgres', '-c', 'CREATE DATABASE docs_grants');
psql('docs_grants', '-c', 'CREATE EXTENSION gatepost', map { ('-c', list($_)) } qw(user administrator));
my @tap = psql('docs_grants', (map { ('-v', "$_=$role{$_}") } sort keys %role), '-f', dirname($0) . '/grants.sql');
$failed++ if grep { /^not ok/ } @tap;
print "$_\n" for @tap;

# The first table of the document names each function, with its list.
my %documented = $text =~ /^\| \[`(\w+)`\][^|]*\|[^|]*\| (\w+) \|$/mg;
my %granted = map { $_->[0] => $_->[1] } rows('SELECT name, lists[1] FROM listed');
$role{owner} = 'owner';
report('each function is in the first table with its list',
	map { "$_: " . ($documented{$_} // 'not there') } grep { ($role{ $documented{$_} // '' } // '') ne $granted{$_} } sort keys %granted);

# "name type" of each argument, with = for a default.
sub arguments { return join ', ', map { s/ DEFAULT .*/ =/sr =~ s/\s+/ /gr =~ s/^IN //r } split /,\s*/, $_[0]; }
my %signature = $text =~ /^`*(?:```\n)?(?:CALL )?(\w+)\(((?:[^()`]|\n)*)\)(?: RETURNS \w+|\n```)/mg;
my @functions = rows(q(SELECT proname, pg_get_function_arguments(oid) FROM pg_proc JOIN functions USING (oid) WHERE NOT proretset));
report('signatures are those of the functions',
	map { "$_->[0]($_->[1])" } grep { !defined $signature{ $_->[0] } || arguments($signature{ $_->[0] }) ne arguments($_->[1]) } @functions);

my @columns = map { $_->[0] } rows(q(SELECT attname FROM pg_attribute WHERE attrelid IN ('gatepost.leases'::regclass, 'gatepost.advisory_locks'::regclass, 'gatepost.refusals'::regclass, 'gatepost.history'::regclass, 'gatepost.rules'::regclass, 'gatepost.fenced_tables'::regclass, 'gatepost.waiters'::regclass, 'gatepost.semaphores'::regclass, 'gatepost.stats'::regclass) AND attnum > 0));
report('every column of the views is described', grep { $text !~ /^\| [^|]*`$_`[^|]*\|/m } @columns);

exit($failed > 0);

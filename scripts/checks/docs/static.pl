# What can be said of the documents without a server: static.pl ERRCODES.H   (in the project's folder)
# Every SQLSTATE that the sources raise is in docs/errors.md, and no other of class LG; every setting is in
# docs/reference.md; links lead somewhere; tests and mutants that are named exist, and docs/promises.md names all of them. And of what is released: the version is
# one, and META.json is whole.
use strict;
use warnings FATAL => 'all';

use JSON::PP;

my ($errcodes) = @ARGV;
my @documents = ('README.md', glob 'docs/*.md');
my %text = map { $_ => text_of($_) } @documents;
my %source = map { $_ => text_of($_) } glob 'src/*';
my $sources = join '', map { $source{$_} } sort keys %source;
my $failed = 0;

sub text_of
{
	my ($file) = @_;
	open my $in, '<', $file or die "$file: $!";
	local $/;
	return scalar <$in>;
}

sub report
{
	my ($what, @missing) = @_;
	$failed++ if @missing;
	print @missing ? 'not ok' : 'ok', " - $what\n";
	print "#   $_\n" for @missing;
	return;
}

# What the server raises for us when one of its functions is called.
my %raised_by = (
	PreventCommandIfReadOnly => ['25006'],
	PreventCommandDuringRecovery => ['25006'],
	PreventCommandIfParallelMode => ['25000'],
	elog => ['XX000'],
	nextval_internal => ['2200H'],
	LockTimeout => ['55P03'],
	SPI_execute_plan => [ '40001', '40P01' ]);

sub sqlstates
{
	my %code = text_of($errcodes) =~ /^#define\s+ERRCODE_(\w+)\s+MAKE_SQLSTATE\(([^)]*)\)/mg;
	s/[', ]//g for values %code;
	my %raised;
	for my $name ($sources =~ /\bERRCODE_(\w+)/g)
	{
		$raised{ $code{$name} // die "ERRCODE_$name is unknown" } = "ERRCODE_$name";
	}
	for my $call (keys %raised_by)
	{
		$raised{$_} = $call for $sources =~ /\b$call\b/ ? @{ $raised_by{$call} } : ();
	}
	# Codes of our own count when another file uses them.
	my $elsewhere = join '', map { $source{$_} } grep { $_ ne 'src/errors.hpp' } keys %source;
	my %own = $source{'src/errors.hpp'} =~ /int (\w+) = MAKE_SQLSTATE\(([^)]*)\)/g;
	for my $name (keys %own)
	{
		$raised{ $own{$name} =~ s/[', ]//gr } = $name if $elsewhere =~ /errcode\((?:gatepost::)?$name\)/;
	}
	return %raised;
}

my %raised = sqlstates();
my $errors = $text{'docs/errors.md'};
report('docs/errors.md has every SQLSTATE that the sources raise',
	map { "$_, $raised{$_}" } grep { $errors !~ /^\|.*`$_`.*\|/m } sort keys %raised);
my %named = map { $_ => 1 } join('', values %text) =~ /`(LG\d{3})`/g;
report('no document has a code of class LG that is never raised', grep { !$raised{$_} } sort keys %named);

my %settings = map { $_ => 1 } $sources =~ /DefineCustom\w+Variable\(\s*"(gatepost\.\w+)"/g;
report('docs/reference.md has every setting',
	grep { !/\.test_/ && $text{'docs/reference.md'} !~ /^\| `$_` \|/m } sort keys %settings);

# As GitHub makes them.
sub anchors
{
	my ($file) = @_;
	my $prose = $text{$file} =~ s/^```.*?^```$//gmsr;
	return map { lc(s/[^\w\- ]//gr) =~ s/ /-/gr } $prose =~ /^#+ (.*)$/mg;
}

sub broken_links
{
	my @broken;
	for my $file (@documents)
	{
		my ($folder) = $file =~ m{^(.*/)?};
		# A lambda of C++ looks like a link.
		my $prose = $text{$file} =~ s/^```.*?^```$//gmsr;
		while ($prose =~ /\]\(([^)#]*)(?:#([^)]*))?\)/g)
		{
			my ($path, $anchor) = ($1, $2);
			my $target = $path eq '' ? $file : ($folder // '') . $path;
			1 while $target =~ s{[^/]+/\.\./}{};
			push(@broken, "$file: $path") && next if !-e $target;
			push @broken, "$file: $target#$anchor" if defined $anchor && !grep { $_ eq $anchor } anchors($target);
		}
	}
	return @broken;
}
report('links lead somewhere', broken_links());

my @paths = map { $text{$_} =~ m{`((?:test|scripts|src|sql)/[\w./*-]+)`}g } @documents;
report('files that are named exist', grep { my @files = glob; !@files || grep { !-e } @files } @paths);

my $client = join '', map { text_of($_) } glob 'cpp-client/{src,test}/*.{cpp,hpp}';
my %tests = map { $_ => 1 } map { s/, /./r } $client =~ /^TEST(?:_F)?\((\w+, \w+)\)/mg;
my @tests = map { /`([A-Z]\w+\.[A-Z]\w+)`/g } @text{ 'docs/promises.md', 'docs/cpp-client.md' };
report('tests of the C++ client that are named exist', @tests ? grep { !$tests{$_} } @tests : 'none is named');

my %mutants = map { $_ => 1 } "$sources$client" =~ /\bmutant\("(\w+)"\)/g;
my @named = map { /`(\w+)`/g } map { / (.*)/s } $text{'docs/promises.md'} =~ /^Mutants:(.*?)^$/msg;
push @named, map { /`(\w+)`/g } $text{'docs/promises.md'} =~ /\| ([^|]*) \|$/mg;
report('mutants that are named exist', grep { !$mutants{$_} } @named);

# The other way round: what shows a promise is named where the promise is.
my %shown = map { $_ => 1 } map { glob } $text{'docs/promises.md'} =~ m{`(test/[\w./*-]+)`}g;
report('docs/promises.md has every test of the server',
	grep { !$shown{$_} } map { glob "test/{,instrumented/}$_" } qw(sql/*.sql specs/*.spec t/*.pl));
my %promised = map { $_ => 1 } @named;
report('docs/promises.md has every mutant of the server', grep { !$promised{$_} } sort { $a cmp $b } $sources =~ /\bmutant\("(\w+)"\)/g);

# What the command says of a refusal goes by the names of the lists.
my $rights = text_of('cpp-client/cli/rights.cpp');
for my $list (qw(user administrator))
{
	my ($sql) = $text{'docs/reference.md'} =~ /^<!-- grants: $list -->\n```sql\n(.*?)^```$/ms;
	my ($names) = $rights =~ /\b${list}_list =(.*?);/s;
	my (%written, %known);
	$written{$_} = 1 for ($sql // '') =~ /gatepost\.(\w+)/g;
	$known{$_} = 1 for ($names // '') =~ /(?<= )(\w+)(?=[ "])/g;
	report("the command knows the names of the $list list",
		%written ? grep { !$written{$_} || !$known{$_} } sort keys %{ { %written, %known } } : 'there is none');
}

# One version everywhere; and what PGXN asks of META.json.
my $meta = JSON::PP->new->decode(text_of('META.json'));
my %version = (
	'META.json' => $meta->{version},
	'META.json, provides' => $meta->{provides}{gatepost}{version},
	'Makefile' => (text_of('Makefile') =~ /^GATEPOST_VERSION = (\S+)$/m)[0] // 'none',
	'gatepost.control' => (text_of('gatepost.control') =~ /^default_version = '(.*)'$/m)[0] // 'none',
	'CMakeLists.txt' => (text_of('CMakeLists.txt') =~ /^project\(gatepost VERSION (\S+) /m)[0] // 'none',
	'cpp-client/include/gatepost/version.hpp' =>
	  join('.', text_of('cpp-client/include/gatepost/version.hpp') =~ /^#define GATEPOST_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$/mg),
	'CHANGELOG.md' => (text_of('CHANGELOG.md') =~ /^## (\S+)$/m)[0] // 'none');
report('the version is the same everywhere',
	$meta->{version} =~ /^\d+\.\d+\.\d+$/ ? () : 'not three numbers',
	map { "$_: $version{$_}" } grep { $version{$_} ne $meta->{version} } sort keys %version);
report('META.json has what a release needs',
	(map { "no $_" } grep { !$meta->{$_} } qw(name version abstract maintainer license release_status provides meta-spec)),
	$meta->{release_status} =~ /^(?:stable|testing|unstable)$/ ? () : "release_status $meta->{release_status}",
	map { "$_ is not there" } grep { !-f } map { @{$_}{qw(file docfile)} } values %{ $meta->{provides} });

exit($failed > 0);

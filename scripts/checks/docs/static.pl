# What can be said of the documents without a server: static.pl ERRCODES.H   (in the project's folder)
# Every SQLSTATE that the sources raise is in docs/errors.md, and no other of class LG; every setting is in
# docs/reference.md; links lead somewhere; tests and mutants that are named exist.
use strict;
use warnings FATAL => 'all';

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

my @paths = map { $text{$_} =~ m{`((?:test|scripts|src|sql)/[\w./-]+)`}g } @documents;
report('files that are named exist', grep { !-e } @paths);

my %mutants = map { $_ => 1 } $sources =~ /\bmutant\("(\w+)"\)/g;
my @named = map { /`(\w+)`/g } map { / (.*)/s } $text{'docs/promises.md'} =~ /^Mutants:(.*?)^$/msg;
push @named, map { /`(\w+)`/g } $text{'docs/promises.md'} =~ /\| ([^|]*) \|$/mg;
report('mutants that are named exist', grep { !$mutants{$_} } @named);

exit($failed > 0);

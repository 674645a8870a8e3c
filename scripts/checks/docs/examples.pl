# Runs the examples of documents: examples.pl FILE...
# PGHOST and PGUSER name a throwaway server. Each file has a database of its own, with the extension unless the file
# creates it, and its examples are run from top to bottom:
#   ```sql             no statement may fail
#   ```psql            a session, compared with what it prints; the prompt, NAME=>, names one of several sessions
#   <!-- setup ... --> run unseen
# Tokens differ from run to run: a token of the document stands for the one that came instead, in later statements too.
use strict;
use warnings FATAL => 'all';

use IO::Select;
use IPC::Open3;
use Symbol 'gensym';

my $token = qr/(?<!\d)\d{13,16}(?!\d)/;

sub blocks_of
{
	my ($file) = @_;
	open my $in, '<', $file or die "$file: $!";
	my ($block, @blocks);
	while (my $line = <$in>)
	{
		if (!defined $block)
		{
			my $kind = $line =~ /^<!-- setup$/ ? 'setup' : $line =~ /^```(\w+)$/ ? $1 : next;
			$block = { kind => $kind, line => $., text => [] };
		}
		elsif ($line =~ ($block->{kind} eq 'setup' ? qr/^-->$/ : qr/^```$/))
		{
			push @blocks, $block if $block->{kind} =~ /^(?:setup|sql|psql)$/;
			undef $block;
		}
		else
		{
			push @{ $block->{text} }, $line;
		}
	}
	die "$file: a block is not closed" if defined $block;
	return @blocks;
}

# A session stays open, so that several can take turns.
sub open_session
{
	my ($database) = @_;
	my %session = (number => 0, err => gensym);
	$session{pid} = open3($session{in}, $session{out}, $session{err}, 'psql', '-X', '-d', $database);
	$session{in}->autoflush(1);
	ask(\%session, '\pset footer off');
	return \%session;
}

sub close_session
{
	my ($session) = @_;
	close $session->{in};
	waitpid $session->{pid}, 0;
	return;
}

# The lines that psql prints for a statement, errors and notices first.
sub ask
{
	my ($session, $statement) = @_;
	my $mark = 'end of answer ' . ++$session->{number};
	print { $session->{in} } "$statement\n\\warn $mark\n\\echo $mark\n";
	my @channels = map { { handle => $session->{$_}, text => '' } } qw(err out);
	my $select = IO::Select->new(map { $_->{handle} } @channels);
	while (grep { $_->{text} !~ /^\Q$mark\E$/m } @channels)
	{
		my @ready = $select->can_read(60) or die "no answer: $statement\n";
		for my $channel (grep { my $handle = $_->{handle}; grep { $_ == $handle } @ready } @channels)
		{
			sysread $channel->{handle}, $channel->{text}, 65536, length $channel->{text} or die "psql has ended: $statement\n";
		}
	}
	my $text = join '', map { $_->{text} =~ s/^\Q$mark\E\n//mr } @channels;
	return grep { /\S/ } split /\n/, $text;
}

# What differs from run to run, and how wide columns are, does not count.
sub normal
{
	my ($line) = @_;
	$line =~ s/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?[+-]\d\d/TIME/g;
	$line =~ s/\b\d\d:\d\d:\d\d\.\d+/INTERVAL/g;
	$line =~ s{\@local/\d+}{\@local/PID}g;
	$line =~ s/-{2,}/-/g;
	$line =~ s/\s+/ /g;
	return $line =~ s/^ | $//gr;
}

# Learns which tokens stand for which. Result: whether they are as many, always the same, and in the same order.
sub bind_tokens
{
	my ($bound, $expected, $found) = @_;
	my @of_document = join("\n", @$expected) =~ /$token/g;
	my @of_server = join("\n", @$found) =~ /$token/g;
	return 0 if @of_document != @of_server;
	for my $i (0 .. $#of_document)
	{
		$bound->{ $of_document[$i] } //= $of_server[$i];
		return 0 if $bound->{ $of_document[$i] } != $of_server[$i];
	}
	my @sorted = map { $bound->{$_} } sort { $a <=> $b } keys %$bound;
	return !grep { $sorted[$_] <= $sorted[ $_ - 1 ] } 1 .. $#sorted;
}

# The statements of a session: its name, the statement, the lines it should print.
sub steps_of
{
	my (@lines) = @_;
	my @steps;
	for my $line (grep { /\S/ } @lines)
	{
		chomp $line;
		if ($line =~ /^(\w+)=[>#] (.*)/) { push @steps, { session => $1, statement => $2, expected => [] }; }
		elsif (!@steps) { die "a session begins with a prompt, not with: $line\n"; }
		elsif ($line =~ /^\w+[-(\$'"*][>#] ?(.*)/) { $steps[-1]{statement} .= "\n$1"; }
		else { push @{ $steps[-1]{expected} }, $line; }
	}
	return @steps;
}

# Complaints about a block, none when it is as it should be.
sub complaints
{
	my ($block, $session, $bound) = @_;
	if ($block->{kind} ne 'psql')
	{
		my @failed = grep { /^(?:ERROR|FATAL|WARNING|invalid|psql):?/ } ask($session->('app'), join '', @{ $block->{text} });
		return map { "printed: $_" } @failed;
	}
	for my $step (steps_of(@{ $block->{text} }))
	{
		my $statement = $step->{statement} =~ s/($token)/$bound->{$1} \/\/ $1/ger;
		my @found = ask($session->($step->{session}), $statement);
		my $as_bound = bind_tokens($bound, $step->{expected}, \@found);
		my ($expected, $found) = map { join "\n", map { normal($_) =~ s/$token/TOKEN/gr } @$_ } $step->{expected}, \@found;
		next if $as_bound && $expected eq $found;
		return ("statement: $step->{statement}", (map { "expected:  $_" } @{ $step->{expected} }), map { "printed:   $_" } @found);
	}
	return;
}

my $failed = 0;
for my $file (@ARGV)
{
	my ($name) = $file =~ m{([^/]+)\.md$} or die "not a document: $file";
	my $database = 'docs_' . lc $name =~ s/\W/_/gr;
	my @blocks = blocks_of($file);
	my $installs = grep { "@{ $_->{text} }" =~ /^ ?CREATE EXTENSION gatepost;/m } @blocks;
	my @setup = ("CREATE DATABASE $database", "\\c $database", $installs ? () : 'CREATE EXTENSION gatepost');
	system('psql', '-X', '-q', '-d', 'postgres', '-v', 'ON_ERROR_STOP=1', map { ('-c', $_) } @setup) == 0
	  or die "cannot set up $database";
	my (%sessions, %bound);
	my $session = sub { return $sessions{ $_[0] } //= open_session($database); };
	for my $block (@blocks)
	{
		my @complaints = eval { complaints($block, $session, \%bound) };
		push @complaints, split /\n/, $@ if $@;
		$failed++ if @complaints;
		print @complaints ? 'not ok' : 'ok', " - $name.md, line $block->{line}: $block->{kind}\n";
		print "#   $_\n" for @complaints;
	}
	close_session($_) for values %sessions;
}
exit($failed > 0);

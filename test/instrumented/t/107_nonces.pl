# The last five bits of a token tell apart what two servers grant that were promoted apart, or that run on copies: they go
# by the machine's boot and by the file of the server itself. A pair may be alike, one in 32 is; many are not.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../../perl";
use Gatepost;
use Test::More;

my $node = new_server('nonces');
my $draw = q(SELECT gatepost.token_draw() & 31);
my $rounds = 40;
# Of 40 lots out of 32 some 23 differ; that fewer than 8 do happens to nobody.
my $enough = 8;

my %of_boot;
for my $round (1 .. $rounds)
{
	override($node, 'boot_id', "nonces $round");
	$of_boot{ query($node, $draw) }++;
}
cmp_ok(keys %of_boot, '>=', $enough, "$rounds boots: " . keys(%of_boot) . ' nonces');
my $last = query($node, $draw);
query($node, 'SELECT gatepost.token_raise_generation()');
is(query($node, $draw), $last, 'a generation raised by hand has the same');
query($node, 'DROP EXTENSION gatepost; CREATE EXTENSION gatepost');
is(query($node, $draw), $last, 'and so has the extension made anew: no history has parted');

# A copy of the server has another file. All are kept, since the number of one that is gone is given again.
my %of_file;
my $control = $node->data_dir . '/global/pg_control';
for my $round (1 .. $rounds)
{
	link $control, "$control.$round" or die "$control.$round: $!";
	PostgreSQL::Test::Utils::system_or_bail('cp', '-p', $control, "$control.copy");
	rename "$control.copy", $control or die "$control: $!";
	query($node, 'SELECT gatepost.token_raise_generation()');
	$of_file{ query($node, $draw) }++;
}
cmp_ok(keys %of_file, '>=', $enough, "$rounds files: " . keys(%of_file) . ' nonces');
unlink glob "$control.*";

done_testing();

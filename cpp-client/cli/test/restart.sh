# A restart of the server within the ttl, behind its back or before its eyes.
. "${0%/*}/tap.sh"
gatepost run survives --ttl 30s --verbose -- sh -c 'touch begun; while [ ! -e stop ]; do sleep 0.05; done; exit 4' 2>run.txt &
runner=$!
eventually test -e begun
pg_ctl -D "$PGHOST/data" -m immediate -w restart -l "$PGHOST/server.log" >/dev/null
before=$(query "SELECT renewed_at FROM gatepost.leases WHERE name = 'survives'")
renewed() { [ "$(query "SELECT renewed_at > '$before' FROM gatepost.leases WHERE name = 'survives'")" = t ]; }
ok 'the lease is renewed after the restart' eventually renewed
touch stop
finish $runner
is 'the command has run to its end' $status 4
is 'and the lease was given back' "$(query "SELECT state FROM gatepost.leases WHERE name = 'survives'")" released

gatepost --json hold over --ttl 30s >hold.txt < <(while [ ! -e stop2 ]; do sleep 0.05; done) &
holder=$!
eventually grep -q granted hold.txt
pg_ctl -D "$PGHOST/data" -m fast -w restart -l "$PGHOST/server.log" >/dev/null
ok 'hold is renewed after a restart too' eventually grep -q renewed hold.txt
touch stop2
finish $holder
is '... and released' "$status $(tail -n 1 hold.txt | grep -c released)" '0 1'

gatepost metrics --listen 0 >port.txt 2>metrics-err.txt &
server=$!
eventually has_file port.txt
port=$(grep -oE '[0-9]+$' port.txt)
fetch() { perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new("localhost:$ARGV[0]") or die; print $s "GET $ARGV[1] HTTP/1.1\r\nHost: x\r\n\r\n"; print while <$s>' "$port" "${1:-/metrics}"; }
like 'figures are served' "$(fetch)" 'HTTP/1.1 200 OK.*gatepost_up 1.*gatepost_leases_held [0-9]+'
like '... at one path' "$(fetch /)" 'HTTP/1.1 404'
pg_ctl -D "$PGHOST/data" -m fast -w stop >/dev/null
like 'a server that is away is said' "$(fetch)" 'HTTP/1.1 200 OK.*gatepost_up 0'
pg_ctl -D "$PGHOST/data" -w start -l "$PGHOST/server.log" >/dev/null
like '... and one that is back' "$(fetch)" 'gatepost_up 1.*gatepost_leases_held'
kill -TERM $server
finish $server
is 'a signal ends it' $status 0
done_testing

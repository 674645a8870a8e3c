# Connections as psql's, and what is said when there is none.
. "${0%/*}/tap.sh"
one_line() { [ "$(wc -l <err.txt)" -eq 1 ] && [[ $err == "gatepost: "* ]]; }
no_library() { ! grep -qiE 'libpq|pqxx|CLI11|terminate|std::|errno|what\(\)|not expected|Could not convert|input syntax|zero-length|not in \{' err.txt; }
# refused NAME STATUS REGEX ARGUMENT...
refused() {
  local name=$1 wanted=$2 regex=$3
  shift 3
  g "$@"
  is "$name: status" $status "$wanted"
  ok "... one line" one_line
  ok "... no library's words" no_library
  like "... says what" "$err" "$regex"
}

query 'CREATE DATABASE bare' && query 'CREATE DATABASE other'
psql -Xq -d other -c 'CREATE EXTENSION gatepost'
query "CREATE ROLE stranger LOGIN"
query "CREATE ROLE outsider" && query "CREATE ROLE app LOGIN"

refused 'no server' 69 'No such file' -h /nowhere ls
refused 'no such host' 69 'nowhere.invalid' -h nowhere.invalid ls
refused 'nobody listens' 69 'refused' -h 127.0.0.1 -p 1 ls
refused 'no such role' 77 'role "nobody" does not exist' -U nobody ls
refused 'a role that may not log in' 77 'not permitted to log in' -U outsider ls
refused 'no such database' 78 'database "nowhere" does not exist' -d nowhere ls
refused 'no extension' 78 'database "bare" has no extension gatepost.*gatepost init' -d bare ls
refused 'no rights' 77 'permission denied.*gatepost init --user' -U stranger -d other acquire x
refused 'no rights, run' 77 'permission denied' -U stranger -d other run x -- true
refused 'run without a server' 69 'No such file' -h /nowhere run x -- true
refused 'a connection string that is none' 69 'foo' -d 'foo=bar' ls
psql -Xq -d bare -c "CREATE SCHEMA gatepost; CREATE EXTENSION gatepost" 2>/dev/null || psql -Xq -d bare -c "CREATE EXTENSION gatepost"
psql -Xq -d bare -c "UPDATE pg_extension SET extversion = '7.3' WHERE extname = 'gatepost'"
refused 'another version' 78 'version 7.3, this command of' -d bare ls

refused 'an unknown command' 64 'there is no command "frobnicate"' frobnicate
refused 'an unknown option' 64 'there is no option --frobnicate of gatepost run' run x --frobnicate -- true
refused 'an option of psql only' 64 'there is no option' ls -Z
refused 'a duration without a unit' 64 '"30" is not a length of time, such as 30s' run x --ttl 30 -- true
refused 'a duration that is none' 64 '"soon" is not a length of time' run x --wait soon -- true
refused 'a negative duration' 64 '"-1s" is not a length of time' run x --ttl=-1s -- true
refused 'a ttl of 0' 64 'longer than 0' acquire x --ttl 0s
refused 'a ttl above the server'"'"'s' 64 'ttl is 90000.0* seconds long' acquire x --ttl 25h
refused 'a number that is none' 64 '"many" is not a number from 1 to 10000' run x --permits many -- true
refused 'a token that is none' 64 '"abc" is not a token' renew x abc
refused 'a token out of range' 64 'is not a token' renew x 9999999999999999
refused 'a token that was never drawn' 64 'was never drawn here' renew x 9007199254740991
refused 'an empty name' 64 'a name has 1 to 1024 bytes, not 0' acquire ''
refused 'a name too long' 64 'not 1025' acquire "$(printf '%1025s' '' | tr ' ' x)"
refused 'no name' 64 'NAME is missing; see gatepost acquire --help' acquire
refused 'nothing to run' 64 'COMMAND is missing' run x
refused 'an argument too many' 64 'one argument too many: "y"' acquire x y
refused 'an option without its value' 64 '--ttl is to be given once, with a value' acquire x --ttl
refused 'two options against each other' 64 '--(elect|wait) does not go together with --(wait|elect)' run x --elect --wait 1s -- true
refused 'an option that needs another' 64 '--weight needs --permits' acquire x --weight 2
refused 'a token that is none, of break' 64 '"abc" is not a token' break x --token abc
refused 'an issuer that is none' 64 '"other" is none of gatepost, any' protect t --column f --issuer other
refused 'a table without a name' 64 'a table has a name' protect '' --lease x
for option in '--issuer any' '--exempt app'; do
  # shellcheck disable=SC2086
  refused "protect --remove $option" 64 'does not go together with' protect t --remove $option
done
refused 'a port out of range' 64 '"99999999" is not a port' metrics --listen 99999999
refused 'a port one too high' 64 '"65536" is not a port' metrics --listen localhost:65536
refused 'an address without a port' 64 '"127.0.0.1" is not a port' metrics --listen 127.0.0.1
refused 'a port that is none' 64 '"foo" is not a port' metrics --listen foo
refused 'a host to listen at that is not there' 64 'host "nowhere.invalid" is not known' metrics --listen nowhere.invalid:0
refused 'a host that is not of this machine' 64 'cannot listen at 192.0.2.1:0: Cannot assign' metrics --listen 192.0.2.1:0
# An empty value is not an option that was not given. Texts for people may be empty.
for command in $(gatepost --help | awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 } on && /^  [a-z]/ { print $1 }'); do
  for option in $(gatepost "$command" --help | awk '/^Options:/ { on = 1; next } /^$/ { on = 0 } on' |
    sed -nE 's/^  (--[a-z-]+) ([A-Z[][^ ]*).*/\1 \2/p' | grep -v ' TEXT$' | cut -d' ' -f1); do
    refused "an empty value: $command $option" 64 "^gatepost: $option: " "$command" "$option" ''
    g "$command" "$option=" --json
    like "... and $option=" "$status $err" "^64 .*$option: "
  done
done
refused 'metadata that is no JSON' 64 '^gatepost: --metadata is not JSON' acquire x --metadata '{'
refused 'metadata that is no object' 64 'metadata' acquire x --metadata '[1]'
g acquire a-semaphore --permits 3
refused 'another number of permits' 64 'permits' acquire a-semaphore --permits 4
refused 'a semaphore taken as a lease' 64 'semaphore' acquire a-semaphore
g --json -h /nowhere ls
like 'with --json errors are JSON too' "$err" '^\{"error":".*","status":69\}$'

# Ways to name a server.
unset PGHOST PGPORT PGUSER PGDATABASE
server=$GATEPOST_TEST_HOST
g -h "$server" -p 5432 -U postgres -d other acquire by-options
is 'by options' $status 0
g -d "host=$server user=postgres dbname=other" acquire by-string
is 'by a connection string' $status 0
g -d "postgresql:///other?host=$server&user=postgres" acquire by-uri
is 'by a URI' $status 0
PGHOST=$server PGUSER=postgres PGDATABASE=other g acquire by-variables
is 'by variables' $status 0
printf '[there]\nhost=%s\nuser=postgres\ndbname=other\n' "$server" >services
PGSERVICEFILE=$PWD/services PGSERVICE=there g acquire by-service
is 'by a service' $status 0
PGSERVICEFILE=$PWD/services g -d service=there acquire by-service-string
is 'by a service in a string' $status 0
PGHOST=/nowhere g -d "host=$server user=postgres dbname=other" -h "$server" ls by-
is 'the command line goes before variables' $status 0
is 'all of them were there' "$(PGHOST=$server PGUSER=postgres psql -XAtq -d other -c "SELECT count(*) FROM gatepost.leases WHERE name LIKE 'by-%'")" 6
export PGHOST=$server PGUSER=postgres PGDATABASE=other
g run env -- sh -c 'echo "$PGCONNECT_TIMEOUT$PGTARGETSESSIONATTRS"'
is 'what is set for connections is not set for the command' "$out" ''
is 'sessions can be told' "$(gatepost run named -- psql -XAtqc "SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'gatepost'")" t
g init -d other --user app
is 'init again' $status 0
g -U app acquire granted
is 'what init grants is enough to acquire' $status 0
g -U app run granted-run --once k -- true
is '... and to run' $status 0
g -U app ls
is '... and to look' $status 0
g -U app break granted
is '... and not to break' $status 77
done_testing

# Behind a pooler in transaction mode, whose statements come from several server processes.
. "${0%/*}/tap.sh"
folder=$PWD
cat >pgbouncer.ini <<INI
[databases]
* = host=$PGHOST port=5432 user=$PGUSER
[pgbouncer]
pool_mode = transaction
default_pool_size = 3
server_round_robin = 1
auth_type = any
listen_addr =
listen_port = 6432
unix_socket_dir = $folder
INI
PATH=$PATH:/usr/sbin pgbouncer pgbouncer.ini >pgbouncer.log 2>&1 &
pooler=$!
trap 'kill $pooler' EXIT
through() { PGHOST=$folder PGPORT=6432 "$@"; }
ok 'the pooler is there' eventually through psql -XAtqc 'SELECT 1'
# As many server processes as there may be, so that they take turns: three transactions wait for one lock.
mkfifo lock
psql -XAtq <lock >/dev/null &
exec 6>lock
printf 'SELECT pg_advisory_lock(7);\n\\! touch locked\n' >&6
eventually test -e locked
for _ in 1 2 3; do through psql -Xqc 'SELECT pg_advisory_xact_lock(7)' >/dev/null & sleepers+=($!); done
all_wait() { [ "$(query "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")" = 3 ]; }
ok 'three server processes are in use' eventually all_wait
printf '\\q\n' >&6
exec 6>&-
wait "${sleepers[@]}"

g doctor
like 'doctor: no pooler where there is none' "$(grep -c pooler out.txt)" '^0$'
through g --json doctor
like 'doctor sees the pooler' "$status $out" '^[012] .*"severity":"notice","subject":"pooler","detail":"there is a pooler between'
like '... and says what does not work' "$out" '"fix":"Leases work through it\. Session advisory locks do not'
through g --json acquire pooled --ttl 10m
token=$(grep -oE '"token":"[0-9]+' out.txt | grep -oE '[0-9]+$')
is 'acquire' $status 0
through g renew pooled "$token"
is '... renew' $status 0
through g status pooled "$token"
is '... status' "$status $out" '0 held'
through gatepost run pooled --wait 5m -- echo waited >waited.txt &
waiter=$!
eventually eval '[ -n "$(gatepost waiters pooled --json)" ]'
through g release pooled "$token"
is '... release' $status 0
finish $waiter
is '... run, after a wait' "$status $(cat waited.txt)" '0 waited'
mkfifo in
through gatepost --json hold pooled --ttl 6s <in >hold.txt &
holder=$!
exec 5>in
ok '... hold, renewed' eventually grep -q '"event":"renewed"' hold.txt
exec 5>&-
finish $holder
is '... and released' "$status $(tail -n 1 hold.txt | grep -c '"released"')" '0 1'
done_testing

# Everything an operator asks: each subcommand for people and as JSON.
. "${0%/*}/tap.sh"
valid_json() { perl -MJSON::PP -ne 'next if /^$/; decode_json($_)' out.txt; }

try_calls() {
  g acquire a --ttl 1m --owner somebody
  like 'acquire prints the token' "$out" '^[0-9]{13,16}$'
  token=$out
  g acquire a
  is 'busy: 75' "$status $out" '75 '
  like '... and said' "$err" '^gatepost: "a" is busy$'
  g --json acquire b --ttl 10m
  like 'acquire --json' "$out" '^\{"name":"b","granted":true,"token":"[0-9]+","deadline":[0-9.]+\}$'
  g --json acquire b
  like '... busy' "$out" '^\{"name":"b","granted":false\}$'
  g renew a "$token" --ttl 2m
  is 'renew' "$status $out" '0 '
  is '... for the time asked for' "$(query "SELECT ttl FROM gatepost.leases WHERE name = 'a'")" 00:02:00
  g --json renew a "$token"
  is 'renew --json' "$out" '{"name":"a","renewed":true}'
  g renew b "$token"
  is 'renew with another token: 76' $status 76
  g status a "$token"
  is 'status of a token' "$status $out" '0 held'
  g status a
  like 'status of a name' "$out" 'name +a.*state +held.*owner +somebody.*remaining +(1m [0-9]+s|2m 0s)'
  g --json status a
  ok 'status --json is JSON' valid_json
  like '... with the token as a string' "$out" '"token":"[0-9]+".*"remaining_seconds":[0-9]+\.'
  g status nobody
  is 'status of a name that nobody holds' "$status $out" '1 free: no lease of this name is known'
  g ls
  like 'ls has a heading and its rows' "$out" '^NAME +STATE +LEFT +TTL +TOKEN +ROLE +OWNER.*a +held +(1m|2m) [0-9]+s +2m 0s +[0-9]+ +postgres +somebody.*b +held'
  is 'no colour where there is no terminal' "$(grep -c $'\e' out.txt)" 0
  g ls b
  is 'ls of a prefix' "$(grep -c held out.txt)" 1
  g ls --names
  is 'ls --names' "$out" $'a\nb'
  g --json ls
  ok 'ls --json is JSON' valid_json
  is '... a line each' "$(wc -l <out.txt)" 2
  g request-yield a --reason 'for a test'
  is 'request-yield' $status 0
  g ls a
  like '... is shown' "$out" 'held, asked for'
  g request-yield nobody
  is '... of nobody: 1' $status 1
  g release a "$token"
  is 'release' "$status $out" '0 '
  g release a "$token"
  is '... twice: 76' $status 76
  g status a "$token"
  is 'status of a token that was released' "$status $out" '76 released'
  g ls
  is 'what is over is not listed' "$(grep -c '^a ' out.txt)" 0
  g ls --all
  is '... but with --all' "$(grep -c '^a ' out.txt)" 1
  g break b --token 1
  is 'break with another token breaks nothing' $status 1
  g break b --reason 'for a test'
  like 'break' "$status $out" '^0 broken; a fenced write with token [0-9]+'
  g --json break b
  is '... of nobody: 1' "$status $out" '1 {"name":"b","broken":false,"token":null}'
  g --json purge --older-than 0s
  is 'purge' "$out" '{"purged":2}'
  g purge
  like 'purge asks for an age' "$status $err" '^64 .*--older-than is missing'
}

try_times() {
  # For programs moments are written in one way, whatever the session is set to.
  export PGDATESTYLE='German, DMY' PGTZ=Asia/Tokyo
  gatepost acquire times --ttl 10m >/dev/null
  gatepost run times --wait 5m -- true &
  waiter=$!
  eventually eval '[ -n "$(gatepost waiters times --json)" ]'
  query "ALTER DATABASE postgres SET gatepost.history_retention = '1d'" && query "SELECT gatepost.lease_acquire('times2', '1 min')" >/dev/null
  utc="to_char(acquired_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"
  for call in 'ls times2' 'status times2' 'waiters times' 'history times2'; do
    # shellcheck disable=SC2086
    g --json $call
    is "--json $call: moments are RFC 3339 in UTC" \
      "$(grep -oE '"(at|since|[a-z]+_at)":("[^"]*"|null)' out.txt | grep -vcE ':"20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z"$') $(grep -cE '"(at|since|acquired_at)":"' out.txt)" '0 1'
  done
  like '... and are right' "$(gatepost --json ls times2)" "\"acquired_at\":\"$(query "SELECT $utc FROM gatepost.leases WHERE name = 'times2'")\""
  g status times2
  like 'people see them as their session has it' "$out" 'acquired_at +[0-9]{2}\.[0-9]{2}\.20[0-9]{2} .* JST'
  unset PGDATESTYLE PGTZ
  query "ALTER DATABASE postgres RESET gatepost.history_retention"
  kill -TERM $waiter
  finish $waiter
}

try_misuse() {
  # Before a server is asked for anything.
  local pair
  for option in '--lease x' '--column x' '--issuer any' '--exempt app' --remove; do
    # shellcheck disable=SC2086
    g -h /nowhere protect $option
    like "protect $option without a table" "$status $err" "^64 gatepost: ${option%% *} needs TABLE"
  done
  for pair in 0s:64 99ms:64 100ms:69 24h:69 25h:64; do
    g -h /nowhere ls --watch --interval "${pair%:*}"
    is "ls --interval ${pair%:*}" "$status" "${pair#*:}"
  done
}

try_nothing() {
  gatepost purge --older-than 0s >/dev/null
  # For people there is a word for it, for programs no line.
  for pair in 'ls nothing:no leases' 'waiters nothing:nobody waits' 'protect:no table is protected'; do
    g ${pair%%:*}
    is "nothing to show: ${pair%%:*}" "$status $out" "0 ${pair##*:}"
    g --json ${pair%%:*}
    is '... and no line of JSON' "$status $out" '0 '
  done
  g history
  like 'without a history that is said' "$status $err" '^1 gatepost: no history is kept'
  g --json history
  like '... to programs too' "$status $out$err" '^1 \{"error":"no history is kept.*"status":1\}$'
  PGOPTIONS='-c gatepost.history_retention=1d' g history nobody --since 1h
  is 'a history without it' "$status $out" '0 the history has nothing of it'
}

try_flight() {
  # What another transaction is changing is asked for again until that has ended.
  mkfifo transaction
  psql -XAtq <transaction >/dev/null &
  exec 7>transaction
  asks_again() { [ "$(query "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'gatepost' AND query LIKE '%$1%' AND query NOT LIKE '%pg_stat%' AND state = 'idle'")" -gt 0 ]; }
  for call in renew release request-yield break; do
    token=$(gatepost acquire flight --ttl 10m)
    arguments=()
    [[ $call != re[nl]* ]] || arguments=("$token")
    printf "BEGIN; SELECT gatepost.lease_renew('flight', %s);\n\\! touch begun\n" "$token" >&7
    eventually test -e begun
    g --timeout 3s $call flight "${arguments[@]}"
    like "$call beside an open transaction: 75 when it does not end in time" "$status $err" '^75 gatepost: .*flight'
    gatepost --timeout 10m $call flight "${arguments[@]}" >/dev/null &
    asking=$!
    ok '... asks again' eventually asks_again "lease_${call//-/_}"
    printf 'COMMIT;\n' >&7
    finish $asking
    is '... and has its answer when it ends' $status 0
    rm begun
    query "SELECT gatepost.lease_break('flight')" >/dev/null
  done
  exec 7>&-
}

try_names() {
  # Names of any kind come through.
  for name in 'with space' 'größe' '订单' $'a\ttab' "quote'\"\\" '$(touch x)' '--dashes'; do
    g --json acquire --ttl 1m -- "$name"
    is "name $name" "$status $(query "SELECT count(*) FROM gatepost.leases WHERE name = \$gp\$$name\$gp\$")" '0 1'
  done
  query "SELECT gatepost.lease_acquire(E'forged\\n\\x1b[31mline', '1 min')" >/dev/null
  g ls forged
  is 'a name cannot forge a line or a colour' "$(wc -l <out.txt) $(grep -c $'\e' out.txt)" '2 0'
  g --json ls
  ok 'and JSON stays JSON' valid_json
  is 'a name has never been run' "$(ls x 2>/dev/null)" ''
  query "SELECT gatepost.lease_release(name, token) FROM gatepost.leases" >/dev/null
}

try_waiters() {
  # Waiters.
  gatepost acquire queue --ttl 10m >token.txt
  gatepost run queue --wait 5m --owner patient -- true &
  eventually eval '[ -n "$(gatepost waiters queue --json)" ]'
  g waiters
  like 'waiters' "$out" 'NAME +PLACE +WAITING +PID +WHO.*queue +1 +.*outside +patient'
  g --json waiters queue
  like 'waiters --json' "$out" '^\{"name":"queue","place":1,"pid":null,"since":"[^"]+","waiting_seconds":[0-9.]+,"application_name":"patient"\}$'
  gatepost release queue "$(cat token.txt)"
  wait
}

try_history() {
  # History and timeline.
  query "ALTER DATABASE postgres SET gatepost.history_retention = '1d'"
  query "CREATE TABLE report (id int PRIMARY KEY, body text)"
  query "INSERT INTO report VALUES (1, 'empty')"
  g protect report --lease nightly
  like 'protect' "$status $out" '^0 report is protected'
  g protect
  like '... and list' "$out" 'TABLE +MODE.*report +lease +nightly +.*yes'
  g --json protect
  ok '... as JSON' valid_json
  query "SELECT gatepost.lease_acquire('nightly', '1 ms', owner => 'worker <1> & \"co\"')" >old.txt
  eventually eval '[ "$(gatepost status nightly "$(cat old.txt)")" = lapsed ]'
  gatepost run nightly --owner 'worker 2' -- psql -Xq -c "BEGIN; SELECT gatepost.fence_use('nightly', $(gatepost status nightly --json | grep -oE '"token":"[0-9]+' | grep -oE '[0-9]+$')); COMMIT" >/dev/null 2>&1
  # README's line.
  g run nightly --once key1 -- sh -c 'psql -Xq -v ON_ERROR_STOP=1 -v token="$GATEPOST_TOKEN" <<SQL
  BEGIN;
  SELECT gatepost.fence_use('"'nightly'"', :token);
  UPDATE report SET body = '"'by the command'"' WHERE id = 1;
  COMMIT;
SQL'
  is 'a fenced write by the command' "$status $(query 'SELECT body FROM report')" '0 by the command'
  psql -Xq -c "SELECT gatepost.fence_use('nightly', $(cat old.txt))" 2>/dev/null
  psql -Xq -c "UPDATE report SET body = 'late'" 2>/dev/null
  gatepost acquire nightly --ttl 1m >/dev/null
  gatepost break nightly --reason 'a test' >/dev/null
  g history nightly
  like 'history' "$out" 'grant +nightly +[0-9]+.*takeover +nightly.*break +nightly.*a test'
  g history --limit 1
  is '... of the last' "$(wc -l <out.txt)" 2
  g --json history
  ok '... as JSON' valid_json
  g history nobody --since 1h
  is '... of nothing' "$status" 0
  g timeline
  is 'timeline wants a file' $status 64
  g timeline --svg t.svg --html t.html
  is 'timeline' $status 0
  g timeline --svg /nowhere/t.svg
  is 'a file that cannot be written' "$status $err" '64 gatepost: cannot write /nowhere/t.svg: No such file or directory'
  g timeline --html /dev/full
  is 'a disk that is full' "$status $err" '70 gatepost: cannot write /dev/full: No space left on device'
  ok 'the picture is XML' perl -e 'use strict; local $/; my $t = <>; my @open; while ($t =~ m{<(/?)([\w]+)((?:\s+[\w:-]+="[^"<>]*")*)\s*(/?)>|&(?!(?:amp|lt|gt|quot);)|<}g) { die "broken at " . pos($t) unless defined $2; if ($1) { die "closes $2" unless pop(@open) eq $2 } elsif (!$4) { push @open, $2 } } die "open: @open" if @open' t.svg
  like '... and has who, when and what was refused' "$(cat t.svg)" 'nightly.*worker &lt;1&gt; &amp; &quot;co&quot;.*write refused: stale_token.*worker 2'
  is '... as often as it was' "$(grep -c 'write refused: ' t.svg)" "$(query "SELECT count(*) FROM gatepost.history WHERE event = 'refusal'")"
  is '... and every term' "$(grep -cE 'rect rx="2" class="(term|takeover)( open)?" .*height="16.0"' t.svg)" "$(query "SELECT count(*) FROM gatepost.history WHERE event IN ('grant', 'takeover')")"
  like 'the page has the table' "$(cat t.html)" '<table>.*took over.*write refused.*</html>'
  g --json timeline
  ok 'timeline --json' valid_json
  g protect report --remove
  is 'the protection ends' "$(query "SELECT count(*) FROM gatepost.fenced_tables")" 0
}

try_figures() {
  # Doctor and metrics.
  g doctor
  like 'doctor says what and why' "$out" '(ok  no errors|warning  |error  )'
  g --json doctor
  ok 'doctor --json' valid_json
  query "CREATE TABLE imported (id int PRIMARY KEY, fence bigint)" && query "CREATE INDEX ON imported (fence)"
  query "INSERT INTO imported VALUES (1, 9000000000000000)"
  query "SELECT gatepost.fence_protect('imported', fence_column => 'fence')" >/dev/null
  g doctor
  like 'an error is 2, and comes first' "$status $out" '^2 error  marks: table public.imported'
  query "DROP TABLE imported"
  query "ALTER ROLE postgres SET lock_timeout = '500ms'"
  g --json doctor
  like 'a short timeout of the role is seen' "$status $out" '^[12] .*"subject":"timeouts","detail":"lock_timeout is 500 ms'
  query "ALTER ROLE postgres RESET lock_timeout"
  for limit in statement_timeout=1ms lock_timeout=1ms; do
    PGOPTIONS="-c $limit" g --json doctor
    like "doctor is not kept from looking by a $limit" "$status $err $out" '^[12]  .*"subject":"timeouts","detail":"'${limit%=*}' is 1 ms'
    is '... at all that there is' "$(grep -c 'not looked at' out.txt)" 0
  done
  query "CREATE ROLE watcher LOGIN IN ROLE pg_monitor"
  g -U watcher doctor
  like 'a member of pg_monitor may ask' "$status" '^[012]$'
  g -U watcher metrics
  is '... and measure' $status 0
  is 'every figure of the view is there' \
    "$(grep -oE '^# TYPE gatepost_[a-z_]+' out.txt | cut -c17- | grep -vE '^doctor|^next_exp|^oldest_' | sort)" \
    "$(query "SELECT attname FROM pg_attribute WHERE attrelid = 'gatepost.stats'::regclass AND attname !~ '^(next_exp|oldest_)'" | sort)"
  ok 'each has help, type and value' perl -ne 'if (/^# HELP (\S+) \S/) { $h = $1 } elsif (/^# TYPE (\S+) (counter|gauge)$/) { die $_ if $1 ne $h } else { die $_ unless /^(\w+)(\{\w+="\w+"\})? -?[0-9.e+]+$/ && $1 eq $h }' out.txt
  g --json metrics
  ok 'metrics --json' valid_json
  g metrics --queries
  is 'queries.yaml is what metrics says' "$out" "$(cat "$GATEPOST_TREE/docs/monitoring/queries.yaml")"
  # gatepost_up is served only, see listen.
  for name in $(grep -E '^ +expr:' "$GATEPOST_TREE/docs/monitoring/alerts.yaml" | grep -oE 'gatepost_[a-z_]+' | grep -vx gatepost_up | sort -u); do
    like "an alert's $name is measured" "$(gatepost metrics --queries | sed -nE 's/^    - ([a-z_]+):/gatepost_\1/p' | tr '\n' ' ') gatepost_doctor_findings" "$name"
  done
}

try_listen() {
  # As Prometheus asks. A machine whose name has several addresses is listened at on each.
  printf '127.0.0.1 both\n127.0.0.2 both\n127.0.0.2 both\n' >hosts
  local apart=(unshare --user --map-root-user --mount sh -c 'mount --bind hosts /etc/hosts && exec "$@"' sh)
  local host=both addresses='127.0.0.1 127.0.0.2'
  # Where users make no namespaces the name has one.
  "${apart[@]}" true 2>/dev/null || apart=(env) host=127.0.0.1 addresses=127.0.0.1
  "${apart[@]}" gatepost --json metrics --listen "$host:0" >listen.txt &
  server=$!
  eventually has_file listen.txt
  port=$(grep -oE '[0-9]+' listen.txt)
  for address in $addresses; do
    like "figures are served at $address" "$(exec 2>&1 6<>"/dev/tcp/$address/$port" && printf 'GET /metrics HTTP/1.0\r\n\r\n' >&6 && cat <&6)" '^HTTP/1.1 200 OK.*gatepost_up 1'
  done
  like 'a URL as proxies are asked' "$(exec 2>&1 6<>"/dev/tcp/127.0.0.1/$port" && printf 'GET http://localhost:1/metrics?x HTTP/1.1\r\n\r\n' >&6 && cat <&6)" '^HTTP/1.1 200 OK'
  # Its time is over later: had it been waited for, the server would have closed it by then.
  is 'a connection that says nothing delays nobody' "$(perl -MIO::Socket::INET -MIO::Select -e '
    my ($silent, $asking) = map { IO::Socket::INET->new("127.0.0.1:$ARGV[0]") or die "nobody listens: $!" } 1, 2;
    print $asking "GET /metrics HTTP/1.1\r\n\r\n";
    my $said = <$asking>;
    1 while <$asking>;
    print IO::Select->new($silent)->can_read(0) ? "late: " : "meanwhile: ", $said =~ s/\r\n//r' "$port")" 'meanwhile: HTTP/1.1 200 OK'
  g metrics --listen "127.0.0.1:$port"
  is 'a port that is taken' "$status $err" "64 gatepost: cannot listen at 127.0.0.1:$port: Address already in use"
  kill -TERM $server
  finish $server
  is 'a signal ends it' $status 0
  gatepost --json metrics --listen '*:0' >anywhere.txt &
  server=$!
  eventually has_file anywhere.txt
  port=$(grep -oE '[0-9]+' anywhere.txt)
  like 'every address' "$(exec 2>&1 6<>"/dev/tcp/127.0.0.3/$port" && printf 'GET / HTTP/1.0\r\n\r\n' >&6 && cat <&6)" '^HTTP/1.1 404'
  kill -TERM $server
  finish $server
}

try_grants() {
  is 'init grants the lists' "$(gatepost init --show --user u1 --user u2 --admin a | tail -n +3 | tr '\n' ' ')" \
    "SELECT gatepost.grant_user('\"u1\"'); SELECT gatepost.grant_user('\"u2\"'); SELECT gatepost.grant_administrator('\"a\"'); "
  local role setting
  for role in plain 'With "Quotes"' "it's" '\' "\\'); DROP TABLE x --" 'a"; DROP TABLE x --'; do
    query "CREATE ROLE \"${role//\"/\"\"}\""
    for setting in on off; do
      PGOPTIONS="-c standard_conforming_strings=$setting" gatepost init --user "$role" >/dev/null
      is "a role called $role, $setting" "$(query "SELECT has_schema_privilege(oid, 'gatepost', 'USAGE') FROM pg_roles ORDER BY oid DESC LIMIT 1")" t
      query "REVOKE ALL ON SCHEMA gatepost FROM \"${role//\"/\"\"}\""
    done
  done
  query "CREATE DATABASE fresh"
  g -d fresh init
  like 'init makes the extension' "$status $out" '^0 database "fresh" has the extension gatepost [0-9]+\.[0-9]+\.[0-9]+'
}

try_rights() {
  # What is said to whom may not is enough, for each subcommand and whatever part of it is there already.
  query "ALTER DATABASE ${PGDATABASE:-postgres} SET gatepost.history_retention = '1d'"
  query "CREATE TABLE theirs (id int PRIMARY KEY)" && query "GRANT CREATE ON SCHEMA public TO public"
  local number=0 call role subcommands='' has
  for call in 'run r{} -- true' 'hold r{}' 'acquire r{}' 'renew r{} 1' 'release r{} 1' ls 'status r{}' 'break r{}' \
    'request-yield r{}' waiters history 'timeline --svg {}.svg' 'protect' 'protect theirs --lease x' 'purge --older-than 1h' doctor metrics; do
    subcommands+="${call%% *} "
    for has in nothing schema user; do
      role=r$((++number))
      query "CREATE ROLE $role LOGIN"
      [ $has != schema ] || query "GRANT USAGE ON SCHEMA gatepost TO $role"
      [ $has != user ] || gatepost init --user $role >/dev/null
      [[ $call != *theirs* ]] || query "ALTER TABLE theirs OWNER TO $role"
      # shellcheck disable=SC2086
      g -U $role ${call//\{\}/$role}
      if [ $has = user ] && [[ $call != @(break|purge|doctor|metrics)* ]]; then
        ok "$call: the user list is enough" test $status -ne 77
        continue
      fi
      like "$call by who has $has is refused, and helped" "$status $err" '^77 .*gatepost init --(user|admin) ROLE'
      [[ $err =~ gatepost\ init\ --(user|admin) ]] || continue
      option=${BASH_REMATCH[1]} granted=
      [[ $err != *'GRANT pg_monitor'* ]] || granted=pg_monitor
      gatepost init "--$option" $role >/dev/null
      # shellcheck disable=SC2086
      g -U $role ${call//\{\}/$role}
      like '... and may then' "$status $err" '^([012]|64|76) '
      [ -n "$granted" ] || continue
      query "CREATE ROLE m$role LOGIN IN ROLE $granted"
      g -U m$role $call
      like '... as one of pg_monitor may' "$status" '^[012]$'
    done
    query "SELECT gatepost.fence_unprotect('theirs') FROM gatepost.fenced_tables" >/dev/null
  done
  is 'each subcommand that asks the server was tried' \
    "$(printf '%s\n' $subcommands init completion man | sort -u)" "$(gatepost --help | sed -nE 's/^  ([a-z][a-z-]*)  +[A-Z].*/\1/p' | sort -u)"
  # What no list of ours grants is not promised.
  query "CREATE ROLE alone LOGIN" && query "CREATE SCHEMA closed" && query "CREATE TABLE closed.t (id int PRIMARY KEY)"
  gatepost init --user alone >/dev/null
  g -U alone protect closed.t --lease x
  is 'a schema that is not ours' "$status $err" '77 gatepost: permission denied for schema closed'
  g -U alone init
  like 'init itself' "$status $err" '^77 gatepost: [^;]*$'
}

try_absent() {
  # A table that is not there is a wrong argument, and not a missing extension.
  local name
  for name in t2 gatepost gatepost_t gatepost.t2 nowhere.t2 gatepost_x.t2 a.b.c a.b.c.d 'a b' a..b; do
    for option in '--lease x' --remove; do
      # shellcheck disable=SC2086
      g protect "$name" $option
      like "protect $name $option: 64" "$status $err" '^64 gatepost: [^;]+$'
    done
  done
  # What is missing of ours is told as that.
  query "CREATE DATABASE broken" && psql -Xq -d broken -c 'CREATE EXTENSION gatepost'
  psql -Xq -d broken -c 'ALTER VIEW gatepost.leases RENAME TO others' -c 'ALTER FUNCTION gatepost.lease_break RENAME TO broken'
  g -d broken ls
  is 'without a view of ours: 78' $status 78
  g -d broken break x
  is 'without a function of ours: 78' $status 78
  psql -Xq -d broken -c 'ALTER SCHEMA gatepost RENAME TO elsewhere'
  g -d broken release x 1
  is 'without our schema: 78' $status 78
}

try_each "$@"

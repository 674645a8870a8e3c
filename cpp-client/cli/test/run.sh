# gatepost run: what the command finds, its signals and its end, and what becomes of it when the lease or this program does.
. "${0%/*}/tap.sh"

try_plain() {
  before=$(now)
  g run plain --ttl 20s -- sh -c 'echo "$GATEPOST_NAME $GATEPOST_TOKEN $GATEPOST_DEADLINE"; echo to-stderr >&2'
  read -r name token deadline <<<"$out"
  is 'the status of a command that succeeds' $status 0
  is 'the name is in the environment' "$name" plain
  is 'the token is the grant'"'"'s' "$token" "$(query "SELECT token FROM gatepost.leases WHERE name = 'plain'")"
  ok 'the deadline is in boot time' test "${deadline/./}" -ge $((before + 20000)) -a "${deadline/./}" -le $(($(now) + 10 + 20000))
  is 'standard error is the command'"'"'s' "$err" to-stderr
  is 'the lease is given back' "$(query "SELECT state FROM gatepost.leases WHERE name = 'plain'")" released
  like 'the owner says who and where' "$(query "SELECT owner FROM gatepost.leases WHERE name = 'plain'")" '^sh@.+/[0-9]+$'
  g run plain -- sh -c 'exit 7'
  is 'the status is the command'"'"'s' $status 7
  g run plain -- sh -c 'kill -USR1 $$'
  is 'a command ended by a signal: 128 and its number' $status 138
  g run plain -- /nowhere/command
  is 'a command that is not there' $status 127
  like '... is told' "$err" '^gatepost: /nowhere/command: No such file'
  g run plain -- /etc/passwd
  is 'a command that is none' $status 126
  ok '... and the name is free' free plain
  echo text | gatepost run plain -- cat >piped
  is 'standard input is the command'"'"'s' "$(cat piped)" text
  g run -- plain true
  is 'the name may come after --' $status 0
  g run plain -- true -x --json
  is 'options after -- are the command'"'"'s' $status 0
}

try_busy() {
  # Busy.
  taken=$(gatepost acquire taken --ttl 10m)
  g run taken -- touch ran
  is 'busy: 75' $status 75
  is '... without a word' "$out$err" ''
  ok '... and nothing is run' test ! -e ran
  g run taken --busy-exit 0 -- true
  is '--busy-exit' $status 0
  g run taken --wait 300ms -- true
  is 'busy after a wait' $status 75
  gatepost run taken --wait 5m -- echo waited >waited.txt &
  waiter=$!
  eventually eval '[ -n "$(gatepost waiters taken --json)" ]'
  gatepost release taken "$taken"
  finish $waiter
  is 'a waiter is served when the name is given back' "$(cat waited.txt)" waited
  gatepost acquire taken --ttl 10m >/dev/null
  gatepost run taken --wait 5m -- true &
  waiter=$!
  eventually eval '[ -n "$(gatepost waiters taken --json)" ]'
  kill -TERM $waiter
  finish $waiter
  is 'a waiter can be ended' $status 143
  ok '... and leaves no place' eventually eval '[ -z "$(gatepost waiters taken --json)" ]'
}

try_permits() {
  # Permits.
  gatepost run pool --permits 2 -- sh -c 'touch in1; while [ ! -e stop ]; do sleep 0.05; done' &
  gatepost run pool --permits 2 -- sh -c 'touch in2; while [ ! -e stop ]; do sleep 0.05; done' &
  eventually test -e in1 -a -e in2
  g run pool --permits 2 -- true
  is 'a third for two permits is busy' $status 75
  touch stop
  wait
  g run pool --permits 2 --weight 2 -- true
  is 'two permits at once' $status 0
}

try_once() {
  # Once.
  g run nightly --once 2026-11-30 -- echo done
  is '--once: the first does it' "$status $out" '0 done'
  g run nightly --once 2026-11-30 -- echo done
  is '... the second does nothing, which is well' "$status $out$err" '0 '
  g run nightly --once 2026-12-01 -- echo done
  is '... another key is another thing' "$out" done
  for key in '--once=' "--once ''"; do
    eval "g run nightly $key -- touch without-key"
    like "... $key is no key" "$status $err" '^64 gatepost: --once: the value is empty'
  done
  ok '... and nothing is run' test ! -e without-key
}

try_signals() {
  # Signals.
  for signal in HUP INT QUIT TERM USR1 USR2; do
    # A command in the background would ignore INT and QUIT.
    perl -e '$SIG{INT} = $SIG{QUIT} = "DEFAULT"; exec @ARGV' gatepost run signals -- perl -e '
      $SIG{$_} = sub { print "$_[0]\n"; exit 3 } for qw(HUP INT QUIT TERM USR1 USR2);
      open my $ready, ">", "ready"; print $ready "x"; close $ready; sleep 1 while 1' >signal.txt &
    runner=$!
    eventually has_file ready
    kill "-$signal" $runner
    finish $runner
    is "$signal is passed on, and its answer counts" "$(cat signal.txt) $status" "$signal 3"
    rm -f ready
  done
}

try_ignored() {
  # As nohup leaves it to the program that it starts, and a careless parent.
  ignoring() { exec perl -e '$SIG{shift()} = "IGNORE"; exec @ARGV' "$@"; }
  gatepost acquire ignored --ttl 10m >ignored.txt
  ignoring HUP gatepost run ignored --wait 5m -- sh -c 'touch ignored-begin; until [ -e ignored-go ]; do sleep 0.05; done; exit 4' &
  runner=$!
  eventually eval '[ -n "$(gatepost waiters ignored --json)" ]'
  kill -HUP $runner
  gatepost release ignored "$(cat ignored.txt)"
  ok 'a signal that is ignored does not end a wait' eventually test -e ignored-begin
  kill -HUP $runner
  touch ignored-go
  finish $runner
  is '... nor the command' $status 4
  ignoring CHLD gatepost run ignored -- sh -c 'exit 4' &
  runner=$!
  finish $runner
  is 'who ignores the ends of its children has the status all the same' $status 4
}

try_group() {
  gatepost run group -- sh -c 'echo $$ >leader; sleep 100 & echo $! >member; wait' &
  runner=$!
  eventually has_file member
  is 'the command has a process group of its own' "$(ps -o pgid= -p "$(cat leader)" | tr -d ' ')" "$(cat leader)"
  kill -TERM $runner
  finish $runner
  ok 'a signal reaches the whole group' eventually gone "$(cat member)"
  rm -f leader member
  g run left -- sh -c 'sleep 100 >/dev/null 2>&1 & echo $! >member'
  ok 'what a command leaves behind in its group is ended' eventually gone "$(cat member)"
}

try_slow() {
  # Only after the work has ended is the lease given back.
  gatepost run slow -- sh -c 'trap "touch slow-told; while [ ! -e slow-go ]; do sleep 0.05; done; touch slow-end; exit 0" TERM
    touch slow-begin; while :; do sleep 0.05; done' &
  runner=$!
  eventually test -e slow-begin
  kill -TERM $runner
  eventually test -e slow-told
  ok 'while a command takes its time to end the lease is held' held slow
  touch slow-go
  finish $runner
  is '... and its end is waited for' "$status$(ls slow-end)" 0slow-end
  ok '... then the name is free' free slow
}

try_killed() {
  # The end of this program.
  gatepost run killed -- sh -c 'echo $$ >direct; exec sleep 100' &
  runner=$!
  eventually has_file direct
  kill -KILL $runner
  finish $runner
  ok 'the command dies when this program is killed' eventually gone "$(cat direct)"
  rm -f direct
}

try_isolated() {
  # Seconds that nobody else sleeps here.
  left=$((10000000 + $$))
  left2=$((20000000 + $$))
  if gatepost run isolated --isolate -- true 2>isolate.txt; then
    gatepost run tree --isolate -- sh -c "setsid sleep $left & touch tree-begin; sleep 100" &
    runner=$!
    eventually test -e tree-begin && eventually pgrep -x -f "sleep $left"
    kill -KILL $runner
    finish $runner
    ok 'with --isolate what has left the group dies too' eventually eval '! pgrep -x -f "sleep $left"'
    g run tree2 --isolate -- sh -c "setsid sh -c 'touch tree2-begin; exec sleep $left2' >/dev/null 2>&1 & until [ -e tree2-begin ]; do sleep 0.05; done; exit 5"
    is '--isolate passes the status on' $status 5
    ok '... and nothing is left after the end' eventually eval '! pgrep -x -f "sleep $left2"'
    g run tree3 --isolate -- sh -c 'kill -TERM $$'
    is '... also of a signal' $status 143
    gatepost run tree4 --isolate -- sh -c 'trap "exit 6" TERM; touch tree4-begin; while :; do sleep 0.05; done' &
    runner=$!
    eventually test -e tree4-begin
    kill -TERM $runner
    finish $runner
    is '... signals come through' $status 6
    g run tree5 --isolate -- sh -c 'echo $(id -u) $$; [ $$ -lt 10 ]'
    is '... and it is who it was, with numbers of its own' "${out%% *} $status" "$(id -u) 0"
    # Where no more process namespaces are allowed.
    refused=$(unshare --user --map-root-user sh -c '
      echo 0 >/proc/sys/user/max_pid_namespaces && gatepost run refused --isolate -- touch isolated-ran; echo "status $?"' 2>&1)
    like '... and where it is not to be had it is refused' "$refused" '--isolate is not to be had here, .*status 77'
    ok '... and nothing is run' test ! -e isolated-ran
  else
    like 'without namespaces --isolate is refused' "$(cat isolate.txt)" '--isolate is not to be had here'
  fi
}

try_broken() {
  # Loss.
  beat=$HELPERS/child
  gatepost --json run broken --ttl 9s -- "$beat" beat beat1 2>broken.txt &
  runner=$!
  eventually has_file beat1
  g break broken
  is 'a lease under a command can be broken' $status 0
  finish $runner
  is 'a lease that was broken: 76' $status 76
  like '... with its reason' "$(tail -n 1 broken.txt)" '"error":"lease \\"broken\\" was lost \(broken\) before'
}

try_late() {
  gatepost run late --ttl 12s --grace 4s -- sh -c 'trap "touch terminated" TERM; touch late-begin; while :; do sleep 0.05; done' 2>err.txt &
  runner=$!
  eventually test -e late-begin
  query "ALTER FUNCTION gatepost.lease_renew_many RENAME TO hidden"
  finish $runner
  query "ALTER FUNCTION gatepost.hidden RENAME TO lease_renew_many"
  is 'renewals that fail: 76' $status 76
  ok '... after SIGTERM' test -e terminated
  like '... and one line' "$(grep gatepost: err.txt)" '^gatepost: lease "late" was lost \(expired\) before the command had ended; it ended with status 137$'
}

try_unread() {
  # Nobody reads what run says: the pipe is full from the beginning.
  mkfifo full && exec 8<>full
  perl -MFcntl -e 'open my $full, ">&=", 8; fcntl $full, F_SETFL, O_NONBLOCK; 1 while syswrite $full, "x"; fcntl $full, F_SETFL, 0'
  gatepost --json run unread --ttl 6s -- "$HELPERS/child" beat beat2 2>&8 &
  runner=$!
  eventually has_file beat2
  query "ALTER FUNCTION gatepost.lease_renew_many RENAME TO hidden"
  ended() { ! pgrep -f "beat beat2$"; }
  ok 'a reader that stops reading does not keep a lost command alive' eventually ended
  finish $runner
  is '... and the status is 76' $status 76
  query "ALTER FUNCTION gatepost.hidden RENAME TO lease_renew_many"
  exec 8>&-
}

try_begun() {
  # What stops this program between the grant and the begin: here it waits for the claim of --once.
  mkfifo transaction
  psql -XAtq <transaction >/dev/null &
  exec 7>transaction
  printf 'BEGIN; LOCK TABLE gatepost.claims IN EXCLUSIVE MODE;\n\\! touch locked\n' >&7
  eventually test -e locked
  gatepost run begun --ttl 2s --once key -- touch began 2>err.txt &
  runner=$!
  waits() { [ "$(query "SELECT count(*) FROM pg_locks WHERE relation = 'gatepost.claims'::regclass AND NOT granted")" = 1 ]; }
  eventually waits
  kill -STOP $runner
  eventually free begun
  printf 'COMMIT;\n' >&7
  exec 7>&-
  kill -CONT $runner
  finish $runner
  like 'a lease that is over before the command has begun: 76' "$status $(cat err.txt)" '^76 gatepost: .*before the command had begun'
  ok '... and it is not begun' test ! -e began
}

try_asked() {
  # Yield.
  gatepost run asked --ttl 9s --on-yield USR1 -- sh -c 'trap "exit 9" USR1; touch asked-begin; while :; do sleep 0.05; done' &
  runner=$!
  eventually test -e asked-begin
  g request-yield asked --reason drained
  is 'a request is taken' $status 0
  finish $runner
  is '--on-yield tells the command' $status 9
}

try_elect() {
  # Elect.
  gatepost run leader --elect --ttl 9s -- sh -c 'echo one >>terms; while [ ! -e leader-stop ]; do sleep 0.05; done' &
  first=$!
  eventually has_file terms
  gatepost run leader --elect --ttl 9s -- sh -c 'echo two >>terms' &
  second=$!
  eventually eval '[ -n "$(gatepost waiters leader --json)" ]'
  is 'one leads at a time' "$(cat terms)" one
  g break leader
  is 'the leader can be broken' $status 0
  # Broken, both may be next; the first leads again when it has heard of it.
  again() { [ "$(grep -c one terms)" -ge 2 ] && grep -q two terms; }
  ok '... and leads again' eventually again
  touch leader-stop
  finish $first
  is 'a leader whose work has ended ends with its status' $status 0
  finish $second
  is '... and the next one leads' "$status $(grep -c two terms)" '0 1'
}

try_told() {
  # Verbose and JSON.
  g run told --verbose -- true
  like '--verbose says what happens' "$err" '"told" granted, token [0-9]+.*"told" ended, token [0-9]+, status 0'
  g --json run told -- true
  like '--json the same for programs' "$err" '^\{"event":"granted","name":"told","at":[0-9.]+,"token":"[0-9]+","deadline":[0-9.]+\}.*\{"event":"ended".*"status":0\}$'
  ok '... with the deadline, the margin taken off' perl -MJSON::PP -ne '$_ = decode_json($_); exit !($$_{deadline} > $$_{at} + 20 && $$_{deadline} < $$_{at} + 30)' err.txt
  # Every event is one word, and in the document.
  gatepost --json run told --once key -- true 2>events.txt
  gatepost --json run told --once key -- true 2>>events.txt
  gatepost acquire told --ttl 1m >/dev/null
  gatepost --json run told -- true 2>>events.txt
  gatepost break told >/dev/null
  gatepost --json run told --ttl 9s --on-yield USR1 -- sh -c 'trap "touch yielded" USR1; touch told-begin; while :; do sleep 0.05; done' 2>>events.txt &
  runner=$!
  eventually test -e told-begin
  gatepost request-yield told >/dev/null
  eventually test -e yielded
  gatepost break told >/dev/null
  finish $runner
  gatepost --json run told --ttl 9s -- sh -c 'gatepost break told >/dev/null' 2>>events.txt
  seen=$(grep -oE '^\{"event":"[^"]*"' events.txt | cut -d'"' -f4 | sort -u)
  is 'the events' "$(tr '\n' ' ' <<<"$seen")" 'busy done ended granted killed lost unreleased yield '
  documented=$(awk '/^### What it says/ { on = 1 } /^## hold/ { on = 0 } on' "$GATEPOST_TREE/docs/command.md" | sed -nE 's/^\| `([^`]*)` .*/\1/p' | sort)
  is '... are in the document' "$(comm -23 <(printf '%s\n' "$seen") <(printf '%s\n' "$documented"))" ''
  is '... which has what only faults bring besides' "$(comm -13 <(printf '%s\n' "$seen") <(printf '%s\n' "$documented") | tr '\n' ' ')" 'log terminated '
  g run told --ttl 9s --grace 4s -- true
  is 'a grace that leaves no time' $status 64
}

try_moved() {
  # The command's own status is told from ours.
  g run moved -- sh -c 'exit 75'
  is 'the command may end as we do' $status 75
  g run moved --lost-exit 33 --ttl 9s -- sh -c 'gatepost break moved >/dev/null; sleep 100'
  like '--lost-exit' "$status $err" '^33 gatepost: lease "moved" was lost'
  g -h /nowhere run moved --fail-exit 34 -- true
  like '--fail-exit without a server' "$status $err" '^34 gatepost: .*/nowhere'
  g run moved --fail-exit 34 -- /nowhere/command
  is '... without a command' $status 34
  g run moved --fail-exit 34 --permits 2 --weight 3 -- true
  is '... for an argument that the server refuses' $status 34
  g run moved --fail-exit 34 -- sh -c 'exit 69'
  is '... and not for the command' $status 69
}

try_each "$@"

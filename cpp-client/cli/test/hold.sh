# gatepost hold: the line protocol, and the examples of docs/command.md.
. "${0%/*}/tap.sh"
mkfifo in
# Standard input that is never closed.
mkfifo open && exec 9<>open
said() { grep -q "$2" "$1"; }
try_held() {
  gatepost --json hold held --ttl 6s --metadata '{"who": "test"}' >held.txt 2>err.txt <in &
  holder=$!
  exec 5>in
  eventually said held.txt '"event":"renewed"'
  like 'granted comes first' "$(head -n 1 held.txt)" '^\{"event":"granted","at":[0-9]+\.[0-9]{3},"name":"held","token":"[0-9]{13,16}","deadline":[0-9]+\.[0-9]{3}\}$'
  is 'the token is the grant'"'"'s' "$(head -n 1 held.txt | grep -oE '"token":"[0-9]+' | grep -oE '[0-9]+$')" \
    "$(query "SELECT token FROM gatepost.leases WHERE name = 'held'")"
  like 'renewed has a later deadline' "$(grep -m 1 renewed held.txt)" '^\{"event":"renewed","at":[0-9.]+,"deadline":[0-9.]+\}$'
  is 'metadata are shown' "$(query "SELECT metadata->>'who' FROM gatepost.leases WHERE name = 'held'")" test
  gatepost request-yield held --reason 'make room' >/dev/null
  echo 'a word of no meaning' >&5
  eventually said held.txt yield
  like 'a request arrives' "$(grep yield held.txt)" '"event":"yield".*"reason":"make room"'
  ok 'other lines are not looked at' held held
  exec 5>&-
  finish $holder
  is 'closing standard input ends it' $status 0
  like '... with the last word' "$(tail -n 1 held.txt)" '^\{"event":"released","at":[0-9.]+\}$'
  ok '... and the name is free' free held
}

try_word() {
  gatepost --json hold word --ttl 1m >word.txt <in &
  holder=$!
  exec 5>in
  eventually said word.txt granted
  echo release >&5
  finish $holder
  like 'the line release does the same' "$(tail -n 1 word.txt)" '"event":"released"'
  exec 5>&-
}

try_lost() {
  gatepost --json hold lost --ttl 9s >lost.txt <open &
  holder=$!
  eventually said lost.txt granted
  g break lost
  is 'a lease that is held can be broken' $status 0
  finish $holder
  is 'a loss: 76' $status 76
  like '... is the last word' "$(tail -n 1 lost.txt)" '"event":"lost","at":[0-9.]+,"reason":"broken"'
}

try_late() {
  gatepost --json hold late --ttl 20s >late.txt 2>err.txt <open &
  holder=$!
  eventually said late.txt granted
  query "ALTER FUNCTION gatepost.lease_renew_many RENAME TO hidden"
  finish $holder
  query "ALTER FUNCTION gatepost.hidden RENAME TO lease_renew_many"
  is 'renewals that fail: 76' $status 76
  like '... after a warning' "$(cat late.txt)" '"event":"at_risk".*"left":[0-9]\.[0-9]+.*"event":"lost".*"reason":"expired"'
}

try_busy() {
  gatepost acquire taken --ttl 10m >/dev/null
  g --json hold taken
  is 'busy: 75' $status 75
  like '... and said' "$out" '^\{"event":"busy","at":[0-9.]+\}$'
  gatepost hold words >words.txt <open &
  holder=$!
  eventually has_file words.txt
  kill -TERM $holder
  finish $holder
  like 'without --json in words, and ended by a signal' "$status$(cat words.txt)" '^0granted, token [0-9]+.*released$'
}

try_orphan() {
  perl -e 'open my $held, "|-", "gatepost hold orphan --ttl 10m >orphan.txt"; sleep 1 while 1' &
  parent=$!
  eventually said orphan.txt granted
  kill -KILL $parent
  ok 'who starts it and dies leaves no lease' eventually free orphan
}

try_unread() {
  # Nobody reads: the pipe is full from the beginning, and the renewals have more to say.
  mkfifo full && exec 8<>full
  perl -MFcntl -e 'open my $full, ">&=", 8; fcntl $full, F_SETFL, O_NONBLOCK; 1 while syswrite $full, "x"; fcntl $full, F_SETFL, 0'
  gatepost --json hold unread --ttl 9s >&8 <in 8>&- &
  holder=$!
  exec 5>in
  renewals() { query "SELECT renewed_at > acquired_at FROM gatepost.leases WHERE name = 'unread' AND state = 'held'"; }
  ok 'a reader that stops reading does not stop renewals' eventually eval '[ "$(renewals)" = t ]'
  exec 5>&-
  finish $holder
  is '... nor the end' "$status $(query "SELECT state FROM gatepost.leases WHERE name = 'unread'")" '0 released'
  perl -MFcntl -e 'open my $full, ">&=", 8; exit !!(fcntl($full, F_GETFL, 0) & O_NONBLOCK)'
  is '... and nobody else who writes there finds it changed' $? 0
  exec 8>&-
}

try_examples() {
  # The examples of the document.
  example() { awk -v kind="$1" '$0 == "```" kind { on = 1; next } /^```$/ { on = 0 } on' "$GATEPOST_TREE/docs/command.md"; }
  for kind in python js; do
    example $kind >"example.$kind"
    lines=$(wc -l <"example.$kind")
    ok "the example in $kind is there, in at most 25 lines ($lines)" test "$lines" -ge 10 -a "$lines" -le 25
    case $kind in python) run=(/usr/bin/python3 example.python) ;; js) run=(node example.js) ;; esac
    out=$(timeout 120 "${run[@]}" 2>&1)
    is "... runs" "$?" 0
    like "... and holds the lease" "$out" 'holding nightly with token [0-9]+'
    ok "... and gives it back" free nightly
    gatepost acquire nightly --ttl 10m >token.txt
    timeout 120 "${run[@]}" >out.txt 2>&1
    like "... and says when it is busy" "$(cat out.txt)" 'busy'
    gatepost release nightly "$(cat token.txt)"
  done
}

try_each "$@"

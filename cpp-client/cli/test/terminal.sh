# What is seen at a terminal, and what a command does there. tmux has the terminal, and a shell with job control in it.
. "${0%/*}/tap.sh"
export TMUX_TMPDIR=$PWD
tmux=(tmux -L gatepost -f /dev/null)
trap '"${tmux[@]}" kill-server 2>/dev/null' EXIT
"${tmux[@]}" new-session -d -x 100 -y 30 -s s 'sleep 1000'
"${tmux[@]}" set -g remain-on-exit on
type() { "${tmux[@]}" send-keys -t s "$1" Enter; }
key() { "${tmux[@]}" send-keys -t s "$1"; }
screen() { "${tmux[@]}" capture-pane -p -t s "$@"; }
shows() { screen | grep -qE -- "$1"; }
clean() { type clear && eventually eval '[ "$(screen | grep -c .)" -le 1 ]'; }
# A shell that nothing has happened to.
fresh() {
  "${tmux[@]}" respawn-pane -k -t s "env PS1='> ' TERM=screen bash --norc --noprofile"
  eventually shows '^>'
  terminal=$("${tmux[@]}" display-message -p -t s '#{pane_tty}') && terminal=${terminal#/dev/}
}
# here [OPTION]... WHAT    the processes of this terminal; and how one of them is
here() { pgrep -t "$terminal" "$@"; }
state() { ps -o stat= -p "$1" | cut -c1; }
is_stopped() { [ "$(here -f "$1" | head -n 1 | xargs -r ps -o stat= -p | cut -c1)" = T ]; }
# The command under test has done what there was to do: it sleeps, and no signal waits for it. Or it has ended.
settled() {
  local process
  process=$(here -o -x gatepost) || return 0
  awk '$1 == "State:" { ended = $2 == "Z"; sleeps = $2 == "S" } /^(Sig|Shd)Pnd:/ { waits += $2 !~ /^0+$/ } END { exit !(ended || sleeps && !waits) }' "/proc/$process/status"
}
# Stopped, and left so: one look is not enough.
stays_stopped() {
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    is_stopped "$1" && settled && is_stopped "$1" || return 1
    sleep 0.05
  done
}
# It writes to conts when it is continued, and shows what it reads from the terminal.
asker='perl -e "\$SIG{CONT} = sub { open my \$c, q(>>), q(conts); print \$c q(x) }; open my \$t, q(<), q(/dev/tty); \$l = <\$t>; print qq(asker got \$l)"'
# Sourced by a command, says whether the terminal is its group's.
printf 'set -- $(ps -o pgid=,tpgid= -p $$); if [ "$1" = "$2" ]; then echo in front; else echo behind; fi\n' >front
isolations=('')
gatepost run can --isolate -- true 2>/dev/null && isolations+=(--isolate)

try_output() {
  fresh
  gatepost acquire seen --ttl 20m --owner 'a very long label that says who it is and where and why and does not fit into what is left' >/dev/null
  type 'gatepost ls'
  ok 'ls in colour on a terminal' eventually eval "screen -e | grep -q '\[32m.*held'"
  is 'no line is longer than the terminal' "$(screen | grep -E '.{101}')" ''
  ok 'what does not fit is cut' shows '…'
  clean
  type 'NO_COLOR=1 gatepost ls'
  eventually shows 'seen +held'
  is 'NO_COLOR: none' "$(screen -e | grep seen | grep -c '\[32m')" 0
  clean
  type 'gatepost ls | cat'
  eventually shows 'seen +held'
  is 'nor into a pipe' "$(screen -e | grep seen | grep -c '\[32m')" 0
  clean
  type 'gatepost ls --watch --interval 200ms'
  ok 'watch shows the table' eventually shows 'seen +held'
  other=$(gatepost acquire other --ttl 20m)
  ok '... and what is new' eventually shows 'other +held'
  gatepost release other "$other"
  ok '... and takes away what is over' eventually eval '! shows "other +held"'
  key C-c
  ok 'Ctrl-C ends it' eventually eval "! shows 'Ctrl-C ends this'"
  type 'echo status $?'
  ok '... with 0, and the screen as it was' eventually shows '^status 0'
  clean
  type 'gatepost run seen --wait 8s -- true; echo status $?'
  ok 'a wait of over a second is shown' eventually shows 'waiting for "seen", [1-7]\.[0-9]s'
  ok '... and wiped away' eventually eval "shows '^status 75' && ! shows 'waiting for \"seen\",'"
}

try_foreground() {
  for isolation in "${isolations[@]}"; do
    fresh
    type "gatepost run tty $isolation -- sh -c '. ./front; read line; echo got \$line'; echo status \$?"
    eventually held tty
    type 'some words'
    ok "the command reads from the terminal $isolation" eventually shows '^got some words'
    ok '... which it has from the beginning' shows '^in front'
    ok '... and its status is told' eventually shows '^status 0'
  done
  fresh
  type 'gatepost run tty --verbose -- sh -c "trap \"echo interrupted; exit 8\" INT; touch int-begin; while :; do sleep 0.05; done"; echo status $?'
  eventually test -e int-begin
  key C-c
  ok 'Ctrl-C reaches the command' eventually shows '^(\^C)?interrupted'
  ok '... and its status is told' eventually shows '^status 8'
  fresh
  type 'gatepost run tty -- sh -c "read line </dev/tty; echo got \$line" </dev/null; echo status $?'
  eventually held tty
  type 'a password'
  ok 'the command may ask at the terminal when standard input is something else' eventually shows '^got a password'
  ok '... and its status is told' eventually shows '^status 0'
}

try_stops() {
  for isolation in "${isolations[@]}"; do
    for kind in deaf late vfork; do
      fresh
      rm -f stop-begin stop-go
      type "gatepost run tty $isolation -- child $kind stop-begin stop-go; echo status \$?"
      eventually test -e stop-begin
      key C-z
      eventually shows '\^Z'
      touch stop-go
      ok "a command under a lease is not stopped by Ctrl-Z: $kind $isolation" eventually shows '^(\^Z)?went on'
      ok '... and the shell has its terminal back' eventually shows '^status 0'
    done
    fresh
    rm -f stop-begin stop-go
    type "gatepost run tty $isolation -- sh -c 'touch stop-begin; kill -TSTP \$\$; echo went on'; echo status \$?"
    ok "... nor when it stops itself as Ctrl-Z does $isolation" eventually shows '^went on'
    ok '... and the shell has its terminal back' eventually shows '^status 0'
  done
}

try_begun() {
  # Whoever has a lease of a file (fcntl's: F_SETLEASE is 1024, F_WRLCK is 1) holds up those who open it, and so the begin of a program.
  holder='open my $f, q(<), q(slow); $SIG{IO} = sub { open my $b, q(>), q(slow-begin) }; print q(kept) if fcntl $f, 1024, 1; $| = 1; print qq(\n); until (-e q(slow-go)) { select undef, undef, undef, 0.01 }'
  printf '#!/bin/sh\necho went on\n' >slow && chmod +x slow
  for isolation in "${isolations[@]}"; do
    for end in key loss; do
      rm -f slow-begin slow-go
      perl -e "$holder" >kept &
      keeper=$!
      eventually has_file kept
      if ! grep -q kept kept; then
        # Not every file system has them.
        touch slow-go && wait $keeper
        return
      fi
      fresh
      type "gatepost run tty --ttl 9s $isolation -- ./slow; echo status \$?"
      eventually test -e slow-begin
      if [ $end = key ]; then
        key C-z
        eventually shows '\^Z'
        touch slow-go
        ok "nor is it stopped by Ctrl-Z before it has begun $isolation" eventually shows '^(\^Z)?went on'
        ok '... and the shell has its terminal back' eventually shows '^status 0'
      else
        gatepost break tty >/dev/null
        ok "a loss ends what has not begun yet $isolation" eventually shows '^status 76'
        touch slow-go
        ok '... which does not begin then' eval "! shows 'went on'"
      fi
      wait $keeper
    done
  done
}

try_background() {
  for isolation in "${isolations[@]}"; do
    fresh
    rm -f conts
    type "gatepost run tty $isolation -- $asker &"
    ok "a command in the background that asks for the terminal is stopped $isolation" eventually stays_stopped '^perl'
    ok '... and not continued to ask again' test ! -e conts
    type 'fg; echo status $?'
    eventually test -e conts
    type 'later words'
    ok '... and has it when it is in the foreground' eventually shows '^asker got later words'
    ok '... and the shell after it' eventually shows '^status 0'
  done
  fresh
  type "gatepost run tty -- $asker </dev/null &"
  eventually stays_stopped '^perl'
  type 'kill %1; wait %1; echo status $?'
  ok 'what waits for the terminal can be ended' eventually shows '^status 143'
  # It asks while it is told to end, which it does not hear before it goes on.
  printf '%s\n' 'use POSIX; my $end = POSIX::SigSet->new(SIGTERM); sigprocmask(SIG_BLOCK, $end); my $pending = POSIX::SigSet->new;' \
    '$SIG{CONT} = sub { sigprocmask(SIG_UNBLOCK, $end) }; open my $f, q(>), q(end-begin); close $f;' \
    'do { select undef, undef, undef, 0.01; sigpending($pending) } until $pending->ismember(SIGTERM); open my $t, q(<), q(/dev/tty); <$t>' >told.pl
  fresh
  type 'gatepost run tty -- perl told.pl </dev/null &'
  eventually test -e end-begin
  type 'kill %1; wait %1; echo status $?'
  ok '... also who asks for it while he is told to end' eventually shows '^status 143'
  fresh
  type "gatepost run tty --ttl 6s -- $asker &"
  eventually stays_stopped '^perl'
  asking=$(here -f '^perl')
  gatepost break tty >/dev/null
  type 'wait %1; echo status $?'
  ok '... and is when the lease is lost' eventually shows '^status 76'
  ok '... with all of it' gone "$asking"
  fresh
  type "nohup gatepost run hung -- $asker &"
  eventually stays_stopped '^perl'
  running=$(here -o -x gatepost)
  fresh
  ok '... and goes on when the terminal is gone' eventually gone "$running"
}

try_pipeline() {
  fresh
  type "gatepost run tty -- sh -c '. ./front' | cat; echo status \$?"
  eventually shows '^status 0'
  ok 'in a pipeline the terminal is for the others too' shows '^behind'
  fresh
  type "gatepost run tty -- sh -c 'read line </dev/tty; echo asked: \$line; echo two; until [ -e paged ]; do sleep 0.05; done; echo three' | child pager paged; echo status \$?"
  eventually held tty
  type 'a password'
  ok 'the command may ask there' eventually shows '^shown: asked: a password'
  eventually shows '^shown: two'
  type 'a key'
  ok '... and the pager that asks after it has the terminal too' eventually shows '^typed: a key'
  ok '... and the shell after both' eventually shows '^status 0'
  fresh
  type "echo list | gatepost run tty -- sh -c 'cat; read line </dev/tty; echo got \$line'; echo status \$?"
  eventually shows '^list'
  type 'more words'
  ok '... also at the end of a pipeline' eventually shows '^got more words'
  ok '... and its status is told' eventually shows '^status 0'
  fresh
  type "gatepost run tty -- sh -c 'touch pipe-begin; until [ -e pipe-go ]; do sleep 0.05; done; echo went on' | cat; echo status \$?"
  eventually test -e pipe-begin && eventually here -x cat
  key C-z
  eventually shows '\^Z'
  touch pipe-go
  ok 'Ctrl-Z does not stop the others of a pipeline, which the command would wait for' eventually shows '^(\^Z)?went on'
  ok '... and the shell has its terminal back' eventually shows '^status 0'
  fresh
  type "gatepost run tty -- sh -c 'touch others-begin; until [ -e others-go ]; do sleep 0.05; done' | child late other-begin other-go; echo status \$?"
  eventually test -e others-begin -a -e other-begin
  key C-z
  eventually shows '\^Z'
  touch other-go
  ok '... however late they stop' eventually shows '^(\^Z)?went on'
  touch others-go
  ok '... and the shell has its terminal back' eventually shows '^status 0'
  # A shell that does not look at its job before it is told to: bash may be sooner than this program with Ctrl-Z, or later.
  printf '%s\n' 'use POSIX; $SIG{TTOU} = q(IGNORE); my $job = fork;' \
    'if (!$job) { setpgrp; tcsetpgrp(0, $$); $SIG{TTOU} = q(DEFAULT); exec qw(sh script) } until (-e q(script-fg)) { select undef, undef, undef, 0.01 }' \
    'kill CONT => -$job; waitpid $job, 0; tcsetpgrp(0, getpgrp)' >shell.pl
  echo 'gatepost run tty -- sh -c "touch script-begin; until [ -e script-go ]; do sleep 0.05; done; touch script-end; echo went on" | cat' >script
  fresh
  type 'perl shell.pl'
  eventually test -e script-begin && eventually here -x cat
  key C-z
  eventually is_stopped '^cat'
  touch script-go
  ok 'a script is stopped, and the command in it is not' eventually test -e script-end
  ok '... whose reader waits' stays_stopped '^cat'
  touch script-fg
  ok '... until it goes on' eventually shows '^(\^Z)?went on'
}

try_return() {
  fresh
  type 'sh -c "gatepost run tty -- echo begun; read line; echo script got \$line"'
  eventually shows '^begun'
  type 'these words'
  ok 'a script has its terminal back' eventually shows '^script got these words'
  # The command gives the terminal to a group of its own, and ends after it.
  heir='use POSIX; $| = 1; print "begun\n"; $SIG{TTOU} = q(IGNORE); my $heir = fork; if (!$heir) { setpgrp; tcsetpgrp(0, $$); exit } waitpid $heir, 0'
  fresh
  printf '%s\n' "$heir" >heir.pl
  type 'sh -c "gatepost run tty -- perl heir.pl; read line; echo script got \$line"'
  eventually shows '^begun'
  type 'other words'
  ok '... also from those that the command has lent it to' eventually shows '^script got other words'
  fresh
  type "gatepost run tty -- sh -c 'touch taken-begin; until [ -e taken-go ]; do sleep 0.05; done'"
  eventually test -e taken-begin
  running=$(here -o -x gatepost)
  kill -STOP "$running"
  ok 'a shell takes the terminal when this program is stopped' eventually shows 'Stopped'
  kill -CONT "$running"
  touch taken-go
  eventually gone "$running"
  type 'echo the shell is here'
  ok '... and keeps it' eventually shows '^the shell is here'
}

try_watchers() {
  watchers() { here -x gatepost-tty; }
  fresh
  type 'gatepost run watched -- sh -c "touch watch-begin; exec sleep 100"'
  eventually test -e watch-begin
  ok 'what watches the command of a terminal is there' eventually watchers
  kill -KILL "$(here -o -x gatepost)"
  left=''
  eventually eval '! watchers' || left=$(watchers)
  [ -z "$left" ] || kill -KILL $left
  is '... and dies with this program' "$left" ''
  fresh
  type 'gatepost run tty -- sh -c "kill -9 0"; echo status $?'
  ok 'a command may kill its group' eventually shows '^status 137'
  type 'gatepost run tty -- /nowhere/command; echo status $?'
  ok 'a command that is not there is told' eventually shows '^status 127'
  ok '... and the shell has its terminal back, and nobody is left' eval '! watchers'
}

try_each "$@"

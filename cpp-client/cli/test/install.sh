#!/usr/bin/env bash
# TAP: what is installed, and that it works from there:  install.sh BUILD PREFIX
set -u
build=$1 prefix=$2 number=0 failures=0
ok() {
  number=$((number + 1))
  if "${@:2}" >/dev/null 2>&1; then echo "ok $number - $1"; else echo "not ok $number - $1" && failures=1; fi
}
cmake --install "$build" --prefix "$prefix" >"$prefix.log" 2>&1
ok 'the installation succeeds' test $? -eq 0
ok 'the command runs' "$prefix/bin/gatepost" --version
ok 'the manual page is there' grep -q '^\.TH GATEPOST 1' "$prefix/share/man/man1/gatepost.1"
ok 'completion of bash' grep -q _gatepost "$prefix/share/bash-completion/completions/gatepost"
ok 'completion of zsh' grep -q '^#compdef gatepost' "$prefix/share/zsh/site-functions/_gatepost"
ok 'completion of fish' grep -q 'complete -c gatepost' "$prefix/share/fish/vendor_completions.d/gatepost.fish"
ok 'the figures for postgres_exporter' test -s "$prefix/share/gatepost/monitoring/queries.yaml"
ok 'the alerts' test -s "$prefix/share/gatepost/monitoring/alerts.yaml"
echo "1..$number"
exit $failures

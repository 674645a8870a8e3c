#!/usr/bin/env bash
# Takes long. TAP: the regression tests as make installcheck runs them: on a server as it is set up by default, by another
# superuser than its first.
. "$(dirname "$0")/../lib.sh"
server_paths
build=$("$HERE/scripts/build.sh" release)
make_work
"$HERE/scripts/private_root.sh" "$WORK/root" "$build"
mkdir "$WORK/out"
ln -s "$WORK/tree/expected" "$WORK/out/expected"
give_work
names=("$HERE"/test/sql/*.sql)
names=("${names[@]##*/}")
# shellcheck disable=SC2016
as_server "$WORK/tree/scripts/cluster.sh" "$WORK/root" "$WORK/cluster" -c max_prepared_transactions=0 -- bash -c '
  psql -Xq -c "CREATE ROLE other SUPERUSER LOGIN" && cd "$1" && export PGUSER=other && shift && exec "$@"
  ' sh "$WORK/out" "$PG_TEST/regress/pg_regress" --inputdir="$WORK/tree/test" --outputdir=. --bindir="$WORK/root$PG_BIN" \
  --encoding=UTF8 --dbname=contrib_regression "${names[@]%.sql}" >"$WORK/log" 2>&1 || true
number=0
for name in "${names[@]%.sql}"; do
  number=$((number + 1))
  if grep -qE "^ok [0-9]+ +[-+] $name |^(test )? *$name +\\.\\.\\. ok " "$WORK/log"; then
    say "ok $number - $name"
  else
    say "not ok $number - $name"
    awk -v name="/$name.out" '/^diff / { on = index($0, name) } on' "$WORK/out/regression.diffs" 2>/dev/null | head -n 30 | sed 's/^/#   /'
  fi
done
say "1..$number"
! grep -q "^ERROR\|could not" "$WORK/log" || sed 's/^/#   /' "$WORK/log"

#!/usr/bin/env bash
# Runs programs beside the server that PGHOST names, each in a database of its own:  examples.sh DIR PROGRAM...
# What each prints goes to DIR/NAME.log.
set -euo pipefail
dir=$1
shift
psql -qd postgres -c 'CREATE EXTENSION gatepost'
for program; do
  name=$(basename "$program")
  createdb "$name"
  psql -qd "$name" -c 'CREATE EXTENSION gatepost'
  PGDATABASE=$name timeout 60 "$program" >"$dir/$name.log" 2>&1 || echo "status $?" >>"$dir/$name.log"
done

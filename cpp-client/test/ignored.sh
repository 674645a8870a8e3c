#!/usr/bin/env bash
# Sees that the compiler warns of each line of ignored.cpp that is marked, and of no other:  ignored.sh COMPILER DIR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"
"$1" -std=c++20 -Wall -Wextra -fsyntax-only -I "$here/../include" "$here/ignored.cpp" 2>"$2/warnings"
diff <(grep -n '// lost$' "$here/ignored.cpp" | cut -d: -f1) \
  <(sed -nE 's/^.*ignored\.cpp:([0-9]+):.* warning: .*\[-Wunused-result\]$/\1/p' "$2/warnings" | sort -nu)

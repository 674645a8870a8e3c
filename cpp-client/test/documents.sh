#!/usr/bin/env bash
# Compiles the C++ of README.md, a program, and of docs/cpp-client.md, pieces of one:  documents.sh BUILD DIR
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
build=$1 dir=$2
mkdir -p "$dir"
awk '/^```cpp$/ { on = 1; next } /^```$/ { on = 0 } on' "$here/README.md" >"$dir/readme.cpp"
{
  cat <<'CPP'
#include <gatepost/fake.hpp>
#include <gatepost/gatepost.hpp>
#include <gatepost/pqxx.hpp>
#include <iostream>
#include <thread>
using namespace std::chrono_literals;
CPP
  awk '/^```cpp$/ { on = 1
         print "void piece" ++n "([[maybe_unused]] gatepost::Client &client, [[maybe_unused]] const gatepost::Grant &lease,"
         print "            [[maybe_unused]] pqxx::connection &connection) {{"; next }
       /^```$/ { if (on) print "}}"; on = 0 } on' "$here/docs/cpp-client.md"
} >"$dir/pieces.cpp"
grep -q 'int main' "$dir/readme.cpp"
grep -q piece5 "$dir/pieces.cpp"
flags=(-std=c++20 -Wall -Wextra -I "$here/cpp-client/include")
c++ "${flags[@]}" "$dir/readme.cpp" -L "$build/cpp-client" -lgatepost -o "$dir/readme"
c++ "${flags[@]}" -fsyntax-only "$dir/pieces.cpp"

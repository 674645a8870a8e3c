#!/usr/bin/env bash
# Compiles the C++ of README.md, a program, and of docs/cpp-client.md, pieces of one:  documents.sh BUILD DIR
# Makes DIR/readme and DIR/pieces, to be run beside a server that has the extension.
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
       /^```$/ { if (on) print "}}"; on = 0 } on
       END { print "int main() {"
         print "  gatepost::Client client{\"\"};"
         print "  client.execute(\"CREATE TABLE report (id int PRIMARY KEY, body text)\");"
         print "  client.execute(\"INSERT INTO report VALUES (1)\");"
         print "  client.execute(\"SELECT gatepost.fence_protect(\047report\047, lease => \047report\047)\");"
         print "  const gatepost::Lease lease = client.acquire(\"report\");"
         print "  pqxx::connection connection;"
         for (i = 1; i <= n; i++) print "  piece" i "(client, lease, connection);"
         print "  std::cout << client.execute(\"SELECT body FROM report\").first().value_or(\"\") << \", \" << " n " << \" pieces\\n\";"
         print "}" }' "$here/docs/cpp-client.md"
} >"$dir/pieces.cpp"
grep -q 'int main' "$dir/readme.cpp"
for program in readme pieces; do
  c++ -std=c++20 -Wall -Wextra -I "$here/cpp-client/include" "$dir/$program.cpp" -L "$build/cpp-client" \
    -Wl,-rpath,"$build/cpp-client" -lgatepost -lpqxx -lpq -o "$dir/$program"
done

title='A name from one client to the next'
clients=(2)
contenders=()
aims=()
# Times one by one, which pgbench does not show.
measure() {
  local program
  program=$(mktemp)
  g++ -std=c++20 -O2 -I"$("$PG_CONFIG" --includedir)" -o "$program" "$folder/handover.cpp" \
    -L"$("$PG_CONFIG" --libdir)" -lpq -pthread
  say "$title"
  PGDATABASE=$measurement "$program" $((ROUNDS * SECONDS_EACH * 3)) 200 &&
    rm -f "$program"
}

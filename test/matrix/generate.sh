#!/usr/bin/env bash
# Writes the matrix: one spec for each call that s1 leaves open, with every call that s2 makes meanwhile at every
# isolation level, and cells.tsv, the list of which permutation shows which cell.
#   generate.sh [DIR]     DIR is the folder test of the project, or another to write specs/ and matrix/cells.tsv to
# The calls are the lines of calls.tsv: name, state of the name at the start, function or view of gatepost, SQL.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/..}
mkdir -p "$out/specs" "$out/matrix"

declare -A start sql
calls=()
while IFS=$'\t' read -r call state _ expression; do
  calls+=("$call") start[$call]=$state sql[$call]=$expression
done < <(tail -n +2 "$here/calls.tsv")
levels=(read_committed repeatable_read serializable)

# step SESSION CALL
step() {
  local tab=$'\t'
  printf 'step %s_%s%s{ CALL says($$%s$$); }\n' "$1" "$2" "$tab" "${sql[$2]//WHO/$1}"
}

begin_steps() {
  local level sql_level
  for level in "${levels[@]}"; do
    sql_level=${level//_/ }
    printf 'step %s_%s\t{ BEGIN ISOLATION LEVEL %s; CALL take_snapshot(); }\n' "$1" "$level" "${sql_level^^}"
  done
}

spec() {
  local open=$1 call
  cat <<SPEC
# Written by test/matrix/generate.sh.
#
# s1 leaves "$open" in an open transaction. Meanwhile s2 makes each call on the same name, at the same isolation level,
# in a transaction whose snapshot is older; and once more after s1 has committed or rolled back. No call waits for s1's
# transaction, but for fenced_update on the row that s1 has written; none but that one ends in 40001.
# The last step must give 0 rows.

setup
{
  CREATE EXTENSION IF NOT EXISTS gatepost;

  -- What each session was told last: a sequence outlives a ROLLBACK and is the same in every snapshot.
  CREATE SEQUENCE told_s1;
  CREATE SEQUENCE told_s2;
  CREATE FUNCTION told(who text) RETURNS bigint LANGUAGE plpgsql AS \$\$
  DECLARE
    token bigint;
  BEGIN
    EXECUTE format('SELECT last_value FROM told_%s', who) INTO token;
    RETURN token;
  END \$\$;

  -- Every token drawn for the name by a transaction that committed, and every mark that the row has had.
  CREATE TABLE drawn (n bigserial, token bigint NOT NULL);
  CREATE TABLE protected (id int PRIMARY KEY, writer text, fence bigint);
  CREATE TABLE marks (n bigserial, fence bigint);
  INSERT INTO protected VALUES (1, 'nobody', NULL);
  CREATE FUNCTION note_mark() RETURNS trigger LANGUAGE plpgsql AS \$\$
  BEGIN
    INSERT INTO marks (fence) VALUES (NEW.fence);
    RETURN NULL;
  END \$\$;
  CREATE TRIGGER note_mark AFTER UPDATE ON protected FOR EACH ROW EXECUTE FUNCTION note_mark();

  CREATE FUNCTION acquired_by(who text) RETURNS text LANGUAGE plpgsql AS \$\$
  DECLARE
    token bigint := gatepost.lease_acquire('matrix', '1 h');
  BEGIN
    IF token IS NULL THEN
      RETURN NULL;
    END IF;
    PERFORM setval('told_' || who, token);
    INSERT INTO drawn (token) VALUES (token);
    RETURN 'granted';
  END \$\$;
  CREATE FUNCTION broken() RETURNS text LANGUAGE plpgsql AS \$\$
  DECLARE
    token bigint := gatepost.lease_break('matrix');
  BEGIN
    IF token IS NULL THEN
      RETURN NULL;
    END IF;
    INSERT INTO drawn (token) VALUES (token);
    RETURN 'broken';
  END \$\$;
  CREATE FUNCTION written_by(who text) RETURNS boolean LANGUAGE sql AS \$\$
    SELECT gatepost.fenced_update('protected', jsonb_build_object('id', 1), jsonb_build_object('writer', who), told(who))
  \$\$;

  -- The answer of a call as one line: its value, or the SQLSTATE of its error.
  CREATE PROCEDURE says(call text) LANGUAGE plpgsql AS \$\$
  DECLARE
    answer text;
  BEGIN
    BEGIN
      EXECUTE 'SELECT ' || call INTO answer;
    EXCEPTION WHEN OTHERS THEN
      answer := SQLSTATE;
    END;
    RAISE NOTICE '%', coalesce(answer, 'NULL');
  END \$\$;
  CREATE PROCEDURE take_snapshot() LANGUAGE plpgsql AS \$\$
  BEGIN
    PERFORM FROM pg_class LIMIT 1;
  END \$\$;

  CREATE VIEW violations AS
  SELECT 'two holders' AS violation FROM drawn
  WHERE gatepost.lease_status('matrix', token) IN ('held', 'recovering') HAVING count(*) > 1
  UNION ALL
  SELECT 'tokens do not rise' FROM (SELECT token, lag(token) OVER (ORDER BY n) AS before FROM drawn) AS d
  WHERE token <= before
  UNION ALL
  SELECT 'two rows' FROM gatepost.leases WHERE name = 'matrix' GROUP BY slot HAVING count(*) > 1
  UNION ALL
  SELECT 'the row is not of the newest token' FROM gatepost.leases
  WHERE name = 'matrix' AND token <> (SELECT max(token) FROM drawn)
  UNION ALL
  SELECT 'in flight, and nobody is in a transaction' FROM gatepost.leases WHERE name = 'matrix' AND state = 'in_flight'
  UNION ALL
  SELECT 'the mark falls' FROM (SELECT fence, lag(fence) OVER (ORDER BY n) AS before FROM marks) AS m
  WHERE fence < before
  UNION ALL
  SELECT 'the generation falls' FROM drawn WHERE gatepost.token_generation() < token >> 34
  UNION ALL
  SELECT 'a lock outlives its transaction' FROM pg_locks JOIN pg_stat_activity USING (pid)
  WHERE locktype = 'advisory'
     OR relation = 'gatepost.lease_slots'::regclass AND pid <> pg_backend_pid() AND backend_type = 'client backend';

  -- s2 had the name before s1.
  SELECT acquired_by('s2'), gatepost.lease_release('matrix', told('s2'));
  SELECT acquired_by('s1');
SPEC
  [ "${start[$open]}" = held ] || cat <<'SPEC'
  SELECT gatepost.lease_release('matrix', told('s1'));
SPEC
  cat <<SPEC
}

teardown
{
  SELECT gatepost.lease_break('matrix');
  SELECT gatepost.lease_purge('0', 'matrix');
  DROP VIEW violations;
  DROP TABLE drawn, marks, protected;
  DROP PROCEDURE says, take_snapshot;
  DROP FUNCTION note_mark, acquired_by, broken, written_by, told;
  DROP SEQUENCE told_s1, told_s2;
}

session s1
$(begin_steps s1)
$(step s1 "$open")
step s1_commit	{ COMMIT; }
step s1_rollback	{ ROLLBACK; }

session s2
$(begin_steps s2)
$(for call in "${calls[@]}"; do step s2 "$call"; done)
step s2_commit	{ COMMIT; }

session s3
step check	{ SELECT * FROM violations; }

SPEC
  local call level end
  for call in "${calls[@]}"; do
    for level in "${levels[@]}"; do
      for end in commit rollback; do
        permutation "$open" "$call" "$level" "$end"
        printf 'permutation %s\n' "$permutation"
      done
    done
  done
}

# permutation OPEN CALL LEVEL END: sets permutation
permutation() {
  permutation="s1_$3 s2_$3 s1_$1 s2_$2 s1_$4 s2_$2 s2_commit check"
}

{
  printf 'open\tcall\tlevel\tend\tspec\tpermutation\n'
  for open in "${calls[@]}"; do
    spec "$open" >"$out/specs/matrix-$open.spec"
    for call in "${calls[@]}"; do
      for level in "${levels[@]}"; do
        for end in commit rollback; do
          permutation "$open" "$call" "$level" "$end"
          printf '%s\t%s\t%s\t%s\tmatrix-%s\t%s\n' "$open" "$call" "$level" "$end" "$open" "$permutation"
        done
      done
    done
  done
} >"$out/matrix/cells.tsv"

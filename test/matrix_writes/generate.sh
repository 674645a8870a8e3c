#!/usr/bin/env bash
# Writes the matrix of protected writes: one spec for each call that s1 leaves open, with every call that s2 makes
# meanwhile at every isolation level, and cells.tsv, the list of which permutation shows which cell.
#   generate.sh [DIR]     DIR is the folder test of the project, or another to write specs/ and matrix_writes/cells.tsv to
# The calls are the lines of calls.tsv: name, whether it changes protected data, SQL.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/..}
mkdir -p "$out/specs" "$out/matrix_writes"

declare -A sql
calls=()
while IFS=$'\t' read -r call _ expression; do
  calls+=("$call") sql[$call]=$expression
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

# end_steps END: also beside a session that waits
end_steps() {
  printf 'step s1_%s\t{ %s; }\n' "$1" "${1^^}"
  printf 'step s1_%s_awaited\t{ CALL see_waiter(); %s; }\n' "$1" "${1^^}"
  printf "step s1_%s_then_break\t{ CALL see_waiter(); %s; CALL says(\$\$broken_by('s1')\$\$); }\n" "$1" "${1^^}"
}

spec() {
  local open=$1 call
  cat <<SPEC
# Written by test/matrix_writes/generate.sh.
#
# s1 leaves "$open" in an open transaction. Meanwhile s2 makes each call on the same name, at the same isolation level,
# in a transaction whose snapshot is older; and once more after s1 has committed or rolled back. At the end s1 writes
# with the last token that it was told. Both know the current token at the start, of a lease that is live, or has lapsed
# where one of the two calls is acquire, or takes what the other leaves alone; or of the only permit of a semaphore, where
# one of the two is permit. A transfer goes to somebody else. A use waits for a grant that is in flight, a change of data
# for another one's locks, and "wait" for the name; nothing else waits. Who waits is seen to before s1 ends; where that
# leaves the lease live, s1 then breaks it.
# The last step must give 0 rows.

setup
{
  CREATE EXTENSION IF NOT EXISTS gatepost;

  -- Sequences outlive a ROLLBACK and are the same in every snapshot: the token each session was told last, the
  -- transaction in which it wrote (2 x xid) or was granted (2 x xid + 1) last, and how often somebody met what must
  -- exclude him. No column needs a TOAST table: all this is made anew for each permutation.
  CREATE SEQUENCE told_s1;
  CREATE SEQUENCE told_s2;
  CREATE SEQUENCE did_s1;
  CREATE SEQUENCE did_s2;
  CREATE SEQUENCE meetings;
  CREATE SEQUENCE moments;
  CREATE FUNCTION last_of(what text, who text) RETURNS bigint LANGUAGE plpgsql AS \$\$
  DECLARE
    value bigint;
  BEGIN
    EXECUTE format('SELECT last_value FROM %s_%s', what, who) INTO value;
    RETURN value;
  END \$\$;
  CREATE FUNCTION told(who text) RETURNS bigint LANGUAGE sql AS \$\$ SELECT last_of('told', who) \$\$;

  -- What was done, in the order in which it was committed, and the marks that rows had.
  CREATE TABLE done (what varchar(6), token bigint);
  CREATE TABLE committed (n bigint DEFAULT nextval('moments'), what varchar(6), token bigint);
  CREATE FUNCTION note_committed() RETURNS trigger LANGUAGE plpgsql AS \$\$
  BEGIN
    INSERT INTO committed (what, token) VALUES (NEW.what, NEW.token);
    RETURN NULL;
  END \$\$;
  CREATE CONSTRAINT TRIGGER note_committed AFTER INSERT ON done DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION note_committed();

  -- Notes what a session has done, and whether the other one's transaction, still open, has done what excludes it.
  CREATE FUNCTION note(who text, what text, token bigint) RETURNS void LANGUAGE plpgsql AS \$\$
  DECLARE
    granted int := (what = 'grant')::int;
    others bigint := last_of('did', CASE who WHEN 's1' THEN 's2' ELSE 's1' END);
  BEGIN
    INSERT INTO done VALUES (what, token);
    PERFORM setval('did_' || who, 2 * pg_current_xact_id()::text::bigint + granted);
    IF others % 2 <> granted AND pg_xact_status((others / 2)::text::xid8) = 'in progress' THEN
      PERFORM nextval('meetings');
    END IF;
  END \$\$;

  CREATE TABLE protected (id int, part int, writer varchar(6)) PARTITION BY LIST (part);
  CREATE TABLE protected_1 PARTITION OF protected FOR VALUES IN (1);
  CREATE TABLE protected_2 PARTITION OF protected FOR VALUES IN (2);
  INSERT INTO protected VALUES (1, 1, 'nobody');
  SELECT gatepost.fence_protect('protected', lease => 'fenced');
  CREATE TABLE marked (writer varchar(6), fence bigint);
  INSERT INTO marked VALUES ('nobody', NULL);
  SELECT gatepost.fence_protect('marked', lease => 'fenced', fence_column => 'fence');
  CREATE FUNCTION note_mark() RETURNS trigger LANGUAGE plpgsql AS \$\$
  BEGIN
    INSERT INTO committed (what, token) VALUES ('mark', NEW.fence);
    RETURN NULL;
  END \$\$;
  CREATE TRIGGER note_mark AFTER UPDATE ON marked FOR EACH ROW EXECUTE FUNCTION note_mark();

  CREATE FUNCTION changed_by(who text, how text) RETURNS text LANGUAGE plpgsql AS \$\$
  BEGIN
    PERFORM gatepost.fence_use('fenced', told(who));
    CASE how
    WHEN 'write' THEN
      INSERT INTO protected VALUES (2, 1, who);
      UPDATE protected SET writer = who WHERE id = 1;
      DELETE FROM protected WHERE id = 2;
      UPDATE marked SET writer = who;
    WHEN 'move' THEN
      UPDATE protected SET part = 3 - part, writer = who WHERE id = 1;
    WHEN 'truncate' THEN
      TRUNCATE protected;
    END CASE;
    PERFORM note(who, 'change', told(who));
    RETURN 'changed';
  END \$\$;
  CREATE FUNCTION acquired_by(who text, how text) RETURNS text LANGUAGE plpgsql AS \$\$
  DECLARE
    token bigint := CASE how
      WHEN 'acquire' THEN gatepost.lease_acquire('fenced', '1 h')
      WHEN 'wait' THEN gatepost.lease_acquire('fenced', '1 h', '1 h')
      WHEN 'permit' THEN gatepost.semaphore_acquire('fenced', 1, '1 h')
    END;
  BEGIN
    IF token IS NULL THEN
      RETURN NULL;
    END IF;
    PERFORM setval('told_' || who, token);
    PERFORM note(who, 'grant', token);
    RETURN 'granted';
  END \$\$;
  -- The place in the queue that each session may hand the lease to.
  CREATE FUNCTION heir_of(who text) RETURNS uuid LANGUAGE sql AS
    \$\$ SELECT ('6f1c3d3e-0000-4000-8000-00000000000' || right(who, 1))::uuid \$\$;
  CREATE FUNCTION transferred_by(who text) RETURNS text LANGUAGE plpgsql AS \$\$
  DECLARE
    token bigint := gatepost.lease_transfer('fenced', told(who), heir_of(who));
  BEGIN
    IF token IS NULL THEN
      RETURN NULL;
    END IF;
    PERFORM note(who, 'grant', token);
    RETURN 'handed over';
  END \$\$;
  -- While a use is open, breaking draws no token.
  CREATE FUNCTION broken_by(who text) RETURNS text LANGUAGE plpgsql AS \$\$
  DECLARE
    latest bigint := (SELECT token FROM gatepost.leases WHERE name = 'fenced');
    token bigint := gatepost.lease_break('fenced');
  BEGIN
    IF token > latest THEN
      PERFORM note(who, 'grant', token);
    END IF;
    RETURN CASE WHEN token > latest THEN 'broken, new token' WHEN token = latest THEN 'broken' END;
  END \$\$;

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
  -- Comes back when a session waits for the name.
  CREATE PROCEDURE see_waiter() LANGUAGE plpgsql AS \$\$
  BEGIN
    FOR tries IN 1 .. 6000 LOOP
      IF EXISTS (SELECT FROM gatepost.waiters WHERE name = 'fenced' AND pid IS NOT NULL) THEN
        RETURN;
      END IF;
      PERFORM pg_sleep(0.01);
    END LOOP;
    RAISE 'nobody waits';
  END \$\$;
  CREATE PROCEDURE make_semaphore() LANGUAGE plpgsql AS \$\$
  BEGIN
    PERFORM gatepost.lease_break('fenced');
    PERFORM gatepost.lease_purge('0', 'fenced');
    PERFORM setval('told_s2', setval('told_s1', gatepost.semaphore_acquire('fenced', 1, '1 h')));
  END \$\$;
  CREATE PROCEDURE take_snapshot() LANGUAGE plpgsql AS \$\$
  BEGIN
    PERFORM FROM pg_class LIMIT 1;
  END \$\$;

  CREATE VIEW violations AS
  SELECT 'a stale token has changed data' AS violation FROM committed c JOIN committed g ON g.n < c.n AND g.token > c.token
  WHERE c.what = 'change' AND g.what = 'grant'
  UNION ALL
  SELECT 'a grant beside an open use' FROM meetings WHERE is_called
  UNION ALL
  SELECT what || 's do not rise' FROM
    (SELECT what, token - max(token) OVER (PARTITION BY what ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS rise
     FROM committed WHERE what IN ('grant', 'mark')) AS c
  WHERE rise < (what = 'grant')::int
  UNION ALL
  SELECT 'the row is not of the newest token' FROM gatepost.leases
  WHERE name = 'fenced' AND token <> (SELECT max(token) FROM committed WHERE what = 'grant')
  UNION ALL
  SELECT 'in flight, and nobody is in a transaction' FROM gatepost.leases WHERE name = 'fenced' AND state = 'in_flight'
  UNION ALL
  SELECT 'a lock outlives its transaction' FROM pg_locks JOIN pg_stat_activity USING (pid)
  WHERE locktype = 'advisory'
     OR relation = 'gatepost.lease_slots'::regclass AND pid <> pg_backend_pid() AND backend_type = 'client backend';

  SELECT gatepost.lease_release('fenced', gatepost.lease_acquire('fenced', '1 h'));
  SELECT setval('told_s2', setval('told_s1', gatepost.lease_acquire('fenced', '1 h'))) > 0 AS granted;
}

teardown
{
  SELECT gatepost.lease_break('fenced');
  SELECT gatepost.lease_unqueue('fenced', heir_of('s1')), gatepost.lease_unqueue('fenced', heir_of('s2'));
  SELECT gatepost.lease_purge('0', 'fenced');
  DROP VIEW violations;
  DROP TABLE done, committed, protected, marked;
  DROP PROCEDURE says, take_snapshot, see_waiter, make_semaphore;
  DROP FUNCTION note_committed, note_mark, note, changed_by, acquired_by, transferred_by, heir_of, broken_by, told, last_of;
  DROP SEQUENCE told_s1, told_s2, did_s1, did_s2, meetings, moments;
}

session s1
$(begin_steps s1)
$(step s1 "$open")
$([ "$open" = write ] || step s1 write)
$(for end in commit rollback; do end_steps $end; done)

session s2
$(begin_steps s2)
$(for call in "${calls[@]}"; do step s2 "$call"; done)
step s2_commit	{ COMMIT; }

session s3
step semaphore	{ CALL make_semaphore(); }
step heirs	{ CALL says(\$\$gatepost.lease_queue('fenced', heir_of('s1'), '1 h', '5 min') = gatepost.lease_queue('fenced', heir_of('s2'), '1 h', '5 min')\$\$); }
step lapse	{ CALL says(\$\$gatepost.lease_renew('fenced', told('s1'), '1 microsecond')\$\$); }
step check	{ SELECT * FROM violations; }

SPEC
  local call level end
  for call in "${calls[@]}"; do
    for level in "${levels[@]}"; do
      for end in commit rollback; do
        permutation "$open" "$call" "$level" "$end"
        printf 'permutation %s\n' "$marked"
      done
    done
  done
}

# The spec without the steps that no permutation has.
used_steps() {
  awk '
    { line[NR] = $0 }
    /^permutation / { gsub(/\([^)]*\)/, ""); for (i = 2; i <= NF; i++) used[$i] = 1 }
    END { for (n = 1; n <= NR; n++) if (split(line[n], word, /[ \t]/) < 2 || word[1] != "step" || word[2] in used) print line[n] }'
}

# permutation OPEN CALL LEVEL END: sets permutation, and marked, where a step that waits for no lock is told to wait
permutation() {
  local pair=" $1 $2 " before='' end=s1_$4 wait=''
  [[ $pair != *" permit "* ]] || before+='semaphore '
  [[ $pair != *" transfer "* || $pair = *" permit "* ]] || before+='heirs '
  ! lapses "$1" "$2" || before+='lapse '
  if [ "$2/$3" = wait/read_committed ] && [ "$1" != permit ]; then
    wait='(*)'
    if leaves_live "$1" "$4"; then end+=_then_break; else end+=_awaited; fi
  fi
  before+="s1_$3 s2_$3 s1_$1 s2_$2"
  local after=" $end s2_$2 s2_commit s1_write check"
  permutation=$before$after marked=$before$wait$after
}

# lapses OPEN CALL: whether the lease has lapsed when they begin
lapses() {
  case $1/$2 in
  acquire/* | wait/* | permit/*) return 0 ;;
  transfer/* | */transfer) return 1 ;;
  */acquire) return 0 ;;
  renew/* | release/* | break/*) return 1 ;;
  *) [[ $2 = wait || $2 = permit ]] ;;
  esac
}

# leaves_live OPEN END
leaves_live() {
  case $1/$2 in
  acquire/commit | wait/commit | renew/* | transfer/* | release/rollback | break/rollback) return 0 ;;
  *) return 1 ;;
  esac
}

{
  printf 'open\tcall\tlevel\tend\tspec\tpermutation\n'
  for open in "${calls[@]}"; do
    spec "$open" | used_steps >"$out/specs/matrix-protected-$open.spec"
    for call in "${calls[@]}"; do
      for level in "${levels[@]}"; do
        for end in commit rollback; do
          permutation "$open" "$call" "$level" "$end"
          printf '%s\t%s\t%s\t%s\tmatrix-protected-%s\t%s\n' "$open" "$call" "$level" "$end" "$open" "$permutation"
        done
      done
    done
  done
} >"$out/matrix_writes/cells.tsv"

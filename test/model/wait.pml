/* Waiting for one name inside the server: who joins the queue, sleeps, is woken. NW waiters and NO others, who acquire, change,
 * use, lock and purge in K transactions each, and may end by an error at any wait. Every execution is finite, so who is asleep
 * in the end sleeps for ever: the name can always be granted by then. There is no coarse timer, since what stays asleep is what
 * only that would save; the timer of the deadline is there.
 * What a call does under the mutex is one step, since nobody else sees any of it.
 * README.md says which rule of src/ each piece stands for. A rule is left out by -DNAME. */
#ifndef NW
#define NW 2
#endif
#ifndef NO
#define NO 1
#endif
#ifndef K
#define K 2
#endif

#define NONE 9
#define FREE 0
#define LIVE 1
/* what a version in flight is */
#define GRANT 1
#define RENEW 2
#define RELEASE 3
#define PURGE 4

byte cst = LIVE, hold = NW, dver = 1; bit clapsed;      /* the lease; dver counts its deadlines */
byte fwr = NONE, fkind;
byte X, R;                                              /* holder tag: lock, use */
byte q[4]; byte ql;                                     /* waiters tag: the lock manager's list, in order of arrival */
byte queued;                                            /* the same as a set */
bit latch[NW];

#define b    (1 << s)
#define OTH  (255 - (1 << s))
#define freeX (((X | R) & OTH) == 0)
#define freeR ((X & OTH) == 0)

inline wake() {                                         /* the list, then the latch of the first */
  if
  :: atomic { ql > 0 -> h = q[0] }; atomic { latch[h] = 1; h = 0 }
  :: ql == 0
  fi
}
inline enter() { d_step { q[ql] = s; ql++; queued = queued | b } }
inline leave() {
  d_step {
    if
    :: q[0] == s -> q[0] = q[1]; q[1] = q[2]
    :: q[0] != s && q[1] == s -> q[1] = q[2]
    :: else
    fi;
    if :: queued & b -> ql--; q[ql] = 0; queued = queued & OTH :: else fi
  }
}
#define is_first ((queued & before) == 0)

active proctype Clock() {
end:
  do
  :: atomic { cst == LIVE && !clapsed -> clapsed = 1 }
  od
}

proctype Waiter(byte s) {
  byte h, dv, before; bit may, arm;
  if :: may = 0 :: may = 1 fi;          /* 1: its patience may end, or it may be cancelled, at any sleep */
#ifdef JOINED_AT_ONCE
  enter();
  before = queued & OTH;
#else
#ifndef JOINED_LATE
  atomic { enter(); before = queued & OTH };
#endif
#endif
try:
  if
  :: atomic { fwr == NONE && (cst == FREE || clapsed) && freeX -> fwr = s; fkind = GRANT }; goto got
  :: atomic { fwr == NONE && cst == LIVE && !clapsed -> arm = 1; dv = dver }
  :: fwr != NONE || ((cst == FREE || clapsed) && !freeX)
  fi;
#ifdef LATCH_CLEARED_LATE
  latch[s] = 0;
#endif
#ifdef JOINED_LATE
  if :: !(queued & b) -> atomic { enter(); before = queued & OTH } :: else fi;
#endif
  atomic { if :: !is_first -> arm = 0; dv = 0 :: else fi };       /* only the first sleeps to the deadline */
sleep:
  if
  :: atomic { latch[s] -> latch[s] = 0; arm = 0; dv = 0 }; goto try
  :: atomic { arm && cst == LIVE && dver == dv && clapsed -> arm = 0; dv = 0 }; goto try
  :: atomic { may -> arm = 0; dv = 0 }; goto out
  fi;

out:
#ifdef PASSED_ON_TOO_EARLY
  if
  :: atomic { ql > 1 && q[0] == s -> h = q[1] }; atomic { latch[h] = 1; h = 0 }
  :: else
  fi;
  leave();
#elif defined(ONLY_THE_FIRST_PASSES_ON)
  arm = is_first; leave();
  if :: arm -> arm = 0; wake() :: else fi;
#elif defined(LEAVERS_WAKE_NOBODY)
  leave();
#else
  leave(); wake();
#endif
  goto done;

got:
  leave();
#ifdef SERVED_WAKE_TOO_SOON
  wake();                               /* its grant is still in flight */
#endif
  if
  :: atomic { true -> cst = LIVE; hold = s; clapsed = 0; dver++; fwr = NONE; fkind = 0 };
#if !defined(SERVED_WAKE_TOO_SOON) && !defined(COMMIT_WAKES_NOBODY)
     wake()
#endif
  :: atomic { true -> fwr = NONE; fkind = 0 };
#ifndef ROLLBACK_WAKES_NOBODY
     wake();
#endif
     goto done
  fi;
  if
  :: true -> goto done                  /* its client dies: the lease lapses */
#if NW < 3
  :: true
#endif
  fi;
  if
  :: atomic { fwr == NONE && cst == LIVE && hold == s && !clapsed -> fwr = s; fkind = RELEASE };
     atomic { cst = FREE; hold = NONE; fwr = NONE; fkind = 0 };
     wake()
  :: else
  fi;
done: skip
}

proctype Other(byte s) {
  byte h, n; bit touched, stale, had;
again:
  if
  :: n == K -> goto done
  :: n < K -> n++
  fi;
  if
  :: goto o_acquire
  :: goto o_change
  :: atomic { true -> stale = 0 }; goto o_use
  :: atomic { true -> stale = 1 }; goto o_use
  :: goto o_lock
  :: goto o_purge
  :: goto done
  fi;

o_acquire:
  atomic {
    touched = 1;
    if
    :: fwr == NONE && (cst == FREE || clapsed) && freeX -> fwr = s; fkind = GRANT
    :: else
    fi
  };
  goto ending;

o_change:
  atomic {
#ifndef CHANGES_WAKE_NOBODY
    touched = 1;
#endif
    if
    :: fwr == NONE && cst == LIVE && hold == s && !clapsed -> fwr = s; if :: fkind = RENEW :: fkind = RELEASE fi
    :: else
    fi
  };
  goto ending;

o_purge:
  atomic {
    if
    :: fwr == NONE && (cst == FREE || clapsed) && freeX -> fwr = s; fkind = PURGE;
#ifndef PURGES_WAKE_NOBODY
       touched = 1
#endif
    :: else
    fi
  };
  goto ending;

o_use:
  if
  :: fwr != NONE && fwr != s && (fkind == GRANT || fkind == PURGE) ->
     if :: fwr == NONE || (fkind != GRANT && fkind != PURGE) -> goto o_use :: true -> goto aborting fi
  :: !(fwr != NONE && fwr != s && (fkind == GRANT || fkind == PURGE)) && cst == LIVE && !stale ->
     if
     :: atomic { freeR -> R = R | b; touched = 1 };
        if
        :: true -> goto ending
        :: true -> goto o_change        /* use, work, release in one transaction */
        fi
     :: !freeR ->
#if !defined(WAITED_TAGS_WAKE_NOBODY) && !defined(DROPPED_TAGS_WAKE_NOBODY)
        touched = 1;                    /* before the wait */
#endif
        if
        :: freeR -> R = R | b;          /* has it for a moment, or dies with it */
           if
           :: true -> R = R & OTH;
#ifndef DROPPED_TAGS_WAKE_NOBODY
              wake();
#endif
              goto o_use
           :: goto aborting
           fi
        :: goto aborting
        fi
     fi
  :: else -> atomic { stale = 0 }; goto aborting
  fi;

o_lock:
  if
  :: fwr != NONE || (cst == LIVE && !clapsed) ->
     if
     :: atomic { had -> had = 0; X = X & OTH };
#ifndef DROPPED_TAGS_WAKE_NOBODY
        wake()
#endif
     :: !had
     fi;
     goto ending                        /* its patience is over; its transaction goes on */
  :: fwr == NONE && (cst == FREE || clapsed) ->
     if
     :: atomic { had || freeX -> had = 0; X = X | b; touched = 1; if :: cst == LIVE -> cst = FREE; hold = NONE; clapsed = 0 :: else fi };
        goto ending
     :: !had && !freeX ->
#ifndef WAITED_TAGS_WAKE_NOBODY
        touched = 1;
#endif
        if
        :: atomic { freeX -> X = X | b; had = 1 };      /* waited; has it while it looks again, or dies with it */
           if :: goto o_lock :: goto aborting fi
        :: goto aborting
        fi
     fi
  fi;

ending:
  if
  :: goto committing
  :: goto aborting
  :: goto subabort
  fi;

committing:
  atomic {
    if
    :: fwr == s && fkind == GRANT -> cst = LIVE; hold = s; clapsed = 0; dver++
    :: fwr == s && fkind == RENEW -> clapsed = 0; dver++
    :: fwr == s && fkind == RELEASE -> cst = FREE; hold = NONE; clapsed = 0
    :: fwr == s && fkind == PURGE -> cst = FREE; hold = NONE; clapsed = 0
    :: else
    fi;
    if :: fwr == s -> fwr = NONE; fkind = 0 :: else fi
  };
#ifdef COMMIT_WAKES_NOBODY
  touched = 0;
#endif
#ifdef WOKEN_BEFORE_LOCKS_GO
  if :: touched -> touched = 0; wake() :: else fi;
#endif
  atomic { X = X & OTH; R = R & OTH };
  if :: touched -> touched = 0; wake() :: else fi;
  goto again;

aborting:
  atomic { if :: fwr == s -> fwr = NONE; fkind = 0 :: else fi };
  atomic { X = X & OTH; R = R & OTH; had = 0 };
#ifdef ROLLBACK_WAKES_NOBODY
  touched = 0;
#endif
  if :: touched -> touched = 0; wake() :: else fi;
  goto again;

subabort:                               /* to a savepoint, then idle in its transaction for ever */
  atomic { if :: fwr == s -> fwr = NONE; fkind = 0 :: else fi };
  atomic { X = X & OTH; R = R & OTH };
#ifndef SAVEPOINT_WAKES_NOBODY
  if :: touched -> touched = 0; wake() :: else fi;
#endif
done: skip
}

init { atomic {
  byte i;
  for (i : 0 .. NW - 1) { run Waiter(i) }
  for (i : NW .. NW + NO - 1) { run Other(i) }
} }

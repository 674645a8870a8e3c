/* One name: its row, its mutex, its holder tag. Sessions acquire, renew, release, break, hand over, purge, use and lock it in
 * transactions of up to MAXOPS calls that commit or roll back in two steps, visible and then locks gone; with any token that was
 * ever drawn, since tokens travel between processes. A lease lapses at any moment.
 * README.md says which rule of src/ each piece stands for. A rule is left out by -DNAME. */
#ifndef N
#define N 2
#endif
#ifndef MAXTOK
#define MAXTOK 2
#endif
#ifndef MAXOPS
#define MAXOPS 2
#endif

#define NONE  9
/* states of a row */
#define FREE  0          /* none, released, broken */
#define LIVE  1          /* live, or lapsed where the bit is set */
#define SUP   2          /* superseded by a lock */
/* what a version in flight is */
#define GRANT 1
#define CHANGE 2         /* a renewal, a release, a break that draws no token */
#define PURGE 3

byte drawn;                              /* the sequence: does not roll back */
byte ctok, cst; bit clapsed;             /* the settled version */
byte fwr = NONE, ftok, fst, fkind;       /* the version in flight and its writer: of several the latest grant, while there is one */
bit fchg;                                /* beside it, or as it, there is one that is no grant; they are met in any order */
#ifdef SAVEPOINTS
byte ptok, pst, pkind; bit pchg;         /* what its writer had in flight at his savepoint; kind 0: nothing */
byte sp;                                 /* those sessions that have one */
byte puse[N];                            /* the token that they had used by then, and the locks that they had */
byte pX, pS;
#endif
byte mtx = NONE;
/* the holder tag: exclusive lock, shared lock, use of the transaction; locks of the session; an acquire while it writes */
byte X, S, R, sX, sS, A;
/* what the properties need */
byte use[N];             /* the token that the open transaction uses */
byte U;                  /* those sessions */
byte W;                  /* whose open transaction has worked under a session's lock that it then gave back */
byte undecided;          /* who waited for the tag, has it, and has not looked again */
byte dead;               /* every token up to it has been superseded by a committed grant or takeover */
byte top;                /* the highest committed grant */
byte hurt;               /* undecided ones in whose way somebody was refused a free name */

#define b       (1 << s)
#define OTH     (255 - (1 << s))
#define freeX   (((X | S | R | sX | sS | A) & OTH) == 0)
#ifdef SHARED_AS_USE     /* the lock takes the mode of a use */
#define freeS   (((X | sX | A) & OTH) == 0)
#define freeR   (((X | sX | A) & OTH) == 0)
#else
#define freeS   (((X | R | sX | A) & OTH) == 0)
#define freeR   (((X | S | sX | sS | A) & OTH) == 0)
#endif
#define okmode  ((ex && freeX) || (!ex && freeS))
#define foreign (fwr != NONE && fwr != s)
#define vtokist ((fwr == s && ftok == t) || (fwr != s && ctok == t))
#define vstlive ((fwr == s && fst == LIVE) || (fwr != s && cst == LIVE))
#define islive  (vstlive && !(fwr != s && clapsed))
#define good    (vtokist && vstlive)
#define LOCKS   ((X | S | sX | sS) & (255 - undecided))
#define XLOCKS  ((X | sX) & (255 - undecided))
/* somebody's open transaction decides about a use */
#ifdef USE_FLIGHT_IGNORED
#define must_wait false
#elif defined(LAST_VERSION_COUNTS)
#define must_wait (foreign && fkind != CHANGE && !fchg)
#else
#define must_wait (foreign && fkind != CHANGE)
#endif

inline lock_mutex()   { atomic { mtx == NONE -> mtx = s } }
inline unlock_mutex() { mtx = NONE }
inline select_token() {
  if
  :: drawn >= 1 -> t = 1
  :: drawn >= 2 -> t = 2
  :: drawn >= 3 -> t = 3
  fi
}
inline set_tag() {
  if
  :: ex && !ses -> X = X | b
  :: !ex && !ses -> S = S | b
  :: ex && ses -> sX = sX | b
  :: !ex && ses -> sS = sS | b
  fi
}
inline drop_tag() {
  if
  :: ex && !ses -> X = X & OTH
  :: !ex && !ses -> S = S & OTH
  :: ex && ses -> sX = sX & OTH
  :: !ex && ses -> sS = sS & OTH
  fi;
  undecided = undecided & OTH
}
inline no_flight() {
  fwr = NONE; ftok = 0; fst = 0; fkind = 0; fchg = 0;
#ifdef SAVEPOINTS
  ptok = 0; pst = 0; pkind = 0; pchg = 0
#endif
}
/* a rollback to a savepoint does not let go of what an unlock has left to the transaction */
inline keep_by_the_top() {
#if defined(SAVEPOINTS) && !defined(UNLOCK_ROLLED_BACK)
  pX = pX | (sX & b); pS = pS | (sS & b)
#else
  skip
#endif
}
inline forget_savepoint() {
#ifdef SAVEPOINTS
  sp = sp & OTH; puse[s] = 0; pX = pX & OTH; pS = pS & OTH
#else
  skip
#endif
}
inline nobody_beside_a_grant() {
  assert((LOCKS & OTH) == 0);
  assert((U & OTH) == 0);
  assert((W & OTH) == 0)
}

active proctype Clock() {
end:
  do
  :: atomic { cst == LIVE && !clapsed -> clapsed = 1 }
  od
}

proctype Ses(byte s) {
  byte t, n, w;
  bit ex, ses;

idle:
  if
  :: true
  :: atomic { (sX | sS) & b -> sX = sX & OTH; sS = sS & OTH } goto idle         /* advisory_unlock */
  :: atomic { true -> sX = sX & OTH; sS = sS & OTH; goto stop }
  fi;

tx:
  if
#ifdef OWN_RUNG_IGNORED
  :: n < MAXOPS && drawn < MAXTOK -> n++; goto acquire
#else
  :: n < MAXOPS && drawn < MAXTOK && ((sX | sS) & b) == 0 -> n++; goto acquire
#endif
#ifdef CHANGES
  :: n < MAXOPS && drawn > 0 -> n++; goto change
  :: n < MAXOPS && drawn > 0 -> n++; goto purge
#endif
#ifdef TRANSFERS
  :: n < MAXOPS && drawn > 0 && drawn < MAXTOK && ((sX | sS) & b) == 0 -> n++; goto transfer
  :: n < MAXOPS && drawn > 0 && drawn < MAXTOK -> n++; goto break_lease
#endif
  :: n < MAXOPS && drawn > 0 && use[s] == 0 -> n++; goto fence_use
#ifndef NO_LOCKS
  :: n < MAXOPS && (LOCKS & b) == 0 -> atomic { n++; ex = 1 }; goto advisory
#ifndef NO_SHARED
  :: n < MAXOPS && (LOCKS & b) == 0 -> atomic { n++; ex = 0 }; goto advisory
#endif
#ifdef SESSION
#ifdef OWN_CHANGES_IGNORED
  :: n < MAXOPS && (LOCKS & b) == 0 -> atomic { n++; ex = 1; ses = 1 }; goto advisory
#else
  :: n < MAXOPS && (LOCKS & b) == 0 && fwr != s -> atomic { n++; ex = 1; ses = 1 }; goto advisory
#endif
#ifdef UNLOCKED_AT_ONCE
  :: atomic { n > 0 && ((sX | sS) & b) -> W = W | b; sX = sX & OTH; sS = sS & OTH }; goto tx
#else
  :: atomic { n > 0 && ((sX | sS) & b) -> W = W | b; X = X | (sX & b); S = S | (sS & b); keep_by_the_top(); sX = sX & OTH; sS = sS & OTH }; goto tx
#endif
#endif
#endif
#ifdef SAVEPOINTS
  :: n > 0 && n < MAXOPS && (sp & b) == 0 -> goto savepoint
  :: sp & b -> goto rollback_to
#endif
  :: n > 0 -> goto commit
  :: n > 0 -> goto abort
  :: else -> goto idle
  fi;

acquire:
#ifdef NO_MUTEX
  skip;
#else
  lock_mutex();
#endif
  if
#ifdef FLIGHT_IGNORED
  :: !islive && drawn < MAXTOK && fwr != s ->
#else
  :: !foreign && !islive && drawn < MAXTOK ->
#endif
     if
#ifdef GRANTS_BESIDE_USES
     :: true ->
#else
     :: atomic { freeX -> A = A | b };
#endif
#ifdef TAG_PROBED
        A = A & OTH;
#endif
        atomic { assert(!foreign); drawn++; fwr = s; ftok = drawn; fst = LIVE; fkind = GRANT; nobody_beside_a_grant() };
        A = A & OTH
     :: atomic { !freeX ->
          /* what alone is in the way has not looked again, so it may go on to be refused itself */
          if :: fwr == NONE && ((X | S | R | sX | sS | A) & OTH & (255 - undecided)) == 0 -> hurt = hurt | (undecided & OTH) :: else fi }
     fi
  :: else
  fi;
#ifndef NO_MUTEX
  unlock_mutex();
#endif
  goto tx;

change:                                                 /* renew, release; a break beside a use */
  atomic {
    mtx == NONE ->
    select_token();
    if
    :: foreign -> t = 0; goto abort
    :: !foreign && vtokist && islive ->
       if :: fst = LIVE :: fst = FREE fi;
       if :: fwr == s && fkind == GRANT :: else -> fkind = CHANGE fi;
       ftok = t; fwr = s; fchg = 1
    :: else
    fi;
    t = 0
  };
  goto tx;

#ifdef SAVEPOINTS
savepoint:
  atomic {
    sp = sp | b; puse[s] = use[s]; pX = pX | (X & b); pS = pS | (S & b);
    if
    :: fwr == s -> ptok = ftok; pst = fst; pkind = fkind; pchg = fchg
    :: else
    fi
  };
  goto tx;

rollback_to:                                            /* visible, and then the locks gone */
  atomic {
    if
    :: fwr == s && pkind == 0 -> no_flight()
    :: fwr == s && pkind != 0 -> ftok = ptok; fst = pst; fkind = pkind; fchg = pchg; ptok = 0; pst = 0; pkind = 0; pchg = 0
    :: else
    fi;
    if :: use[s] != puse[s] -> use[s] = 0; U = U & OTH :: else fi
  };
  atomic {
    X = X & (OTH | pX); S = S & (OTH | pS); R = R & (OTH | (U & b));
    forget_savepoint()
  };
  goto tx;
#endif

purge:                                                  /* deletes a row that is over, under the tag */
  atomic {
    mtx == NONE ->
    if
    :: !foreign && !islive && ctok != 0 && fwr != s && freeX -> fwr = s; ftok = 0; fst = FREE; fkind = PURGE
    :: else
    fi
  };
  goto tx;

transfer:
  atomic { select_token() };
  lock_mutex();
  if
  :: foreign -> atomic { unlock_mutex(); t = 0 }; goto abort
  :: !foreign && islive && vtokist && drawn < MAXTOK ->
     if
#ifdef TRANSFERS_BESIDE_USES
     :: true ->
#else
     :: atomic { freeX -> A = A | b };
#endif
        atomic { assert(!foreign); drawn++; fwr = s; ftok = drawn; fst = LIVE; fkind = GRANT; nobody_beside_a_grant() };
        A = A & OTH
     :: !freeX
     fi
  :: else
  fi;
  atomic { unlock_mutex(); t = 0 };
  goto tx;

break_lease:
  lock_mutex();
  if
  :: foreign -> unlock_mutex(); goto abort
  :: !foreign && islive && drawn < MAXTOK ->
     if
     :: atomic { freeX -> A = A | b };
        atomic { drawn++; fwr = s; ftok = drawn; fst = FREE; fkind = GRANT };
        A = A & OTH
     :: atomic { !freeX ->                              /* in use: the state only */
          ftok = (fwr == s -> ftok : ctok); fwr = s; fst = FREE; fkind = CHANGE }
     fi
  :: else
  fi;
  unlock_mutex();
  goto tx;

fence_use:
  atomic { select_token() };
fu_short:                                               /* without the mutex: look, tag, look again */
  if
  :: !foreign && good -> skip
  :: else -> goto fu_look
  fi;
  if
  :: atomic { freeR -> R = R | b }
  :: !freeR -> goto fu_look
  fi;
#ifndef SHORT_USE_LOOKS_ONCE
  if
  :: atomic { !foreign && good -> goto fu_used }
  :: atomic { else -> R = R & OTH }
  fi;
#else
  goto fu_used;
#endif
fu_look:
  lock_mutex();
  if
  :: atomic { must_wait -> w = fwr; unlock_mutex() };
     if
     :: atomic { fwr != w -> w = 0 }; goto fu_look
     :: atomic { w = 0; t = 0 }; goto abort             /* cancelled, or found by the deadlock detector */
     fi
  :: !must_wait && good ->
     if
     :: atomic { freeR -> R = R | b };
#ifndef USE_LOOKS_ONCE
        if
        :: atomic { !must_wait && good -> unlock_mutex(); goto fu_used }
        :: atomic { else -> R = R & OTH; unlock_mutex() }; goto fu_look
        fi
#else
        atomic { unlock_mutex(); goto fu_used }
#endif
     :: !freeR -> unlock_mutex();
        if                                              /* waits, has it for a moment, begins again */
        :: atomic { freeR -> R = R | b; undecided = undecided | b };
           atomic { R = R & OTH; undecided = undecided & OTH; hurt = hurt & OTH }; goto fu_short
        :: atomic { t = 0 }; goto abort
        fi
     fi
  :: else -> atomic { unlock_mutex(); t = 0 }; goto abort
  fi;
fu_used:
  atomic {
    use[s] = t; U = U | b; t = 0;
    assert((LOCKS & OTH) == 0)
  };
  goto tx;

advisory:
  lock_mutex();
  if
#ifdef RUNG_FLIGHT_IGNORED
  :: islive ->
#elif defined(RUNG_LEASE_IGNORED)
  :: foreign ->
#else
  :: foreign || islive ->
#endif
     /* who had waited for the tag lets go of it, and under the mutex */
     if
     :: undecided & b ->
#ifdef REFUSED_RUNGS_LINGER
        unlock_mutex();
        atomic { drop_tag(); assert(!(hurt & b)); ex = 0; ses = 0 };
        goto tx
#else
        atomic { drop_tag(); assert(!(hurt & b)); ex = 0; ses = 0; unlock_mutex() };
        goto tx
#endif
     :: else -> atomic { unlock_mutex(); ex = 0; ses = 0 }; goto tx
     fi
  :: else ->
     if
     :: undecided & b -> goto taken
     :: atomic { !(undecided & b) && okmode -> set_tag() }; goto taken
     :: !(undecided & b) && !okmode -> unlock_mutex();
        if
        :: atomic { okmode -> set_tag(); undecided = undecided | b }; goto advisory       /* waited; keeps it while it looks again */
        :: atomic { ex = 0; ses = 0 }; goto tx                                            /* patience is over */
        :: atomic { ex = 0; ses = 0 }; goto abort
        fi
     fi
  fi;
taken:
  atomic {
    assert(!islive);
#ifdef TAKEOVER_UNMARKED
    skip;
#else
    if
    :: vstlive && fwr != s -> cst = SUP; clapsed = 0    /* in place: does not roll back */
    :: else
    fi;
#endif
    undecided = undecided & OTH; hurt = hurt & OTH;
    assert((U & OTH) == 0);
    assert((XLOCKS & OTH) == 0 && (!ex || (LOCKS & OTH) == 0));
    assert(!foreign || fkind != GRANT);
    ex = 0; ses = 0; unlock_mutex()
  };
  goto tx;

commit:
  atomic {
    if
    :: use[s] != 0 -> assert(use[s] > dead); use[s] = 0; U = U & OTH
    :: else
    fi;
    if
    :: (LOCKS & b) && dead < ctok -> dead = ctok      /* work under a lock is committed */
    :: else
    fi;
    if
    :: fwr == s ->
       if
       :: fkind == GRANT ->
          assert(ftok > top); top = ftok;
          nobody_beside_a_grant();
          if :: dead < ftok - 1 -> dead = ftok - 1 :: else fi
       :: else
       fi;
       ctok = ftok; cst = fst; clapsed = 0;
       no_flight()
    :: else
    fi;
    forget_savepoint();
    n = 0; W = W & OTH
  };
  atomic { X = X & OTH; S = S & OTH; R = R & OTH };
  goto idle;

abort:
  atomic {
    if :: fwr == s -> no_flight() :: else fi;
    forget_savepoint();
    use[s] = 0; U = U & OTH; W = W & OTH; n = 0; ex = 0; ses = 0;
    assert(!(LOCKS & (sX | sS) & b && cst == LIVE && !clapsed))   /* a live lease beside a session's lock */
  };
  atomic { X = X & OTH; S = S & OTH; R = R & OTH; undecided = undecided & OTH; hurt = hurt & OTH };
  goto idle;

stop: skip
}

init { atomic {
  byte i;
  for (i : 0 .. N - 1) { run Ses(i) }
} }

/* A semaphore of LIMIT permits: LIGHT slots for permits of weight 1, then one for a heavy permit of weight 2.
 * Sessions acquire, renew, release, break, purge, use and resize in transactions that commit or roll back; a permit lapses at any
 * moment; fence_use takes the short way without the mutex first. README.md says which rule of src/ each piece stands for. */
#ifndef N
#define N 2
#endif
#ifndef LIMIT
#define LIMIT 2
#endif
#ifndef MAXTOK
#define MAXTOK 2
#endif
#ifndef MAXOPS
#define MAXOPS 2
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef LIGHT
#define LIGHT 1          /* slots 0 .. LIGHT - 1 are for permits of weight 1 */
#endif
#define NONE  9

/* states of a row */
#define GONE  0          /* none, or over: never granted, purged, released, broken */
#define LIVE  1          /* live, or lapsed where the bit is set */
#define SUP   2          /* superseded */

#define b     (1 << s)
#define OTH   (255 - (1 << s))

typedef Slot {
  byte tok, st, w; bit lapsed;      /* the settled version */
  byte fwr = NONE, ftok, fst, fw;   /* the version in flight and its writer */
  byte used;                        /* sessions that have the slot's tag for a use */
  byte work;                        /* those whose use has come about */
  bit stale                         /* work under a lock has been committed since the permit lapsed */
};
Slot slot[SLOTS];
byte drawn;
byte mtx = NONE;
byte grants;                        /* slots whose tag the session in the mutex has for a grant */
byte rung;                          /* who has the name's tag exclusive: a set */
byte uses;                          /* who has it for a use: a set */
byte limit = LIMIT, flimit, lwr = NONE;
/* what the properties need */
byte room = LIMIT;                  /* the limit that the latest grant was made under */

#define settled(k)   (slot[k].fwr == NONE || slot[k].fwr == s)
#define foreign(k)   (slot[k].fwr != NONE && slot[k].fwr != s)
#define own(k)       (slot[k].fwr == s)
#define state(k)     (own(k) -> slot[k].fst : slot[k].st)
#define token(k)     (own(k) -> slot[k].ftok : slot[k].tok)
#define weight(k)    (own(k) -> slot[k].fw : slot[k].w)
#define lapsed(k)    (!own(k) && slot[k].lapsed)
#define is_live(k)   (state(k) == LIVE && !lapsed(k))
#define good(k)      (token(k) == t && state(k) == LIVE)
#define used_elsewhere(k) ((slot[k].used & OTH) != 0)
#define slot_free(k) ((slot[k].used & OTH) == 0)

/* What counts as a permit that somebody can work under: live, granted in flight, or used by an open transaction. Whether a
 * session holds its own is the same to the sum, so it is over all. */
#define fits ((sum) <= room)
#define max2(x, y)   ((x) > (y) -> (x) : (y))
#define held(k)      ((slot[k].st == LIVE && !slot[k].lapsed) || slot[k].work != 0 -> slot[k].w : 0)
#define coming(k)    (slot[k].fwr != NONE && slot[k].fst == LIVE && slot[k].ftok != slot[k].tok -> slot[k].fw : 0)
#define counts(k)    max2(held(k), coming(k))
#if SLOTS == 3
#define sum          (counts(0) + counts(1) + counts(2))
#else
#define sum          (counts(0) + counts(1))
#endif

inline lock_mutex()   { atomic { mtx == NONE -> mtx = s } }
inline unlock_mutex() { mtx = NONE }

active proctype Clock() {
  byte k;
end:
  do
  :: atomic { slot[0].st == LIVE && !slot[0].lapsed -> slot[0].lapsed = 1 }
  :: atomic { slot[1].st == LIVE && !slot[1].lapsed -> slot[1].lapsed = 1 }
#if SLOTS == 3
  :: atomic { slot[2].st == LIVE && !slot[2].lapsed -> slot[2].lapsed = 1 }
#endif
  od
}

#define smaller    (lwr != NONE && flimit < limit -> flimit : limit)
#ifndef RESIZE_IN_FLIGHT_UNSEEN
#define in_force   (lwr == s -> flimit : smaller)
#else
#define in_force   (lwr == s -> flimit : limit)
#endif
#define wanted(k)  ((want == 2 && k >= LIGHT) || (want == 1 && k < LIGHT && k < in_force))

/* Search::count: what the slot takes from the limit, and whether it is to be superseded by a grant. */
inline count(k) {
  if
  :: foreign(k) ->
     c = (slot[k].st == LIVE && !slot[k].lapsed -> slot[k].w : 0);
#ifndef PERMITS_IN_FLIGHT_FREE
     c = (slot[k].fst == LIVE && slot[k].fw > c -> slot[k].fw : c);
#endif
#ifndef RETURNING_PERMITS_UNCOUNTED
     /* rolled back, a permit that has lapsed meanwhile is good for a use again; and who ends it may use it */
     if
     :: (slot[k].st == LIVE && slot[k].lapsed) || used_elsewhere(k) -> c = max2(slot[k].w, c)
     :: else
     fi;
#endif
     taken = taken + c
  :: !foreign(k) && is_live(k) -> taken = taken + weight(k)
  :: else ->
     if
     :: wanted(k) && free == NONE && slot_free(k) -> free = k
#ifndef USED_PERMITS_UNCOUNTED
     :: !(wanted(k) && free == NONE && slot_free(k)) && token(k) != 0 && used_elsewhere(k) -> taken = taken + weight(k)
#endif
     :: else ->
        if
        :: state(k) == LIVE -> over = over | (1 << k)      /* lapsed */
        :: else
        fi
     fi
  fi;
  c = 0
}

proctype Ses(byte s) {
  byte n, t, k, want, taken, free = NONE, over, c, w;
  bit wrote;               /* has ended a permit: what it then acquires or locks comes and goes with that, and is left out */

next:
  if
  :: n < MAXOPS && drawn < MAXTOK && !wrote && (uses & b) == 0 -> atomic { n++; want = 1 }; goto acquire
#ifndef NO_HEAVY
  :: n < MAXOPS && drawn < MAXTOK && !wrote && (uses & b) == 0 -> atomic { n++; want = 2 }; goto acquire
#endif
  :: n < MAXOPS && drawn > 0 -> n++; goto end_permit
#ifndef NO_PURGE
  :: n < MAXOPS && drawn > 0 -> n++; goto purge
#endif
  :: n < MAXOPS && drawn > 0 && (uses & b) == 0 && (rung & b) == 0 -> n++; goto fence_use
#ifdef RUNGS
  :: n < MAXOPS && (rung & b) == 0 && (uses & b) == 0 && !wrote -> n++; goto advisory
#endif
#ifdef RESIZE
  :: n < MAXOPS -> n++; goto resize
#endif
  :: n > 0 -> goto commit
  :: n > 0 -> goto abort
  fi;

acquire:
  atomic {
    mtx == NONE -> mtx = s;
    free = NONE; taken = 0; over = 0;
    for (k : 0 .. SLOTS - 1) { count(k) }
    k = 0;
    if
    :: free != NONE && taken + want <= in_force -> grants = 1 << free
#ifdef PERMITS_UNCOUNTED
    :: free != NONE && taken + want > in_force -> grants = 1 << free
#endif
    :: else -> free = NONE
    fi;
    taken = 0
  };
  if
  :: free == NONE || (rung & OTH) -> goto acquired
  :: else
  fi;
  /* each slot that is over and not granted again: its tag, the mark in place, let go */
#ifndef LAPSED_PERMITS_KEPT
  do
  :: atomic { over & 1 -> if :: slot_free(0) -> slot[0].st = SUP; slot[0].lapsed = 0; over = over & 254 :: else -> goto acquired fi }
  :: atomic { over & 2 -> if :: slot_free(1) -> slot[1].st = SUP; slot[1].lapsed = 0; over = over & 253 :: else -> goto acquired fi }
#if SLOTS == 3
  :: atomic { over & 4 -> if :: slot_free(2) -> slot[2].st = SUP; slot[2].lapsed = 0; over = over & 251 :: else -> goto acquired fi }
#endif
  :: over == 0 -> break
  od;
#endif
#ifdef SLOTS_UNTAGGED
  grants = 0;
#endif
  atomic {
    drawn++;
    slot[free].fwr = s; slot[free].ftok = drawn; slot[free].fst = LIVE; slot[free].fw = want;
    room = (lwr == s -> flimit : smaller);
    assert(fits);                                /* no more permits than there are */
    assert((rung & OTH) == 0)
  };
acquired:
  atomic { grants = 0; over = 0; want = 0; free = NONE; k = 0; unlock_mutex() };
  goto next;

end_permit:                                             /* release or break; or a renewal, which leaves it live */
  atomic {
    mtx == NONE ->
    if :: t = 1 :: drawn > 1 -> t = 2 :: drawn > 2 -> t = 3 fi;
    for (k : 0 .. SLOTS - 1) {
      if
      :: foreign(k) && slot[k].tok == t -> break        /* LG010 */
      :: settled(k) && token(k) == t && is_live(k) ->
         c = weight(k);
         slot[k].fw = c; slot[k].ftok = t; slot[k].fst = GONE; slot[k].fwr = s;
         wrote = 1; c = 0; break
      :: else
      fi
    }
    k = 0; t = 0
  };
  goto next;

purge:                                                  /* a slot that is over, not in flight and not in use */
  lock_mutex();
  if
  :: atomic { settled(0) && token(0) != 0 && !is_live(0) && slot_free(0) -> k = 0 }
  :: atomic { settled(1) && token(1) != 0 && !is_live(1) && slot_free(1) -> k = 1 }
#if SLOTS == 3
  :: atomic { settled(2) && token(2) != 0 && !is_live(2) && slot_free(2) -> k = 2 }
#endif
  :: atomic { true -> unlock_mutex() }; goto next
  fi;
#ifndef PURGES_PROBE
  if
  :: atomic { slot_free(k) -> wrote = 1; slot[k].fwr = s; slot[k].ftok = 0; slot[k].fst = GONE; slot[k].fw = slot[k].w }
  :: atomic { !slot_free(k) }
  fi;
#else
  atomic { wrote = 1; slot[k].fwr = s; slot[k].ftok = 0; slot[k].fst = GONE; slot[k].fw = slot[k].w };
#endif
  atomic { k = 0; unlock_mutex() };
  goto next;

resize:
  atomic {
    mtx == NONE ->
    if
    :: lwr == NONE -> lwr = s; flimit = (limit == LIMIT -> LIMIT - 1 : LIMIT)
    :: else
    fi
  };
  goto next;

#ifdef RUNGS
advisory:
  lock_mutex();
  atomic {
    w = 0;
    for (k : 0 .. SLOTS - 1) {
      if
      :: foreign(k) || is_live(k) -> w = 1
      :: else
      fi
    }
    k = 0;
    if
    :: !w && (rung & OTH) == 0 && (uses & OTH) == 0 -> rung = rung | b
    :: else -> w = 1
    fi
  };
  if
  :: atomic { w == 0 ->
#ifndef PERMITS_UNMARKED
       for (k : 0 .. SLOTS - 1) {
         if :: state(k) == LIVE && !own(k) -> slot[k].st = SUP; slot[k].lapsed = 0 :: else fi
       }
       k = 0;
#endif
       assert(sum == 0) }
  :: atomic { w == 1 -> w = 0 }
  fi;
  unlock_mutex();
  goto next;
#endif

fence_use:
  atomic { if :: t = 1 :: drawn > 1 -> t = 2 :: drawn > 2 -> t = 3 fi };
#ifndef NO_SHORT_USE
  /* the short way: look, tags, look again, without the mutex */
  if
  :: atomic { good(0) && settled(0) -> k = 0 }
  :: atomic { good(1) && settled(1) -> k = 1 }
#if SLOTS == 3
  :: atomic { good(2) && settled(2) -> k = 2 }
#endif
  :: else -> goto long_way
  fi;
  if
  :: atomic { (rung & OTH) == 0 && !((grants >> k) & 1) -> uses = uses | b; slot[k].used = slot[k].used | b }
  :: atomic { (rung & OTH) != 0 || ((grants >> k) & 1) -> k = 0 }; goto long_way
  fi;
#ifdef SHORT_USE_LOOKS_ONCE
  goto used;
#else
  if
  :: atomic { settled(k) && good(k) -> goto used }
  :: atomic { else -> slot[k].used = slot[k].used & OTH; uses = uses & OTH; k = 0 }
  fi;
#endif
#endif
long_way:
  atomic {
    mtx == NONE ->
    for (k : 0 .. SLOTS - 1) {
      if
      :: token(k) == t || (foreign(k) && slot[k].ftok == t) -> break
      :: else
      fi
    }
    if
    :: k == SLOTS -> k = 0; t = 0; goto abort
    :: k < SLOTS && foreign(k) && slot[k].ftok != slot[k].tok -> w = slot[k].fwr
    :: k < SLOTS && !(foreign(k) && slot[k].ftok != slot[k].tok) && good(k) && (rung & OTH) == 0 ->
       uses = uses | b; slot[k].used = slot[k].used | b; goto used
    :: k < SLOTS && !(foreign(k) && slot[k].ftok != slot[k].tok) && good(k) && (rung & OTH) != 0 -> w = NONE
    :: else -> k = 0; t = 0; goto abort
    fi
  };
  if
  :: atomic { (w != NONE && slot[k].fwr != w) || (w == NONE && (rung & OTH) == 0) -> w = 0; k = 0; goto long_way }
  :: atomic { w = 0; k = 0; t = 0; goto abort }         /* cancelled, or found by the deadlock detector */
  fi;
used:
  atomic { slot[k].work = slot[k].work | b; assert(fits); assert(!slot[k].stale); assert((rung & OTH) == 0); k = 0; t = 0 };
  goto next;

commit:
  atomic {
    for (k : 0 .. SLOTS - 1) {
      if
      :: own(k) ->
         if
         :: slot[k].fst == LIVE && slot[k].ftok != slot[k].tok -> assert((slot[k].work & OTH) == 0)
         :: else
         fi;
         slot[k].tok = slot[k].ftok; slot[k].st = slot[k].fst; slot[k].w = slot[k].fw; slot[k].lapsed = 0; slot[k].stale = 0;
         slot[k].fwr = NONE; slot[k].ftok = 0; slot[k].fst = 0; slot[k].fw = 0
      :: !own(k) && (rung & b) && slot[k].st == LIVE -> slot[k].stale = 1
      :: else
      fi
    }
    k = 0;
    if :: lwr == s -> limit = flimit; lwr = NONE; flimit = 0 :: else fi;
    goto gone
  };
abort:
  atomic {
    for (k : 0 .. SLOTS - 1) {
      if
      :: own(k) -> slot[k].fwr = NONE; slot[k].ftok = 0; slot[k].fst = 0; slot[k].fw = 0
      :: else
      fi
    }
    k = 0;
    if :: lwr == s -> lwr = NONE; flimit = 0 :: else fi;
gone:
    for (k : 0 .. SLOTS - 1) { slot[k].used = slot[k].used & OTH; slot[k].work = slot[k].work & OTH;
      if :: slot[k].fwr == NONE && slot[k].st == GONE && slot[k].used == 0 -> slot[k].tok = 0; slot[k].w = 0 :: else fi   /* as if purged */
    }
    k = 0; uses = uses & OTH; rung = rung & OTH; n = 0; wrote = 0
  };
  goto next
}

init { atomic {
  byte i;
  for (i : 0 .. N - 1) { run Ses(i) }
} }

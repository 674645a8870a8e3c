/* One name that is a lease's or a semaphore's, as its row says, and that changes from one to the other by a purge. Sessions
 * acquire a lease or a permit, use it, release it, purge and lock, in transactions of up to MAXOPS calls. All under the mutex,
 * each call in one step. What must not be: a lease and a permit beside each other, or either beside a use of the other's token
 * or a lock. README.md says which rule of src/ each piece stands for. */
#ifndef N
#define N 2
#endif
#ifndef MAXOPS
#define MAXOPS 2
#endif
#define NONE 9
#define NO_ROW 0
#define LEASE 1            /* the row of slot 0: a lease; or the limit of a semaphore */
#define LIMIT 2
#define OVER 0
#define LIVE 1
#define b    (1 << s)
#define OTH  (255 - (1 << s))

byte kind, state;          /* slot 0, settled */
byte fwr = NONE, fkind, fstate;
byte permit;               /* slot 1, settled: OVER or LIVE where there is a row */
bit row1, lapsed1;         /* its row; it has lapsed */
bit lapsed;
byte fwr1 = NONE, fpermit; bit frow1;
byte leaseuse, permituse, X;      /* the name's tag, by whom: uses of the lease, of the permit, a lock */

#define foreign  (fwr != NONE && fwr != s)
#define foreign1 (fwr1 != NONE && fwr1 != s)
#define vkind    (fwr == s -> fkind : kind)
#define vlive    ((fwr == s -> fstate : state) == LIVE && !(fwr != s && lapsed))
#define vrow1    (fwr1 == s -> frow1 : row1)
#define vlive1   (vrow1 && (fwr1 == s -> fpermit : permit) == LIVE && !(fwr1 != s && lapsed1))
#define tagged   (((leaseuse | permituse | X) & OTH) != 0)
/* what a look at slot 0 says: another transaction may be about to make the name a lease's */
#ifdef NEW_KIND_UNSEEN
#define becomes_lease false
#else
#define becomes_lease (foreign && kind == LIMIT && fkind == LEASE)
#endif
#define is_semaphore ((vkind == LIMIT && !becomes_lease) || (vkind == NO_ROW && !foreign && (row1 || fwr1 != NONE)))

/* somebody's lease or permit, as long as it may be worked under */
#define lease_held   ((kind == LEASE && state == LIVE && !lapsed && (fwr == NONE || fstate == LIVE)) || (fwr != NONE && fkind == LEASE && fstate == LIVE) || leaseuse)
#define permit_held  ((row1 && permit == LIVE && !lapsed1 && (fwr1 == NONE || fpermit == LIVE)) || (fwr1 != NONE && frow1 && fpermit == LIVE) || permituse)
#define exclusive    assert(!(lease_held && permit_held) && !(X && (lease_held || permit_held)))

active proctype Clock() {
end:
  do
  :: atomic { kind == LEASE && state == LIVE && !lapsed -> lapsed = 1 }
  :: atomic { row1 && permit == LIVE && !lapsed1 -> lapsed1 = 1 }
  od
}

proctype Ses(byte s) {
  byte n;
next:
  if
  :: n == MAXOPS
  :: atomic { n < MAXOPS && ((leaseuse | permituse | X) & b) == 0 ->                 /* lease_acquire */
       n++;
       if
       :: !foreign && !is_semaphore && !(vkind == LEASE && vlive) && !tagged ->
          fwr = s; fkind = LEASE; fstate = LIVE; exclusive
       :: else
       fi };
     goto next
  :: atomic { n < MAXOPS && ((leaseuse | permituse | X) & b) == 0 ->                 /* semaphore_acquire, one permit */
       n++;
       if
       :: vkind == LEASE || becomes_lease || (foreign && fkind == NO_ROW)            /* LG006; not settled; being purged */
       :: !(vkind == LEASE || becomes_lease || (foreign && fkind == NO_ROW)) && !foreign1 && !vlive1 &&
          ((permituse | X) & OTH) == 0 ->
#ifdef KIND_IN_FLIGHT_COUNTED
          skip;
#else
          if :: foreign && kind == NO_ROW && fkind == LEASE -> goto next :: else fi;
#endif
          fwr1 = s; frow1 = 1; fpermit = LIVE;
          if :: vkind == NO_ROW && !foreign -> fwr = s; fkind = LIMIT; fstate = OVER :: else fi;
          exclusive
       :: else
       fi };
     goto next
  :: atomic { n < MAXOPS && !foreign && vkind == LEASE && vlive -> n++; fkind = LEASE; fstate = OVER; fwr = s }; goto next
  :: atomic { n < MAXOPS && !foreign1 && vlive1 -> n++; frow1 = 1; fpermit = OVER; fwr1 = s }; goto next
  :: atomic { n < MAXOPS && !foreign && vkind == LEASE && (fwr == s -> fstate : state) == LIVE && (X & OTH) == 0 ->
       n++; leaseuse = leaseuse | b; exclusive }; goto next                          /* fence_use */
  :: atomic { n < MAXOPS && !foreign1 && vrow1 && (fwr1 == s -> fpermit : permit) == LIVE && (X & OTH) == 0 ->
       n++; permituse = permituse | b; exclusive }; goto next
  :: atomic { n < MAXOPS && (leaseuse & b) == 0 && (permituse & b) == 0 ->                                                /* lease_purge */
       n++;
       if
       :: is_semaphore ->
          if :: !foreign1 && vrow1 && !vlive1 && (permituse & OTH) == 0 -> fwr1 = s; frow1 = 0; fpermit = OVER :: else fi;
          /* the row that keeps a limit goes last */
          if :: !foreign && vkind == LIMIT && !foreign1 && !vrow1 -> fwr = s; fkind = NO_ROW; fstate = OVER :: true fi   /* or is too young */
#ifdef USED_LEASES_PURGED
       :: !is_semaphore && !foreign && vkind == LEASE && !vlive -> fwr = s; fkind = NO_ROW; fstate = OVER
#else
       :: !is_semaphore && !foreign && vkind == LEASE && !vlive && !tagged -> fwr = s; fkind = NO_ROW; fstate = OVER
#endif
       :: else
       fi };
     goto next
  :: atomic { n < MAXOPS && ((leaseuse | permituse | X) & b) == 0 ->                 /* a lock */
       n++;
       if
       :: is_semaphore && !foreign1 && !vlive1 && !tagged -> X = X | b;
          if :: fwr1 != s && row1 -> permit = OVER; lapsed1 = 0 :: else fi; exclusive
       :: !is_semaphore && !foreign && !(vkind == LEASE && vlive) && !tagged -> X = X | b;
          if :: fwr != s && kind == LEASE -> state = OVER; lapsed = 0 :: else fi; exclusive
       :: else
       fi };
     goto next
  :: n > 0
  fi;
  if
  :: atomic { true ->                                                                /* commit */
       if :: fwr == s -> kind = fkind; state = fstate; lapsed = 0 :: else fi;
       if :: fwr1 == s -> row1 = frow1; permit = fpermit; lapsed1 = 0 :: else fi }
  :: true
  fi;
  atomic {
    if :: fwr == s -> fwr = NONE; fkind = 0; fstate = 0 :: else fi;
    if :: fwr1 == s -> fwr1 = NONE; frow1 = 0; fpermit = 0 :: else fi;
    leaseuse = leaseuse & OTH; permituse = permituse & OTH; X = X & OTH; n = 0;
    exclusive
  };
  goto next
}

init { atomic {
  byte i;
  for (i : 0 .. N - 1) { run Ses(i) }
} }

/* lease_acquire_all: each caller wants several names, takes them one after the other with one mutex at a time, and takes all or
 * none: it rolls back what it has at the first that is busy. With WAIT it then stands in the queue of that one name, holding
 * nothing, and tries again when it is woken; who has all gives them back and wakes.
 * Without WAIT: of callers that meet at names that are free, one is served. With WAIT: nobody is asleep in the end.
 * README.md says which rule of src/ each piece stands for. */
#define N 3
#define NAMES 3
#define NONE 9
#define b (1 << s)
byte holder[NAMES] = NONE;       /* in flight or live: busy for others */
byte queue[NAMES];               /* who waits, a set */
bit latch[N];
byte served, refused;

/* what each wants, in the order in which it is taken: callers name them as they like, and one order is made of it */
#ifdef ALL_IN_CALLERS_ORDER
#define want(k) ((s + k) % NAMES)
#else
#define want(k) (s == 2 -> (k == 0 -> 0 : 2) : s + k)
#endif

inline wake(a) {
  if
  :: queue[a] & 1 -> latch[0] = 1
  :: !(queue[a] & 1) && (queue[a] & 2) -> latch[1] = 1
  :: !(queue[a] & 3) && (queue[a] & 4) -> latch[2] = 1
  :: else
  fi
}

proctype Ses(byte s) {
  byte k, n, first, stands = NONE;
again:
  latch[s] = 0;
  /* the look at all, without any mutex: who is refused takes nothing */
  atomic {
    if
    :: holder[want(0)] != NONE -> n = want(0)
    :: holder[want(0)] == NONE && holder[want(1)] != NONE -> n = want(1)
    :: else -> n = NONE
    fi
  };
  if :: n != NONE -> goto busy :: else fi;
  k = 0;
  do
  :: k < 2 -> n = want(k);
     if
     :: atomic { holder[n] == NONE -> holder[n] = s; k++ }
     :: holder[n] != NONE ->
        atomic {
#ifndef ALL_TAKEN_IN_PART
          if :: k == 1 -> holder[want(0)] = NONE; first = want(0); wake(first) :: else fi;
#endif
          k = 0 };
        goto busy
     fi
  :: k == 2 -> break
  od;
  assert(holder[want(0)] == s && holder[want(1)] == s);
  served++;
#ifdef WAIT
  atomic { if :: stands != NONE -> queue[stands] = queue[stands] & (255 - b); stands = NONE :: else fi };
  atomic { holder[want(0)] = NONE; first = want(0); wake(first); holder[want(1)] = NONE; first = want(1); wake(first) };
#endif
  goto done;
busy:
#ifdef WAIT
#ifdef ALL_TAKEN_IN_PART
  assert(holder[want(0)] != s);
#endif
  if
  :: stands == n -> latch[s]; goto again
  :: stands != n ->
     atomic {
#ifndef QUEUES_KEPT
       if :: stands != NONE -> queue[stands] = queue[stands] & (255 - b); wake(stands) :: else fi;
#endif
       stands = n; queue[n] = queue[n] | b
     };
     goto again
  fi;
#else
  refused++;
  assert(refused < N);
  assert(holder[0] != s && holder[1] != s && holder[2] != s);
#endif
done: skip
}

init { atomic {
  byte i;
  for (i : 0 .. N - 1) { run Ses(i) }
} }

/* One order for those who wait inside the server and outside. NI insiders join the list of sessions; NJ outsiders write a row that
 * stores who waited inside just then, and commit it later. The holder releases the lease in a transaction, which is when the first
 * outside is told, or it lapses, of which nobody is told. For a while after a release the name is the first's: whoever asks and
 * is not, holds back. Each look and write under the mutex is one step. README.md says which rule of src/ each piece stands for. */
#ifndef NI
#define NI 2
#endif
#ifndef NJ
#define NJ 1
#endif
#define NONE 9
#define HELD 0
#define RELEASED 1         /* a moment ago */
#define FREE 2             /* longer ago, or lapsed: everybody's */
#define TAKEN 3
#define b   (1 << s)

byte lease = HELD;
byte inside;               /* the sessions that wait now */
byte before[NI];           /* who was there when one joined */
byte rows;                 /* the places that are settled: written, and committed */
byte arrival[NJ], listed[NJ], drawn;
byte told;                 /* outsiders who have been told since the release */
byte rank[NI + NJ], ranks; /* the order in which all of them came: what the properties need */

/* the first place: the lowest arrival of those that are settled */
#if NJ == 1
#define head  ((rows & 1) -> 0 : NONE)
#define list  listed[0]
#else
#define head  ((rows & 1) && (!(rows & 2) || arrival[0] < arrival[1]) -> 0 : ((rows & 2) -> 1 : NONE))
#define list  (head == 0 -> listed[0] : listed[1])
#endif
#ifdef INSIDERS_FORGOTTEN
#define insider_before false
#else
#define insider_before ((list & inside) != 0)
#endif
#define outside_first (rows != 0 && !insider_before)

#ifdef OUTSIDERS_OVERTAKEN
#define not_mine false
#else
#define not_mine (outside_first && !((list >> s) & 1))
#endif

/* earlier = 1: somebody who counts came before who */
inline look_for_earlier(who) {
  earlier = 0;
  for (i : 0 .. NI + NJ - 1) {
    if
    :: i != who && rank[i] != 0 && rank[i] < rank[who] &&
       ((i < NI && ((inside >> i) & 1)) || (i >= NI && ((rows >> (i - NI)) & 1))) -> earlier = 1
    :: else
    fi
  }
  i = 0
}

/* Whoever frees the name, or leaves it free, tells those outside when the first is one of them. */
inline tell() {
#if !defined(NOBODY_NOTIFIED)
  told = (outside_first -> rows : told);
#endif
  if
  :: head != NONE -> look_for_earlier(NI + head); assert(earlier || told == rows)
  :: else
  fi;
  earlier = 0
}

active proctype Holder() {
  byte i; bit earlier;
  if
  :: atomic { lease == HELD -> tell() }; atomic { lease = RELEASED }
  :: lease = FREE                                   /* lapsed */
  fi;
  if
  :: atomic { lease == RELEASED -> lease = FREE }   /* the time of those who are called is over */
  :: lease != RELEASED
  fi
}

proctype Insider(byte s) {
  byte i; bit earlier, asked;
  atomic { ranks++; rank[s] = ranks; before[s] = inside; inside = inside | b };
  do
  :: atomic { lease == RELEASED && !not_mine && (inside & before[s]) == 0 ->
       look_for_earlier(s); assert(!earlier);
       lease = TAKEN; inside = inside & (255 - b); break }
  :: atomic { lease == RELEASED && !asked && (not_mine || (inside & before[s]) != 0) ->     /* holds back */
       look_for_earlier(s); assert(earlier); earlier = 0; asked = 1 }
  :: atomic { lease == FREE -> lease = TAKEN; inside = inside & (255 - b); break }
  :: atomic { lease == TAKEN -> inside = inside & (255 - b); break }
  :: atomic { true -> inside = inside & (255 - b); break }                                  /* leaves */
  od
}

proctype Outsider(byte j) {
  byte i; bit earlier, asked;
  atomic {                                          /* lease_queue, under the mutex; its commit */
    ranks++; rank[NI + j] = ranks; drawn++; arrival[j] = drawn; listed[j] = inside
  };
  rows = rows | (1 << j);
  do
  :: atomic { lease == RELEASED && ((told >> j) & 1) && head == j && outside_first ->
       look_for_earlier(NI + j); assert(!earlier);
       lease = TAKEN; rows = rows & (255 - (1 << j)); break }
  :: atomic { lease == RELEASED && ((told >> j) & 1) && !asked && !(head == j && outside_first) ->
       look_for_earlier(NI + j); assert(earlier); earlier = 0; asked = 1 }
  :: atomic { lease == FREE -> lease = TAKEN; rows = rows & (255 - (1 << j)); break }       /* by its own timer */
  :: atomic { lease == TAKEN -> rows = rows & (255 - (1 << j)); break }
  :: atomic { true -> rows = rows & (255 - (1 << j));                                       /* gives its place up */
#ifndef LEAVERS_CALL_NOBODY
       if :: lease == RELEASED -> tell() :: else fi;
#else
       if :: lease == RELEASED && head != NONE -> look_for_earlier(NI + head); assert(earlier || told & (1 << head)) :: else fi;
#endif
       break }
  od
}

/* Somebody who does not wait. */
active proctype Passer() {
  if
  :: atomic { lease == RELEASED && inside == 0 && rows == 0 -> lease = TAKEN }
  :: atomic { lease == FREE -> lease = TAKEN }
  :: lease == TAKEN
  fi
}

init { atomic {
  byte k;
  for (k : 0 .. NI - 1) { run Insider(k) }
  for (k : 0 .. NJ - 1) { run Outsider(k) }
} }

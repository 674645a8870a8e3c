/* Two names, two sessions: each holds one and waits for the other, asleep, where the deadlock detector does not see it. HOW they
 * hold it: 1 a use, grant or lock of the open transaction, 2 a session's lock of an earlier one, 3 a committed lease. Who has
 * anything of the first two is refused the wait. */
#ifndef HOW
#define HOW 1
#endif
byte holder[2] = 9;
bit lapsed[2];
#ifdef FULL_HANDS_WAIT
#define free_hands true
#elif defined(SESSION_LOCKS_WAIT)
#define free_hands (HOW != 1)
#else
#define free_hands (HOW == 3)
#endif
proctype Ses(byte mine) {
  byte other = 1 - mine;
  atomic { holder[mine] == 9 -> holder[mine] = mine };
  if
  :: !free_hands
  :: free_hands -> atomic { holder[other] == 9 || lapsed[other] -> holder[other] = mine }; holder[other] = 9
  fi;
  atomic { if :: holder[mine] == mine -> holder[mine] = 9 :: else fi }
}
active proctype Clock() {
end:
  do
  :: atomic { HOW == 3 && holder[0] != 9 && !lapsed[0] -> lapsed[0] = 1 }
  :: atomic { HOW == 3 && holder[1] != 9 && !lapsed[1] -> lapsed[1] = 1 }
  od
}
init { atomic { run Ses(0); run Ses(1) } }

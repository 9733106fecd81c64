// SPDX-License-Identifier: Apache-2.0
// Loaded before a program (LD_PRELOAD): the date jumps by two hours every second, forth and back. Clocks that count from the
// start of the machine are left alone.
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t step(void) {
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return now.tv_sec % 2 == 0 ? 3600 : -3600;
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  const int result = (int)syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI)) now->tv_sec += step();
  return result;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  (void)zone;
  struct timespec date;
  clock_gettime(CLOCK_REALTIME, &date);
  now->tv_sec = date.tv_sec;
  now->tv_usec = date.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* place) {
  struct timespec date;
  clock_gettime(CLOCK_REALTIME, &date);
  if (place != NULL) *place = date.tv_sec;
  return date.tv_sec;
}

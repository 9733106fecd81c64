// SPDX-License-Identifier: Apache-2.0
// Holds the namespaces of a pod: waits, and takes in the children of those that ended.
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(int number) {
  _exit(number == SIGTERM ? 0 : 128 + number);
}

static void reap(int number) {
  (void)number;
  while (waitpid(-1, NULL, WNOHANG) > 0)
    continue;
}

int main(void) {
  struct sigaction action = {.sa_handler = end};
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGINT, &action, NULL);
  action.sa_handler = reap;
  action.sa_flags = SA_NOCLDSTOP | SA_RESTART;
  sigaction(SIGCHLD, &action, NULL);
  while (1)
    pause();
}

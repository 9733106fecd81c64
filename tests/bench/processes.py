# SPDX-License-Identifier: Apache-2.0
"""Resources of processes, read from /proc."""

import os
import re
import threading
import time

TICKS = os.sysconf("SC_CLK_TCK")


def product(pid):
    """The agent and its helpers, without the player of the simulated machine."""
    own = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
            own += [int(word) for word in file.read().split()]
    program = os.readlink(f"/proc/{pid}/exe")
    return [pid] + [child for child in own if os.readlink(f"/proc/{child}/exe") == program]


def pss_mib(pids):
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            total += int(re.search(r"^Pss:\s+(\d+)", file.read(), re.M).group(1))
    return total / 1024


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Others:
    """Share of the machine that other processes used: figures of a busy machine are less reliable."""

    def __init__(self, pids=()):
        self._pids = [os.getpid(), *pids]
        self._begin = self._read()

    def _read(self):
        with open("/proc/stat", encoding="ascii") as file:
            fields = [int(word) / TICKS for word in file.readline().split()[1:9]]
        return sum(fields), sum(fields) - fields[3] - fields[4] - sum(cpu_seconds(pid) for pid in self._pids)

    def note(self):
        total, busy = (now - then for now, then in zip(self._read(), self._begin))
        percent = 100 * max(0.0, busy) / total if total > 0 else 0.0
        return f"others used {percent:.0f} % of the cores"


class PeakMemory:
    """The largest PSS of some processes during this context, read every 100 ms."""

    def __init__(self, pids):
        self._pids = pids
        self._over = threading.Event()
        self.mib = pss_mib(pids)
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self):
        while not self._over.wait(0.1):
            self.mib = max(self.mib, pss_mib(self._pids))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()


def pace(begin, done, rate):
    """Sleeps until `done` things at `rate` per second should have been done since `begin`."""
    time.sleep(max(0.0, begin + done / rate - time.monotonic()))

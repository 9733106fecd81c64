#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Carries Ethernet frames between a tap of this namespace and one of another, as a bad cable would.

frame_forwarder.py NAMESPACE INNER OUTER [delay=SECONDS] [twice=SHARE] [hold=N]
  INNER is made in NAMESPACE, OUTER here. `delay`: each frame is so late. `twice`: that share of frames comes once more.
  `hold`: of each flow that leaves INNER every Nth frame is held back for a while, so that later frames pass it.
"""

import collections
import contextlib
import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import sys
import time

TUNSETIFF = 0x400454CA
IFF_TAP_NO_PI = 0x0002 | 0x1000
CLONE_NEWNET = 0x40000000
LONGEST_FRAME = 65536
HELD_BACK = 0.2
# Of an ICMP message over IPv4 in an Ethernet frame.
ADDRESSES_AND_TYPE = slice(26, 35)
ECHO_ID = slice(38, 40)


def open_tap(name):
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP_NO_PI))
    return tap


def open_tap_in(namespace, name):
    libc = ctypes.CDLL(None, use_errno=True)
    own = os.open("/proc/self/ns/net", os.O_RDONLY)
    other = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    try:
        if libc.setns(other, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")
        tap = open_tap(name)
        if libc.setns(own, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")
        return tap
    finally:
        os.close(own)
        os.close(other)


class Forwarder:
    def __init__(self, inner, outer, faults):
        self.other = {inner: outer, outer: inner}
        self.delay = faults.get("delay", 0.0)
        self.twice = faults.get("twice", 0.0)
        self.hold = int(faults.get("hold", 0))
        self.outer = outer
        self.flows = collections.Counter()  # frames that came from INNER
        self.random = random.Random(7)
        self.due = []  # (time, number, tap, frame)
        self.numbers = 0

    def run(self):
        while True:
            patience = max(0.0, self.due[0][0] - time.monotonic()) if self.due else None
            for tap in select.select(list(self.other), [], [], patience)[0]:
                self.take(self.other[tap], self.read(tap))
            self.send_what_is_due(time.monotonic())

    @staticmethod
    def read(tap):
        try:
            return os.read(tap, LONGEST_FRAME)
        except OSError:
            return b""  # the interface is down

    def take(self, to, frame):
        if not frame:
            return
        self.plan(to, frame, HELD_BACK if to == self.outer and self.is_next_held(frame) else 0.0)
        if self.random.random() < self.twice:
            self.plan(to, frame)

    def is_next_held(self, frame):
        """Counted over all flows, the frames of one flow could be every Nth, and all of them late."""
        flow = frame[ADDRESSES_AND_TYPE] + frame[ECHO_ID]
        self.flows[flow] += 1
        return self.hold > 0 and self.flows[flow] % self.hold == 0

    def plan(self, to, frame, held_back=0.0):
        self.numbers += 1
        heapq.heappush(self.due, (time.monotonic() + self.delay + held_back, self.numbers, to, frame))

    def send_what_is_due(self, now):
        while self.due and self.due[0][0] <= now:
            _, _, to, frame = heapq.heappop(self.due)
            try:
                os.write(to, frame)
            except OSError:
                pass  # the interface is down, or its queue full: a frame is lost, as on a cable


def be_as_prompt_as_a_cable():
    """A forwarder that waits for a processor would delay frames on the path."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


def main(namespace, inner, outer, *faults):
    taps = open_tap_in(namespace, inner), open_tap(outer)
    forwarder = Forwarder(*taps, {name: float(value) for name, value in (fault.split("=") for fault in faults)})
    be_as_prompt_as_a_cable()
    print("forwarding", file=sys.stderr, flush=True)
    forwarder.run()


if __name__ == "__main__":
    main(*sys.argv[1:])

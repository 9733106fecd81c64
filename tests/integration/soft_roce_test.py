#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""autopilot-net-probe with perftest itself over soft-RoCE, which plays an RDMA adapter above an interface of Ethernet, where the kernel has it."""

import json
import os
import subprocess
import unittest

import harness

PROBE = os.path.join(harness.BIN, "autopilot-net-probe")
PROGRAMS = ("ib_write_bw", "ib_read_bw", "ib_send_lat")
INTERFACE, OTHER_END, ADDRESS = f"aprxe{os.getpid() % 10000}", f"aprxp{os.getpid() % 10000}", "192.0.2.17"
DEVICE = f"autopilot_rxe{os.getpid()}"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


class SoftRoceTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for name in ("rdma", "ip", *PROGRAMS):
            harness.need_program(name)
        made = run("ip", "link", "add", INTERFACE, "type", "veth", "peer", "name", OTHER_END)
        if made.returncode != 0:
            raise unittest.SkipTest(f"no interface can be made here: {made.stderr.strip()}")
        cls.addClassCleanup(run, "ip", "link", "del", INTERFACE)
        for words in (("addr", "add", f"{ADDRESS}/24", "dev", INTERFACE), ("link", "set", INTERFACE, "up"), ("link", "set", OTHER_END, "up")):
            run("ip", *words)
        added = run("rdma", "link", "add", DEVICE, "type", "rxe", "netdev", INTERFACE)
        if added.returncode != 0:
            raise unittest.SkipTest(f"this kernel has no soft-RoCE: {added.stderr.strip()}")
        cls.addClassCleanup(run, "rdma", "link", "del", DEVICE)

    def ask(self, *words):
        done = subprocess.run([PROBE, *words], capture_output=True, text=True, check=False, timeout=90)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def test_a_device_measures_itself(self):
        report = self.ask("rdma-loopback", "--device", DEVICE, "--seconds", "1")
        [way] = report["directions"]
        self.assertGreater(way["received_bits_per_second"], 0)

    def test_both_ways_and_the_latency_of_two_ends(self):
        serving = harness.Process([PROBE, "rdma-serve", "--bind", ADDRESS, "--device", DEVICE, "--test-seconds", "1", "--seconds", "60"],
                                  stdout=subprocess.PIPE)
        self.addCleanup(serving.child.stdout.close)
        self.addCleanup(serving.stop)
        told = json.loads(serving.child.stdout.readline())
        self.assertEqual(told["failed"], [])
        report = self.ask("rdma-measure", "--to", ADDRESS, "--bind", ADDRESS, "--device", DEVICE, "--port",
                          ",".join(map(str, told["ports"])), "--seconds", "1")
        self.assertEqual([way["direction"] for way in report["directions"]], ["to_peer", "from_peer"])
        for way in report["directions"]:
            self.assertGreater(way["received_bits_per_second"], 0)
        self.assertGreater(report["latency"]["typical_microseconds"], 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)

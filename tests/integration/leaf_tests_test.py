#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`autopilot network test` over sixteen hosts below four switches that one switch above connects, with real agents and the real network
probe: slow interfaces are named with their direction, and a healthy fabric gives no suspect."""

import unittest

import harness
import network_lab
import own_namespaces

HOSTS = 16
LEAVES = ("leaf-1", "leaf-2", "leaf-3", "leaf-4")
RAIL = 0
LINE = 20  # Mbit/s of every line, so that all pairs of a round fit into the machine
SLOW = 12
UPLINK = HOSTS // len(LEAVES) * LINE
CHECK = "network.bandwidth"


class LeafTestsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        harness.need_program("tc")
        if harness.is_sanitized(harness.AUTOPILOT):
            raise unittest.SkipTest("sixteen agents with sanitizers are too much for two processors; bandwidth_test has two")
        cls.lab = network_lab.Lab(hosts=HOSTS, rails=1, leaves=LEAVES)
        cls.addClassCleanup(cls.lab.close)
        for host in cls.lab.hosts.values():
            host.limit_sending(RAIL, LINE)
            host.limit_receiving(RAIL, LINE)
        for leaf in LEAVES:
            cls.lab.limit_uplink(RAIL, leaf, UPLINK)
        # Whoever reaches the port of an agent may have tests made: these hosts have no certificates, and nobody else reaches them.
        cls.lab.start(settings="compat: {open_actions: true}\n")

    def suspects(self, number):
        """Of a run by that host: kind by subject."""
        host = self.lab[number]
        code, out, err = host.command("network", "test", timeout=300)
        self.assertIn(code, (0, 1), out + err)
        self.said = out + err
        return {network_lab.text_of(one["subject"]): one["evidence"]["kind"] for one in host.get(f"/v1/checks/{CHECK}")["findings"]}

    def test_a_healthy_fabric_gives_no_suspect(self):
        self.assertEqual(self.suspects(16), {}, self.said)

    def test_interfaces_that_are_slow_one_way_or_both_are_named(self):
        slow, deaf, mute = self.lab[4], self.lab[9], self.lab[15]
        for limit in (slow.limit_sending, slow.limit_receiving, deaf.limit_receiving, mute.limit_sending):
            limit(RAIL, SLOW)
            self.addCleanup(limit, RAIL, LINE)
        self.assertEqual(self.suspects(2), {"link/h4/net0": "nic", "link/h9/net0": "nic_receives", "link/h15/net0": "nic_sends"}, self.said)


if __name__ == "__main__":
    own_namespaces.enter(network_lab.NAMESPACES, [*network_lab.PROGRAMS, "tc"], network_lab.TRIAL)
    unittest.main(verbosity=2)

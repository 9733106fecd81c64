#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`autopilot network test` over sixteen hosts below four switches that one switch above connects, one of them with IPv6 alone, with real agents
and the real network probe: what is slow, lost, late, doubled, out of order or too narrow is named, and a healthy fabric gives no suspect."""

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
NARROW = UPLINK // 8
CHECK = "network.bandwidth"
PING = "network.ping"
SICK = 11
MODERN = 14  # speaks IPv6 alone


def make_lab(case, agents, **how):
    """Creates the lab of a class of tests: hosts with links that the machine can drive all at once. agents: their number, as a word."""
    harness.need_program("tc")
    if harness.is_sanitized(harness.AUTOPILOT):
        raise unittest.SkipTest(f"{agents} agents with sanitizers are too much for two processors; bandwidth_test has two")
    case.lab = network_lab.Lab(rails=1, **how)
    case.addClassCleanup(case.lab.close)
    case.lab.limit_lines(RAIL, LINE)


class LeafTestsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        make_lab(cls, "sixteen", hosts=HOSTS, leaves=LEAVES, ipv6_only=(MODERN,))
        for leaf in LEAVES:
            cls.lab.limit_uplink(RAIL, leaf, UPLINK)
        # Every client that reaches an agent's port can start tests: these hosts have no certificates, and no other client reaches them.
        cls.lab.start(settings="compat: {open_actions: true}\n")

    @classmethod
    def limit(cls, number):
        cls.lab[number].limit_sending(RAIL, LINE)
        cls.lab[number].limit_receiving(RAIL, LINE)

    def suspects(self, number):
        """Suspects of a run by that host: kind by subject."""
        host = self.lab[number]
        code, out, err = host.command("network", "test", timeout=300)
        self.assertIn(code, (0, 1), out + err)
        self.said = out + err
        return {network_lab.text_of(one["subject"]): one["evidence"]["kind"] for one in host.get(f"/v1/checks/{CHECK}")["findings"]}

    def test_a_healthy_fabric_gives_no_suspect(self):
        for number in (16, 7):
            self.assertEqual(self.suspects(number), {}, self.said)

    def test_where_all_uplinks_are_narrow_by_design_nobody_is_slow_for_it(self):
        for leaf in LEAVES:
            self.lab.limit_uplink(RAIL, leaf, NARROW)
            self.addCleanup(self.lab.limit_uplink, RAIL, leaf, UPLINK)
        self.assertEqual(self.suspects(3), {}, self.said)
        slow = self.lab[SICK]
        for limit in (slow.limit_sending, slow.limit_receiving):
            limit(RAIL, SLOW)
            self.addCleanup(limit, RAIL, LINE)
        self.assertEqual(self.suspects(5), {f"nic_port/h{SICK}:net0": "nic"}, self.said)

    def test_interfaces_that_are_slow_one_way_or_both_are_named(self):
        slow, deaf, mute = self.lab[4], self.lab[9], self.lab[15]
        for limit in (slow.limit_sending, slow.limit_receiving, deaf.limit_receiving, mute.limit_sending):
            limit(RAIL, SLOW)
            self.addCleanup(limit, RAIL, LINE)
        self.assertEqual(self.suspects(2), {"nic_port/h4:net0": "nic", "nic_port/h9:net0": "nic_receives", "nic_port/h15:net0": "nic_sends"}, self.said)

    def test_an_interface_that_loses_what_it_gets_is_named(self):
        agents = f"{{ {network_lab.PORT} }}"
        network_lab.lose(self.lab[SICK], 3, f"iifname net0 meta l4proto tcp tcp dport != {agents} tcp sport != {agents}")
        self.addCleanup(network_lab.stop_losing, self.lab[SICK])
        self.assertEqual(set(self.suspects(8)), {f"nic_port/h{SICK}:net0"}, self.said)

    def test_a_switch_whose_uplink_is_slow_is_named(self):
        self.lab.limit_uplink(RAIL, "leaf-3", SLOW)
        self.addCleanup(self.lab.limit_uplink, RAIL, "leaf-3", UPLINK)
        self.assertEqual(self.suspects(6), {"peer/leaf leaf-3, rail net0": "uplinks"}, self.said)

    def pinged(self, number=1):
        """The findings of a ping round of that host, as (subject, reason)."""
        host = self.lab[number]
        code, out, err = host.command("network", "test", "--kind", "ping")
        self.assertIn(code, (0, 1, 2), out + err)
        self.said = out + err
        return host.findings(PING)

    def ways(self, reason, families=(0, 1)):
        return [(f"link/h1/net0|h{SICK}/net0-{n}", reason) for n in families]

    def test_a_healthy_fabric_answers_pings(self):
        for number in (1, MODERN, 16):
            self.assertEqual(self.pinged(number), [], self.said)

    def test_a_dead_node_does_not_answer(self):
        outer = self.lab[SICK].outer(RAIL)
        network_lab.run("ip", "link", "set", outer, "down")
        self.addCleanup(network_lab.run, "ip", "link", "set", outer, "up")
        for number in (1, MODERN):
            self.assertEqual(self.pinged(number), [(f"peer/h{SICK}", "node_does_not_answer")], self.said)

    def test_a_way_that_loses_packets_is_named(self):
        network_lab.lose(self.lab[SICK], 2, "iifname net0 ip protocol icmp")
        self.addCleanup(network_lab.stop_losing, self.lab[SICK])
        self.assertEqual(self.pinged(), self.ways("path_loses_packets", (0,)), self.said)

    def test_a_way_that_is_too_narrow_is_named(self):
        switch = self.lab.bridge(RAIL, self.lab[SICK].leaf)
        for interface in (switch, self.lab[SICK].outer(RAIL)):
            self.addCleanup(network_lab.run, "ip", "link", "set", interface, "mtu", str(network_lab.JUMBO))
        network_lab.run("ip", "link", "set", self.lab[SICK].outer(RAIL), "mtu", "1500")
        network_lab.run("ip", "link", "set", switch, "mtu", str(network_lab.JUMBO))
        self.assertEqual(self.pinged(), self.ways("path_mtu_too_small"), self.said)

    def test_a_cable_that_delays_doubles_or_reorders_is_named(self):
        for fault, reason in (("delay=0.03", "path_is_late"), ("twice=0.5", "path_duplicates_packets"), ("hold=3", "path_reorders_packets")):
            with self.subTest(fault):
                network_lab.begin_forwarder(self.lab[SICK], RAIL, fault)
                self.lab[1].run("ip", "neigh", "flush", "all")  # it is another adapter
                try:
                    self.assertEqual(self.pinged(), self.ways(reason), self.said)
                finally:
                    network_lab.end_forwarder(self.lab[SICK], RAIL)
                    self.limit(SICK)
                    for host in self.lab.hosts.values():
                        host.run("ip", "neigh", "flush", "all")

    def test_faults_that_the_kernel_makes_are_named(self):
        """Faults by netem, in both families, if the kernel supports it."""
        outer = self.lab[SICK].outer(RAIL)
        tried = network_lab.try_to("tc", "qdisc", "replace", "dev", outer, "root", "netem", "delay", "30ms")
        if tried.returncode != 0:
            self.skipTest(f"this kernel has no netem: {tried.stderr.strip()}")
        self.addCleanup(self.limit, SICK)
        for fault, reason in (("delay 30ms", "path_is_late"), ("duplicate 50%", "path_duplicates_packets"), ("loss 50%", "path_loses_packets"),
                              ("delay 20ms reorder 50% 50%", "path_reorders_packets")):
            with self.subTest(fault):
                network_lab.run("tc", "qdisc", "replace", "dev", outer, "root", "netem", *fault.split())
                self.assertLessEqual(set(self.ways(reason)), set(self.pinged()), self.said)


class NamelessLeavesTest(unittest.TestCase):
    """Two switches with a narrow line between them, of which no agent knows."""

    @classmethod
    def setUpClass(cls):
        make_lab(cls, "eight", hosts=8, leaves=LEAVES[:2], are_leaves_told=False)
        for leaf in LEAVES[:2]:
            cls.lab.limit_uplink(RAIL, leaf, LINE)
        cls.lab.start(settings="compat: {open_actions: true}\n")

    def test_nobody_is_slow_for_what_is_between_switches_that_nobody_named(self):
        host = self.lab[6]
        code, out, err = host.command("network", "test", timeout=300)
        self.assertEqual(code, 3, out + err)
        self.assertIn("the slow nodes on net0 cannot be determined", out + err)
        self.assertIn("network.leaf_label", out + err)
        self.assertIn("Suspects: none", out)
        self.assertEqual(host.findings(CHECK), [("host/", "could_not_look")], out + err)


class FewNamelessTest(unittest.TestCase):
    """Two of seven nodes are below a separate switch, which no agent knows."""

    @classmethod
    def setUpClass(cls):
        make_lab(cls, "seven", hosts=7, leaves=2 * LEAVES[:1] + 5 * LEAVES[1:2], are_leaves_told=False)
        cls.lab.start(settings="compat: {open_actions: true}\n")

    def test_none_of_the_few_is_slow_for_the_line_between_the_switches(self):
        self.lab.limit_uplink(RAIL, LEAVES[0], LINE // 2)
        self.addCleanup(self.lab.limit_uplink, RAIL, LEAVES[0], UPLINK)
        host = self.lab[6]
        code, out, err = host.command("network", "test", timeout=300)
        self.assertEqual(code, 3, out + err)
        self.assertIn("the slow nodes on net0 cannot be determined", out + err)
        self.assertIn("Suspects: none", out)
        self.assertEqual(host.findings(CHECK), [("host/", "could_not_look")], out + err)

    def test_one_that_is_slow_with_all_is_named(self):
        for limit in (self.lab[4].limit_sending, self.lab[4].limit_receiving):
            limit(RAIL, SLOW)
            self.addCleanup(limit, RAIL, LINE)
        host = self.lab[6]
        _, out, err = host.command("network", "test", timeout=300)
        self.assertEqual(host.findings(CHECK), [("nic_port/h4:net0", "nic_slower_than_others")], out + err)


if __name__ == "__main__":
    own_namespaces.enter(network_lab.NAMESPACES, [*network_lab.PROGRAMS, "tc"], network_lab.TRIAL)
    unittest.main(verbosity=2)

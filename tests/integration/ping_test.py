#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""network.ping between real agents on hosts of their own, with faults of the network between them."""

import json
import sys
import unittest

import harness
import network_lab
import own_namespaces

# A host that sends requests, three healthy hosts, and one with the fault.
SOUND = (2, 3, 4)
SICK = 5
ODD = 6


class PingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = network_lab.Lab(hosts=5)
        cls.addClassCleanup(cls.lab.close)
        cls.lab.start()
        # All know each other's addresses from here on.
        for host in cls.lab.hosts.values():
            host.command("test", "network.ping")

    def setUp(self):
        self.asking = self.lab[1]

    def ping(self, host=None):
        """The findings of a round from now, as (subject, reason)."""
        host = host or self.asking
        code, out, err = host.command("test", "network.ping", "-o", "json")
        self.assertIn(code, (0, 1, 2, 3), err)
        self.result = host.get("/v1/checks/network.ping")
        return host.findings("network.ping")

    def observed(self, subject, name):
        for observation in self.result["observations"]:
            if network_lab.text_of(observation["subject"]) == subject and observation["name"] == name:
                return observation
        raise AssertionError(f"no {name} of {subject} in {json.dumps(self.result)[:2000]}")

    def test_all_answer_at_all_addresses_of_both_families(self):
        for _ in range(5):
            self.assertEqual(self.ping(), [])
        self.assertEqual(self.result["health"], "healthy")
        for number in (2, 3, 4, 5):
            silent = self.observed(f"peer/h{number}", "ping.silent")
            self.assertEqual(silent["value"], 0)
            self.assertIn(f"=10.2.0.{number}", silent["attributes"]["addresses"])
            self.assertIn(f"=fd00:1::{number}", silent["attributes"]["addresses"])
        for family in ("ipv4", "ipv6"):
            self.assertEqual(self.observed("nic_port/net1", f"ping.asked.{family}")["value"], 4)
            latency = self.observed("nic_port/net1", f"ping.latency_median.{family}")
            self.assertEqual(latency["unit"], "seconds")
            self.assertGreater(latency["value"], 0)
        _, metrics = self.lab[1].request("GET", "/metrics")
        self.assertIn('health="ping",node="h1"', metrics.replace(" ", ""))
        self.assertIn('subject="nic_port/net1"', metrics)
        self.assertNotIn('name="ping.silent"', metrics, "who answers has no series of its own")

    def test_a_node_that_is_gone_does_not_answer(self):
        sick = self.lab[SICK]
        for rail in (0, 1):
            network_lab.run("ip", "link", "set", sick.outer(rail), "down")
            self.addCleanup(network_lab.run, "ip", "link", "set", sick.outer(rail), "up")
        self.assertEqual(self.ping(), [("peer/h5", "node_does_not_answer")])
        self.assertEqual(self.observed("peer/h5", "ping.silent")["value"], 4)
        self.assertEqual(self.observed("peer/h5", "ping.silent")["attributes"]["through"], "net0 net0 net1 net1")

    def test_one_silent_rail_of_a_node_is_named(self):
        sick = self.lab[SICK]
        network_lab.run("ip", "link", "set", sick.outer(1), "down")
        self.addCleanup(network_lab.run, "ip", "link", "set", sick.outer(1), "up")
        self.assertEqual(self.ping(), [("peer/h5", "node_does_not_answer")])
        self.assertEqual(self.observed("peer/h5", "ping.silent")["attributes"]["silent"], "net1-0 net1-1")

    def test_an_own_interface_that_reaches_nobody_is_named_in_place_of_the_others(self):
        network_lab.run("ip", "link", "set", self.asking.outer(1), "down")
        self.addCleanup(network_lab.run, "ip", "link", "set", self.asking.outer(1), "up")
        self.assertEqual(self.ping(), [("nic_port/net1", "interface_reaches_nobody")])
        # The others miss one node each.
        self.assertEqual(self.ping(self.lab[2]), [("peer/h1", "node_does_not_answer")])

    def preflight(self):
        """The gate's answer to a pod that starts here now: the outcome, and why."""
        status, body = self.asking.request("POST", "/v1/preflight", body=json.dumps({"tests": ["network.ping"]}))
        self.assertEqual(status, 200, body)
        answer = json.loads(body)
        return answer["outcome"], answer["message"]

    def test_a_pod_that_wants_its_network_tested_starts_where_nodes_answer(self):
        self.assertEqual(self.preflight(), ("passed", "network.ping passed just now on the node"))
        sick = self.lab[SICK]
        for rail in (0, 1):
            network_lab.run("ip", "link", "set", sick.outer(rail), "down")
            self.addCleanup(network_lab.run, "ip", "link", "set", sick.outer(rail), "up")
        self.assertEqual(self.preflight()[0], "passed", "what is wrong with another node is not this one's fault")

    def test_and_not_where_an_interface_reaches_nobody(self):
        network_lab.run("ip", "link", "set", self.asking.outer(1), "down")
        self.addCleanup(network_lab.run, "ip", "link", "set", self.asking.outer(1), "up")
        outcome, message = self.preflight()
        self.assertEqual(outcome, "failed")
        self.assertRegex(message, r"^network.ping failed: none of 8 addresses of other nodes answers through net1$")

    def test_a_way_that_loses_packets_is_named(self):
        sick = self.lab[SICK]
        network_lab.lose(sick, 2, "iifname net1 ip protocol icmp")
        self.addCleanup(network_lab.stop_losing, sick)
        self.assertEqual(self.ping(), [("link/h1/net1|h5/net1-0", "path_loses_packets")])
        loss = self.observed("link/h1/net1|h5/net1-0", "ping.loss")
        self.assertGreater(loss["value"], 0.1)
        self.assertEqual(loss["attributes"]["sent"], 25)

    def test_what_is_said_of_an_address_that_is_refused_is_told_with_it(self):
        sick = self.lab[SICK]
        network_lab.refuse(sick, "iifname net1 icmp type echo-request")
        self.addCleanup(network_lab.stop_losing, sick)
        self.assertEqual(self.ping(), [("peer/h5", "node_does_not_answer")])
        attributes = self.observed("peer/h5", "ping.silent")["attributes"]
        self.assertEqual((attributes["silent"], attributes["problem"]), ("net1-0", "No route to host"))

    def test_a_way_that_is_narrower_than_its_interfaces_is_named(self):
        sick = self.lab[SICK]
        network_lab.run("ip", "link", "set", sick.outer(1), "mtu", "1500")
        self.addCleanup(network_lab.run, "ip", "link", "set", sick.outer(1), "mtu", str(network_lab.JUMBO))
        self.addCleanup(network_lab.run, "ip", "link", "set", self.lab.bridge(1), "mtu", str(network_lab.JUMBO))
        network_lab.run("ip", "link", "set", self.lab.bridge(1), "mtu", str(network_lab.JUMBO))
        self.assertEqual(self.ping(), [("link/h1/net1|h5/net1-0", "path_mtu_too_small"),
                                       ("link/h1/net1|h5/net1-1", "path_mtu_too_small")])
        self.assertEqual(self.observed("link/h1/net1|h5/net1-0", "ping.path_mtu")["value"], 1500)
        self.assertEqual(self.observed("link/h1/net1|h5/net1-0", "ping.interface_mtu")["value"], 9000)

    def test_icmp_that_is_not_allowed_is_replaced_by_tcp(self):
        host = self.lab[4]
        host.stop()
        host.run("sysctl", "-qw", "net.ipv4.ping_group_range=1 0")
        self.addCleanup(self.restart, host)
        host.start(self.lab.peers(), prefix=["setpriv", "--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-net_raw"])
        host.wait_ready()
        self.assertEqual(self.ping(host), [])
        self.assertEqual(self.observed("peer/h5", "ping.silent")["attributes"]["way"], "tcp")
        network_lab.run("ip", "link", "set", self.lab[SICK].outer(1), "down")
        self.addCleanup(network_lab.run, "ip", "link", "set", self.lab[SICK].outer(1), "up")
        self.assertEqual(self.ping(host), [("peer/h5", "node_does_not_answer")])

    def test_root_asks_by_a_raw_socket_where_no_other_is_allowed(self):
        host = self.lab[4]
        host.stop()
        host.run("sysctl", "-qw", "net.ipv4.ping_group_range=1 0")
        self.addCleanup(self.restart, host)
        with self.assertRaisesRegex(AssertionError, "PermissionError"):
            host.run(sys.executable, "-c", "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)")
        host.start(self.lab.peers())
        host.wait_ready()
        self.assertEqual(self.ping(host), [])
        for number in (1, 2, 3, 5):
            silent = self.observed(f"peer/h{number}", "ping.silent")
            self.assertEqual(silent["value"], 0)
            self.assertNotIn("way", silent["attributes"], "by ICMP, not by TCP")
            self.assertNotIn("unasked", silent["attributes"])
        for family in ("ipv4", "ipv6"):
            self.assertEqual(self.observed("nic_port/net1", f"ping.asked.{family}")["value"], 4)
        network_lab.run("ip", "link", "set", self.lab[SICK].outer(1), "down")
        self.addCleanup(network_lab.run, "ip", "link", "set", self.lab[SICK].outer(1), "up")
        self.assertEqual(self.ping(host), [("peer/h5", "node_does_not_answer")])

    def restart(self, host):
        host.stop()
        host.run("sysctl", "-qw", "net.ipv4.ping_group_range=0 2147483647")
        host.start(self.lab.peers())
        host.wait_ready()

    def test_rounds_are_made_without_being_asked_for(self):
        host = self.lab[3]
        host.stop()
        self.addCleanup(self.restart, host)
        host.start(self.lab.peers())
        host.wait_ready()
        with open(f"{host.folder}/config.yaml", encoding="utf-8") as file:
            text = file.read()
        with open(f"{host.folder}/config.yaml", "w", encoding="utf-8") as file:
            file.write(text.replace("every: 0s", "every: 10s"))
        harness.wait_until(lambda: host.agent.find("configuration loaded"), "the agent has seen it")
        harness.wait_until(lambda: host.get("/v1/checks/network.ping")["health"] == "healthy", "a round has ended")

    def test_other_nodes_can_be_asked_for_their_health_without_a_cluster(self):
        status, body = self.asking.request("GET", "/status?check=ping&host=h2,h3")
        self.assertEqual(status, 200)
        for node in ("h2", "h3"):
            self.assertIn(node, body)
        self.assertNotIn("no agent is known", body)


class FewNodesTest(unittest.TestCase):
    """Three hosts with one interface each."""

    def setUp(self):
        self.lab = network_lab.Lab(hosts=3, rails=1)
        self.addCleanup(self.lab.close)
        self.lab.start()
        for host in self.lab.hosts.values():
            self.assertEqual(self.ping(host), [])

    def ping(self, host):
        host.command("test", "network.ping")
        return host.findings("network.ping")

    def test_whose_cable_is_pulled_blames_no_other_node_and_the_others_name_it(self):
        network_lab.run("ip", "link", "set", self.lab[1].outer(0), "down")
        self.assertEqual(self.ping(self.lab[1]), [("nic_port/net0", "interface_or_nodes_silent")])
        self.assertEqual(self.ping(self.lab[2]), [("peer/h1", "node_does_not_answer")])


class RouterTest(unittest.TestCase):
    """A host behind a router, whose line to it is narrower than both of the hosts' interfaces."""

    NARROW = 1500
    WAYS = ["link/h1/net0|h2/net0-0", "link/h1/net0|h2/net0-1"]

    def setUp(self):
        self.lab = network_lab.Lab(hosts=1, rails=1)
        self.addCleanup(self.lab.close)
        self.far = self.lab.add_behind_router(2, self.NARROW)
        self.lab.start()
        self.lab[1].command("test", "network.ping")

    def ping(self):
        self.lab[1].command("test", "network.ping")
        return self.lab[1].findings("network.ping")

    def learned(self):
        return self.lab[1].run("ip", "route", "get", self.far.address(0)) + self.lab[1].run("ip", "-6", "route", "get", self.far.address6(0))

    def test_what_the_router_said_of_the_way_does_not_hide_it_from_the_next_round(self):
        for _ in range(3):
            self.assertEqual(self.ping(), [(way, "path_mtu_too_small") for way in self.WAYS])
            self.assertEqual(self.learned().count(f"mtu {self.NARROW}"), 2, "the kernel remembers it")
        sizes = {(network_lab.text_of(seen["subject"]), seen["name"]): seen["value"] for seen in self.lab[1].get("/v1/checks/network.ping")["observations"]
                 if seen["name"].endswith("_mtu")}
        for way in self.WAYS:
            self.assertEqual((sizes[way, "ping.interface_mtu"], sizes[way, "ping.path_mtu"]), (network_lab.JUMBO, self.NARROW))

    def test_a_way_that_is_narrow_on_purpose_is_no_fault(self):
        self.assertEqual(len(self.ping()), 2)
        self.far.set_route(self.lab[1], "mtu", str(self.NARROW))
        for _ in range(2):
            self.assertEqual(self.ping(), [])

    def test_and_neither_is_an_interface_on_which_ipv6_sends_less(self):
        self.lab[1].run("sysctl", "-qw", f"net.ipv6.conf.net0.mtu={self.NARROW}")
        for _ in range(2):
            self.assertEqual(self.ping(), [(self.WAYS[0], "path_mtu_too_small")])


class Ipv6Test(unittest.TestCase):
    """Five hosts of which none has an address of IPv4."""

    def setUp(self):
        self.lab = network_lab.Lab(hosts=5, ipv6_only=(1, 2, 3, 4, 5))
        self.addCleanup(self.lab.close)
        self.lab.start()

    def ping(self, host):
        host.command("test", "network.ping")
        return host.findings("network.ping")

    def test_all_answer_and_a_dead_one_is_named(self):
        for host in self.lab.hosts.values():
            self.assertEqual(self.ping(host), [])
        seen = self.lab[1].get("/v1/checks/network.ping")["observations"]
        asked = {(network_lab.text_of(one["subject"]), one["name"]): one["value"] for one in seen if one["name"].startswith("ping.asked.")}
        for rail in (0, 1):
            self.assertEqual(asked[f"nic_port/net{rail}", "ping.asked.ipv6"], 4)
            self.assertEqual(asked.get((f"nic_port/net{rail}", "ping.asked.ipv4"), 0), 0)
        self.lab[SICK].stop()
        for rail in (0, 1):
            network_lab.run("ip", "link", "set", self.lab[SICK].outer(rail), "down")
        for number in (1, 2, 3, 4):
            self.assertEqual(self.ping(self.lab[number]), [("peer/h5", "node_does_not_answer")])


class OddWaysTest(unittest.TestCase):
    """A cable that is late, doubles frames or lets them overtake each other, at the second rail of one host."""

    def begin(self, *faults):
        harness.need_program("ip")
        self.lab = network_lab.Lab(hosts=6)
        self.addCleanup(self.lab.close)
        network_lab.begin_forwarder(self.lab[ODD], 1, *faults)
        self.lab.start()
        return self.lab[1]

    def reasons(self, host):
        code, _, err = host.command("test", "network.ping", "-o", "json")
        self.assertIn(code, (0, 1, 2, 3), err)
        return host.findings("network.ping")

    def expect(self, faults, reason):
        found = self.reasons(self.begin(*faults))
        self.assertEqual(found, [(f"link/h1/net1|h6/net1-{n}", reason) for n in (0, 1)])

    def test_a_late_way_is_named(self):
        self.expect(["delay=0.03"], "path_is_late")

    def test_a_way_that_doubles_is_named(self):
        self.expect(["twice=0.5"], "path_duplicates_packets")

    def test_a_way_that_reorders_is_named(self):
        self.expect(["hold=3"], "path_reorders_packets")

    def test_a_forwarder_without_faults_changes_nothing(self):
        self.assertEqual(self.reasons(self.begin()), [])


if __name__ == "__main__":
    own_namespaces.enter(network_lab.NAMESPACES, network_lab.PROGRAMS, network_lab.TRIAL)
    unittest.main(verbosity=2)

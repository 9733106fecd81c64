#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`autopilot network test --kind rdma` over eight hosts with real agents and the real network probe. Only RDMA is simulated: a program
replaces perftest (fake_perftest.py), with the rates in the table of each host, and a folder replaces the kernel's list of devices
(rdma_host.py)."""

import json
import os
import sys
import unittest

import harness
import network_lab
import own_namespaces

HOSTS = 8
CHECK = "network.rdma_bandwidth"
CHECK_ALONE = "network.rdma_loopback"
OPEN = "compat: {open_actions: true}\n"
HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = ("ib_write_bw", "ib_read_bw", "ib_send_lat")
WRITTEN, READ = 197.0, 181.0  # Gbit/s


class RdmaTestsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if harness.is_sanitized(harness.AUTOPILOT):
            raise unittest.SkipTest("eight agents with sanitizers are too much for two processors; rdma_probe_test has the probe")
        cls.lab = network_lab.Lab(hosts=HOSTS, rails=2)
        cls.addClassCleanup(cls.lab.close)
        cls.programs = os.path.join(cls.lab.folder, "programs")
        os.makedirs(cls.programs)
        for name in PROGRAMS:
            os.symlink(os.path.join(HERE, "fake_perftest.py"), os.path.join(cls.programs, name))
        for host in cls.lab.hosts.values():
            cls.play(host)
            cls.start(host)
        for host in cls.lab.hosts.values():
            host.wait_ready()

    @staticmethod
    def facts_of(host):
        return os.path.join(host.folder, "perftest.json")

    @classmethod
    def play(cls, host, **devices):
        """Writes the differences from a healthy port, by device."""
        default = {"rates": {"ib_write_bw": WRITTEN, "ib_read_bw": READ, "ib_send_lat": 1.5}, "speed": 10} | devices.pop("default", {})
        with open(cls.facts_of(host), "w", encoding="utf-8") as file:
            json.dump({"default": default, **devices}, file)

    @classmethod
    def start(cls, host):
        devices = [f"mlx5_{rail}={host.interface(rail)}" for rail in range(cls.lab.rails)]
        words = [f"PATH={cls.programs}:{os.environ['PATH']}", f"FAKE_PERFTEST={cls.facts_of(host)}"]
        host.start(cls.lab.peers(), prefix=["env", *words, sys.executable, "-B", os.path.join(HERE, "rdma_host.py"), *devices, "--"],
                   settings=OPEN)

    def plant(self, host, **devices):
        self.play(host, **devices)
        self.addCleanup(self.play, host)

    def measure(self, host, *words, codes=(0, 1)):
        """Output of the verb, and the new findings of the check."""
        code, out, err = host.command("network", "test", "--kind", "rdma", *words, timeout=240)
        self.said = out + err
        self.assertIn(code, codes, self.said)
        return out, host.findings(CHECK)

    def observed(self, host):
        return [one for one in host.get(f"/v1/checks/{CHECK}")["observations"] if one["name"] == "bandwidth.received"]

    def test_agents_tell_their_ports(self):
        self.assertEqual(self.lab[1].get("/v1/network")["rdma"],
                         [{"port": f"mlx5_{rail}/1", "bitsPerSecond": 200_000_000_000, "interface": f"net{rail}"} for rail in (0, 1)])

    def test_a_healthy_fabric_gives_no_suspect_though_reads_are_slower(self):
        shown, found = self.measure(self.lab[1])
        self.assertEqual(found, [], self.said)
        self.assertIn("mlx5_0/1, Gbit/s\nFROM \\ TO", shown)
        self.assertIn("Suspects: none\n", shown)
        self.assertIn(f"{CHECK}: round 1: 8 pairs are measured", self.said)
        there = [one for one in self.observed(self.lab[1]) if "latency_microseconds" in one["attributes"]]
        back = [one for one in self.observed(self.lab[1]) if "latency_microseconds" not in one["attributes"]]
        self.assertEqual(len(there), len(back))
        for ways, rate in ((there, WRITTEN), (back, READ)):
            for one in ways:
                self.assertAlmostEqual(one["value"] / 1e9 / rate, 1, delta=0.02)

    def test_slow_ports_are_named_with_their_direction(self):
        self.plant(self.lab[5], mlx5_1={"sends": 150})
        self.plant(self.lab[2], mlx5_0={"sends": 120, "gets": 120})
        shown, found = self.measure(self.lab[3])
        self.assertEqual(found, [("nic_port/h2:mlx5_0/1", "nic_slower_than_others"), ("nic_port/h5:mlx5_1/1", "nic_slower_than_others")], self.said)
        kinds = {network_lab.text_of(one["subject"]): one["evidence"]["kind"] for one in self.lab[3].get(f"/v1/checks/{CHECK}")["findings"]}
        self.assertEqual(kinds, {"nic_port/h2:mlx5_0/1": "nic", "nic_port/h5:mlx5_1/1": "nic_sends"})
        self.assertIn("nic_port/h5:mlx5_1/1", shown)

    def test_a_port_that_answers_nobody_is_told_and_its_node_is_not(self):
        self.plant(self.lab[4], mlx5_0={"is_dead": True})
        _, found = self.measure(self.lab[1])
        self.assertEqual(found, [("nic_port/h4:mlx5_0/1", "nic_slower_than_others")], self.said)
        [told] = self.lab[1].get(f"/v1/checks/{CHECK}")["findings"]
        self.assertTrue(told["evidence"]["unreachable"], told)

    def test_what_perftest_cannot_do_is_unknown_and_says_why(self):
        for planted, why in (({"client": "garbage"}, "ib_write_bw"), ({"client": "exit"}, "ib_write_bw"),
                             ({"server": "no_device"}, "this machine has no device"), ({"version": "older"}, "ib_write_bw")):
            with self.subTest(planted):
                for number in (1, 6):
                    self.plant(self.lab[number], default=planted)
                self.measure(self.lab[7], "--nodes", "h1,h6", codes=(3,))
                self.assertIn(why.replace(" ", ""), "".join(self.said.split()), "lines are wrapped")

    def test_each_port_by_itself(self):
        host = self.lab[7]
        self.plant(host, mlx5_1={"client": "crash"})
        code, out, err = host.command("test", CHECK_ALONE)
        self.assertEqual(code, 3, out + err)
        self.assertIn("1 of 2 RDMA ports measured", out + err)
        [told] = [one for one in host.get(f"/v1/checks/{CHECK_ALONE}")["findings"] if one["subject"]["key"] == "mlx5_1/1"]
        self.assertEqual((told["health"], told["reason"]), ("unknown", "could_not_look"))
        self.assertIn("ended by signal 11", told["message"])
        written = {one["subject"]["key"]: one.get("value") for one in host.get(f"/v1/checks/{CHECK_ALONE}")["observations"]
                   if one["name"] == "rdma_loopback.written"}
        self.assertEqual(written, {"mlx5_0/1": WRITTEN * 1e9, "mlx5_1/1": None})

    def test_a_plan_has_a_rail_for_each_port(self):
        code, out, err = self.lab[6].command("network", "test", "--kind", "rdma", "--plan", "-o", "json", "--nodes", "h1,h4")
        self.assertEqual(code, 0, out + err)
        plan = json.loads(out)
        self.assertEqual([one["rail"] for one in plan["rails"]], ["mlx5_0/1", "mlx5_1/1"])
        self.assertEqual(plan["leftOut"], [])

    def test_nobody_listens_afterwards(self):
        self.measure(self.lab[8], "--nodes", "h2,h4,h6,h8")
        for host in self.lab.hosts.values():
            harness.wait_until(lambda host=host: all(line.split()[3].endswith(f":{network_lab.PORT}")
                                                     for line in host.run("ss", "-Hltn").splitlines()), "nobody listens", 10)


if __name__ == "__main__":
    own_namespaces.enter(network_lab.NAMESPACES, network_lab.PROGRAMS, network_lab.TRIAL)
    unittest.main(verbosity=2)

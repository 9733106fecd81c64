#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`autopilot network test --kind nccl` over eight hosts with real agents and the real GPU probe. GPUs are what cannot be here: libraries
play the driver and NCCL (libcuda-sim.so, libnccl-sim.so), whose processes really talk with each other over the network of the hosts, and a
folder plays the kernel's list of devices (gpu_host.py)."""

import json
import os
import sys
import unittest

import harness
import network_lab
import own_namespaces

HOSTS = 8
GPUS = 2
CHECK = "network.nccl_allreduce"
OPEN = "compat: {open_actions: true}\n"
HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARIES = {"libcuda.so.1": "libcuda-sim.so", "libnccl.so.2": "libnccl-sim.so"}
USUAL = 2.0  # Gbit/s of a bus: an iteration is much longer than what the exchange itself takes


def gpu(number):
    """A row of the driver's table; JSON is YAML."""
    return {"uuid": f"GPU-{number:08x}-0000-0000-0000-000000000000", "pci_address": f"0000:{number:02X}:00.0", "memory_mib": 64}


class NcclTestsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if harness.is_sanitized(harness.AUTOPILOT):
            raise unittest.SkipTest("eight agents with sanitizers are too much for two processors; nccl_probe_test has the probe")
        cls.lab = network_lab.Lab(hosts=HOSTS, rails=1)
        cls.addClassCleanup(cls.lab.close)
        cls.libraries = os.path.join(cls.lab.folder, "libraries")
        os.makedirs(cls.libraries)
        for name, played_by in LIBRARIES.items():
            os.symlink(os.path.join(harness.BIN, played_by), os.path.join(cls.libraries, name))
        for host in cls.lab.hosts.values():
            cls.play(host)
            cls.start(host)
        for host in cls.lab.hosts.values():
            host.wait_ready()

    @staticmethod
    def file_of(host, library):
        return os.path.join(host.folder, f"{library}.json")

    @classmethod
    def play(cls, host, driver=None, **nccl):
        """What differs from a node that is fine."""
        for library, table in (("cuda", {"gpus": [gpu(number) for number in range(1, GPUS + 1)]} | (driver or {})),
                               ("nccl", {"bus_gigabits_per_second": USUAL} | nccl)):
            with open(cls.file_of(host, library), "w", encoding="utf-8") as file:
                json.dump(table, file)

    @classmethod
    def start(cls, host, gpus=GPUS, libraries=None):
        words = [f"LD_LIBRARY_PATH={libraries or cls.libraries}", f"AUTOPILOT_SIM_CUDA={cls.file_of(host, 'cuda')}",
                 f"AUTOPILOT_SIM_NCCL={cls.file_of(host, 'nccl')}"]
        host.start(cls.lab.peers(), prefix=["env", *words, sys.executable, "-B", os.path.join(HERE, "gpu_host.py"), str(gpus), "--"],
                   settings=OPEN)

    def plant(self, host, **what):
        self.play(host, **what)
        self.addCleanup(self.play, host)

    def start_again(self, host, **what):
        host.stop()
        self.start(host, **what)
        host.wait_ready()

    def measure(self, host, *words, codes=(0, 1)):
        """What the verb prints, and the findings of the check since."""
        code, out, err = host.command("network", "test", "--kind", "nccl", *words, timeout=280)
        self.said = out + err
        self.assertIn(code, codes, self.said)
        return out, host.findings(CHECK)

    def assert_said(self, words):
        self.assertIn(words.replace(" ", ""), "".join(self.said.split()), "lines are wrapped")

    def test_agents_tell_how_many_gpus_they_have(self):
        self.assertEqual(self.lab[1].get("/v1/network")["gpus"], GPUS)

    def test_a_healthy_fabric_gives_no_suspect(self):
        shown, found = self.measure(self.lab[1])
        self.assertEqual(found, [], self.said)
        self.assertIn("gpus-2, Gbit/s\nFROM \\ TO", shown)
        self.assertIn("Suspects: none\n", shown)
        self.assertIn(f"{CHECK}: round 1: 4 pairs are measured", self.said)
        rates = [one["value"] / 1e9 for one in self.lab[1].get(f"/v1/checks/{CHECK}")["observations"] if one["name"] == "bandwidth.received"]
        self.assertGreaterEqual(len(rates), HOSTS)
        for rate in rates:
            self.assertLessEqual(rate, USUAL * 1.02)
            self.assertGreater(rate, USUAL / 2)

    def test_a_slow_node_is_named(self):
        self.plant(self.lab[5], bus_gigabits_per_second=USUAL / 2)
        shown, found = self.measure(self.lab[3])
        self.assertEqual(found, [("peer/h5", "node_slower_than_others")], self.said)
        self.assertIn("peer/h5", shown)

    def test_wrong_sums_are_a_finding_and_name_the_pair(self):
        for number in (4, 6):  # the ranks of who waits come first, and who that is nobody says
            self.plant(self.lab[number], wrong_rank=1)
        _, found = self.measure(self.lab[2], "--nodes", "h4,h6", codes=(1,))
        [(subject, reason)] = found
        self.assertIn(subject, ("link/h4/gpus-2|h6/gpus-2", "link/h6/gpus-2|h4/gpus-2"))
        self.assertEqual(reason, "allreduce_wrong_between_nodes")
        self.assert_said("sum up wrongly together")

    def test_what_cannot_be_measured_is_unknown_and_says_why(self):
        faults = ({"driver": {"calls": {"cuInit": {"result": 100}}}}, "CUDA_ERROR_NO_DEVICE"), \
                 ({"calls": {"ncclCommInitRank": {"result": 3}}}, "nccl"), ({"calls": {"ncclGetUniqueId": {"result": "abort"}}}, "signal 6")
        for planted, why in faults:
            with self.subTest(planted):
                for number in (1, 6):
                    self.plant(self.lab[number], **planted)
                self.measure(self.lab[7], "--nodes", "h1,h6", codes=(3,))
                self.assert_said(why)

    def test_a_node_with_fewer_gpus_is_left_out_by_name(self):
        host = self.lab[8]
        self.start_again(host, gpus=1)
        self.addCleanup(self.start_again, host)
        code, out, err = self.lab[6].command("network", "test", "--kind", "nccl", "--plan", "-o", "json")
        self.assertEqual(code, 0, out + err)
        plan = json.loads(out)
        self.assertEqual([one["rail"] for one in plan["rails"]], ["gpus-2", "gpus-1"])
        self.assertEqual(plan["leftOut"], [{"node": "h8", "why": "no other node has an equal number of GPUs"}])

    def test_nobody_listens_afterwards(self):
        self.measure(self.lab[8], "--nodes", "h2,h8")
        for host in self.lab.hosts.values():
            harness.wait_until(lambda host=host: all(line.split()[3].endswith(f":{network_lab.PORT}")
                                                     for line in host.run("ss", "-Hltn").splitlines()), "nobody listens", 10)


if __name__ == "__main__":
    own_namespaces.enter(network_lab.NAMESPACES, network_lab.PROGRAMS, network_lab.TRIAL)
    unittest.main(verbosity=2)

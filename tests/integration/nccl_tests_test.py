#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`autopilot network test --kind nccl` over eight hosts with real agents and the real GPU probe. GPUs are what cannot be here: libraries
play the driver and NCCL (libcuda-sim.so, libnccl-sim.so), whose processes really talk with each other over the network of the hosts, and a
folder plays the kernel's list of devices (gpu_host.py)."""

import json
import os
import subprocess
import sys
import unittest

import harness
import network_lab
import own_namespaces
from certificates import Certificates

HOSTS = 8
GPUS = ("0000:4a:00.0", "0000:61:00.0")  # of four of the simulated machine
MACHINE = "l40s-4"
CHECK = "network.nccl_allreduce"
TLS_PORT = 3343
HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARIES = {"libcuda.so.1": "libcuda-sim.so", "libnccl.so.2": "libnccl-sim.so", "libnvidia-ml.so.1": "libnvidia-ml-sim.so"}
USUAL = 2.0  # Gbit/s of a bus: an iteration is much longer than what the exchange itself takes


def gpu(address):
    """A row of the driver's table; JSON is YAML."""
    return {"uuid": f"GPU-000000{address[5:7]}-0000-0000-0000-000000000000", "pci_address": address.upper(), "memory_mib": 64}


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


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
        cls.keys = Certificates(cls.lab.folder)
        cls.keys.make_authority("ca")
        for host in cls.lab.hosts.values():
            cls.keys.make(host.name, "ca", f"DNS:{host.name}")
            subprocess.run([harness.AUTOPILOT_SIM, "create", MACHINE, "--out", cls.tree_of(host)], check=True, stdout=subprocess.DEVNULL)
            cls.play(host)
            cls.start(host)
        for host in cls.lab.hosts.values():
            host.wait_ready()

    @staticmethod
    def file_of(host, library):
        return os.path.join(host.folder, f"{library}.json")

    @staticmethod
    def tree_of(host):
        """What plays NVML."""
        return os.path.join(host.folder, "machine")

    @classmethod
    def play(cls, host, driver=None, **nccl):
        """What differs from a node that is fine."""
        for library, table in (("cuda", {"gpus": [gpu(address) for address in GPUS]} | (driver or {})),
                               ("nccl", {"bus_gigabits_per_second": USUAL} | nccl)):
            with open(cls.file_of(host, library), "w", encoding="utf-8") as file:
                json.dump(table, file)

    @classmethod
    def start(cls, host, gpus=GPUS):
        words = [f"LD_LIBRARY_PATH={cls.libraries}", f"AUTOPILOT_SIM_CUDA={cls.file_of(host, 'cuda')}",
                 f"AUTOPILOT_SIM_NCCL={cls.file_of(host, 'nccl')}", f"AUTOPILOT_SIM_MACHINE={cls.tree_of(host)}"]
        peers = [f"{one.name}={one.address(0)}:{TLS_PORT}" for one in cls.lab.hosts.values()]
        keys = {"certificate": f"{host.name}.crt", "key": f"{host.name}.key", "authorities": "ca.crt"}
        tls = {"mode": "files", "listen": f":{TLS_PORT}"} | {name: cls.keys.path(file) for name, file in keys.items()}
        host.start(peers, prefix=["env", *words, sys.executable, "-B", os.path.join(HERE, "gpu_host.py"), *gpus, "--"],
                   settings=f"tls: {json.dumps(tls)}\ncompat: {{open_actions: true}}\n")

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
        self.assertEqual(self.lab[1].get("/v1/network")["gpus"], len(GPUS))

    def test_nobody_but_agents_may_take_gpus(self):
        """Though lines are open to everybody here."""
        host = self.lab[2]
        by_tcp = {"address": host.address(0), "allowed": self.lab[1].address(0), "processes": 1, "seconds": 5}
        for body, status in ((by_tcp, "200"), (by_tcp | {"gpus": 2, "testSeconds": 1}, "403")):
            told, code = self.lab[1].run("curl", "-s", "-w", "\n%{http_code}", "-X", "POST", "-d", json.dumps(body),
                                         f"http://{host.address(0)}:{network_lab.PORT}/v1/network/servers").rsplit("\n", 1)
            self.assertEqual(code, status, told)
            if code == "200":
                host.request("DELETE", f"/v1/network/servers/{json.loads(told)['id']}")

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

    def test_a_node_that_is_slow_beyond_measure_is_named_too(self):
        self.plant(self.lab[5], bus_gigabits_per_second=USUAL / 100)
        _, found = self.measure(self.lab[3], "--nodes", "h2,h3,h4,h5")
        self.assertEqual(found, [("peer/h5", "node_slower_than_others")], self.said)

    def test_wrong_sums_are_a_finding_and_name_pair_and_node(self):
        for rank in (1, 2):  # of the one that waits, and of the other one
            with self.subTest(rank=rank):
                self.plant(self.lab[4], wrong_rank=rank)
                self.plant(self.lab[6], wrong_rank=rank)
                shown, found = self.measure(self.lab[2], "--nodes", "h4,h6", codes=(1,))
                [(subject, reason)] = found
                self.assertIn(subject, ("link/h4/gpus-2|h6/gpus-2", "link/h6/gpus-2|h4/gpus-2"))
                self.assertEqual(reason, "allreduce_wrong_between_nodes")
                source, destination = subject.removeprefix("link/").replace("/gpus-2", "").split("|")
                at = destination if rank == 1 else source
                self.assert_said(f"sum up wrongly together, on {at}: ")
                self.assertRegex(shown, r"1 h4 +- +!\n2 h6 +! +-\n")

    def test_a_gpu_that_somebody_uses_is_left_alone(self):
        path = os.path.join(self.tree_of(self.lab[7]), "nvml.yaml")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.addCleanup(self.start_again, self.lab[7])  # its next look would be in a minute
        self.addCleanup(write, path, text)
        write(path, text.replace("processes.count: 0", "processes.count: 1"))
        self.measure(self.lab[1], "--nodes", "h2,h7", codes=(3,))
        self.assertRegex("".join(self.said.split()), "isinuseby|inuseby1process")

    def test_what_cannot_be_measured_is_unknown_and_says_why(self):
        faults = ({"driver": {"calls": {"cuInit": {"result": 100}}}}, "CUDA_ERROR_NO_DEVICE"), \
                 ({"calls": {"ncclCommInitRank": {"result": 3}}}, "ncclCommInitRank: "), ({"calls": {"ncclGetUniqueId": {"result": "abort"}}}, "signal 6")
        for planted, why in faults:
            with self.subTest(planted):
                for number in (1, 6):
                    self.plant(self.lab[number], **planted)
                self.measure(self.lab[7], "--nodes", "h1,h6", codes=(3,))
                self.assert_said(why)

    def test_a_node_with_fewer_gpus_is_left_out_by_name(self):
        host = self.lab[8]
        self.start_again(host, gpus=GPUS[:1])
        self.addCleanup(self.start_again, host)
        code, out, err = self.lab[6].command("network", "test", "--kind", "nccl", "--plan", "-o", "json")
        self.assertEqual(code, 0, out + err)
        plan = json.loads(out)
        self.assertEqual([one["rail"] for one in plan["rails"]], ["gpus-2", "gpus-1"])
        self.assertEqual(plan["leftOut"], [{"node": "h8", "why": "no other node has an equal number of GPUs"}])
        self.measure(self.lab[6], "--nodes", "h6,h8", codes=(3,))
        self.assert_said("no two nodes have an equal number of GPUs")

    def test_nobody_listens_afterwards(self):
        self.measure(self.lab[8], "--nodes", "h2,h8")
        for host in self.lab.hosts.values():
            harness.wait_until(lambda host=host: all(line.split()[3].endswith((f":{network_lab.PORT}", f":{TLS_PORT}"))
                                                     for line in host.run("ss", "-Hltn").splitlines()), "nobody listens", 10)


if __name__ == "__main__":
    own_namespaces.enter(network_lab.NAMESPACES, network_lab.PROGRAMS, network_lab.TRIAL)
    unittest.main(verbosity=2)

# SPDX-License-Identifier: Apache-2.0
"""Hosts with real agents and the real GPU probe for tests of all-reduces between them. GPUs are what cannot be here: libraries play the driver
and NCCL (libcuda-sim.so, libnccl-sim.so), whose processes really talk with each other over the network of the hosts, and a folder plays the
kernel's list of devices (gpu_host.py)."""

import json
import os
import subprocess
import sys
import unittest

import harness
import network_lab
from certificates import Certificates

GPUS = ("0000:4a:00.0", "0000:61:00.0")  # of four of the simulated machine
MACHINE = "l40s-4"
TLS_PORT = 3343
HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARIES = {"libcuda.so.1": "libcuda-sim.so", "libnccl.so.2": "libnccl-sim.so", "libnvidia-ml.so.1": "libnvidia-ml-sim.so"}
USUAL = 2.0  # Gbit/s of a bus: an iteration is much longer than what the exchange itself takes


def gpu(address):
    """A row of the driver's table; JSON is YAML."""
    return {"uuid": f"GPU-000000{address[5:7]}-0000-0000-0000-000000000000", "pci_address": address.upper(), "memory_mib": 64}


def write(path, text):
    """At once: who reads half of it would not look again, because the file has changed within one tick of the clock."""
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(f"{path}.new", path)


class NcclLabTest(unittest.TestCase):
    """Base of tests, which names the hosts, by the leaf that each says it is below."""
    LEAVES = {}

    @classmethod
    def setUpClass(cls):
        if harness.is_sanitized(harness.AUTOPILOT):
            raise unittest.SkipTest("eight agents with sanitizers are too much for two processors; nccl_probe_test has the probe")
        cls.lab = network_lab.Lab(hosts=len(cls.LEAVES), rails=1)
        cls.addClassCleanup(cls.lab.close)
        cls.libraries = os.path.join(cls.lab.folder, "libraries")
        os.makedirs(cls.libraries)
        for name, played_by in LIBRARIES.items():
            os.symlink(os.path.join(harness.BIN, played_by), os.path.join(cls.libraries, name))
        cls.keys = Certificates(cls.lab.folder)
        cls.keys.make_authority("ca")
        for host in cls.lab.hosts.values():
            host.leaf = cls.LEAVES[host.number]
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

    def measure(self, host, check, *words, codes=(0, 1)):
        """What the verb prints, and the findings of the check since."""
        code, out, err = host.command("network", "test", "--kind", "nccl", *words, timeout=280)
        self.said = out + err
        self.assertIn(code, codes, self.said)
        return out, host.findings(check)

    def assert_said(self, words):
        self.assertIn(words.replace(" ", ""), "".join(self.said.split()), "lines are wrapped")

    def use(self, host):
        """Somebody computes on a GPU of that host."""
        path = os.path.join(self.tree_of(host), "nvml.yaml")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.addCleanup(self.start_again, host)  # its next look would be in a minute
        self.addCleanup(write, path, text)
        write(path, text.replace("processes.count: 0", "processes.count: 1"))

# SPDX-License-Identifier: Apache-2.0
"""Hosts with real agents and TLS for tests between nodes with GPUs. Only the GPUs are simulated: a library replaces the driver, which
reports their users (libnvidia-ml-sim.so), and a folder replaces the kernel's lists of devices."""

import datetime
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
PROCESSES = "gpu.processes"
SHARED = datetime.timedelta(seconds=1)  # an answer of the driver is reused for this time (src/host/gpu/helper_gpus.hpp)
HERE = os.path.dirname(os.path.abspath(__file__))


def write(path, text):
    """Replaces the file at once: a reader of half of it would not read it again, because the file has changed within one clock tick."""
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(f"{path}.new", path)


class GpuLabTest(unittest.TestCase):
    """Base class of tests. They name the hosts, by their configured leaf, the rails, the replaced libraries with their replacements, and
    the test whose probe has sanitizers; `play` writes the differences from a healthy host, and `start` starts its agent."""
    LEAVES = {}
    RAILS = 1
    LIBRARIES = {"libnvidia-ml.so.1": "libnvidia-ml-sim.so"}
    SANITIZED = ""

    @classmethod
    def setUpClass(cls):
        if harness.is_sanitized(harness.AUTOPILOT):
            raise unittest.SkipTest(f"eight agents with sanitizers are too much for two processors; {cls.SANITIZED} has the probe")
        cls.lab = network_lab.Lab(hosts=len(cls.LEAVES), rails=cls.RAILS)
        cls.addClassCleanup(cls.lab.close)
        cls.libraries = cls.folder_of("libraries", {name: os.path.join(harness.BIN, played_by) for name, played_by in cls.LIBRARIES.items()})
        cls.keys = Certificates(cls.lab.folder)
        cls.keys.make_authority("ca")
        cls.prepare()
        for host in cls.lab.hosts.values():
            host.leaf = cls.LEAVES[host.number]
            cls.keys.make(host.name, "ca", f"DNS:{host.name}")
            subprocess.run([harness.AUTOPILOT_SIM, "create", MACHINE, "--out", cls.tree_of(host)], check=True, stdout=subprocess.DEVNULL)
            cls.play(host)
            cls.start(host)
        for host in cls.lab.hosts.values():
            host.wait_ready()

    @classmethod
    def prepare(cls):
        """Prepares the parts that all hosts share."""

    @classmethod
    def folder_of(cls, name, links):
        """One with links to these files."""
        folder = os.path.join(cls.lab.folder, name)
        os.makedirs(folder)
        for link, path in links.items():
            os.symlink(path, os.path.join(folder, link))
        return folder

    @staticmethod
    def tree_of(host):
        """The machine tree of the simulated NVML."""
        return os.path.join(host.folder, "machine")

    @classmethod
    def start_with(cls, host, words, *program):
        """words: of the environment; program: what makes the lists of devices, with its arguments."""
        peers = [f"{one.name}={one.address(0)}:{TLS_PORT}" for one in cls.lab.hosts.values()]
        keys = {"certificate": f"{host.name}.crt", "key": f"{host.name}.key", "authorities": "ca.crt"}
        tls = {"mode": "files", "listen": f":{TLS_PORT}"} | {name: cls.keys.path(file) for name, file in keys.items()}
        environment = [f"LD_LIBRARY_PATH={cls.libraries}", f"AUTOPILOT_SIM_MACHINE={cls.tree_of(host)}", *words]
        host.start(peers, prefix=["env", *environment, sys.executable, "-B", os.path.join(HERE, program[0]), *program[1:], "--"],
                   settings=f"tls: {json.dumps(tls)}\ncompat: {{open_actions: true}}\n")

    def plant(self, host, **what):
        self.play(host, **what)
        self.addCleanup(self.play, host)

    def start_again(self, host, **what):
        host.stop()
        self.start(host, **what)
        host.wait_ready()

    def assert_said(self, words):
        self.assertIn(words.replace(" ", ""), "".join(self.said.split()), "lines are wrapped")

    def use(self, host):
        """A process uses the GPUs of that host since the agent's last reading; the next reading reports it."""
        host.request("POST", f"/v1/checks/{PROCESSES}")
        harness.wait_until(lambda: self.since_last_look(host) > SHARED, "the driver is asked again", 5)
        path = os.path.join(self.tree_of(host), "nvml.yaml")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.addCleanup(self.start_again, host)  # its next regular run would be in a minute
        self.addCleanup(write, path, text)
        write(path, text.replace("processes.count: 0", "processes.count: 1"))

    @staticmethod
    def since_last_look(host):
        completed = host.get(f"/v1/checks/{PROCESSES}")["completed"]
        return datetime.datetime.now(datetime.timezone.utc) - datetime.datetime.fromisoformat(completed)

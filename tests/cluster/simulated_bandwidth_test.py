# SPDX-License-Identifier: Apache-2.0
"""Agents of eight simulated nodes measure the bandwidth between them in pairs, found by the Service of agents, known by certificates, and
chosen by a label; the agent of a real node makes the run. Their cables are real, and carry far less than this machine could."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import harness  # noqa: E402
from kit import hosts, testing  # noqa: E402
from kit.deployment import NAMESPACE, Deployment  # noqa: E402

NODE = "node-0"
NODES = [f"lane-{number}" for number in range(8)]
SLOW_NODE = "lane-5"
LABEL = "rack=lanes"
LINE = 40  # Mbit/s
SLOW = 24


class SimulatedBandwidthTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        harness.need_program("tc")
        cls.cluster = testing.cluster_with_nodes()
        cls.api = cls.cluster.api
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.make_secret()
        deployment = Deployment(cls.api, "dropin", NODE, "--simulate", hosts.MACHINE, "--allow-simulated",
                                settings=["tls.mode=secret", "config.ping.every=0s", "config.network.interfaces={eth0}"])
        cls.addClassCleanup(deployment.remove)
        deployment.apply()
        cls.hosts = hosts.Hosts(cls.cluster, NODES)
        cls.addClassCleanup(cls.hosts.stop)
        cls.hosts.start(Path(harness.AUTOPILOT))
        for node in NODES:
            cls.hosts.limit(node, LINE)
        cls.api.run("label", "node", *NODES, LABEL)

    @classmethod
    def make_secret(cls):
        """The keys of the agent of the real node, as a user of the chart brings them."""
        keys = cls.cluster.control_plane.keys
        certificate, key = keys.make(f"agent-of-{NODE}", f"/CN={NODE}", [NODE])
        cls.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        cls.api.run("create", "secret", "generic", "autopilot-tls", "-n", NAMESPACE, f"--from-file=tls.crt={certificate}",
                    f"--from-file=tls.key={key}", f"--from-file=ca.crt={keys.authority}")

    def ask(self, *words):
        """Exit code and standard output of the verb, for a user with only a kubeconfig."""
        kubectl = Path(self.cluster.programs["kubectl"])
        environment = {**os.environ, "KUBECONFIG": str(self.cluster.kubeconfig), "PATH": f"{kubectl.parent}:{os.environ['PATH']}"}
        done = subprocess.run([harness.AUTOPILOT, "network", "test", "--namespace", NAMESPACE, "--node", NODE, "--nodelabel", LABEL, *words],
                              env=environment, capture_output=True, text=True, check=False, timeout=240)
        self.said = done.stdout + done.stderr
        return done.returncode, done.stdout

    def measure(self):
        code, out = self.ask("-o", "json")
        self.assertIn(code, (0, 1), self.said)
        told = json.loads(out)
        self.assertTrue(told["simulated"])
        [test] = told["items"]
        self.assertTrue(test["operation"]["simulated"] and test["result"]["simulated"], test)
        self.assertEqual(sorted(one["key"] for one in test["operation"]["reservation"]), NODES)
        ways = [one for one in test["result"]["observations"] if one["name"] == "bandwidth.received"]
        self.assertEqual({one["attributes"]["source"] for one in ways}, set(NODES))
        self.assertEqual([one for one in ways if "value" not in one], [], "every pair has its figure")
        return ways, test["result"]["findings"]

    def test_a_healthy_fabric_gives_no_suspect(self):
        ways, findings = self.measure()
        self.assertEqual(findings, [], self.said)
        for way in ways:
            self.assertAlmostEqual(way["value"] / (LINE * 1e6), 0.96, delta=0.06, msg=way)  # without headers

    def test_a_slow_node_is_named_and_forgiven(self):
        self.addCleanup(self.hosts.limit, SLOW_NODE, LINE)
        self.hosts.limit(SLOW_NODE, SLOW)
        _, findings = self.measure()
        self.assertEqual([(one["subject"], one["reason"], one["health"]) for one in findings],
                         [({"kind": "nic_port", "key": f"{SLOW_NODE}:eth0"}, "nic_slower_than_others", "degraded")], self.said)
        [found] = findings
        self.assertEqual(found["evidence"]["kind"], "nic", "both ways")
        self.hosts.limit(SLOW_NODE, LINE)
        self.assertEqual(self.measure()[1], [], self.said)

    def test_a_table_says_that_these_nodes_do_not_exist(self):
        code, out = self.ask()
        self.assertEqual(code, 0, self.said)
        self.assertTrue(out.startswith("SIMULATED\neth0, Gbit/s\n"), self.said)

    def test_a_plan_names_them_and_their_gpus_and_adapters_take_no_part(self):
        code, out = self.ask("--plan", "-o", "json")
        self.assertEqual(code, 0, self.said)
        self.assertEqual(json.loads(out)["rails"], [{"rail": "eth0", "nodes": NODES}])
        for kind in ("rdma", "nccl"):
            code, _ = self.ask("--kind", kind)
            self.assertEqual(code, 64, self.said)
            self.assertIn("no operation is called", self.said)


if __name__ == "__main__":
    testing.main()

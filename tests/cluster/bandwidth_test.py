# SPDX-License-Identifier: Apache-2.0
"""Agents of two nodes measure the bandwidth between their pods, with the permissions of the profile dropin and certificates of the
controller, requested by a user with only a kubeconfig."""

import json
import os
import subprocess
import sys
import unittest
import urllib.request
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import harness  # noqa: E402
from kit import simulated, testing  # noqa: E402
from kit.cluster import Cluster  # noqa: E402
from kit.deployment import NAMESPACE, Deployment  # noqa: E402

CONTROLLER = "autopilot-controller"
LABEL = "rack=r7"
LEAF_LABEL = "network.topology.nvidia.com/leaf"


class BandwidthTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().open()
        cls.api = cls.cluster.api
        cls.cluster.need_nodes(2)
        cls.agents = Deployment(cls.api, "dropin", None, settings=[
            "controller.enabled=true", f"controller.nodeSelector.{simulated.LABEL}=real", "tls.mode=controller"])
        cls.addClassCleanup(cls.agents.remove)
        cls.pods = cls.agents.apply_to_all()
        cls.api.run("rollout", "status", "-n", NAMESPACE, f"deployment/{CONTROLLER}", "--timeout=90s")
        for node in cls.pods:
            cls.api.run("label", "node", node, LABEL, "--overwrite")
            cls.addClassCleanup(cls.api.run, "label", "node", node, "rack-")

    def ask(self, *words):
        """Exit code and what the verb prints, JSON where it is."""
        kubectl = Path(self.cluster.programs["kubectl"])
        environment = {**os.environ, "KUBECONFIG": str(self.cluster.kubeconfig), "PATH": f"{kubectl.parent}:{os.environ['PATH']}"}
        done = subprocess.run([harness.AUTOPILOT, "network", "test", "-o", "json", "--namespace", NAMESPACE, "--nodelabel", LABEL, *words],
                              env=environment, capture_output=True, text=True, check=False, timeout=150)
        self.said = done.stdout + done.stderr
        return done.returncode, json.loads(done.stdout) if done.stdout.startswith("{") else None

    def measured(self):
        """Result of a test that ran, once agents have their certificates."""
        code, told = self.ask()
        test = told["items"][0] if told else None
        is_measured = test and test["result"] and any(one["name"] == "bandwidth.received" and "value" in one
                                                      for one in test["result"]["observations"])
        return (code, test) if is_measured else None

    def test_pods_of_two_nodes_measure_each_other(self):
        try:
            code, test = self.api.wait(self.measured, "agents measure each other", 60)
        except AssertionError as late:
            raise AssertionError(f"{late}: {self.said}") from None
        self.assertEqual(sorted(one["key"] for one in test["operation"]["reservation"]), sorted(self.pods))
        ways = {(one["attributes"]["source"], one["attributes"]["destination"]): one for one in test["result"]["observations"]
                if one["name"] == "bandwidth.received"}
        a, b = sorted(self.pods)
        self.assertEqual(sorted(ways), [(a, b), (b, a)])
        for (source, _), way in ways.items():
            self.assertGreater(way["value"], 1e6, way)
            self.assertEqual(way["attributes"]["source_pod"], self.pods[source]["metadata"]["name"])
        # One pair is like any other, for all that is known.
        self.assertEqual(code, 3, self.said)
        self.assertEqual([one["message"] for one in test["result"]["findings"]], ["too few pairs to compare them"])

    def test_a_plan_names_both(self):
        def planned():
            code, plan = self.ask("--plan")
            return plan if plan and code == 0 else None
        plan = self.api.wait(planned, "an agent plans", 60)
        self.assertEqual([sorted(rail["nodes"]) for rail in plan["rails"]], [sorted(self.pods)])

    def test_an_agent_tells_the_switch_that_the_label_of_its_node_names(self):
        node, pod = sorted(self.pods.items())[0]

        def leaf():
            with urllib.request.urlopen(f"http://{pod['status']['podIP']}:3333/v1/network", timeout=5) as answer:
                return json.load(answer).get("leaf", "")
        self.assertEqual(leaf(), "")
        self.api.run("label", "node", node, f"{LEAF_LABEL}=switch-a")
        self.addCleanup(self.api.run, "label", "node", node, f"{LEAF_LABEL}-")
        self.api.wait(lambda: leaf() == "switch-a", "the agent knows the label", 30)

    def test_nodes_without_gpus_make_no_all_reduce(self):
        def refused():
            code, _ = self.ask("--kind", "nccl")
            return code == 3 and "no two nodes have an equal number of GPUs" in " ".join(self.said.split())
        self.api.wait(refused, "an agent says that there are no GPUs", 60)


if __name__ == "__main__":
    testing.main()

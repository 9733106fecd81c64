# SPDX-License-Identifier: Apache-2.0
"""Agents of two nodes ask each other whether they answer, with the rights of the profile dropin and no others: no root, no capability."""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import harness  # noqa: E402
from kit import network, testing  # noqa: E402
from kit.cluster import Cluster  # noqa: E402
from kit.deployment import NAMESPACE, PREFIX, Deployment  # noqa: E402

CHECK = "network.ping"
CUT = "node-1"
ICMP = "meta l4proto icmp"


def in_network_of(node, *command, check=True):
    subprocess.run(["nsenter", f"--net=/run/netns/{network.namespace_of(node)}", *command], check=check, capture_output=True)


class PingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().open()
        cls.api = cls.cluster.api
        cls.cluster.need_nodes(2)
        cls.agents = Deployment(cls.api, "dropin", None, settings=["config.ping.every=10s"])
        cls.addClassCleanup(cls.agents.remove)
        cls.pods = cls.agents.apply_to_all()

    def result(self, node):
        """Findings of the last run of the agent there."""
        pod = self.pods[node]["metadata"]["name"]
        text = self.api.run("exec", "-n", NAMESPACE, pod, "-c", "agent", "--", "autopilot", "check", CHECK, "-o", "json", codes=(0, 1, 2, 3))
        return json.loads(text)["results"][0]

    def wait_for(self, node, health):
        return self.api.wait(lambda: (result := self.result(node))["health"] == health and result, f"{CHECK} of {node} is {health}", 90)

    def asked(self, result):
        return {one["subject"]["key"]: one for one in result["observations"] if one["name"] == "ping.silent"}

    def test_each_node_asks_all_others_by_icmp(self):
        for node in self.pods:
            asked = self.asked(self.wait_for(node, "healthy"))
            self.assertEqual(sorted(asked), sorted(set(self.pods) - {node}))
            for other, observation in asked.items():
                self.assertIn(f"eth0={self.pods[other]['status']['podIP']}", observation["attributes"]["addresses"])
                self.assertNotIn("way", observation["attributes"], "by ICMP, and not by TCP")

    def expected(self):
        """Without a third node it is not known which of the two is disconnected."""
        if len(self.pods) == 2:
            return [({"kind": "nic_port", "key": "eth0"}, "interface_or_nodes_silent")]
        return [({"kind": "peer", "key": CUT}, "node_does_not_answer")]

    def test_a_node_that_answers_no_more_is_named_and_forgiven(self):
        asking = next(node for node in self.pods if node != CUT)
        self.wait_for(asking, "healthy")
        in_network_of(CUT, "nft", f"add table inet cut; add chain inet cut forward {{ type filter hook forward priority 0; }}; "
                      f"add rule inet cut forward {ICMP} drop")
        self.addCleanup(in_network_of, CUT, "nft", "delete table inet cut", check=False)
        findings = self.wait_for(asking, "degraded")["findings"]
        self.assertEqual([(one["subject"], one["reason"]) for one in findings], self.expected())
        self.api.wait(lambda: self.condition(asking) == ("False", "Degraded"), f"the condition of {asking} says it", 60)
        in_network_of(CUT, "nft", "delete table inet cut")
        self.wait_for(asking, "healthy")
        self.api.wait(lambda: self.condition(asking)[0] == "True", f"the condition of {asking} is good again", 60)

    def asked_by_verb(self, *words):
        """Which nodes `autopilot network test --kind ping` asked about, with nothing but a kubeconfig."""
        kubectl = Path(self.cluster.programs["kubectl"])
        environment = {**os.environ, "KUBECONFIG": str(self.cluster.kubeconfig), "PATH": f"{kubectl.parent}:{os.environ['PATH']}"}
        done = subprocess.run([harness.AUTOPILOT, "network", "test", "--kind", "ping", "-o", "json", "--namespace", NAMESPACE, *words],
                              env=environment, capture_output=True, text=True, check=False, timeout=60)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        [test] = json.loads(done.stdout)["items"]
        return sorted(one["key"] for one in test["operation"]["reservation"]), sorted(self.asked(test["result"]))

    def test_the_nodes_of_a_test_are_chosen_by_label_and_by_job(self):
        asking = next(node for node in self.pods if node != CUT)
        self.wait_for(asking, "healthy")
        for node in self.pods:
            self.api.run("label", "node", node, "rack=r7", "--overwrite")
            self.addCleanup(self.api.run, "label", "node", node, "rack-")
        self.assertEqual(self.asked_by_verb("--node", asking, "--nodelabel", "rack=r7"), (sorted(self.pods), sorted(set(self.pods) - {asking})))
        self.assertEqual(self.asked_by_verb("--node", asking)[1], sorted(set(self.pods) - {asking}))
        # The agents themselves are a job as good as any.
        label = f"app={self.pods[asking]['metadata']['labels']['app']}"
        self.assertEqual(self.asked_by_verb("--node", asking, "--job", f"{NAMESPACE}:{label}")[0], sorted(self.pods))

    def condition(self, node):
        for one in self.api.get("node", node)["status"]["conditions"]:
            if one["type"] == "NetworkHealthy":
                return one["status"], one["reason"]
        return "", ""


if __name__ == "__main__":
    testing.main()

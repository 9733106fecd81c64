# SPDX-License-Identifier: Apache-2.0
"""Agents of two nodes ask each other whether they answer, with the rights of the profile dropin and no others: no root, no capability."""

import json
import subprocess
import unittest

from kit import network, testing
from kit.cluster import Cluster
from kit.deployment import NAMESPACE, PREFIX, Deployment

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
        if len(cls.cluster.nodes) < 2:
            raise unittest.SkipTest(cls.cluster.why_no_nodes or "this cluster has fewer than two nodes with a kubelet: make cluster REAL=2")
        cls.agents = Deployment(cls.api, "dropin", None, settings=["config.ping.every=10s"])
        cls.addClassCleanup(cls.agents.remove)
        cls.pods = cls.agents.apply_to_all()

    def result(self, node):
        """Of the last look of the agent there."""
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

    def test_a_node_that_answers_no_more_is_named_and_forgiven(self):
        asking = next(node for node in self.pods if node != CUT)
        self.wait_for(asking, "healthy")
        in_network_of(CUT, "nft", f"add table inet cut; add chain inet cut forward {{ type filter hook forward priority 0; }}; "
                      f"add rule inet cut forward {ICMP} drop")
        self.addCleanup(in_network_of, CUT, "nft", "delete table inet cut", check=False)
        findings = self.wait_for(asking, "degraded")["findings"]
        self.assertEqual([(one["subject"], one["reason"]) for one in findings],
                         [({"kind": "peer", "key": CUT}, "node_does_not_answer")])
        self.api.wait(lambda: self.condition(asking) == ("False", "Degraded"), f"the condition of {asking} says it", 60)
        in_network_of(CUT, "nft", "delete table inet cut")
        self.wait_for(asking, "healthy")
        self.api.wait(lambda: self.condition(asking)[0] == "True", f"the condition of {asking} is good again", 60)

    def condition(self, node):
        for one in self.api.get("node", node)["status"]["conditions"]:
            if one["type"] == "NetworkHealthy":
                return one["status"], one["reason"]
        return "", ""


if __name__ == "__main__":
    testing.main()

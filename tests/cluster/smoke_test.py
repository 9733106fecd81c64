# SPDX-License-Identifier: Apache-2.0
"""The chart from install to removal on one node with a kubelet: the node is labelled, the gate opens for a pod, a bad GPU is
reported and keeps no pod waiting in mode observe, and nothing is left. What `make test` runs of this folder."""

import json
import unittest

from kit import images, testing
from kit.cluster import Cluster
from kit.deployment import NAMESPACE, PREFIX
from kit.gpu_nodes import GPU_TEST, RESOURCE, GpuNodes

SPACE = "autopilot-smoke"
GATE = "autopilot-preflight"
PATIENCE = 120


def pod(name, node):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": SPACE, "labels": {"autopilot": ""}}, "spec": {
        "nodeSelector": {"kubernetes.io/hostname": node}, "restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "main", "image": images.name_of("busybox"), "command": ["/bin/busybox", "sleep", "3600"],
                        "resources": {"limits": {RESOURCE: "8"}}}]}}


class SmokeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().open()
        cls.api = cls.cluster.api
        cls.cluster.need_nodes(1)
        cls.node = cls.cluster.nodes[0].name
        cls.nodes = GpuNodes(cls.cluster, "controller.enabled=true", "webhook.enabled=true", "tls.mode=controller")
        cls.addClassCleanup(cls.nodes.remove)
        cls.nodes.install(mode="observe")
        cls.addClassCleanup(cls.api.run, "delete", "--ignore-not-found", "namespace", SPACE)
        cls.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
        cls.api.wait(lambda: cls.api.get("serviceaccount", "default", "-n", SPACE), "the account of the pods is there")

    def label(self):
        return self.api.get("node", self.node)["metadata"]["labels"].get(f"{PREFIX}/gpuhealth")

    def phase(self, name):
        return self.api.get("pod", name, "-n", SPACE)["status"].get("phase")

    def gate_said(self, name):
        return self.api.run("logs", "-n", SPACE, name, "-c", GATE, codes=(0, 1))

    def reports(self):
        return [one["spec"] for one in self.api.get("hcr", "-n", NAMESPACE)["items"]]

    def test_from_the_chart_to_a_report(self):
        self.api.wait(lambda: self.label() == "PASS", "the label says PASS", PATIENCE)

        self.api.apply(pod("good", self.node))
        self.api.wait(lambda: self.phase("good") == "Running", "the gate opened and the pod runs", PATIENCE)
        self.assertIn("the job may start", self.gate_said("good"))
        self.assertEqual([], self.reports())
        self.api.run("delete", "pod", "good", "-n", SPACE)

        self.nodes.slow_down(self.node)
        self.api.apply(pod("bad", self.node))
        self.api.wait(self.reports, "the agent reports what the gate's test found", PATIENCE)
        report, = self.reports()
        self.assertEqual((report["node"], report["outcome"]), (self.node, "failed"))
        self.assertIn(GPU_TEST, json.dumps(report["tests"]))
        # In mode observe no pod has to wait.
        self.assertTrue(report["letIn"])
        self.api.wait(lambda: self.phase("bad") == "Running", "the pod starts all the same", PATIENCE)
        self.assertIn("so the job starts", self.gate_said("bad"))


if __name__ == "__main__":
    testing.main()

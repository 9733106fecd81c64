# SPDX-License-Identifier: Apache-2.0
"""The network between the pods of a job, tested before any of them starts: the chart's agents, controller and webhook on two real nodes.
The nodes have no GPU; the status of each Node object lists one, so that a pod can request it."""

import json
import subprocess
import unittest

from kit import images, network, simulated, testing
from kit.cluster import Cluster
from kit.deployment import NAMESPACE, PREFIX, Deployment

TEAM = "team-a"
GATE = "autopilot-preflight"
WEBHOOK = "autopilot-preflight"
CONTROLLER = "autopilot-controller"
RESOURCE = "amd.com/gpu"  # no device plugin of these clusters offers it
PATIENCE = 120
CUT = "node-1"


def job(name, pods):
    """One pod on a node."""
    alone = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"of": name}}}]}}
    main = {"name": "main", "image": images.name_of("busybox"), "command": ["/bin/busybox", "sleep", "1000000"],
            "resources": {"limits": {RESOURCE: "1"}}}
    annotations = {f"{PREFIX}/preflight": "network.ping", f"{PREFIX}/gang-size": str(pods)}
    template = {"metadata": {"labels": {"autopilot": "", "of": name}, "annotations": annotations},
                "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "affinity": alone, "containers": [main]}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": TEAM}, "spec": {
        "backoffLimit": 20, "parallelism": pods, "completions": pods, "template": template}}


class GangNetworkTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().open()
        cls.api = cls.cluster.api
        cls.cluster.need_nodes(2)
        cls.nodes = [node.name for node in cls.cluster.nodes][:2]
        for node in cls.nodes:
            cls.offer(node, "1")
            cls.addClassCleanup(cls.offer, node, None)
        cls.agents = Deployment(cls.api, "full", None, settings=[
            "controller.enabled=true", f"controller.nodeSelector.{simulated.LABEL}=real", "webhook.enabled=true", "tls.mode=controller"])
        cls.addClassCleanup(cls.agents.remove)
        cls.agents.apply_to_all()
        cls.api.run("rollout", "status", "-n", NAMESPACE, f"deployment/{CONTROLLER}", "--timeout=90s")
        cls.addClassCleanup(cls.api.run, "delete", "--ignore-not-found", "--wait=false", "namespace", TEAM)
        cls.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM}})
        cls.api.wait(lambda: cls.api.get("serviceaccount", "default", "-n", TEAM), "the account of the pods is there")
        cls.api.wait(cls.is_asked, "the API server asks what a pod gets", 60)

    @classmethod
    def offer(cls, node, count):
        cls.api.run("patch", "node", node, "--subresource=status", "--type=merge", "-p", json.dumps({"status": {"capacity": {RESOURCE: count}}}))

    @classmethod
    def is_asked(cls):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "is-asked", "namespace": TEAM, "labels": {"autopilot": ""}},
               "spec": {"containers": [{"name": "main", "image": "none:1", "resources": {"limits": {RESOURCE: "1"}}}]}}
        would_be = json.loads(cls.api.run("create", "--dry-run=server", "-o", "json", "-f", "-", text=json.dumps(pod)))
        return any(one["name"] == WEBHOOK for one in would_be["spec"].get("initContainers", []))

    def setUp(self):
        self.addCleanup(self.clean)

    def clean(self):
        for node in self.nodes:
            self.api.run("uncordon", node)
        self.api.run("delete", "-n", TEAM, "jobs", "--all", "--wait=false")
        self.api.run("delete", "-n", TEAM, "pods,events", "--all", "--force", "--grace-period=0")
        self.api.run("delete", "-n", NAMESPACE, "healthcheckreports", "--all")

    def pods(self):
        """node -> its pod."""
        return {one["spec"]["nodeName"]: one for one in self.api.get("pods", "-n", TEAM)["items"] if one["spec"].get("nodeName")}

    def running(self):
        pods = self.pods()
        return pods if len(pods) == 2 and all(one["status"]["phase"] == "Running" for one in pods.values()) else None

    def said(self, pod):
        return self.api.run("logs", "-n", TEAM, pod["metadata"]["name"], "-c", GATE)

    def test_the_pods_wait_for_each_others_nodes_and_start_where_these_answer(self):
        late = self.nodes[1]
        self.api.run("cordon", late)
        self.api.apply(job("ring", 2))
        first = self.api.wait(lambda: self.pods().get(self.nodes[0]), "one pod has a node", 60)
        self.api.wait(lambda: "waiting for 1 of 2 pods of Job ring: 1 is on no node" in self.said(first), "it waits for the other one's node", 60)
        self.api.run("uncordon", late)
        for pod in self.api.wait(self.running, "both run", PATIENCE).values():
            self.assertRegex(self.said(pod), r"network\.ping passed just now on the node; the job may start")
        self.assertEqual(self.api.get("hcr", "-n", NAMESPACE)["items"], [])

    def test_where_the_other_node_does_not_answer_it_is_on_record_that_nobody_can_tell_whose_fault_it_is(self):
        inside = ["nsenter", f"--net=/run/netns/{network.namespace_of(CUT)}", "nft"]
        subprocess.run([*inside, "add table inet cut; add chain inet cut forward { type filter hook forward priority 0; }; "
                        "add rule inet cut forward meta l4proto icmp drop"], check=True, capture_output=True)
        self.addCleanup(subprocess.run, [*inside, "delete table inet cut"], check=False, capture_output=True)
        self.api.apply(job("ring", 2))
        self.api.wait(self.running, "both run", PATIENCE)
        reports = self.api.wait(lambda: (found := self.api.get("hcr", "-n", NAMESPACE)["items"]) and len(found) == 2 and found, "it is on record", 30)
        for report in reports:
            self.assertEqual(report["spec"]["outcome"], "started")
            self.assertIn("no node answers over eth0, and too few were asked", report["spec"]["message"])


if __name__ == "__main__":
    testing.main()

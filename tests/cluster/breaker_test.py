# SPDX-License-Identifier: Apache-2.0
"""Mode act, and a fault of 8 of 20 nodes at once: real agents on simulated machines report it, servers run there, and a controller with
the permissions of the chart does not touch them. It acts on a fault of a single node."""

import json
import os
import re
import sys
import tempfile
import unittest
from pathlib import Path

import yaml

from kit import fleet, reports, simulated, testing
from kit.cluster import ROOT, Cluster
from kit.control_plane import SERVER
from kit.deployment import NAMESPACE, PREFIX, render

sys.path.insert(0, str(ROOT / "tests" / "integration"))

from controller_test import Controller  # noqa: E402

PROGRAMS = Path(os.environ.get("AUTOPILOT_BIN_DIR", ROOT / "build" / "bin"))
SPACE = "autopilot-breaker"
NODES = [f"brk-{number}" for number in range(20)]
STRUCK = NODES[:8]
ALONE = NODES[12]
RIGHTS = ("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "CustomResourceDefinition")
HELD = f"{PREFIX}/held"
POLICY = """mode: act
pools: [{name: brk, selector: {autopilot-test/pool: brk}}]
"""


def node(name):
    made = simulated.node(name)
    made["metadata"]["labels"]["autopilot-test/pool"] = "brk"
    return made


def server(name, where):
    """One pod with all GPUs of a node, of which there is always another: an inference server. (What runs pods here ends those of Jobs at once.)"""
    main = {"name": "main", "image": "none:1", "resources": {"limits": {"nvidia.com/gpu": "8"}}}
    first = {"weight": 100, "preference": {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [where]}]}}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name, "namespace": SPACE}, "spec": {
        "replicas": 1, "selector": {"matchLabels": {"server": name}}, "template": {"metadata": {"labels": {"server": name}}, "spec": {
            "terminationGracePeriodSeconds": 0, "containers": [main], "nodeSelector": {"autopilot-test/pool": "brk"},
            "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [first]}}}}}}


class BreakerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().open()
        cls.api = cls.cluster.api
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        text = render.render(render.find_helm(), "dropin", ["controller.enabled=true", "remediation.mode=act"])
        cls.installed = [one for one in yaml.safe_load_all(text) if one and one["kind"] in RIGHTS]
        cls.addClassCleanup(cls.remove)
        cls.api.apply(*[one for one in cls.installed if one["kind"] in ("Namespace", "CustomResourceDefinition")])
        cls.api.wait_for_kinds(*(f"{kind}.autopilot.ibm.com" for kind in (
            "remediationplans", "remediationrequests", "healthcheckreports", "nodehealthreports")))
        cls.api.apply(*cls.installed, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
        cls.api.run("create", "-f", "-", text=simulated.as_text([node(name) for name in NODES]))
        cls.api.run("wait", "--for=condition=Ready", "node", *NODES, "--timeout=60s")
        token = cls.api.run("create", "token", "-n", NAMESPACE, "autopilot-controller").strip()
        cls.kubeconfig = Path(cls.folder) / "kubeconfig"
        cls.cluster.control_plane.keys.write_token_kubeconfig(cls.kubeconfig, SERVER, token)

    @classmethod
    def remove(cls):
        cls.api.run("delete", "--ignore-not-found", "--wait=false", "namespace", SPACE)
        cls.api.run("delete", "--ignore-not-found", "node", *NODES)
        reports.remove(cls.api)
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": cls.installed})
        cls.api.run("delete", "--ignore-not-found", "--wait=false", "-f", "-", text=text)
        cls.api.wait(lambda: not cls.api.run("get", "namespace", NAMESPACE, SPACE, "--ignore-not-found"), "the namespaces are gone")

    def setUp(self):
        """Starts without any state of the nodes, and without a cordon."""
        self.api.run("delete", "nhr,rplan,rreq,events", "-n", NAMESPACE, "--all")
        self.api.run("annotate", "nodes", "-l", "autopilot-test/pool=brk", f"{HELD}-")
        self.api.run("uncordon", "-l", "autopilot-test/pool=brk")

    def start_agents(self, struck):
        """The checks have run, and the fault comes later."""
        self.addCleanup(self.cluster.processes.stop, fleet.PROGRAM)
        self.addCleanup(fleet.forget_addresses, self.api)
        self.cluster.processes.log_of(fleet.PROGRAM).unlink(missing_ok=True)
        faults = [word for name in struck for word in ("--fault", f"node={name},fault=row_remap_failed,subject=gpu/2,at=30s")]
        fleet.start(self.cluster, PROGRAMS, len(NODES), *faults, prefix="brk-")
        self.api.wait(lambda: "every agent has written" in self.cluster.processes.log_of(fleet.PROGRAM).read_text(), "every agent has written", 180)

    def start_servers(self, nodes):
        """Name of the node -> uid of the pod that runs there."""
        self.addCleanup(self.api.run, "delete", "replicasets,pods", "-n", SPACE, "--all", "--force", "--grace-period=0")
        self.api.apply(*(server(f"serve-{name}", name) for name in nodes))
        self.api.wait(lambda: set(self.running()) == set(nodes), "the servers run")
        return self.running()

    def running(self):
        return {pod["spec"]["nodeName"]: pod["metadata"]["uid"] for pod in self.api.get("pods", "-n", SPACE)["items"]
                if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]}

    def start_controller(self):
        path = os.path.join(self.folder, "policy.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(POLICY)
        controller = Controller(self.kubeconfig, self.folder, "controller", f"policy: {path}\n")
        self.addCleanup(controller.stop)
        return controller

    def evicted(self):
        """Nodes with EVICT in the reports of their agents."""
        told = self.api.get("nhr", "-n", NAMESPACE)["items"]
        return {one["metadata"]["name"] for one in told if one["status"]["written"]["verdict"] == "EVICT"}

    def plans(self):
        return {one["spec"]["node"]: one.get("status", {}) for one in self.api.get("rplan", "-n", NAMESPACE)["items"]}

    def cordoned(self):
        return {one["metadata"]["name"] for one in self.api.get("nodes", "-l", "autopilot-test/pool=brk")["items"]
                if one["spec"].get("unschedulable") or HELD in one["metadata"].get("annotations", {})}

    def test_8_of_20_nodes_that_turn_bad_by_one_cause_are_left_alone_and_it_is_said_loudly(self):
        controller = self.start_controller()
        before = self.start_servers(STRUCK)
        self.start_agents(STRUCK)
        self.api.wait(lambda: self.evicted() == set(STRUCK), "the agents tell it", 180)
        plans = self.api.wait(lambda: len(self.plans()) == len(STRUCK) and
                              {one.get("brake") for one in self.plans().values()} == {"breaker"} and self.plans(), "each node has a plan", 120)
        self.assertEqual({one["phase"] for one in plans.values()}, {"waiting"})
        told = [one["message"] for one in self.api.get("events", "-n", NAMESPACE)["items"] if one["reason"] == "BreakerOpen"]
        self.assertTrue(any(re.match(r"\d+ of 20 nodes of pool brk failed with memory_uncorrected", message) for message in told), told)
        made = controller.metric("autopilot_controller_plans_made_total")
        self.api.wait(lambda: controller.metric("autopilot_controller_plans_made_total") > made + 1, "it is thought over again", 90)
        self.assertEqual(self.cordoned(), set())
        self.assertEqual(self.running(), before)

    def test_one_node_that_turns_bad_is_emptied(self):
        self.start_controller()
        before = self.start_servers([ALONE])
        self.start_agents([ALONE])
        self.api.wait(lambda: self.cordoned() == {ALONE}, "it is held", 240)
        self.api.wait(lambda: self.running() and ALONE not in self.running(), "its pod runs elsewhere", 90)
        self.assertNotEqual(set(self.running().values()), set(before.values()))


if __name__ == "__main__":
    testing.main()

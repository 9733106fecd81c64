# SPDX-License-Identifier: Apache-2.0
"""Diagnostics that a client with a token starts by a path of IBM Autopilot, or by an operation: of a storage class, whose volumes are
prepared objects, and of the GPUs of a node that a pod has."""

import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import harness  # noqa: E402
from kit import testing  # noqa: E402
from kit.cluster import Cluster  # noqa: E402
from kit.relay import Relay  # noqa: E402

SPACE = "autopilot-now"
NODE = "now-node"
CLASS = "now-volumes"
AUDIENCE = "autopilot.ibm.com"
EXAMPLE = Path(__file__).resolve().parents[2] / "deploy" / "examples" / "callers.yaml"
LIMIT = {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}}


def account(name):
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": SPACE}}


def node_with_a_pod():
    """A pod with one of the node's GPUs."""
    yield {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}}
    yield {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train-0", "namespace": SPACE},
           "spec": {"nodeName": NODE, "automountServiceAccountToken": False,
                    "containers": [{"name": "c", "image": "none", "resources": LIMIT}]}}


def volumes():
    """A class with one volume."""
    yield {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": CLASS},
           "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "Immediate"}
    yield {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": CLASS},
           "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"], "storageClassName": CLASS,
                    "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": f"/tmp/{CLASS}"}}}


class TestNowTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().open()
        cls.api = cls.cluster.api
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
        for kind, name in (("namespace", SPACE), ("node", NODE), ("storageclass", CLASS), ("persistentvolume", CLASS)):
            cls.addClassCleanup(cls.api.run, "delete", "--ignore-not-found", "--wait=false", kind, name)
        # No kubelet ends them.
        cls.addClassCleanup(cls.api.run, "delete", "-n", SPACE, "pods", "--all", "--force", "--grace-period=0", "--wait=false")
        role, binding = (one for one in yaml.safe_load_all(EXAMPLE.read_text()) if one["kind"] in ("Role", "RoleBinding"))
        role["rules"][0]["resources"].append("checks/gpu.diagnosis")
        role["metadata"]["namespace"] = binding["metadata"]["namespace"] = binding["subjects"][0]["namespace"] = SPACE
        cls.api.apply(role, binding, account("ci"), account("stranger"))
        cls.api.wait(lambda: cls.api.get("serviceaccount", "-n", SPACE, "default"), "the namespace has its account")
        cls.api.apply(*node_with_a_pod())
        cls.api.run("patch", "node", NODE, "--subresource=status", "-p",
                    json.dumps({"status": {"allocatable": {"nvidia.com/gpu": "8"}, "capacity": {"nvidia.com/gpu": "8"}}}))
        cls.relay = Relay(cls.cluster.control_plane)
        cls.addClassCleanup(cls.relay.close)
        cls.agent = cls.start("agent")
        cls.addClassCleanup(cls.agent.close)
        cls.agent.wait_ready()

    @classmethod
    def start(cls, name, **settings):
        kubeconfig = cls.folder / "kubeconfig"
        kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": cls.relay.url}}],
            "users": [{"name": "u", "user": {}}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}))
        config = cls.folder / f"{name}.yaml"
        config.write_text(json.dumps({
            "kubernetes": {"write_node": True, "kubeconfig": str(kubeconfig), "namespace": SPACE}, "node": NODE,
            "pvc": {"patience": "20s", "storage_classes": {CLASS: ["ReadWriteMany"]}},
            "deep_test": {"every": "365d", "image": "localhost/none"}, **settings}))
        return harness.Agent("--simulate", "hgx-h100-8", "--allow-simulated", "--config", str(config))

    def token(self, name):
        return self.api.run("create", "token", name, "-n", SPACE, "--audience", AUDIENCE).strip()

    def ask(self, path, name=None, accept="text/plain", agent=None):
        """Asks again if a test takes longer than the limit of an answer."""
        return harness.wait_until(lambda: next((body for body in [self.ask_once(path, name, accept, agent)] if "ask again later" not in body),
                                               None), f"the test of {path} has ended", 180)

    def ask_once(self, path, name, accept, agent):
        headers = {"Accept": accept, **({"Authorization": f"Bearer {self.token(name)}"} if name else {})}
        code, body = (agent or self.agent).request("GET", path, headers=headers, timeout=60)
        self.assertEqual(code, 200, body)
        return body

    def follow(self, check):
        return harness.run("test", check, "--socket", self.agent.socket, timeout=180)

    def test_a_class_is_tested_for_who_may(self):
        # No client has the permission yet.
        self.assertNotIn("not run:", self.ask("/pvc"))
        self.assertIn(f"not run: system:serviceaccount:{SPACE}:stranger may not create checks/storage.pvc", self.ask("/pvc", "stranger"))
        self.assertEqual(self.ask("/pvc", "ci"), "SIMULATED\nPVC create-delete test\nCreate PVC Failed. ABORT")
        # Other clients get this result, not marked as new.
        self.assertRegex(self.ask("/pvc"), r"\[PVC Create-Delete\] Result of \S+Z; authenticate to run now\.\nCreate PVC Failed")
        answer = json.loads(self.ask("/status?check=pvc,gpupower&host=" + NODE, "ci", "application/json"))
        self.assertEqual([(one["name"], one["outcome"], one["fresh"]) for one in answer["checks"]],
                         [("pvc", "aborted", True), ("gpupower", "passed", True)])
        code, out, error = self.follow("storage.pvc")
        self.assertEqual(code, 2, out + error)
        self.assertRegex(out, r"(?s)storage\.pvc +failed.*storage\s+class\s.*does\s+not\s+exist")
        # The missing object exists now, and the next run finds it at once. A request that comes too soon gets the previous result.
        self.api.apply(*volumes())
        stream = harness.wait_until(lambda: next((text for text in [self.ask("/pvc", "ci", "text/event-stream")] if "PVC SUCCESS" in text),
                                                 None), "the class is tested anew", 30)
        self.assertLess(stream.index("event: test\n"), stream.index("event: check\n"))
        self.assertIn("claimRef", self.api.get("persistentvolume", CLASS)["spec"])
        operation = json.loads(self.agent.get("/v1/operations"))["items"][0]
        self.assertEqual((operation["kind"], operation["owner"], operation["state"], operation["message"]),
                         ("storage.pvc", f"system:serviceaccount:{SPACE}:ci", "succeeded", f"{CLASS} ReadWriteMany: bound"))

    def test_gpus_of_a_pod_are_not_tested_and_that_is_no_failure(self):
        self.assertEqual(self.ask("/dcgm", "ci"), f"SIMULATED\nDCGM test\n[[ DCGM ]] SKIP: GPU in use by {SPACE}/train-0\n")
        answer = json.loads(self.ask("/dcgm", "ci", "application/json"))
        self.assertEqual((answer["checks"][0]["outcome"], answer["checks"][0]["fresh"], answer["statuses"]), ("skipped", False, []))
        code, out, error = self.follow("gpu.diagnosis")
        self.assertEqual(code, 3, out + error)
        self.assertIn(f"GPU in use by {SPACE}/train-0", out)
        self.assertNotIn("autopilot.ibm.com/testing", [taint["key"] for taint in self.api.get("node", NODE)["spec"].get("taints", [])])

    def test_other_nodes_are_not_tested_and_that_is_said(self):
        text = self.ask(f"/status?check=dcgm&host={NODE},other", "ci")
        self.assertIn("\nOther nodes answer with their last results: between agents there is no TLS.\n", text)
        self.assertIn(f"[[ DCGM ]] SKIP: GPU in use by {SPACE}/train-0\n", text)
        self.assertIn("'other': ['Connection to Server Failed']", text)

    def test_where_anybody_may_it_is_loud(self):
        agent = self.start("open", compat={"open_actions": True})
        self.addCleanup(agent.close)
        agent.wait_ready()
        harness.wait_until(lambda: agent.process.find("the node object is there"), "the node was seen")
        agent.process.wait_says("any user who can reach the port")
        self.assertIn("\nautopilot_open_actions 1\n", agent.get("/metrics"))
        self.assertIn("SKIP: GPU in use by", self.ask("/dcgm", agent=agent))
        # The pods of any namespace, too.
        self.assertIn(f"\n{{'{NODE}': ", self.ask(f"/status?job={SPACE}:!none&check=gpupower", agent=agent))


if __name__ == "__main__":
    testing.main()

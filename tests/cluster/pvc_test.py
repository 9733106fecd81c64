# SPDX-License-Identifier: Apache-2.0
"""Diagnostics of storage classes with a real API server: the volumes are prepared objects, and the node is simulated."""

import os
import signal
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import harness  # noqa: E402
from kit import testing  # noqa: E402
from kit.cluster import Cluster  # noqa: E402

NODE = "sim-0"
SPACE = "autopilot-pvc"
LABEL = f"autopilot.ibm.com/pvc-test={NODE}"
PATIENCE = 300


def storage_class(name, mode):
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
            "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": mode}


def volume(name, of_class, modes):
    """A volume that any node can use; each user returns it empty."""
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {"capacity": {"storage": "1Gi"}, "accessModes": modes, "storageClassName": of_class,
                     "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": f"/tmp/{name}"},
                     "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                         {"key": "kubernetes.io/hostname", "operator": "In", "values": [NODE]}]}]}}}}


class PvcTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().open()
        cls.api = cls.cluster.api
        cls.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}},
                      storage_class("pvc-at-once", "Immediate"), storage_class("pvc-waits", "WaitForFirstConsumer"),
                      storage_class("pvc-nothing", "Immediate"))

    @classmethod
    def tearDownClass(cls):
        cls.api.run("delete", "--ignore-not-found", "storageclass", "pvc-at-once", "pvc-waits", "pvc-nothing")
        cls.api.run("delete", "--ignore-not-found", "persistentvolume", "pvc-at-once", "pvc-waits")
        cls.api.run("delete", "--ignore-not-found", "namespace", SPACE)

    def setUp(self):
        self.api.run("delete", "--ignore-not-found", "persistentvolume", "pvc-at-once", "pvc-waits")
        self.api.apply(volume("pvc-at-once", "pvc-at-once", ["ReadWriteOnce"]),
                       volume("pvc-waits", "pvc-waits", ["ReadWriteOnce", "ReadWriteMany"]))

    def agent(self, classes, **options):
        settings = tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8")
        self.addCleanup(settings.close)
        settings.write(f"kubernetes:\n  write_node: true\n  kubeconfig: {self.cluster.kubeconfig}\n  namespace: {SPACE}\n"
                       f"node: {NODE}\nchecks: {{storage.pvc: {{period: 1s}}}}\n"
                       "pvc:\n  period: 1m\n  patience: 10s\n  image: localhost/autopilot-test/pause:1\n"
                       f"  storage_classes: {classes}\n")
        settings.flush()
        return harness.Agent("--simulate", "hgx-h100-8", "--allow-simulated", "--config", settings.name, **options)

    def left(self):
        """Names of what the tests made and is there now."""
        found = self.api.get("-n", SPACE, "pvc,pods", "-l", LABEL)["items"]
        return [f"{one['kind']}/{one['metadata']['name']}" for one in found]

    def wait_for(self, agent, health, reasons):
        """The health of the check, with these reasons."""
        def found():
            result = agent.result("storage.pvc")
            reasons_now = sorted(finding["reason"] for finding in result["findings"])
            return result if (result["health"], reasons_now) == (health, sorted(reasons)) else None
        return self.api.wait(found, f"storage.pvc is {health} with {reasons}", PATIENCE)

    def wait_for_nothing_left(self):
        self.api.wait(lambda: not self.left(), "claims and pods are gone", 90)

    def test_classes_of_both_kinds_give_volumes(self):
        with self.agent("{pvc-at-once: [ReadWriteOnce], pvc-waits: [ReadWriteMany]}") as agent:
            agent.wait_ready()
            self.wait_for(agent, "healthy", [])
            self.wait_for_nothing_left()
        for name in ("pvc-at-once", "pvc-waits"):
            used_by = self.api.get("persistentvolume", name)["spec"]["claimRef"]
            self.assertEqual(used_by["namespace"], SPACE, f"{name} was never claimed")

    def test_a_class_without_volumes_and_one_that_is_not_there_are_found(self):
        with self.agent("{pvc-nothing: [ReadWriteOnce], pvc-missing: [ReadWriteOnce]}") as agent:
            agent.wait_ready()
            result = self.wait_for(agent, "failed", ["pvc_not_bound", "storage_class_missing"])
            subjects = sorted(f"{finding['subject']['kind']}/{finding['subject']['key']}" for finding in result["findings"])
            self.assertEqual(subjects, ["peer/pvc-missing/ReadWriteOnce", "peer/pvc-nothing/ReadWriteOnce"])
            self.api.wait(lambda: self.api.get("node", NODE)["metadata"]["labels"].get("autopilot.ibm.com/gpuhealth") == "WARN",
                          "the label says WARN, and not EVICT")
            self.wait_for_nothing_left()

    def test_a_class_that_waits_and_has_no_volume_for_this_node_is_found(self):
        self.api.run("delete", "persistentvolume", "pvc-waits")
        with self.agent("{pvc-waits: [ReadWriteOnce]}") as agent:
            agent.wait_ready()
            result = self.wait_for(agent, "failed", ["pvc_not_bound"])
            self.assertIn("persistent volumes to bind", result["findings"][0]["message"])
            self.wait_for_nothing_left()

    def test_what_a_killed_agent_left_is_taken_away_by_the_next(self):
        agent = self.agent("{pvc-nothing: [ReadWriteOnce]}")
        try:
            agent.wait_ready()
            self.api.wait(self.left, "a claim is there", 120)
        finally:
            agent.process.stop(signal.SIGKILL)
        self.assertTrue(self.left())
        with self.agent("{pvc-at-once: [ReadWriteOnce]}"):
            self.wait_for_nothing_left()


if __name__ == "__main__":
    testing.main()

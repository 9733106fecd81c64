# SPDX-License-Identifier: Apache-2.0
"""The writes of an agent to its Node object, with a real API server: a simulated machine is the node sim-1."""

import os
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import harness  # noqa: E402
from kit import reports, testing  # noqa: E402
from kit.api import condition_of  # noqa: E402
from kit.cluster import Cluster  # noqa: E402

NODE = "sim-1"
NAMESPACE = "autopilot"
PREFIX = "autopilot.ibm.com"
CONDITIONS = ("GpuHealthy", "NetworkHealthy", "StorageHealthy", "HostHealthy")


class NodeObjectTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().open()
        cls.api = cls.cluster.api
        reports.make(cls.api, NAMESPACE)

    @classmethod
    def tearDownClass(cls):
        reports.remove(cls.api)

    def setUp(self):
        # Remove everything that an earlier agent wrote.
        self.api.run("label", "node", NODE, f"{PREFIX}/gpuhealth-")
        self.api.run("-n", NAMESPACE, "delete", "nhr", "--all")

    def agent(self, *arguments):
        settings = tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8")
        self.addCleanup(settings.close)
        settings.write(f"kubernetes:\n  write_node: true\n  kubeconfig: {self.cluster.kubeconfig}\nnode: {NODE}\n")
        settings.flush()
        return harness.Agent("--simulate", "hgx-h100-8", "--allow-simulated", "--config", settings.name, *arguments)

    def node(self):
        return self.api.get("node", NODE)

    def label(self):
        return self.node()["metadata"]["labels"].get(f"{PREFIX}/gpuhealth")

    def event(self, reason):
        found = self.api.get("events", "--namespace", "default", "--field-selector", f"involvedObject.name={NODE},reason={reason}")
        return found["items"][-1] if found["items"] else None

    def wait_for_label(self, word, patience=60):
        self.api.wait(lambda: self.label() == word, f"the label says {word}", patience)

    def test_a_healthy_node_says_so(self):
        with self.agent() as agent:
            agent.wait_ready()
            self.wait_for_label("PASS")
            self.api.wait(lambda: condition_of(self.node(), "GpuHealthy") == "True", "GpuHealthy is True")
            node = self.node()
            self.assertEqual([condition_of(node, kind) for kind in CONDITIONS], ["True"] * 4)
            self.assertIn("checks ran", node["metadata"]["annotations"][f"{PREFIX}/summary"])
            self.assertRegex(node["metadata"]["annotations"][f"{PREFIX}/checked-at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")

    def test_a_dead_gpu_evicts_and_stays_so_without_a_test(self):
        with self.agent() as agent:
            agent.wait_ready()
            self.wait_for_label("PASS")
            began = time.time()
            harness.run("inject", "row_remap_failed", "--subject", "gpu/2", "--socket", agent.socket)
            self.wait_for_label("EVICT")
            self.api.wait(lambda: condition_of(self.node(), "GpuHealthy") == "False", "GpuHealthy is False")
            condition = next(one for one in self.node()["status"]["conditions"] if one["type"] == "GpuHealthy")
            self.assertEqual(condition["reason"], "Failed")
            self.assertIn("gpu/", condition["message"])
            print(f"from inject to label and condition: {time.time() - began:.1f} s")
            self.api.wait(lambda: self.event("XidMemory"), "an event says so")
            event = self.event("XidMemory")
            self.assertEqual((event["type"], event["involvedObject"]["kind"]), ("Warning", "Node"))
            self.assertIn(". Action: ", event["message"])
            self.assertIn(event["message"][:40], self.api.run("describe", "node", NODE))
        # Another agent, which knows nothing of it and sees a healthy machine.
        with self.agent() as agent:
            agent.wait_ready()
            self.api.wait(lambda: condition_of(self.node(), "GpuHealthy") == "True", "GpuHealthy is True again")
            self.assertEqual(self.label(), "EVICT")

    def test_what_somebody_else_changes_is_put_right(self):
        with self.agent() as agent:
            agent.wait_ready()
            self.wait_for_label("PASS")
            self.api.run("label", "--overwrite", "node", NODE, f"{PREFIX}/gpuhealth=EVICT")
            self.wait_for_label("PASS", 70)
            self.api.run("label", "node", NODE, f"{PREFIX}/gpuhealth-")
            self.wait_for_label("PASS", 70)

    def test_a_node_that_is_made_anew_is_written_anew(self):
        with self.agent() as agent:
            agent.wait_ready()
            self.wait_for_label("PASS")
            node = self.node()
            self.api.run("delete", "node", NODE)
            fresh = {"apiVersion": "v1", "kind": "Node",
                     "metadata": {"name": NODE, "annotations": {"kwok.x-k8s.io/node": "fake"},
                                  "labels": {key: value for key, value in node["metadata"]["labels"].items()
                                             if not key.startswith(PREFIX)}},
                     "status": {name: node["status"][name] for name in ("capacity", "allocatable")}}
            self.api.apply(fresh)
            self.wait_for_label("PASS", 70)
            self.api.wait(lambda: condition_of(self.node(), "HostHealthy") == "True", "conditions are there again", 70)

    def test_of_two_agents_the_later_one_writes(self):
        with self.agent() as first:
            first.wait_ready()
            self.wait_for_label("PASS")
            with self.agent() as second:
                second.wait_ready()
                self.api.wait(lambda: "another agent" in first.node()["self"]["cluster"].get("problem", ""), "the first one holds back")
                harness.run("inject", "row_remap_failed", "--subject", "gpu/2", "--socket", first.socket)
                harness.wait_until(lambda: first.node()["verdict"] == "EVICT", "the first one sees the fault")
                written = first.node()["self"]["cluster"]["writes"]
                self.assertNotIn("problem", second.node()["self"]["cluster"])
                harness.run("inject", "row_remap_failed", "--subject", "gpu/3", "--socket", second.socket)
                self.wait_for_label("EVICT")
                self.assertEqual(first.node()["self"]["cluster"]["writes"], written)

    def test_a_simulated_machine_writes_nothing_unasked(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as settings:
            settings.write(f"kubernetes:\n  write_node: true\n  kubeconfig: {self.cluster.kubeconfig}\nnode: {NODE}\n")
            settings.flush()
            code, _, errors = harness.run("agent", "--simulate", "hgx-h100-8", "--config", settings.name)
        self.assertNotEqual(code, 0)
        self.assertIn("--allow-simulated", errors)


if __name__ == "__main__":
    testing.main()

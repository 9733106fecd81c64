# SPDX-License-Identifier: Apache-2.0
"""The report of a node in a real API server: its content, and the state that a new agent takes over from it. A simulated machine is the
node sim-1."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import harness  # noqa: E402
from kit import reports, simulated, testing  # noqa: E402
from kit.cluster import Cluster  # noqa: E402
from kit.relay import Relay  # noqa: E402

NODE = "sim-1"
LABEL = "autopilot.ibm.com/gpuhealth"
NAMESPACE = "autopilot"


class ReportTest(unittest.TestCase):
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
        self.api.run("label", "node", NODE, f"{LABEL}-")
        self.api.run("-n", NAMESPACE, "delete", "nhr", "--all")
        self.settings = tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8")
        self.addCleanup(self.settings.close)
        self.settings.write(f"kubernetes:\n  write_node: true\n  kubeconfig: {self.cluster.kubeconfig}\nnode: {NODE}\n")
        self.settings.flush()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = os.path.join(folder.name, "tree")

    def agent(self, machine=("--simulate", "hgx-h100-8"), settings=None, **options):
        """Starts an agent with an empty state folder, unless one is given."""
        return harness.Agent(*machine, "--allow-simulated", "--config", settings or self.settings.name, **options)

    def settings_through(self, relay):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        kubeconfig = os.path.join(folder, "kubeconfig")
        with open(kubeconfig, "w", encoding="utf-8") as file:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                       "clusters": [{"name": "c", "cluster": {"server": relay.url}}], "users": [{"name": "u", "user": {}}],
                       "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}, file)
        with open(self.settings.name, encoding="utf-8") as file:
            text = file.read()
        settings = os.path.join(folder, "settings.yaml")
        with open(settings, "w", encoding="utf-8") as file:
            file.write(text.replace(str(self.cluster.kubeconfig), kubeconfig))
        return settings

    @staticmethod
    def incidents(agent):
        return json.loads(agent.get("/v1/incidents"))["items"]

    def report(self):
        return self.api.get("-n", NAMESPACE, "nhr", NODE)

    def status(self):
        return self.report()["status"]

    def label(self):
        return self.api.get("node", NODE)["metadata"]["labels"].get(LABEL)

    def wait_for_written(self, word):
        self.api.wait(lambda: self.status()["written"].get("verdict") == word, f"the report says {word}")

    def simulator(self, *arguments):
        subprocess.run([harness.AUTOPILOT_SIM, *arguments], check=True, capture_output=True)

    def evicted(self):
        """The incident that evicts a machine with a broken GPU, when its agent is gone."""
        self.simulator("create", "hgx-h100-8", "--out", self.tree)
        self.simulator("inject", self.tree, "row_remap_failed", "--subject", "gpu/2")
        with self.agent(machine=("--root", self.tree)) as agent:
            agent.wait_ready()
            self.wait_for_written("EVICT")
            self.api.wait(lambda: self.label() == "EVICT", "the label says EVICT")
            evicting = self.status()["written"]["evicting"][0]["incident"]
            incident = next(one for one in self.status()["incidents"] if one["id"] == evicting)
        return incident

    def test_a_table_says_how_the_nodes_are(self):
        with self.agent() as agent:
            agent.wait_ready()
            self.wait_for_written("PASS")
            lines = self.api.run("-n", NAMESPACE, "get", "nhr").splitlines()
        self.assertEqual(lines[0].split(), ["NAME", "VERDICT", "HEALTH", "RAN", "WORST", "INCIDENT", "CHECKED", "AGE"])
        self.assertRegex(lines[1], rf"^{NODE} +PASS +healthy +\d+ of \d+ ")
        self.assertIn("observedAt", self.api.run("explain", "nodehealthreports.status"))

    def test_it_goes_with_its_node(self):
        with self.agent() as agent:
            agent.wait_ready()
            self.wait_for_written("PASS")
            report = self.report()
        node = self.api.get("node", NODE)
        owner = report["metadata"]["ownerReferences"]
        self.assertEqual([(one["kind"], one["name"], one["uid"]) for one in owner], [("Node", NODE, node["metadata"]["uid"])])
        status = report["status"]
        self.assertTrue(status["simulated"])
        self.assertEqual(len(status["gpus"]), 8)
        self.assertIn("gpu.ecc", [check["check"] for check in status["checks"]])

    def test_a_node_that_is_made_anew_has_a_report_of_its_own(self):
        with self.agent() as agent:
            agent.wait_ready()
            self.wait_for_written("PASS")
            before = self.report()["metadata"]
            self.api.run("delete", "node", NODE)
            self.api.apply(simulated.node(NODE))
            node = self.api.get("node", NODE)["metadata"]
            self.assertNotEqual(node["uid"], before["ownerReferences"][0]["uid"])
            # The old report is deleted with its node; the garbage collector must not delete the new report.
            self.api.wait(lambda: [one["uid"] for one in self.report()["metadata"]["ownerReferences"]] == [node["uid"]],
                          "the report is owned by the new node", 90)
            self.api.wait(lambda: self.label() == "PASS", "the label says PASS", 70)
        self.assertEqual(self.status()["written"]["verdict"], "PASS")

    def test_of_two_agents_the_later_one_reports(self):
        with self.agent() as first:
            first.wait_ready()
            self.wait_for_written("PASS")
            with self.agent() as second:
                second.wait_ready()
                self.api.wait(lambda: "another agent" in first.node()["self"]["cluster"].get("problem", ""), "the first one holds back")
                code, _, errors = harness.run("inject", "row_remap_failed", "--subject", "gpu/2", "--socket", first.socket)
                self.assertEqual(code, 0, errors)
                harness.wait_until(lambda: first.node()["verdict"] == "EVICT", "the first one sees a fault")
                code, _, errors = harness.run("inject", "row_remap_pending", "--subject", "gpu/3", "--socket", second.socket)
                self.assertEqual(code, 0, errors)
                seen = set()
                self.api.wait(lambda: seen.add(self.status()["written"]["verdict"]) or "WARN" in seen, "the second one's fault is told")
                self.assertEqual(seen, {"PASS", "WARN"})

    def test_a_new_agent_knows_what_the_old_one_knew(self):
        incident = self.evicted()
        with self.agent(machine=("--root", self.tree)) as agent:
            agent.wait_ready()
            known = {one["id"]: one for one in self.incidents(agent)}
            self.assertIn(incident["id"], known)
            self.assertEqual(known[incident["id"]]["opened"], incident["opened"])
            self.api.wait(lambda: self.status()["observedAt"] > incident["updated"], "the report is of the new agent")
            self.assertEqual(self.label(), "EVICT")
            self.assertIn(incident["id"], [one["incident"] for one in self.status()["written"]["evicting"]])
            code, _, errors = harness.run("ack", incident["id"], "--reason", "the card was replaced", "--socket", agent.socket)
            self.assertEqual(code, 0, errors)
            # The GPU is still faulty: the verdict remains, and the report contains the acknowledgement.
            self.api.wait(lambda: {"incident": incident["id"], "acknowledged": True} in self.status()["written"]["evicting"],
                          "the report says that it is acknowledged")

    def test_what_cannot_be_read_at_the_start_is_read_later_and_not_written_over(self):
        incident = self.evicted()
        before = self.status()["observedAt"]
        relay = Relay(self.cluster.control_plane)
        self.addCleanup(relay.close)
        relay.status = 503
        with tempfile.TemporaryDirectory() as folder:
            settings = self.settings_through(relay)
            with self.agent(settings=settings, folder=folder) as agent:
                agent.wait_ready()
                self.assertEqual(self.incidents(agent), [])
                self.assertEqual(agent.process.stop(signal.SIGKILL), -signal.SIGKILL)
            with self.agent(settings=settings, folder=folder) as agent:
                agent.wait_ready()
                self.assertEqual(self.incidents(agent), [])
                relay.status = None
                harness.wait_until(lambda: incident["id"] in [one["id"] for one in self.incidents(agent)],
                                   "the incident is taken over", 90)
                self.assertEqual([one["opened"] for one in self.incidents(agent)], [incident["opened"]])
                self.api.wait(lambda: self.status()["observedAt"] > before, "the report is of the new agent", 90)
                self.assertIn(incident["id"], [one["id"] for one in self.status()["incidents"]])
                self.assertEqual(self.label(), "EVICT")
                self.assertEqual(agent.process.stop(signal.SIGKILL), -signal.SIGKILL)
            with self.agent(folder=folder) as agent:
                self.assertIn(incident["id"], [one["id"] for one in self.incidents(agent)], "the journal has it")

    def test_what_was_taken_over_survives_the_next_restart(self):
        incident = self.evicted()
        with tempfile.TemporaryDirectory() as folder:
            with self.agent(machine=("--root", self.tree), folder=folder) as agent:
                agent.wait_ready()
            self.api.run("-n", NAMESPACE, "delete", "nhr", NODE)
            with self.agent(machine=("--root", self.tree), folder=folder) as agent:
                agent.wait_ready()
                self.assertIn(incident["id"], [one["id"] for one in self.incidents(agent)])
                self.api.wait(lambda: self.status()["written"]["evicting"], "the report is there again")
                self.assertIn(incident["id"], [one["incident"] for one in self.status()["written"]["evicting"]])

    def test_a_cluster_that_does_not_know_the_kind_is_no_reason_not_to_watch(self):
        reports.remove(self.api)
        try:
            with self.agent() as agent:
                agent.wait_ready()
                self.api.wait(lambda: self.label() == "PASS", "the label says PASS")
                # If label and conditions are new, the report is written after half a minute.
                harness.wait_until(lambda: agent.process.find("the report of the node cannot be written"), "it says so", 70)
        finally:
            reports.make(self.api, NAMESPACE)


if __name__ == "__main__":
    testing.main()

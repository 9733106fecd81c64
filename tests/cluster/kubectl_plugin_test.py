# SPDX-License-Identifier: Apache-2.0
"""`kubectl autopilot`, run by the real kubectl with a real API server: the node sim-1 has an agent of a simulated machine, and sim-2 a
label that no agent renews."""

import datetime
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import harness  # noqa: E402
from kit import reports, testing  # noqa: E402
from kit.cluster import Cluster  # noqa: E402
from kit.control_plane import SERVER  # noqa: E402

WATCHED = "sim-1"
FORGOTTEN = "sim-2"
NAMESPACE = "autopilot"
PREFIX = "autopilot.ibm.com"


class KubectlPluginTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().open()
        cls.api = cls.cluster.api
        reports.make(cls.api, NAMESPACE)

    @classmethod
    def tearDownClass(cls):
        reports.remove(cls.api)

    def setUp(self):
        self.forget(WATCHED)
        self.forget(FORGOTTEN)
        self.api.run("-n", NAMESPACE, "delete", "nhr", "--all")
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in ("kubectl-autopilot", "kubectl_complete-autopilot"):
            (self.folder / name).symlink_to(os.path.abspath(harness.AUTOPILOT))

    def forget(self, node):
        """Removes everything that an earlier agent wrote."""
        self.api.run("label", "node", node, f"{PREFIX}/gpuhealth-")
        self.api.run("annotate", "node", node, f"{PREFIX}/checked-at-", f"{PREFIX}/checked-by-", f"{PREFIX}/summary-")
        self.api.run("-n", "default", "delete", "events", "--field-selector", f"involvedObject.kind=Node,involvedObject.name={node}")

    def kubectl(self, *arguments, kubeconfig=None):
        return subprocess.run([str(self.cluster.programs["kubectl"]), *arguments], capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}",
                                   "KUBECONFIG": str(kubeconfig or self.cluster.kubeconfig)})

    def plugin(self, *arguments, kubeconfig=None):
        return self.kubectl("autopilot", *arguments, kubeconfig=kubeconfig)

    def nodes(self, *arguments):
        answer = self.plugin("nodes", "-o", "json", *arguments)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return {item["node"]: item for item in json.loads(answer.stdout)["items"]}

    def agent(self):
        settings = self.folder / "settings.yaml"
        settings.write_text(f"kubernetes:\n  write_node: true\n  kubeconfig: {self.cluster.kubeconfig}\nnode: {WATCHED}\n", encoding="utf-8")
        return harness.Agent("--simulate", "hgx-h100-8", "--allow-simulated", "--config", str(settings))

    def wait_for(self, word):
        self.api.wait(lambda: self.nodes().get(WATCHED, {}).get("verdict") == word, f"{WATCHED} is {word}")

    def put_word(self, node, word, age):
        when = datetime.datetime.now(datetime.timezone.utc) - age
        self.api.run("label", "--overwrite", "node", node, f"{PREFIX}/gpuhealth={word}")
        self.api.run("annotate", "--overwrite", "node", node, f"{PREFIX}/checked-at={when.strftime('%Y-%m-%dT%H:%M:%SZ')}")

    def user(self, name, **user):
        """A kubeconfig of another user."""
        kubeconfig = self.folder / name
        cluster = {"server": SERVER, "certificate-authority": str(self.cluster.control_plane.keys.authority)}
        kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": user}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}))
        return kubeconfig

    def user_with_certificate(self, name):
        certificate, key = self.cluster.control_plane.keys.make(name, f"/CN={name}")
        return self.user(name, **{"client-certificate": str(certificate), "client-key": str(key)})

    def test_a_fault_is_seen_from_the_cluster(self):
        with self.agent() as agent:
            agent.wait_ready()
            self.wait_for("PASS")
            self.assertEqual(self.nodes()[WATCHED]["health"], "healthy")
            self.api.wait(lambda: self.nodes()[WATCHED].get("simulated"), "its report is there", 70)
            code, _, errors = harness.run("inject", "row_remap_failed", "--subject", "gpu/2", "--socket", agent.socket)
            self.assertEqual(code, 0, errors)
            self.api.wait(lambda: "EVICT" in self.plugin("status", WATCHED).stdout, "the node is EVICT", 70)
            self.api.wait(lambda: "INCIDENT" in self.plugin("status", WATCHED).stdout, "the report has the incident", 70)
            status = self.plugin("status", WATCHED)
            self.assertEqual(status.returncode, 2, status.stderr)
            for words in ("SIMULATED", "GpuHealthy", "gpu.row_remap"):
                self.assertIn(words, status.stdout)
            self.assertIn(WATCHED, self.plugin("status").stdout)
            self.assertEqual(self.plugin("status").returncode, 2)

    def test_events_are_found_by_the_selectors_of_the_server(self):
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        for component in ("autopilot-agent", "kubelet"):
            about = {"apiVersion": "v1", "kind": "Node", "name": FORGOTTEN}
            self.api.apply({"apiVersion": "v1", "kind": "Event", "involvedObject": about, "type": "Warning", "reason": "RowRemapFailed",
                            "metadata": {"name": f"{FORGOTTEN}.{component}", "namespace": "default"}, "message": f"of {component}",
                            "firstTimestamp": now, "lastTimestamp": now, "count": 1, "source": {"component": component},
                            "reportingComponent": component, "reportingInstance": FORGOTTEN})
            self.addCleanup(self.api.run, "-n", "default", "delete", "event", f"{FORGOTTEN}.{component}")
        answer = self.plugin("events", "--for", f"node/{FORGOTTEN}", "-o", "json")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertEqual([one["message"] for one in json.loads(answer.stdout)["items"]], ["of autopilot-agent"])

    def test_a_node_that_nobody_watches_is_never_healthy(self):
        self.put_word(FORGOTTEN, "PASS", datetime.timedelta(minutes=20))
        self.assertEqual((self.nodes()[FORGOTTEN]["verdict"], self.nodes()[FORGOTTEN]["health"]), ("UNKNOWN", "unknown"))
        self.assertEqual(self.plugin("status", FORGOTTEN).returncode, 3)
        self.put_word(FORGOTTEN, "PASS", datetime.timedelta(minutes=1))
        self.assertEqual((self.nodes()[FORGOTTEN]["verdict"], self.nodes()[FORGOTTEN]["health"]), ("PASS", "healthy"))
        self.assertEqual(self.plugin("status", FORGOTTEN).returncode, 0)
        self.assertEqual(self.plugin("status", "no-such-node").returncode, 64)

    def test_the_server_refuses_and_the_cure_is_named(self):
        for kubeconfig, words in ((self.user("stranger", token="nonsense"), "log in again"),
                                  (self.user_with_certificate("kubectl-plugin-test"), "permission to list nodehealthreports")):
            answer = self.plugin("nodes", kubeconfig=kubeconfig)
            self.assertEqual((answer.returncode, answer.stdout), (70, ""), answer.stderr)
            self.assertIn(words, answer.stderr)

    def test_a_cluster_without_the_kind_says_how_to_make_it(self):
        reports.remove(self.api)
        try:
            self.api.wait(lambda: "deploy/helm/autopilot/crds/" in self.plugin("nodes").stderr, "the cure is named")
        finally:
            reports.make(self.api, NAMESPACE)

    def test_kubectl_completes_it(self):
        self.assertEqual(self.kubectl("__complete", "autopilot", "no").stdout.split(), ["nodes", ":4"])


if __name__ == "__main__":
    testing.main()

# SPDX-License-Identifier: Apache-2.0
"""An API server that forgets, or knows the agent no more; and how often an agent asks it."""

import json
import os
import signal
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import harness  # noqa: E402
from kit import audit  # noqa: E402
from kit.cluster import Cluster  # noqa: E402
from kit.control_plane import SERVER  # noqa: E402
from kit.reason import CannotRun  # noqa: E402

SKIPPED = 77
NODE = "sim-2"
PREFIX = "autopilot.ibm.com"
ROLE = "fault-test-agent"
RULES = [
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch", "patch"]},
    {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
]


def account(name):
    return {"kind": "ServiceAccount", "name": name, "namespace": "default"}


class FaultTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().open()
        cls.api = cls.cluster.api
        cls.api.apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": ROLE},
                       "rules": RULES})

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.api.run("label", "node", NODE, f"{PREFIX}/gpuhealth-")

    def allow(self, name, subject):
        self.api.apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                        "metadata": {"name": name}, "subjects": [subject],
                        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": ROLE}})
        self.addCleanup(self.api.run, "delete", "clusterrolebinding", name, "--ignore-not-found")

    def agent(self, user):
        """An agent that is `user` to the cluster, in the words of a kubeconfig."""
        kubeconfig = self.folder / "kubeconfig"
        kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": SERVER,
                                                   "certificate-authority": str(self.cluster.control_plane.keys.authority)}}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}))
        settings = self.folder / "settings.yaml"
        settings.write_text(f"kubernetes:\n  write_node: true\n  kubeconfig: {kubeconfig}\nnode: {NODE}\n")
        return harness.Agent("--simulate", "hgx-h100-8", "--allow-simulated", "--config", str(settings))

    def agent_with_certificate(self, name):
        self.allow(name, {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name})
        self.put_certificate(name)
        return self.agent({"client-certificate": str(self.folder / "client.crt"), "client-key": str(self.folder / "client.key")})

    def put_certificate(self, name):
        certificate, key = self.cluster.control_plane.keys.make(name, f"/CN={name}")
        for made, target in ((key, "client.key"), (certificate, "client.crt")):
            fresh = self.folder / "fresh"
            fresh.write_bytes(made.read_bytes())
            fresh.replace(self.folder / target)

    def put_token(self, name, bound_to):
        """A token that is good for as long as the Secret that it is bound to is there."""
        self.api.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": bound_to, "namespace": "default"}})
        token = self.api.run("create", "token", name, "--bound-object-kind=Secret", f"--bound-object-name={bound_to}")
        fresh = self.folder / "fresh"
        fresh.write_text(token.strip())
        fresh.replace(self.folder / "token")

    def is_taken(self, token):
        """Whether the API server knows who that is."""
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        answer = json.loads(self.api.run("create", "-o", "json", "-f", "-", text=json.dumps(review)))
        return answer["status"].get("authenticated", False)

    def label(self):
        return self.api.get("node", NODE)["metadata"]["labels"].get(f"{PREFIX}/gpuhealth")

    def wait_for_label(self, word, patience=70):
        self.api.wait(lambda: self.label() == word, f"the label says {word}", patience)

    def break_gpu(self, agent):
        code, _, errors = harness.run("inject", "row_remap_failed", "--subject", "gpu/2", "--socket", agent.socket)
        self.assertEqual(code, 0, errors)

    def problem(self, agent):
        return agent.node()["self"]["cluster"].get("problem", "")

    def asked(self, user):
        return audit.requests(self.cluster.control_plane.audit_log, user)

    def assert_modest(self, user):
        asked = self.asked(user)
        self.assertLessEqual(audit.most_in_a_minute([one for one in asked if one.verb in audit.WRITES and one.code < 300]), 6)
        self.assertLessEqual(audit.most_in_a_minute([one for one in asked if one.verb == "list"]), 6)

    def test_a_token_that_is_taken_back_is_read_anew(self):
        self.api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "rotated", "namespace": "default"}})
        self.allow("rotated", account("rotated"))
        self.put_token("rotated", "first")
        with self.agent({"tokenFile": str(self.folder / "token")}) as agent:
            agent.wait_ready()
            self.wait_for_label("PASS")
            self.api.run("delete", "secret", "first", "--namespace", "default")
            self.api.wait(lambda: not self.is_taken((self.folder / "token").read_text()), "the server knows the token no more")
            self.break_gpu(agent)
            harness.wait_until(lambda: "401" in self.problem(agent), "it says that it is not known any more", 60)
            self.assertEqual(self.label(), "PASS")
            self.put_token("rotated", "second")
            self.wait_for_label("EVICT")
            harness.wait_until(lambda: "401" not in self.problem(agent), "it is known again")

    def test_a_certificate_that_is_replaced_is_read_anew(self):
        with self.agent_with_certificate("agent-before") as agent:
            agent.wait_ready()
            self.wait_for_label("PASS")
            self.allow("agent-after", {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "agent-after"})
            self.put_certificate("agent-after")
            self.api.wait(lambda: self.asked("agent-after"), "it asks as the new one", 90)
            self.api.run("delete", "clusterrolebinding", "agent-before")
            self.break_gpu(agent)
            self.wait_for_label("EVICT")

    def test_a_server_that_forgot_its_history_is_listed_anew(self):
        with self.agent_with_certificate("agent-history") as agent:
            agent.wait_ready()
            self.wait_for_label("PASS")
            lists = [one for one in self.asked("agent-history") if one.verb == "list"]
            newest = int(self.api.get("node", NODE)["metadata"]["resourceVersion"])
            self.cluster.processes.stop("kube-apiserver")
            self.cluster.control_plane.forget_history(newest)
            self.cluster.control_plane.start_apiserver()
            self.cluster.control_plane.wait_ready()
            self.api.run("label", "node", NODE, f"{PREFIX}/gpuhealth-")
            self.wait_for_label("PASS", 120)
            self.assertGreater(len([one for one in self.asked("agent-history") if one.verb == "list"]), len(lists))
        self.assert_modest("agent-history")

    def test_an_agent_that_is_killed_leaves_what_it_knew_and_its_time(self):
        with self.agent_with_certificate("agent-killed") as agent:
            agent.wait_ready()
            self.wait_for_label("PASS")
            self.break_gpu(agent)
            self.wait_for_label("EVICT")
            agent.process.stop(signal.SIGKILL)
            node = self.api.get("node", NODE)
            self.assertEqual(node["metadata"]["labels"][f"{PREFIX}/gpuhealth"], "EVICT")
            self.assertIn(f"{PREFIX}/checked-at", node["metadata"]["annotations"])

    def test_a_bad_minute_does_not_become_many_requests(self):
        with self.agent_with_certificate("agent-storm") as agent:
            agent.wait_ready()
            self.wait_for_label("PASS")
            for gpu in range(8):
                for fault in (["row_remap_failed"], ["xid", "--magnitude", "94"]):
                    harness.run("inject", *fault, "--subject", f"gpu/{gpu}", "--socket", agent.socket)
            self.wait_for_label("EVICT")
            until = time.time() + 75  # more than the minute that is counted
            while time.time() < until:
                self.api.run("label", "node", NODE, f"{PREFIX}/gpuhealth-")
                time.sleep(3)
            self.wait_for_label("EVICT")
        writes = [one for one in self.asked("agent-storm") if one.verb in audit.WRITES]
        print(f"{len(writes)} writes, at most {audit.most_in_a_minute(writes)} in a minute")
        self.assert_modest("agent-storm")


if __name__ == "__main__":
    try:
        Cluster().open()
    except CannotRun as reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)

# SPDX-License-Identifier: Apache-2.0
"""Agents of simulated machines with an identity in the cluster: a user or an account with the permissions to write a node."""

import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

from kit import audit
from kit.cluster import ROOT, Cluster
from kit.control_plane import SERVER

sys.path.insert(0, str(ROOT / "tests" / "integration"))

import harness  # noqa: E402

PREFIX = "autopilot.ibm.com"
ROLE = "kit:agent"
RULES = [
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch", "patch"]},
    {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
]


class AgentCase(unittest.TestCase):
    """A test with one agent, of the node that it chooses."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().open()
        cls.api = cls.cluster.api
        cls.api.apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": ROLE},
                       "rules": RULES})

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def take(self, node):
        """The node of this test; it has nothing of an agent before."""
        self.node = node
        self.forget_label()

    def forget_label(self):
        self.api.run("label", "node", self.node, f"{PREFIX}/gpuhealth-")

    def allow(self, name, subject):
        self.api.apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                        "metadata": {"name": name}, "subjects": [subject],
                        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": ROLE}})
        self.addCleanup(self.api.run, "delete", "clusterrolebinding", name, "--ignore-not-found")

    def allow_user(self, name):
        self.allow(name, {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name})

    def agent(self, user):
        """An agent that is `user` to the cluster, in the words of a kubeconfig."""
        return self._agent(user, {"server": SERVER, "certificate-authority": str(self.cluster.control_plane.keys.authority)})

    def agent_through(self, relay):
        return self._agent({}, {"server": relay.url})

    def _agent(self, user, server):
        kubeconfig = self.folder / "kubeconfig"
        kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": server}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}))
        settings = self.folder / "settings.yaml"
        settings.write_text(f"kubernetes:\n  write_node: true\n  kubeconfig: {kubeconfig}\nnode: {self.node}\n")
        return harness.Agent("--simulate", "hgx-h100-8", "--allow-simulated", "--config", str(settings))

    def agent_with_certificate(self, name):
        self.allow_user(name)
        self.put_certificate(name)
        return self.agent({"client-certificate": str(self.folder / "client.crt"), "client-key": str(self.folder / "client.key")})

    def put_certificate(self, name):
        certificate, key = self.cluster.control_plane.keys.make(name, f"/CN={name}")
        for made, target in ((key, "client.key"), (certificate, "client.crt")):
            self.put(target, made.read_bytes())

    def put(self, name, content):
        """A file, whole at every moment."""
        fresh = self.folder / "fresh"
        fresh.write_bytes(content)
        os.replace(fresh, self.folder / name)

    def label(self):
        return self.api.get("node", self.node)["metadata"]["labels"].get(f"{PREFIX}/gpuhealth")

    def wait_for_label(self, word, patience=70):
        self.api.wait(lambda: self.label() == word, f"the label says {word}", patience)

    def break_gpu(self, agent):
        self.inject(agent, "row_remap_failed", "gpu/2")

    def inject(self, agent, fault, subject):
        code, _, errors = harness.run("inject", fault, "--subject", subject, "--socket", agent.socket)
        self.assertEqual(code, 0, errors)

    def asked(self, user):
        return audit.requests(self.cluster.control_plane.audit_log, user)

    def assert_modest(self, user):
        asked = self.asked(user)
        self.assertLessEqual(audit.most_in_a_minute([one for one in asked if one.verb in audit.WRITES and one.code < 300]), 6)
        self.assertLessEqual(audit.most_in_a_minute([one for one in asked if one.verb == "list"]), 6)

# SPDX-License-Identifier: Apache-2.0
"""Permissions of callers with a token at the port of an agent: the API server reports the user of the token and the RBAC permissions. The
agent is a process beside the cluster; the cluster has no object of its node."""

import json
import os
import re
import socket
import sys
import tempfile
import unittest
from http.client import HTTPConnection
from pathlib import Path

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import harness  # noqa: E402
from kit import network, testing  # noqa: E402
from kit.cluster import Cluster  # noqa: E402
from kit.relay import Relay  # noqa: E402

SPACE = "autopilot-tokens"
NODE = "token-node"
AUDIENCE = "autopilot.ibm.com"
EXAMPLE = Path(__file__).resolve().parents[2] / "deploy" / "examples" / "callers.yaml"


def bound(account):
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": account, "namespace": SPACE},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "autopilot-callers"},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": SPACE}]}


def reader(account):
    """May list the pods of the namespace."""
    meta = {"name": "pod-reader", "namespace": SPACE}
    return [{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": meta,
             "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]},
            {**bound(account), "metadata": meta, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "pod-reader"}}]


def pod(name, node):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": SPACE, "labels": {"app": "train"}},
            "spec": {"nodeName": node, "automountServiceAccountToken": False, "containers": [{"name": "c", "image": "none"}]}}


class TokenTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().open()
        cls.api = cls.cluster.api
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
        cls.addClassCleanup(cls.api.run, "delete", "--ignore-not-found", "--wait=false", "namespace", SPACE)
        # No kubelet ends them.
        cls.addClassCleanup(cls.api.run, "delete", "-n", SPACE, "pods", "--all", "--force", "--grace-period=0", "--wait=false")
        role = next(one for one in yaml.safe_load_all(EXAMPLE.read_text()) if one["kind"] == "Role")
        role["metadata"]["namespace"] = SPACE
        role["rules"][0]["resourceNames"] = [NODE]
        cls.api.apply(role, bound("ci"), bound("leaver"),
                      *({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": SPACE}}
                        for name in ("ci", "leaver", "stranger", "powerless")))
        cls.api.apply(*reader("ci"), {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE, "labels": {"rack": "7"}}})
        cls.addClassCleanup(cls.api.run, "delete", "--ignore-not-found", "--wait=false", "node", NODE)
        cls.api.wait(lambda: cls.api.get("serviceaccount", "-n", SPACE, "default"), "the namespace has its account")
        cls.relay = Relay(cls.cluster.control_plane)
        cls.addClassCleanup(cls.relay.close)
        with socket.create_server((network.API_ADDRESS, 0)) as free:
            cls.elsewhere = free.getsockname()[1]
        cls.agent = cls.start("agent", {"cluster": {"server": cls.relay.url}}, {}, [f"{network.API_ADDRESS}:{cls.elsewhere}"])
        cls.addClassCleanup(cls.agent.close)
        cls.agent.wait_ready()

    @classmethod
    def start(cls, name, cluster, user, also_listen=()):
        kubeconfig = cls.folder / f"{name}.kubeconfig"
        kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", **cluster}],
            "users": [{"name": "u", "user": user}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}))
        settings = cls.folder / f"{name}.yaml"
        settings.write_text(json.dumps({"kubernetes": {"write_node": True, "kubeconfig": str(kubeconfig), "namespace": SPACE},
                                        "also_listen": also_listen, "node": NODE}))
        return harness.Agent("--simulate", "hgx-h100-8", "--allow-simulated", "--config", str(settings))

    @classmethod
    def token(cls, account, *more):
        return cls.api.run("create", "token", account, "-n", SPACE, *(more or ("--audience", AUDIENCE))).strip()

    def post(self, path, token=None, body=None, agent=None):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        status, text = (agent or self.agent).request("POST", path, body=body, headers=headers, timeout=30)
        return status, json.loads(text)

    def refused(self, status, words, *arguments, **more):
        code, answer = self.post(*arguments, **more)
        self.assertEqual(code, status, answer)
        self.assertRegex(answer["error"]["message"], words)

    def test_a_role_lets_its_account_run_a_check(self):
        code, result = self.post("/v1/checks/gpu.xid", self.token("ci"))
        self.assertEqual((code, result["check"]), (200, "gpu.xid"))

    def test_what_the_role_does_not_name_is_refused_with_who_and_what(self):
        self.refused(403, re.escape(f"system:serviceaccount:{SPACE}:ci may not create checks/gpu.ecc.{AUDIENCE} {NODE} in namespace {SPACE}"),
                     "/v1/checks/gpu.ecc", self.token("ci"))
        self.refused(403, "stranger may not create checks/gpu.xid", "/v1/checks/gpu.xid", self.token("stranger"))

    def test_a_token_that_is_none_of_ours_is_refused(self):
        self.refused(401, f"--audience {AUDIENCE}", "/v1/checks/gpu.xid")
        # A token of the right account, for the API server itself: it gives no access here.
        self.refused(401, "not accepted|not for the audience", "/v1/checks/gpu.xid", self.token("ci", "--duration", "10m"))
        self.refused(401, "not accepted", "/v1/checks/gpu.xid", self.token("ci")[:-5] + "AAAAA")
        self.refused(401, "not accepted", "/v1/checks/gpu.xid", "x" * 8000)

    def test_an_acknowledgement_has_the_name_of_the_user(self):
        harness.run("inject", "row_remap_failed", "--subject", "gpu/2", "--socket", self.agent.socket)
        incident = harness.wait_until(lambda: next(iter(json.loads(self.agent.get("/v1/incidents"))["items"]), None), "an incident")
        code, answer = self.post(f"/v1/incidents/{incident['id']}/ack", self.token("ci"), json.dumps({"reason": "seen"}))
        self.assertEqual(code, 200, answer)
        self.assertEqual(answer["acknowledgedBy"], f"system:serviceaccount:{SPACE}:ci")

    def test_an_operation_is_looked_at_after_the_right_to_begin_one(self):
        self.refused(403, "stranger may not create operations", "/v1/operations", self.token("stranger"), "nonsense")
        self.assertEqual(self.post("/v1/operations", self.token("ci"), "nonsense")[0], 400)

    def test_who_loses_the_right_may_no_more_within_seconds(self):
        token = self.token("leaver")
        self.assertEqual(self.post("/v1/checks/gpu.xid", token)[0], 200)
        self.api.run("delete", "rolebinding", "-n", SPACE, "leaver")
        self.api.wait(lambda: self.post("/v1/checks/gpu.xid", token)[0] == 403, "the right is gone", 20)

    def test_a_token_in_the_clear_is_not_taken(self):
        connection = HTTPConnection(network.API_ADDRESS, self.elsewhere, timeout=10)
        self.addCleanup(connection.close)
        connection.request("POST", "/v1/checks/gpu.xid", headers={"Authorization": f"Bearer {self.token('ci')}"})
        answer = connection.getresponse()
        self.assertEqual(answer.status, 403)
        self.assertIn("loopback", answer.read().decode())

    def test_a_server_that_is_away_is_no_yes_and_no_no(self):
        token = self.token("ci")
        self.relay.status = 503
        try:
            self.refused(503, "could not review the caller", "/v1/checks/gpu.xid", token)
        finally:
            self.relay.status = None
        self.api.wait(lambda: self.post("/v1/checks/gpu.xid", token)[0] == 200, "the server answers again")

    def test_an_agent_without_the_right_to_ask_says_so(self):
        control_plane = self.cluster.control_plane
        agent = self.start("powerless", {"cluster": {"server": f"https://{network.API_ADDRESS}:6443",
                                                     "certificate-authority": str(control_plane.keys.authority)}},
                           {"token": self.token("powerless", "--duration", "10m")})
        self.addCleanup(agent.close)
        # It has read its own token by then.
        harness.wait_until(lambda: agent.process.find("the node object: it cannot be read"), "it has asked for its node")
        self.refused(503, "cannot create resource \"tokenreviews\"", "/v1/checks/gpu.xid", self.token("ci"), agent=agent)

    def status(self, query, token=None):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        code, text = self.agent.request("GET", f"/status?{query}", headers=headers, timeout=60)
        self.assertEqual(code, 200)
        return text

    def test_the_nodes_of_a_job_are_asked_for_who_may_list_its_pods(self):
        self.api.apply(pod("worker-0", NODE), pod("worker-1", "gone"))
        query = f"job={SPACE}:app%3Dtrain&check=gpupower"
        workload = f"\nWorkload: {SPACE}: app=train\n"
        for token in (None, self.token("stranger"), self.token("ci", "--duration", "10m")):
            text = self.status(query, token)
            self.assertTrue(text.endswith(f"{workload}Not allowed to list pods in {SPACE}; send a token. ABORT.\n"), text)
        text = self.status(query, self.token("ci"))
        self.assertIn(f"{workload}Initiated connection to", text)
        self.assertIn(f"\n{{'gone': ['Connection to Server Failed'], '{NODE}': ['OK']}}\n", text)
        # Beside hosts that are named: both.
        self.assertIn("'other': ['Connection to Server Failed']", self.status(f"{query}&host=other", self.token("ci")))
        self.assertTrue(self.status(f"job={SPACE}:app%3Dnone", self.token("ci")).endswith(
            f"\nWorkload: {SPACE}: app=none\nNo workload labeled with app=none - ABORT.\n"))

    def test_nodes_are_asked_by_their_labels(self):
        self.assertIn(f"\n{{'{NODE}': ['OK']}}\n", self.status("nodelabel=rack%3D7&check=gpupower"))
        self.assertTrue(self.status("nodelabel=rack%3D8").endswith("\nNo node is labeled with rack=8  - ABORT.\n"))
        self.assertRegex(self.status("nodelabel=a+b+c"), "Cannot look for nodes: .*(unable to parse|found).* ABORT")


if __name__ == "__main__":
    testing.main()

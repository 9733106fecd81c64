# SPDX-License-Identifier: Apache-2.0
"""Agents with TLS and the real cert-manager: the chart creates an authority, it signs the key of each agent, and renewed keys are used
without a restart. A webhook of the test lets each certificate of an agent expire after a minute instead of a day. cert-manager's own
webhook does not run: see kit/cert_manager.py."""

import base64
import json
import ssl
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from kit import testing
from kit.caller import Caller
from kit.cert_manager import API, REQUESTS, CertManager
from kit.cluster import ROOT
from kit.deployment import NAMESPACE, Deployment
from kit.inside_tls import Agent
from kit.mutator import Mutator

sys.path.insert(0, str(ROOT / "tests" / "integration"))

from certificates import Certificates  # noqa: E402

NODE = "node-0"
OTHER = "sim-0"
AUTHORITY = "autopilot-authority"
DAY = "86400s"
LIFE = 60
USAGES = ["digital signature", "server auth", "client auth"]


def of_an_agent(request):
    return ".tls-" in request["metadata"]["name"]


def openssl(*arguments, data=None):
    return subprocess.run(["openssl", *arguments], input=data, capture_output=True, check=True).stdout


def seconds(certificate, what):
    return ssl.cert_time_to_seconds(certificate[what])


class CertManagerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = testing.cluster_with_nodes()
        cls.api = cls.cluster.api
        cls.manager = cls.enterClassContext(CertManager(cls.cluster))
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.shorten()
        cls.deployment = Deployment(cls.api, "dropin", None, "--simulate", "hgx-h100-8", "--allow-simulated",
                                    settings=["tls.mode=certManager"], apis=cls.api.run("api-versions").split())
        cls.addClassCleanup(cls.deployment.remove)
        cls.pods = cls.deployment.apply_to_all()
        cls.trusted = cls.api.wait(lambda: cls.authority()["tls.crt"], "there is an authority").decode()
        cls.agents = {node: Agent(pod["status"]["podIP"], node, cadata=cls.trusted) for node, pod in cls.pods.items()}
        for node, agent in cls.agents.items():
            cls.api.wait(agent.certificate, f"the agent of {node} has its certificate", 90)

    @classmethod
    def shorten(cls):
        keys = Certificates(cls.folder)
        keys.make_authority("authority")
        keys.make("server", "authority", "IP:127.0.0.1")

        def patch_of(request):
            shorter = {"op": "replace", "path": "/spec/duration", "value": f"{LIFE}s"}
            return [shorter] if of_an_agent(request) and request["spec"]["duration"] == DAY else []

        cls.enterClassContext(Mutator(cls.api, "shorten", keys, patch_of, [
            {"apiGroups": ["cert-manager.io"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["certificaterequests"]}]))
        trial = json.dumps(cls.request("trial.tls-1"))
        cls.api.wait(lambda: json.loads(cls.api.run("create", "--dry-run=server", "-o", "json", "-n", "default", "-f", "-", text=trial))
                     ["spec"]["duration"] != DAY, "the API server asks the webhook")

    @staticmethod
    def request(name, text=b"x", **changed):
        """A certificate request as an agent creates it."""
        spec = {"request": base64.b64encode(text).decode(), "isCA": False, "duration": DAY, "usages": USAGES,
                "issuerRef": {"group": "cert-manager.io", "kind": "Issuer", "name": "autopilot"}}
        return {"apiVersion": API, "kind": "CertificateRequest", "metadata": {"name": name}, "spec": {**spec, **changed}}

    @classmethod
    def authority(cls):
        """Content of its Secret, read by a user with full permissions."""
        return {key: base64.b64decode(value) for key, value in cls.api.get("secret", AUTHORITY, "-n", NAMESPACE)["data"].items()}

    def caller(self, node):
        """A client with the token of the node's agent."""
        token = self.api.run("create", "token", "autopilot", "-n", NAMESPACE, "--bound-object-kind", "Pod", "--bound-object-name",
                             self.pods[node]["metadata"]["name"]).strip()
        return Caller(self.cluster.control_plane.keys.authority, token)

    def ask_each_other(self):
        """Every agent asks about every node, its own too."""
        for node, agent in self.agents.items():
            code, body = agent.ask("GET", f"/status?check=gpupower&host={','.join(self.agents)}", {"Accept": "application/json"})
            self.assertEqual(code, 200, body)
            told = {one["node"]: [check["outcome"] for check in one.get("checks", [])] or one for one in json.loads(body)["nodes"]}
            self.assertEqual(told, {other: ["passed"] for other in self.agents}, f"asked by {node}")

    def assert_nobody_restarted(self):
        now = self.deployment.pods()
        self.assertEqual({node: pod["metadata"]["uid"] for node, pod in now.items()},
                         {node: pod["metadata"]["uid"] for node, pod in self.pods.items()})
        for pod in now.values():
            self.assertEqual({one["restartCount"] for one in pod["status"]["containerStatuses"]}, {0})

    def wait_renewed(self, before):
        """Every agent shows another certificate, with another key, than `before` (node -> certificate)."""
        def shown():
            now = {node: agent.certificate() for node, agent in self.agents.items()}
            return now if all(now[node] and now[node]["der"] != before[node]["der"] for node in before) else None

        now = self.api.wait(shown, "all certificates are renewed", 3 * LIFE)
        for node in before:
            keys = [openssl("x509", "-inform", "DER", "-noout", "-pubkey", data=one[node]["der"]) for one in (before, now)]
            self.assertNotEqual(*keys)
        return now

    def test_each_agent_shows_a_certificate_of_its_node_and_leaves_no_request(self):
        for node, agent in self.agents.items():
            shown = agent.certificate()
            self.assertEqual(shown["subjectAltName"], (("DNS", node),))
            self.assertEqual(seconds(shown, "notAfter") - seconds(shown, "notBefore"), LIFE)
            logs = self.api.run("logs", "-n", NAMESPACE, self.pods[node]["metadata"]["name"], "-c", "agent")
            self.assertNotRegex(logs, "TLS keys refused|PRIVATE KEY")
        self.api.wait(lambda: not [one for one in self.api.get(REQUESTS, "-n", NAMESPACE)["items"] if of_an_agent(one)], "no request is left")

    def test_agents_ask_each_other_and_go_on_with_renewed_certificates(self):
        if len(self.agents) < 2:
            self.skipTest("this cluster has fewer than two nodes with a kubelet: make cluster REAL=2")
        before = {node: agent.certificate() for node, agent in self.agents.items()}
        self.ask_each_other()
        self.wait_renewed(before)
        self.ask_each_other()
        self.assert_nobody_restarted()

    def test_a_renewed_authority_keeps_its_key_and_agents_go_on_believing_each_other(self):
        before = self.authority()
        self.manager.renew(NAMESPACE, AUTHORITY)
        after = self.api.wait(lambda: next((now for now in [self.authority()] if now["tls.crt"] != before["tls.crt"]), None),
                              "the authority has another certificate")
        self.assertEqual(after["tls.key"], before["tls.key"])
        shown = {node: agent.certificate() for node, agent in self.agents.items()}
        self.ask_each_other()
        self.wait_renewed(shown)
        self.ask_each_other()
        for node, pod in self.pods.items():
            # A client that trusts only the new authority, and a client that trusts only the old one.
            for trusted in (after["tls.crt"].decode(), self.trusted):
                self.assertTrue(Agent(pod["status"]["podIP"], node, cadata=trusted).certificate())
        self.assert_nobody_restarted()

    def test_the_token_of_an_agent_reads_no_secret(self):
        caller = self.caller(NODE)
        for path in (f"secrets/{AUTHORITY}", "secrets"):
            code, answer = caller.ask("GET", f"/api/v1/namespaces/{NAMESPACE}/{path}", {})
            self.assertEqual((code, "cannot" in answer["message"]), (403, True), answer)

    def test_the_token_of_a_node_asks_in_its_name_alone_and_for_no_authority(self):
        caller = self.caller(NODE)

        def ask(name, **changed):
            return caller.ask("POST", f"/apis/{API}/namespaces/{NAMESPACE}/certificaterequests?dryRun=All", self.request(name, **changed))

        code, answer = ask(f"{NODE}.tls-1")
        self.assertEqual(code, 201, answer)
        usual = self.request("x")["spec"]["issuerRef"]
        for name, changed, words in ((f"{OTHER}.tls-1", {}, "only for its own node"), (f"{NODE}.tls-1", {"isCA": True}, "only TLS certificates"),
                                     (f"{NODE}.tls-1", {"duration": "25h"}, "for one day"), (f"{NODE}.tls-1", {"usages": ["cert sign"]}, "only TLS certificates"),
                                     (f"{NODE}.tls-1", {"issuerRef": {**usual, "kind": "ClusterIssuer"}}, "its own Issuer")):
            code, answer = ask(name, **changed)
            self.assertIn(code, (403, 422), answer)
            self.assertIn(words, answer["message"])

    def test_who_hides_an_authority_in_a_request_gets_no_certificate(self):
        """The policy cannot look into it; cert-manager does."""
        hidden = openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", str(self.folder / "hidden.key"),
                         "-subj", "/CN=hidden", "-addext", "basicConstraints=critical,CA:TRUE")
        name = f"{NODE}.tls-hidden"
        path = f"/apis/{API}/namespaces/{NAMESPACE}/certificaterequests"
        caller = self.caller(NODE)
        code, answer = caller.ask("POST", path, self.request(name, hidden))
        self.assertEqual(code, 201, answer)
        self.addCleanup(self.api.run, "delete", "--ignore-not-found", REQUESTS, name, "-n", NAMESPACE)

        def refused():
            status = self.api.get(REQUESTS, name, "-n", NAMESPACE).get("status", {})
            self.assertNotIn("certificate", status)
            return next((one["message"] for one in status.get("conditions", []) if one.get("reason") == "Failed"), None)

        self.assertIn("IsCA true does not match", self.api.wait(refused, "it is refused"))


if __name__ == "__main__":
    testing.main()

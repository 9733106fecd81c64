# SPDX-License-Identifier: Apache-2.0
"""Agents with TLS, as the chart installs them with the keys of a Secret: accepted tokens, trusted agents, and requests on behalf of
another user."""

import base64
import http.server
import json
import ssl
import sys
import tempfile
import threading
import unittest
from http.client import HTTPConnection

from kit import network, testing
from kit.cluster import ROOT
from kit.deployment import NAMESPACE, PREFIX, Deployment
from kit.inside_tls import PORT, Agent

sys.path.insert(0, str(ROOT / "tests" / "integration"))

from certificates import Certificates  # noqa: E402

NODE = "node-0"
OTHER = "sim-0"


class OtherAgent:
    """Replaces the agent of another node, and records its clients and their users."""

    def __init__(self, keys, name):
        asked = self.asked = []

        class Answer(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                names = [name for kind, name in self.connection.getpeercert()["subjectAltName"] if kind == "DNS"]
                asked.append((names, self.headers.get("autopilot-on-behalf-of"), self.headers.get("authorization")))
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"all is well\n")

            def log_message(self, *_):
                pass

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(keys.path(f"{name}.crt"), keys.path(f"{name}.key"))
        context.load_verify_locations(keys.path("ca.crt"))
        context.verify_mode = ssl.CERT_REQUIRED
        self._server = http.server.ThreadingHTTPServer((network.API_ADDRESS, PORT), Answer)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def user_text(name, *groups):
    return base64.b64encode(json.dumps({"username": name, "uid": "", "groups": groups, "extra": {}}).encode()).decode()


class TlsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = testing.cluster_with_nodes()
        cls.api = cls.cluster.api
        cls.keys = Certificates(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.keys.make_authority("ca")
        for name in (NODE, OTHER, "stranger"):
            cls.keys.make(name, "ca", f"DNS:{name}")
        cls.api.run("apply", "--server-side", "-f", "-", text=json.dumps(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}))
        cls.api.run("create", "secret", "generic", "autopilot-tls", "-n", NAMESPACE, f"--from-file=tls.crt={cls.keys.path(NODE + '.crt')}",
                    f"--from-file=tls.key={cls.keys.path(NODE + '.key')}", f"--from-file=ca.crt={cls.keys.path('ca.crt')}")
        # A class that does not exist: its diagnostic ends at once.
        settings = ["tls.mode=secret", "env[0].name=PVC_TEST_STORAGE_CLASS", "env[0].value=none"]
        cls.deployment = Deployment(cls.api, "dropin", NODE, "--simulate", "hgx-h100-8", "--allow-simulated", settings=settings)
        cls.addClassCleanup(cls.deployment.remove)
        cls.address = cls.deployment.apply()["status"]["podIP"]
        cls.agent = Agent(cls.address, NODE, cafile=cls.keys.path("ca.crt"))
        cls.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}},
                      {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "ci", "namespace": "team-a"}},
                      {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
                       "metadata": {"name": "other-agent", "namespace": NAMESPACE,
                                    "labels": {"kubernetes.io/service-name": "autopilot-healthchecks"}},
                       "endpoints": [{"addresses": [network.API_ADDRESS], "nodeName": OTHER, "conditions": {"ready": True}}],
                       "ports": [{"name": "healthcheck", "port": 3333}, {"name": "tls", "port": PORT}]})
        cls.addClassCleanup(cls.api.run, "delete", "--ignore-not-found", "--wait=false", "namespace", "team-a")
        cls.api.run("apply", "-n", NAMESPACE, "-f", str(ROOT / "deploy" / "examples" / "callers.yaml"))
        cls.token = cls.api.run("create", "token", "ci", "-n", "team-a", "--audience", PREFIX).strip()

    def ask(self, method, path, headers, client=None):
        """Sends a request from this machine, outside of the pod."""
        files = client and [self.keys.path(f"{client}.{ending}") for ending in ("crt", "key")]
        return self.agent.ask(method, path, headers, files)

    def bearer(self):
        return {"Authorization": f"Bearer {self.token}"}

    def test_a_token_is_taken_inside_tls_and_not_in_the_clear(self):
        code, text = self.ask("POST", "/v1/checks/gpu.xid", self.bearer())
        self.assertEqual((code, json.loads(text).get("check")), (200, "gpu.xid"))
        self.assertEqual(self.ask("POST", "/v1/checks/gpu.xid", {})[0], 401)
        clear = HTTPConnection(self.address, 3333, timeout=60)
        self.addCleanup(clear.close)
        clear.request("POST", "/v1/checks/gpu.xid", headers=self.bearer())
        answer = clear.getresponse()
        self.assertEqual((answer.status, "over TLS" in answer.read().decode()), (403, True))

    def status_of_other(self, headers=None, check="remapped"):
        return self.ask("GET", f"/status?host={OTHER}&check={check}", headers or {})[1]

    def test_an_agent_that_names_another_node_is_not_believed(self):
        with OtherAgent(self.keys, "stranger") as other:
            self.api.wait(lambda: f"certificate is not trusted: it does not name {OTHER}" in self.status_of_other(), "its certificate is looked at", 60)
            self.assertEqual(other.asked, [])
        with OtherAgent(self.keys, OTHER) as other:
            self.assertIn("all is well", self.status_of_other())
            self.assertEqual(other.asked, [([NODE], None, None)])

    def test_another_agent_is_told_the_user_and_not_the_token(self):
        with OtherAgent(self.keys, OTHER) as other:
            self.api.wait(lambda: "all is well" in self.status_of_other(self.bearer(), "dcgm"), "the other agent is known", 60)
            names, user, token = other.asked[-1]
        self.assertEqual((names, token), ([NODE], None))
        told = json.loads(base64.b64decode(user))
        self.assertEqual(told["username"], "system:serviceaccount:team-a:ci")
        self.assertIn("system:serviceaccounts:team-a", told["groups"])

    def test_agents_alone_ask_for_somebody_else(self):
        path = f"/status?host={NODE}&check=pvc"
        told = {"autopilot-on-behalf-of": user_text("bob", "system:authenticated")}
        self.assertIn("not run: bob may not create checks/storage.pvc", self.ask("GET", path, told, client=OTHER)[1])
        for client in ("stranger", None):
            text = self.ask("GET", path, told, client=client)[1]
            self.assertNotIn("not run", text)
            self.assertIn("PVC", text)


if __name__ == "__main__":
    testing.main()

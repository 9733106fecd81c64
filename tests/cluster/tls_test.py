# SPDX-License-Identifier: Apache-2.0
"""Agents inside TLS, as the chart installs them with the keys of a Secret: whose tokens they take, which agents they believe, and who
may ask them for somebody else."""

import base64
import http.server
import json
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

from kit import network, testing
from kit.caller import Caller
from kit.cluster import ROOT, Cluster
from kit.deployment import NAMESPACE, PREFIX, Deployment

sys.path.insert(0, str(ROOT / "tests" / "integration"))

from certificates import Certificates  # noqa: E402

NODE = "node-0"
OTHER = "sim-0"
PORT = 3334


class OtherAgent:
    """What answers for another node: keeps who has asked it, and for whom."""

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
        cls.cluster = Cluster().open()
        cls.api = cls.cluster.api
        if not cls.cluster.nodes:
            raise unittest.SkipTest(cls.cluster.why_no_nodes)
        cls.keys = Certificates(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.keys.make_authority("ca")
        for name in (NODE, OTHER, "stranger"):
            cls.keys.make(name, "ca", f"DNS:{name}")
        cls.api.run("apply", "--server-side", "-f", "-", text=json.dumps(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}))
        cls.api.run("create", "secret", "generic", "autopilot-tls", "-n", NAMESPACE, f"--from-file=tls.crt={cls.keys.path(NODE + '.crt')}",
                    f"--from-file=tls.key={cls.keys.path(NODE + '.key')}", f"--from-file=ca.crt={cls.keys.path('ca.crt')}")
        # A class that does not exist: its test ends, whoever asks for it.
        settings = ["tls.mode=secret", "env[0].name=PVC_TEST_STORAGE_CLASS", "env[0].value=none"]
        cls.deployment = Deployment(cls.api, "dropin", NODE, "--simulate", "hgx-h100-8", "--allow-simulated", settings=settings)
        cls.addClassCleanup(cls.deployment.remove)
        cls.address = cls.deployment.apply()["status"]["podIP"]
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
        """Inside TLS, from this machine, which is not the pod's."""
        context = ssl.create_default_context(cafile=self.keys.path("ca.crt"))
        if client:
            context.load_cert_chain(self.keys.path(f"{client}.crt"), self.keys.path(f"{client}.key"))
        with socket.create_connection((self.address, PORT), timeout=60) as plain, \
                context.wrap_socket(plain, server_hostname=NODE) as tls:
            lines = [f"{method} {path} HTTP/1.1", f"Host: {NODE}:{PORT}", "Connection: close", "Content-Length: 0",
                     *(f"{name}: {value}" for name, value in headers.items())]
            tls.sendall("\r\n".join((*lines, "", "")).encode())
            answer = HTTPResponse(tls, method=method)
            answer.begin()
            return answer.status, answer.read().decode()

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


def kind_of_cert_manager(kind, plural):
    """Its name and nothing of what it means: cert-manager is not here."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.cert-manager.io"},
            "spec": {"group": "cert-manager.io", "scope": "Namespaced", "names": {"kind": kind, "plural": plural},
                     "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                                   "schema": {"openAPIV3Schema": anything}}]}}


class Signer:
    """Does what cert-manager does with a CertificateRequest of an Issuer of the kind ca."""

    def __init__(self, api, keys):
        self._api = api
        self._keys = keys
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join()

    def _run(self):
        while not self._is_over.wait(0.5):
            for one in self._api.get("certificaterequests.cert-manager.io", "-n", NAMESPACE)["items"]:
                if "status" not in one:
                    self._sign(one)

    def _sign(self, one):
        name = one["metadata"]["name"]
        Path(self._keys.path("request.pem")).write_bytes(base64.b64decode(one["spec"]["request"]))
        signed = subprocess.run(["openssl", "x509", "-req", "-days", "1", "-copy_extensions", "copy", "-in", self._keys.path("request.pem"),
                                 "-CA", self._keys.path("ca.crt"), "-CAkey", self._keys.path("ca.key")], check=True, capture_output=True)
        status = {"conditions": [{"type": "Ready", "status": "True", "reason": "Issued"}], "certificate": base64.b64encode(signed.stdout).decode(),
                  "ca": base64.b64encode(Path(self._keys.path("ca.crt")).read_bytes()).decode()}
        self._api.run("patch", "certificaterequests.cert-manager.io", name, "-n", NAMESPACE, "--subresource=status", "--type=merge",
                      "-p", json.dumps({"status": status}))


class CertManagerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().open()
        cls.api = cls.cluster.api
        if not cls.cluster.nodes:
            raise unittest.SkipTest(cls.cluster.why_no_nodes)
        cls.keys = Certificates(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.keys.make_authority("ca")
        kinds = [kind_of_cert_manager(*names) for names in
                 (("Issuer", "issuers"), ("Certificate", "certificates"), ("CertificateRequest", "certificaterequests"))]
        cls.api.apply(*kinds)
        names = [kind["metadata"]["name"] for kind in kinds]
        cls.addClassCleanup(cls.api.run, "delete", "--ignore-not-found", "--wait=false", "crd", *names)
        cls.api.run("wait", "--for=condition=Established", "--timeout=30s", *(f"crd/{name}" for name in names))
        cls.enterClassContext(Signer(cls.api, cls.keys))
        cls.deployment = Deployment(cls.api, "dropin", NODE, "--simulate", "hgx-h100-8", "--allow-simulated",
                                    settings=["tls.mode=certManager"], apis=["cert-manager.io/v1"])
        cls.addClassCleanup(cls.deployment.remove)
        cls.pod = cls.deployment.apply()

    def test_the_agent_shows_a_certificate_that_names_its_node_and_leaves_no_request(self):
        context = ssl.create_default_context(cafile=self.keys.path("ca.crt"))

        def names():
            try:
                with socket.create_connection((self.pod["status"]["podIP"], PORT), timeout=10) as plain, \
                        context.wrap_socket(plain, server_hostname=NODE) as tls:
                    return tls.getpeercert()["subjectAltName"]
            except OSError:
                return None

        self.assertEqual(self.api.wait(names, "the agent has its certificate", 60), (("DNS", NODE),))
        self.api.wait(lambda: not self.api.get("certificaterequests.cert-manager.io", "-n", NAMESPACE)["items"], "the request is gone")
        self.assertNotRegex(self.deployment.logs(), "keys of TLS refused")

    def test_the_token_of_a_node_asks_in_its_name_alone_and_for_no_authority(self):
        token = self.api.run("create", "token", "autopilot", "-n", NAMESPACE, "--bound-object-kind", "Pod", "--bound-object-name",
                             self.pod["metadata"]["name"]).strip()
        caller = Caller(self.cluster.control_plane.keys.authority, token)
        usual = {"request": "eA==", "isCA": False, "duration": "86400s", "usages": ["digital signature", "server auth", "client auth"],
                 "issuerRef": {"group": "cert-manager.io", "kind": "Issuer", "name": "autopilot"}}

        def ask(name, **changed):
            return caller.ask("POST", f"/apis/cert-manager.io/v1/namespaces/{NAMESPACE}/certificaterequests?dryRun=All",
                              {"apiVersion": "cert-manager.io/v1", "kind": "CertificateRequest", "metadata": {"name": name},
                               "spec": {**usual, **changed}})

        code, answer = ask(f"{NODE}.tls-1")
        self.assertEqual(code, 201, answer)
        for name, changed, words in ((f"{OTHER}.tls-1", {}, "in the name of the node"), (f"{NODE}.tls-1", {"isCA": True}, "for TLS alone"),
                                     (f"{NODE}.tls-1", {"duration": "25h"}, "of a day"), (f"{NODE}.tls-1", {"usages": ["cert sign"]}, "TLS alone"),
                                     (f"{NODE}.tls-1", {"issuerRef": {**usual["issuerRef"], "kind": "ClusterIssuer"}}, "its own Issuer")):
            code, answer = ask(name, **changed)
            self.assertIn(code, (403, 422), answer)
            self.assertIn(words, answer["message"])


if __name__ == "__main__":
    testing.main()

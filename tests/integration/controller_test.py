# SPDX-License-Identifier: Apache-2.0
"""`autopilot controller`: leader election, metrics, an API server that does not answer or refuses, a configuration that changes."""

import base64
import contextlib
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import tempfile
import unittest

import harness
from api_store import ApiStore
from certificates import Certificates
from fake_api_server import write_kubeconfig

LEASE = "/apis/coordination.k8s.io/v1/namespaces/autopilot/leases/autopilot-controller"
SECRET = "/api/v1/namespaces/autopilot/secrets/autopilot-authority"
CONFIG_MAP = "/api/v1/namespaces/autopilot/configmaps/autopilot-authority"
WEBHOOK = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/autopilot-preflight"
SERVICE = "autopilot-controller.autopilot.svc"
AGENT = {"username": "system:serviceaccount:autopilot:autopilot", "extra": {"authentication.kubernetes.io/node-name": ["gpu-1"]}}


class Controller:
    """A controller at any free ports. `settings`: lines of its configuration."""

    def __init__(self, kubeconfig, folder, name="controller", settings=""):
        self.config = os.path.join(folder, name + ".yaml")
        self._kubeconfig = kubeconfig
        self.write(settings)
        self.process = harness.Process([harness.AUTOPILOT, "controller", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0",
                                        "--config", self.config])
        found = harness.wait_until(lambda: self.process.find(r"controller ready.* tls_port=(\d+) metrics_port=(\d+)") or
                                   (self.process.child.poll() is not None and "ended"), "the controller is ready")
        if found == "ended":
            raise AssertionError("the controller ended:\n" + "\n".join(self.process.log))
        self.tls_port, self.port = (int(group) for group in found.groups())

    def write(self, settings):
        """A new version of the file, whole at once."""
        with open(self.config + ".new", "w", encoding="utf-8") as file:
            file.write(f"drain: 0s\njobs: {{listen: '127.0.0.1:0'}}\nkubernetes: {{kubeconfig: {self._kubeconfig}}}\n{settings}")
        os.replace(self.config + ".new", self.config)

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def metric(self, name):
        for line in self.get("/metrics")[1].splitlines():
            if line.startswith(name + " "):
                return float(line.split()[-1])
        return None

    def post(self, path, body, authority, token=None, certificate=None):
        """Sends a request over TLS that trusts that authority. `certificate`: the client's certificate and key files."""
        context = ssl.create_default_context(cadata=authority)
        if certificate:
            context.load_cert_chain(*certificate)
        headers = {"Host": SERVICE, **({"Authorization": f"Bearer {token}"} if token else {})}
        with socket.create_connection(("127.0.0.1", self.tls_port), timeout=10) as plain, \
                context.wrap_socket(plain, server_hostname=SERVICE) as tls:
            connection = http.client.HTTPConnection(SERVICE)
            connection.sock = tls
            connection.request("POST", path, body=body, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def leads(self):
        return self.metric("autopilot_controller_leader") == 1

    def stop(self, number=signal.SIGTERM):
        return self.process.stop(number)


class ControllerTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="autopilot-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.api = ApiStore()
        self.addCleanup(lambda: self.api.close())
        self.kubeconfig = write_kubeconfig(os.path.join(self.folder, "kubeconfig"), {"test": self.api.url}, "test",
                                           user={"token": "controller"})

    def start(self, name="controller", settings=""):
        controller = Controller(self.kubeconfig, self.folder, name, settings)
        self.addCleanup(controller.stop)
        return controller

    def holder(self):
        lease = self.api.get(LEASE)
        return lease["spec"]["holderIdentity"] if lease else ""

    def wait_leads(self, controller):
        harness.wait_until(controller.leads, "it leads", 60)

    def test_it_leads_and_gives_the_lease_back_when_it_is_told_to_end(self):
        controller = self.start()
        self.assertEqual(controller.get("/healthz"), (200, "ok\n"))
        self.wait_leads(controller)
        harness.wait_until(lambda: controller.process.find("this controller is the leader now"), "the log says so, too")
        self.assertEqual(controller.stop(), 0)
        self.assertEqual(self.holder(), "")

    def test_one_of_two_leads_and_the_other_follows_when_it_is_killed(self):
        first = self.start("one")
        self.wait_leads(first)
        second = self.start("two")
        holder = self.holder()
        harness.wait_until(lambda: second.metric('autopilot_controller_api_requests_total{outcome="ok"}') >= 2, "it looks at the lease")
        self.assertFalse(second.leads())
        first.stop(signal.SIGKILL)
        self.wait_leads(second)
        self.assertNotEqual(self.holder(), holder)
        self.assertEqual(second.metric("autopilot_controller_lease_transitions"), 1)

    def test_strangers_at_the_port_do_not_make_a_probe_fail(self):
        path = os.path.join(self.folder, "controller.sock")
        controller = self.start(settings=f"socket: {path}\n")
        harness.wait_until(lambda: controller.get("/readyz")[0] == 200, "it is ready")
        strangers = [socket.create_connection(("127.0.0.1", controller.port), timeout=10) for _ in range(600)]
        try:
            for stranger in strangers:
                with contextlib.suppress(OSError):  # closed in favour of another
                    stranger.sendall(b"GET /healthz HTTP/1.1\r\nHost: loc")
            for what in ("live", "ready"):
                self.assertEqual(harness.run("status", "--probe", what, "--socket", path), (0, "", ""))
            self.assertEqual(controller.get("/healthz"), (200, "ok\n"))
        finally:
            for stranger in strangers:
                stranger.close()

    def test_unfinished_reviews_take_no_more_memory_than_there_is_for_them(self):
        controller = self.start()
        harness.wait_until(lambda: self.api.get(CONFIG_MAP), "the authority is published", 60)
        authority = self.api.get(CONFIG_MAP)["data"]["ca.crt"]
        context = ssl.create_default_context(cadata=authority)
        head = f"POST /mutate-pod HTTP/1.1\r\nHost: {SERVICE}\r\nContent-Length: 6000000\r\n\r\n".encode()
        with contextlib.ExitStack() as strangers:
            for _ in range(40):
                plain = socket.create_connection(("127.0.0.1", controller.tls_port), timeout=10)
                tls = strangers.enter_context(context.wrap_socket(plain, server_hostname=SERVICE))
                with contextlib.suppress(OSError):  # refused, or given up for another
                    tls.sendall(head + b"x" * 3_000_000)
            self.assertEqual(controller.post("/mutate-pod", "{}", authority)[0], 200)
            refused = sum(controller.metric(f'autopilot_http_limited_total{{limit="{limit}"}}')
                          for limit in ("buffered_bytes", "buffered_bytes_share"))
            self.assertGreaterEqual(refused, 1)
            self.assertLessEqual(controller.metric("autopilot_http_buffered_bytes_most"), 64 << 20)

    def test_webhooks_may_be_for_the_certificate_of_the_api_server_alone(self):
        keys = Certificates(self.folder)
        keys.make_authority("clients")
        keys.make("api-server", "clients", "DNS:api-server")
        controller = self.start(settings=f"webhook: {{client_authorities: {keys.path('clients.crt')}}}\n")
        harness.wait_until(lambda: self.api.get(CONFIG_MAP), "the authority is published", 60)
        authority = self.api.get(CONFIG_MAP)["data"]["ca.crt"]
        status, body = controller.post("/mutate-pod", "{}", authority)
        self.assertEqual(status, 403, body)
        self.assertIn("needs a client certificate from a trusted authority", body)
        shown = (keys.path("api-server.crt"), keys.path("api-server.key"))
        self.assertEqual(controller.post("/mutate-pod", "{}", authority, certificate=shown)[0], 200)

    def test_without_rights_it_says_which_and_tries_on(self):
        self.api.refusals["/apis/coordination.k8s.io"] = 403
        controller = self.start()
        harness.wait_until(lambda: controller.process.find(r"the leader is unknown.*leases/autopilot-controller.* is forbidden"),
                           "it says what is forbidden")
        self.assertEqual(controller.get("/healthz")[0], 200)
        self.assertGreaterEqual(controller.metric("autopilot_controller_lease_failures_total"), 1)
        self.api.refusals.clear()
        self.wait_leads(controller)

    def test_an_api_server_that_is_down_at_the_start_is_waited_for(self):
        self.api.close()
        controller = self.start()
        harness.wait_until(lambda: controller.process.find("the leader is unknown"), "it says so")
        self.assertEqual(controller.get("/healthz")[0], 200)
        self.api = ApiStore(port=self.api.port)
        self.wait_leads(controller)

    def test_a_configuration_that_makes_no_sense_is_refused_and_the_old_one_stays(self):
        controller = self.start()
        controller.write("webhok: {}\n")
        harness.wait_until(lambda: controller.metric("autopilot_controller_configuration_refused_total") == 1, "it is counted")
        controller.process.wait_says("invalid configuration.*webhok")
        controller.write("policy: /etc/policy.yaml\n")
        harness.wait_until(lambda: controller.process.find("configuration loaded changes=policy"), "the next one is taken")

    def test_it_does_not_start_with_a_configuration_that_makes_no_sense(self):
        path = os.path.join(self.folder, "bad.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("listen: nowhere\n")
        code, _, errors = harness.run("controller", "--config", path)
        self.assertEqual(code, 78)
        self.assertIn("bad.yaml:1: `listen`", errors)

    def test_outside_of_a_cluster_it_says_how_to_name_one(self):
        code, _, errors = harness.run("controller", environment={"KUBERNETES_SERVICE_HOST": ""})
        self.assertNotEqual(code, 0)
        self.assertIn("outside a pod, set `kubernetes.kubeconfig`", errors)

    # Certificates

    def authority(self):
        """The authority that the cluster must trust."""
        return harness.wait_until(lambda: (self.api.get(CONFIG_MAP) or {}).get("data", {}).get("ca.crt"), "the authority is published", 60)

    def put_webhook(self):
        service = {"name": "autopilot-controller", "namespace": "autopilot", "path": "/mutate-pod"}
        self.api.put(WEBHOOK, {"kind": "MutatingWebhookConfiguration", "metadata": {"name": "autopilot-preflight"},
                               "webhooks": [{"name": "a.autopilot.ibm.com", "clientConfig": {"service": service}}]})

    def test_the_cluster_is_told_whom_to_believe_and_it_is_ready_when_it_has_keys(self):
        self.put_webhook()
        controller = self.start()
        authority = self.authority()
        harness.wait_until(lambda: controller.get("/readyz")[0] == 200, "it is ready", 60)
        self.assertEqual(controller.post("/nothing", "", authority)[0], 404)
        bundle = harness.wait_until(lambda: self.api.get(WEBHOOK)["webhooks"][0]["clientConfig"].get("caBundle"), "the webhook is told")
        self.assertEqual(base64.b64decode(bundle).decode(), authority)
        self.assertNotIn("PRIVATE KEY", "\n".join(controller.process.log))
        self.assertGreater(controller.metric('autopilot_controller_certificate_not_after_seconds{certificate="authority"}'),
                           controller.metric('autopilot_controller_certificate_not_after_seconds{certificate="serving"}'))

    def test_a_follower_answers_with_keys_of_the_same_authority(self):
        first = self.start("one")
        authority = self.authority()
        second = self.start("two")
        harness.wait_until(lambda: second.get("/readyz")[0] == 200, "the other one is ready", 60)
        for controller in (first, second):
            self.assertEqual(controller.post("/nothing", "", authority)[0], 404)

    def test_it_is_not_ready_without_the_right_to_make_an_authority(self):
        self.api.refusals["/api/v1/namespaces/autopilot/secrets"] = 403
        controller = self.start()
        self.wait_leads(controller)
        status, why = harness.wait_until(lambda: "forbidden" in controller.get("/readyz")[1] and controller.get("/readyz"), "it says why")
        self.assertEqual(status, 503)
        self.assertIn("secrets/autopilot-authority", why)
        self.assertEqual(controller.metric("autopilot_controller_certificate_problem"), 1)
        self.api.refusals.clear()
        harness.wait_until(lambda: controller.get("/readyz")[0] == 200, "it is ready", 60)

    def test_an_agent_gets_a_certificate_for_its_node_alone(self):
        openssl = harness.need_program("openssl")
        controller = self.start()
        authority = self.authority()
        self.api.users = {"agent": AGENT, "alice": {"username": "alice"}}
        request = subprocess.run([openssl, "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                                  os.path.join(self.folder, "agent.key"), "-subj", "/CN=other", "-addext", "subjectAltName=DNS:other"],
                                 check=True, capture_output=True, text=True).stdout
        body = json.dumps({"request": request})
        self.assertEqual(controller.post("/v1/certificates", body, authority)[0], 401)
        self.assertEqual(controller.post("/v1/certificates", body, authority, "nobody")[0], 401)
        self.assertEqual(controller.post("/v1/certificates", body, authority, "alice")[0], 403)
        self.assertEqual(controller.post("/v1/certificates", "{}", authority, "agent")[0], 400)
        status, text = controller.post("/v1/certificates", body, authority, "agent")
        self.assertEqual(status, 200, text)
        issued = json.loads(text)
        for name, pem in (("ca.crt", issued["authority"]), ("agent.crt", issued["certificate"])):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(pem)

        def verify(host):
            return subprocess.run([openssl, "verify", "-x509_strict", "-CAfile", os.path.join(self.folder, "ca.crt"), "-purpose",
                                   "sslserver", "-verify_hostname", host, os.path.join(self.folder, "agent.crt")],
                                  check=False, capture_output=True).returncode

        self.assertEqual(verify("gpu-1"), 0)
        self.assertNotEqual(verify("other"), 0)
        self.assertEqual(issued["authority"], authority)
        self.assertEqual(controller.metric('autopilot_controller_certificate_requests_total{outcome="issued"}'), 1)
        self.assertNotIn("Bearer", "\n".join(controller.process.log))

    def test_certificates_of_somebody_else_are_shown_and_nothing_is_made(self):
        keys = Certificates(self.folder)
        keys.make_authority("ca")
        keys.make("one", "ca", f"DNS:{SERVICE}")
        settings = ("certificates: {mode: files, " +
                    f"certificate: {keys.path('one.crt')}, key: {keys.path('one.key')}, authorities: {keys.path('ca.crt')}}}\n")
        controller = self.start(settings=settings)
        with open(keys.path("ca.crt"), encoding="utf-8") as file:
            authority = file.read()
        self.assertEqual(controller.get("/readyz")[0], 200)
        self.assertEqual(controller.post("/v1/certificates", "{}", authority)[0], 404)
        self.wait_leads(controller)
        self.assertIsNone(self.api.get(SECRET))
        before = controller.metric('autopilot_controller_certificate_not_after_seconds{certificate="serving"}')
        self.assertIsNotNone(before)
        keys.make("two", "ca", f"DNS:{SERVICE}")
        for ending in (".crt", ".key"):
            os.replace(keys.path("two" + ending), keys.path("one" + ending))
        harness.wait_until(lambda: len([line for line in controller.process.log if "new TLS keys are in use" in line]) == 2,
                           "the new ones are used", 60)


if __name__ == "__main__":
    unittest.main()

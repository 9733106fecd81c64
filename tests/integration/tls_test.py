# SPDX-License-Identifier: Apache-2.0
"""An agent with TLS: accepted clients, renewed keys, invalid keys."""

import http.client
import os
import re
import ssl
import tempfile
import unittest

import harness
from certificates import Certificates


class TlsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="autopilot-test-")
        self.addCleanup(folder.cleanup)
        self.keys = Certificates(folder.name)
        self.keys.make_authority("ca")
        self.keys.make("node-1", "ca", "DNS:node-1", "IP:127.0.0.1")
        self.config = self.keys.path("config.yaml")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write("node: node-1\n"
                       "tls:\n"
                       "  mode: files\n"
                       "  listen: 127.0.0.1:0\n"
                       f"  certificate: {self.keys.path('node-1.crt')}\n"
                       f"  key: {self.keys.path('node-1.key')}\n"
                       f"  authorities: {self.keys.path('ca.crt')}\n")

    def start(self):
        agent = harness.Agent("--simulate", "no-gpu", "--config", self.config)
        self.addCleanup(agent.close)
        self.tls_port = int(agent.process.find(r"agent ready.* tls_port=(\d+)").group(1))
        return agent

    def connect(self, client=None, authority="ca"):
        context = ssl.create_default_context(cafile=self.keys.path(authority + ".crt"))
        if client:
            context.load_cert_chain(self.keys.path(client + ".crt"), self.keys.path(client + ".key"))
        return http.client.HTTPSConnection("127.0.0.1", self.tls_port, timeout=10, context=context)

    def get(self, path, **how):
        connection = self.connect(**how)
        try:
            connection.request("GET", path)
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    def replace(self, name, by):
        for ending in (".crt", ".key"):
            os.replace(self.keys.path(by + ending), self.keys.path(name + ending))

    def test_it_answers_inside_tls_and_in_the_clear(self):
        agent = self.start()
        self.assertEqual(self.get("/healthz"), "ok\n")
        self.assertEqual(agent.get("/healthz"), "ok\n")
        self.keys.make("node-2", "ca", "DNS:node-2")
        self.assertEqual(self.get("/healthz", client="node-2"), "ok\n")

    def test_strangers_do_not_get_in_and_are_counted(self):
        agent = self.start()
        self.keys.make_authority("other-ca")
        self.keys.make("node-2", "other-ca", "DNS:node-2")
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            self.get("/healthz", client="node-2")
        with self.assertRaises(ssl.SSLError):
            self.get("/healthz", authority="other-ca")
        harness.wait_until(lambda: "autopilot_http_handshakes_failed_total 2\n" in agent.get("/metrics"),
                           "both are counted")

    def shown_end(self, authority):
        """When the certificate that it shows ends, in seconds since the epoch."""
        connection = self.connect(authority=authority)
        self.addCleanup(connection.close)
        connection.connect()
        return ssl.cert_time_to_seconds(connection.sock.getpeercert()["notAfter"])

    @staticmethod
    def metric(agent, name):
        return float(re.search(rf"^{name} (\S+)$", agent.get("/metrics"), re.M).group(1))

    def test_renewed_keys_are_used_and_senseless_ones_are_not(self):
        agent = self.start()
        end = "autopilot_tls_certificate_expiry_timestamp_seconds"
        self.assertEqual(self.metric(agent, end), self.shown_end("ca"))
        begin = self.metric(agent, "autopilot_tls_certificate_not_before_timestamp_seconds")
        self.assertAlmostEqual(self.metric(agent, end) - begin, 86400, delta=1)  # as openssl counts
        self.keys.make_authority("next-ca")
        self.keys.make("renewed", "next-ca", "IP:127.0.0.1", days=2)
        self.replace("node-1", "renewed")

        def is_renewed():
            try:
                return self.get("/healthz", authority="next-ca") == "ok\n"
            except ssl.SSLError:
                return False

        harness.wait_until(is_renewed, "the new certificate is shown")
        self.assertEqual(self.metric(agent, end), self.shown_end("next-ca"))
        self.assertEqual(self.metric(agent, "autopilot_tls_renewal_failing"), 0)
        with open(self.keys.path("node-1.key"), "w", encoding="utf-8") as file:
            file.write("no key")
        harness.wait_until(lambda: agent.process.find(r"TLS keys refused.*key of the server"), "it says so")
        self.assertIn("autopilot_configuration_refused_total 1\n", agent.get("/metrics"))
        self.assertTrue(is_renewed())
        self.assertEqual(self.metric(agent, "autopilot_tls_renewal_failing"), 1)
        self.assertGreaterEqual(self.metric(agent, "autopilot_tls_renewal_failures_total"), 1)
        self.assertEqual(self.metric(agent, end), self.shown_end("next-ca"))

    def test_where_tls_is_off_nothing_is_told_of_it(self):
        agent = harness.Agent("--simulate", "no-gpu")
        self.addCleanup(agent.close)
        self.assertNotIn("autopilot_tls_", agent.get("/metrics"))

    def test_it_does_not_start_without_its_keys(self):
        os.remove(self.keys.path("node-1.key"))
        code, _, errors = harness.run("agent", "--simulate", "no-gpu", "--listen", "127.0.0.1:0", "--config",
                                      self.config, environment={"AUTOPILOT_STATE_DIR": self.keys.path("state"),
                                                                "AUTOPILOT_SOCKET": self.keys.path("agent.sock")})
        self.assertNotEqual(code, 0)
        self.assertIn("node-1.key", errors)


if __name__ == "__main__":
    unittest.main()

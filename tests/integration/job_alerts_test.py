# SPDX-License-Identifier: Apache-2.0
"""Alerts about jobs: the example of docs/alerts.md with a real Alertmanager, and with webhooks that verify the signature."""

import http.server
import json
import os
import re
import socket
import ssl
import subprocess
import tempfile
import threading
import unittest
import urllib.request

import certificates
import harness

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
SENDER = os.path.join(harness.BIN, "../fakes/alert_sender")
with open(os.path.join(ROOT, "docs/alerts.md"), encoding="utf-8") as page:
    PAGE = page.read()


def block_of(language, words):
    """The code block of the page that contains these words."""
    return next(block for block in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if words in block)


class Webhook:
    """Keeps path, headers and body of what is sent to it; `statuses` are its next answers, then 200."""

    def __init__(self, tls=None):
        self.received, self.statuses = [], []
        webhook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                webhook.received.append((self.path, self.headers, body))
                self.send_response(webhook.statuses.pop(0) if webhook.statuses else 200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.server.handle_error = lambda *_: None  # a client that refuses our certificate
        self.url = f"{'https' if tls else 'http'}://localhost:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def bodies(self):
        return [json.loads(body) for _, _, body in list(self.received)]

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class Sender:
    def __init__(self, config):
        self._log = tempfile.NamedTemporaryFile("w+", encoding="utf-8")
        self.child = subprocess.Popen([SENDER, config], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True)

    def say(self, line):
        self.child.stdin.write(line + "\n")
        self.child.stdin.flush()

    def figures(self):
        """What it states of its receivers now."""
        self.say("figures")
        return "".join(iter(self.child.stdout.readline, "\n"))

    def close(self):
        """What it states of its receivers, and its log."""
        out, _ = self.child.communicate(timeout=30)
        with self._log:
            return out, self.log()

    def log(self):
        with open(self._log.name, encoding="utf-8") as file:
            return file.read()


class JobAlertsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.keys = certificates.Certificates(self.folder)
        self.keys.make_authority("authority")
        self.keys.make("on-call", "authority", "DNS:localhost")
        self.on_call = Webhook((self.keys.path("on-call.crt"), self.keys.path("on-call.key")))
        self.addCleanup(self.on_call.close)
        self.chat = Webhook()
        self.addCleanup(self.chat.close)
        self.write("key", "a secret key\n")
        self.write("slack-url", self.chat.url + "/T0/B0/token?thread=1\n")

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def start(self, alertmanager, authority="authority"):
        """The example, with the addresses and files of this test."""
        text = block_of("yaml", "min_severity: page")
        for old, new in (("http://alertmanager.monitoring.svc:9093", alertmanager),
                         ("https://on-call.example.com/autopilot", self.on_call.url + "/autopilot"),
                         ("/etc/autopilot-alerts/key", os.path.join(self.folder, "key")),
                         ("/etc/autopilot-alerts/ca.crt", self.keys.path(authority + ".crt")),
                         ("/etc/autopilot-alerts/slack-url", os.path.join(self.folder, "slack-url"))):
            self.assertEqual(text.count(old), 1, old)
            text = text.replace(old, new)
        sender = Sender(self.write("controller.yaml", text))
        self.addCleanup(lambda: sender.child.stdin.closed or sender.close())
        return sender

    def start_alertmanager(self):
        program = harness.need_program("prometheus-alertmanager")
        config = self.write("alertmanager.yml", "route: {receiver: none}\nreceivers: [{name: none}]\n")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{probe.getsockname()[1]}"
        server = harness.Process([program, f"--config.file={config}", f"--storage.path={self.folder}/data",
                                  f"--web.listen-address={url[7:]}", "--cluster.listen-address="])
        self.addCleanup(server.stop)

        def is_ready():
            try:
                with urllib.request.urlopen(url + "/-/ready", timeout=5) as answer:
                    return answer.status == 200
            except OSError:
                return False
        harness.wait_until(is_ready, "Alertmanager is ready", 30)
        return url

    def test_alertmanager_has_an_open_alert_until_the_finding_is_over(self):
        url = self.start_alertmanager()

        def active():
            with urllib.request.urlopen(url + "/api/v2/alerts", timeout=5) as answer:
                return [one for one in json.load(answer) if one["status"]["state"] != "suppressed"]
        sender = self.start(url)
        sender.say("raised 00112233aabbccdd ticket gpu-001 3")
        alert = harness.wait_until(active, "the alert is there")[0]
        self.assertEqual(alert["labels"], {"alertname": "AutopilotJobHang", "job": "ml/llama", "severity": "warning", "effect": "hang",
                                           "finding": "00112233aabbccdd", "node": "gpu-001", "gpu": "3"})
        self.assertIn("gpu-001", alert["annotations"]["summary"])
        self.assertTrue(alert["annotations"]["description"])
        self.assertIn("## Alerts about jobs", PAGE)
        self.assertEqual(alert["annotations"]["runbook_url"], "docs/alerts.md#alerts-about-jobs")
        sender.say("changed 00112233aabbccdd page gpu-001 3")
        harness.wait_until(lambda: [one["labels"]["severity"] for one in active()] == ["critical"], "only the severe one is open")
        sender.say("resolved 00112233aabbccdd info gpu-001 3")
        harness.wait_until(lambda: not active(), "it is over")
        self.assertIn("alertmanager delivered", sender.close()[0])

    def test_a_webhook_verifies_the_signature(self):
        scope = {}
        exec(block_of("python", "def is_valid"), scope)  # pylint: disable=exec-used
        self.on_call.statuses = [503]
        sender = self.start("http://127.0.0.1:9")
        sender.say("raised aa ticket gpu-001 3")
        sender.say("raised bb page gpu-001 3")
        harness.wait_until(lambda: len(self.on_call.received) == 2, "the page arrives, the second time")
        for path, headers, body in list(self.on_call.received):
            self.assertEqual(path, "/autopilot")
            self.assertTrue(scope["is_valid"](headers["X-Autopilot-Signature"], body, b"a secret key"))
            self.assertFalse(scope["is_valid"](headers["X-Autopilot-Signature"], body + b" ", b"a secret key"))
            self.assertFalse(scope["is_valid"](headers["X-Autopilot-Signature"], body, b"another"))
        message = self.on_call.bodies()[-1]
        self.assertEqual((message["finding"], message["severity"], message["culprit"]["node"]), ("bb", "page", "gpu-001"))
        harness.wait_until(lambda: "on-call delivered 1 failed 1 dropped 0 waiting 0" in sender.figures(), "the sender has the answer")
        out, log = sender.close()
        self.assertNotIn("a secret key", out + log)

    def test_a_chat_gets_the_form_of_slack_at_a_secret_address(self):
        sender = self.start("http://127.0.0.1:9")
        sender.say("raised aa ticket gpu-001 3")
        harness.wait_until(lambda: self.chat.received, "the message arrives")
        self.assertEqual(self.chat.received[0][0], "/T0/B0/token?thread=1")
        message = self.chat.bodies()[0]
        self.assertIn("[TICKET]", message["text"])
        self.assertEqual([block["type"] for block in message["blocks"]], ["header", "section"])
        out, log = sender.close()
        self.assertNotIn("token", out + log)

    def test_a_certificate_of_another_authority_gets_nothing(self):
        self.keys.make_authority("another")
        sender = self.start("http://127.0.0.1:9", "another")
        sender.say("raised aa page gpu-001 3")
        harness.wait_until(lambda: self.chat.received, "the chat gets the alert")
        harness.wait_until(lambda: "certificate" in sender.log(), "the sender refuses the certificate")
        self.assertEqual(self.on_call.received, [])
        out, _ = sender.close()
        self.assertIn("on-call delivered 0", out)


if __name__ == "__main__":
    unittest.main()

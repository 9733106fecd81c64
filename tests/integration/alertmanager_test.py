# SPDX-License-Identifier: Apache-2.0
"""The example for Alertmanager: a real one takes it, and tells those that it should."""

import http.server
import json
import os
import re
import socket
import subprocess
import tempfile
import threading
import unittest
import urllib.request

import harness

CONFIG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../deploy/alerts/alertmanager.yaml")


class Receiver:
    """Keeps what is sent to it, by path."""

    def __init__(self):
        received = self.received = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                received.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"ok")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def titles(self):
        """Of what went to Slack."""
        return sorted(message["attachments"][0]["title"] for path, message in list(self.received) if path == "/slack")

    def pages(self):
        return sorted((message["status"], alert["labels"]["alertname"]) for path, message in list(self.received) if path == "/page"
                      for alert in message["alerts"])

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def alert(name, severity, instance=None, subject=None, node=None, **annotations):
    labels = {"alertname": name, "severity": severity, "instance": instance, "subject": subject, "node": node, "job": "autopilot"}
    return {"labels": {key: value for key, value in labels.items() if value}, "annotations": annotations}


class AlertmanagerTest(unittest.TestCase):
    def setUp(self):
        self.program = harness.need_program("prometheus-alertmanager")
        self.receiver = Receiver()
        self.addCleanup(self.receiver.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        with open(CONFIG, encoding="utf-8") as file:
            text = file.read()
        # Addresses of this test, and no waiting for what else may come.
        secret = os.path.join(folder.name, "slack-url")
        with open(secret, "w", encoding="utf-8") as file:
            file.write(self.receiver.url + "/slack")
        for pattern, value in ((r"(?<=slack_api_url_file: ).*", secret), (r"(?<=- url: ).*", f"'{self.receiver.url}/page'"),
                               (r"(?<=group_wait: ).*", "1s"), (r"(?<=group_interval: ).*", "1s")):
            text, count = re.subn(pattern, value, text)
            self.assertEqual(count, 1, pattern)
        self.config = os.path.join(folder.name, "alertmanager.yml")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(text)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{probe.getsockname()[1]}"
        server = harness.Process([self.program, f"--config.file={self.config}", f"--storage.path={folder.name}/data",
                                  f"--web.listen-address={self.url[7:]}", "--cluster.listen-address="])
        self.addCleanup(server.stop)
        harness.wait_until(self.is_ready, "Alertmanager is ready", 30)

    def is_ready(self):
        try:
            with urllib.request.urlopen(self.url + "/-/ready", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def post(self, *alerts):
        request = urllib.request.Request(self.url + "/api/v2/alerts", json.dumps(alerts).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=5) as answer:
            self.assertEqual(answer.status, 200)

    def test_the_example_is_well_formed(self):
        amtool = harness.need_program("amtool")
        done = subprocess.run([amtool, "check-config", CONFIG], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_each_alert_goes_where_it_should(self):
        off_bus = alert("AutopilotFindingEvict", "critical", "node-1", "gpu/0000:43:00.0", summary="GPU 1 is gone",
                        description="Action: power cycle.", runbook_url="docs/checks/gpu.xid.md#gpu_fallen_off_bus")
        self.post(off_bus, alert("AutopilotFindingDegraded", "info", "node-1", "gpu/0000:43:00.0"),
                  alert("AutopilotFindingDegraded", "info", "node-2", "gpu/0000:43:00.0", summary="GPU 1 is hot"),
                  alert("AutopilotExercise", "none", "node-3", "gpu/0000:43:00.0"), alert("Watchdog", "critical", "node-1"))
        harness.wait_until(lambda: len(self.receiver.titles()) == 2 and self.receiver.pages(), "both are told", 30)
        self.post({**off_bus, "endsAt": "2026-01-01T00:00:00Z", "startsAt": "2025-12-31T00:00:00Z"})
        harness.wait_until(lambda: ("resolved", "AutopilotFindingEvict") in self.receiver.pages(), "its end is told", 30)
        self.assertEqual(set(self.receiver.pages()),
                         {("firing", "AutopilotFindingEvict"), ("resolved", "AutopilotFindingEvict")})
        titles = self.receiver.titles()
        self.assertIn("[FIRING] AutopilotFindingEvict on node-1", titles)
        self.assertIn("[FIRING] AutopilotFindingDegraded on node-2", titles)
        text = next(message["attachments"][0]["text"] for path, message in self.receiver.received
                    if path == "/slack" and "FindingEvict" in message["attachments"][0]["title"])
        self.assertIn("GPU 1 is gone\nAction: power cycle.\nMore: docs/checks/gpu.xid.md#gpu_fallen_off_bus", text)

    def test_each_node_is_told_by_its_name(self):
        state = "10.0.0.9:8080"  # of kube-state-metrics, whatever node it tells of
        self.post(alert("AutopilotGPUNodeHealth", "warning", state, node="node-1"), alert("AutopilotGPUNodeHealth", "warning", state, node="node-2"),
                  alert("AutopilotPVCAlert", "critical", node="node-1"), alert("AutopilotPVCAlert", "critical", node="node-2"),
                  alert("AutopilotLowPCIeBandwidth", "warning", "10.0.0.1:8081", node="node-1"))
        harness.wait_until(lambda: len(self.receiver.titles()) == 5, "all are told", 30)
        self.assertEqual(self.receiver.titles(), [
            "[FIRING] AutopilotGPUNodeHealth on node-1", "[FIRING] AutopilotGPUNodeHealth on node-2",
            "[FIRING] AutopilotLowPCIeBandwidth on node-1", "[FIRING] AutopilotPVCAlert on node-1", "[FIRING] AutopilotPVCAlert on node-2"])

    def test_a_device_that_failed_is_not_told_as_degraded_as_well(self):
        self.post(alert("AutopilotFindingEvict", "critical", "node-1", "gpu/0000:43:00.0"),
                  alert("AutopilotFindingFailed", "warning", "node-1", "gpu/0000:43:00.0", summary="suppressed"),
                  alert("AutopilotFindingDegraded", "info", "node-1", "gpu/0000:43:00.0", summary="suppressed"),
                  alert("AutopilotFindingEvict", "critical", "node-1", "host"),
                  alert("AutopilotFindingFailed", "warning", "node-1", "host"))
        self.post(alert("AutopilotFindingDegraded", "info", "node-1", "gpu/0000:52:00.0"))
        # The last of them is told after the second would have been.
        harness.wait_until(lambda: "[FIRING] AutopilotFindingDegraded on node-1" in self.receiver.titles(), "another GPU is told", 30)
        with urllib.request.urlopen(self.url + "/api/v2/alerts?active=false&silenced=false", timeout=5) as answer:
            suppressed = sorted((one["labels"]["alertname"], one["labels"]["subject"]) for one in json.load(answer))
        self.assertEqual(suppressed, [("AutopilotFindingDegraded", "gpu/0000:43:00.0"), ("AutopilotFindingFailed", "gpu/0000:43:00.0")])
        self.assertNotIn("suppressed", json.dumps(self.receiver.received))
        # Findings of the host have separate causes.
        harness.wait_until(lambda: "[FIRING] AutopilotFindingFailed on node-1" in self.receiver.titles(), "the host's warning is told", 30)


if __name__ == "__main__":
    unittest.main()

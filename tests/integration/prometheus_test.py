# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus scrapes the agent; promtool judges the text."""

import json
import os
import re
import socket
import subprocess
import tempfile
import unittest
import urllib.parse
import urllib.request

import harness
from certificates import Certificates

RULES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../deploy/alerts/autopilot.yaml")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class PrometheusTest(unittest.TestCase):
    def test_promtool_finds_nothing_to_complain_about(self):
        promtool = harness.need_program("promtool")
        with harness.Agent("--simulate", "hgx-h100-8") as agent:
            agent.wait_ready()
            status, body = agent.request("GET", "/metrics")
            self.assertEqual(status, 200)
            lint = subprocess.run([promtool, "check", "metrics"], input=body, capture_output=True, text=True)
            self.assertEqual(lint.returncode, 0, lint.stdout + lint.stderr)
            self.assertEqual(lint.stdout + lint.stderr, "")
            self.assertIn("autopilot_simulated 1\n", body)

    def test_every_check_and_every_family_of_the_alert_rules_is_told(self):
        code, out, error = harness.run("check", "--list", "-o", "json")
        self.assertEqual(code, 0, error)
        checks = {item["check"] for item in json.loads(out)["items"]}
        with open(RULES, encoding="utf-8") as file:
            expressions = re.findall(r"^ +expr: '(.*)'$", file.read(), re.MULTILINE)
        families = {name for expression in expressions for name in re.findall(r"autopilot_[a-z_]+", expression)}
        # With keys, because their metrics exist only then.
        with tempfile.TemporaryDirectory() as folder:
            keys = Certificates(folder)
            keys.make_authority("ca")
            keys.make("node-1", "ca", "DNS:node-1")
            with open(keys.path("config.yaml"), "w", encoding="utf-8") as config:
                config.write("node: node-1\ntls: {mode: files, listen: '127.0.0.1:0', "
                             f"certificate: {keys.path('node-1.crt')}, key: {keys.path('node-1.key')}}}\n")
            with harness.Agent("--simulate", "hgx-h100-8", "--config", keys.path("config.yaml")) as agent:
                agent.wait_ready()
                _, body = agent.request("GET", "/metrics")
        self.assertEqual(set(re.findall(r'^autopilot_check_required\{check="([^"]+)"', body, re.MULTILINE)), checks)
        self.assertEqual(families - set(re.findall(r"^# TYPE (\S+)", body, re.MULTILINE)), set())

    def test_a_real_prometheus_scrapes_the_node(self):
        prometheus = harness.need_program("prometheus")
        with harness.Agent("--simulate", "hgx-h100-8") as agent, tempfile.TemporaryDirectory() as folder:
            agent.wait_ready()
            config = os.path.join(folder, "prometheus.yml")
            with open(config, "w", encoding="utf-8") as out:
                out.write("global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: autopilot\n"
                          f"  static_configs: [{{targets: ['127.0.0.1:{agent.port}']}}]\n")
            port = free_port()
            server = harness.Process([prometheus, f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
                                      f"--web.listen-address=127.0.0.1:{port}"])
            try:
                def query(expression):
                    url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
                    try:
                        with urllib.request.urlopen(url, timeout=5) as answer:
                            return json.load(answer)["data"]["result"]
                    except OSError:
                        return []

                up = harness.wait_until(lambda: query("up{job='autopilot'} == 1"), "Prometheus sees the target up")
                self.assertEqual(len(up), 1)
                health = harness.wait_until(lambda: query("autopilot_node_health == 1"), "the node's health is stored")
                self.assertEqual(health[0]["metric"]["health"], agent.node()["health"])
            finally:
                server.stop()


if __name__ == "__main__":
    unittest.main(verbosity=2)

# SPDX-License-Identifier: Apache-2.0
"""The family of metrics that IBM Autopilot exports, and the alerts and panels that its users have, in a real Prometheus."""

import json
import os
import re
import socket
import tempfile
import unittest
import urllib.parse
import urllib.request

import harness

SERIES = re.compile(r'^autopilot_health_checks\{cpumodel="([^"]*)",deviceid="([^"]*)",gpumodel="([^"]*)",health="([^"]*)",'
                    r'node="([^"]*)"\} (\S+)$', re.MULTILINE)
POWER_SLOWDOWN = 'sum (autopilot_health_checks{health="power-slowdown"}==1) by (node, deviceid)'
REMAPPED = 'sum (autopilot_health_checks{health="remapped"}==1) by (node, deviceid)'
REMAPPED_PANEL = 'sum(autopilot_health_checks{health=~"remapped", node=~".*"}) by (node) > 0'
POWER_PANEL = 'sum(autopilot_health_checks{node=~".*", health=~"power-slowdown"} > 0) by (node, deviceid)'


def inject(agent, *arguments):
    code, _, errors = harness.run("inject", *arguments, "--socket", agent.socket)
    assert code == 0, errors


def look(agent, check):
    status, body = agent.request("POST", f"/v1/checks/{check}", unix=True, timeout=60)
    assert status == 200, body


def values(agent, health):
    """Values by device."""
    return {device: float(value) for _, device, _, of, _, value in SERIES.findall(agent.get("/metrics")) if of == health}


class IbmMetricsTest(unittest.TestCase):
    def test_every_gpu_has_its_series_with_the_labels_of_the_original(self):
        with harness.Agent("--simulate", "hgx-h100-8") as agent:
            agent.wait_ready()
            text = agent.get("/metrics")
            self.assertIn("# HELP autopilot_health_checks Summary of the health checks measurements on compute nodes. "
                          "Gauge Vector version\n# TYPE autopilot_health_checks gauge\n", text)
            found = SERIES.findall(text)
            self.assertEqual({health for _, _, _, health, _, _ in found}, {"remapped", "power-slowdown"})
            self.assertEqual(values(agent, "remapped"), {str(gpu): 0 for gpu in range(8)})
            self.assertEqual(values(agent, "power-slowdown"), {str(gpu): 0 for gpu in range(8)})
            self.assertEqual({model for _, _, model, _, _, _ in found}, {"NVIDIA H100 80GB HBM3"})
            self.assertEqual({node for _, _, _, _, node, _ in found}, {agent.node()["node"]})
            self.assertTrue(all("(" not in cpu or cpu.count("(") < cpu.count(")") + 1 for cpu, *_ in found))

    def test_a_machine_without_gpus_has_none(self):
        with harness.Agent("--simulate", "no-gpu") as agent:
            agent.wait_ready()
            self.assertNotIn("autopilot_health_checks", agent.get("/metrics"))

    def test_a_driver_that_says_nothing_keeps_the_last_value(self):
        with harness.Agent("--simulate", "hgx-h100-8") as agent:
            agent.wait_ready()
            inject(agent, "row_remap_pending", "--subject", "gpu/2")
            harness.wait_until(lambda: look(agent, "gpu.row_remap") or values(agent, "remapped")["2"] == 1, "the remap shows", 60)
            inject(agent, "driver_hang")
            # An answer of just before may still be shared.
            harness.wait_until(lambda: look(agent, "gpu.row_remap") or "unknown" in {
                one["health"] for one in agent.result("gpu.row_remap")["findings"]}, "the driver does not answer", 60)
            self.assertEqual(values(agent, "remapped"), {str(gpu): float(gpu == 2) for gpu in range(8)})

    def test_the_alerts_and_panels_of_its_users_fire(self):
        prometheus = harness.need_program("prometheus")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        with harness.Agent("--simulate", "hgx-h100-8") as agent, tempfile.TemporaryDirectory() as folder:
            agent.wait_ready()
            config = os.path.join(folder, "prometheus.yml")
            with open(config, "w", encoding="utf-8") as out:
                out.write("global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: autopilot\n"
                          f"  static_configs: [{{targets: ['127.0.0.1:{agent.port}']}}]\n")
            server = harness.Process([prometheus, f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
                                      f"--web.listen-address=127.0.0.1:{port}"])
            self.addCleanup(server.stop)

            def devices(expression):
                url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
                try:
                    with urllib.request.urlopen(url, timeout=5) as answer:
                        return [one["metric"].get("deviceid", "all") for one in json.load(answer)["data"]["result"]]
                except OSError:
                    return None

            harness.wait_until(lambda: devices('autopilot_health_checks{health="remapped"}'), "Prometheus has the series", 60)
            for expression in (POWER_SLOWDOWN, REMAPPED, REMAPPED_PANEL, POWER_PANEL):
                self.assertEqual(devices(expression), [], expression)
            inject(agent, "row_remap_pending", "--subject", "gpu/2")
            inject(agent, "throttle", "--subject", "gpu/5", "--magnitude", "1")
            for expression, wanted in ((REMAPPED, ["2"]), (REMAPPED_PANEL, ["all"]), (POWER_SLOWDOWN, ["5"]), (POWER_PANEL, ["5"])):
                harness.wait_until(lambda: look(agent, "gpu.row_remap") or look(agent, "gpu.throttle")
                                   or devices(expression) == wanted, expression, 60)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""The monitoring of the Helm chart: ServiceMonitor, alerts, and the limits that alerts share with the agent and the dashboard."""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import yaml

from kit import testing
from kit.chart import MONITORING, PCIE, ChartCase
from kit.cluster import ROOT
from kit.deployment import NAMESPACE

LABELS = "label_autopilot_ibm_com"


def series(family, value, job="autopilot-metrics-service", instance="10.0.0.1:8081", **labels):
    """A series with this value for half an hour."""
    inside = ",".join(f'{name}="{text}"' for name, text in {"job": job, "instance": instance, **labels}.items())
    return {"series": f"{family}{{{inside}}}", "values": f"{value}+0x30"}


def gauge(health, value, **labels):
    return series("autopilot_health_checks", value, health=health, node="node-1", **labels)


def from_state(family, value, **labels):
    return series(family, value, job="kube-state-metrics", instance="10.0.0.9:8080", **labels)


def marked(verdict="PASS", deep="PASS_2026-11-01", prefix=LABELS):
    return from_state("kube_node_labels", 1, node="node-1", **{f"{prefix}_gpuhealth": verdict, f"{prefix}_dcgm_level_3": deep})


# Series of the agent of a healthy node, and of kube-state-metrics about that node.
SOUND = (
    series("autopilot_simulated", 0),
    series("autopilot_node_verdict", 1, node="node-1", verdict="PASS"),
    gauge("pciebw", 4, deviceid="3"),
    gauge("dcgm", 0, deviceid=""),
    gauge("power-slowdown", 0, deviceid="3"),
    gauge("remapped", 0, deviceid="3"),
    gauge("ping", 0, deviceid="node-2"),
    gauge("pvc", 0, deviceid=""),
    marked(),
)
# Series that make each alert with a name of IBM Autopilot fire.
FIRES = {
    "AutopilotLowPCIeBandwidth": gauge("pciebw", 3.9, deviceid="3"),
    "AutopilotDCGMErrors": gauge("dcgm", 1, deviceid=""),
    "AutopilotGPUPowerSlowdownEnabled": gauge("power-slowdown", 1, deviceid="3"),
    "AutopilotRemappedRowsActive": gauge("remapped", 1, deviceid="3"),
    "AutopilotPingFailures": gauge("ping", 1, deviceid="node-2"),
    "AutopilotPVCAlert": gauge("pvc", 1, deviceid=""),
    "AutopilotGPUNodeHealth": marked(verdict="EVICT"),
    "AutopilotDCGMLevel3Errors": marked(deep="ERR_2026-11-01"),
}


def failing(namespace="gpu", pod="autopilot-x1", kind="DaemonSet", owner="autopilot", why=("waiting", "CrashLoopBackOff")):
    """A pod that does not run."""
    which = {"namespace": namespace, "pod": pod}
    return [from_state("kube_pod_info", 1, node="node-1", created_by_kind=kind, created_by_name=owner, **which),
            from_state(f"kube_pod_container_status_{why[0]}_reason", 1, container="one", reason=why[1], **which)]


def sound_but(*changed):
    """The sound node with some of its series replaced, and others added."""
    names = {one["series"] for one in changed}
    without = {"kube_node_labels"} if any("kube_node_labels" in name for name in names) else set()
    return [one for one in SOUND if one["series"] not in names and one["series"].split("{")[0] not in without] + list(changed)


class ChartMonitoringTest(ChartCase):
    def test_prometheus_finds_the_metrics_where_the_cluster_knows_how(self):
        objects = self.helm.objects("", "--api-versions", "monitoring.coreos.com/v1")
        monitor = objects["ServiceMonitor", "autopilot-metrics-monitor"]
        self.assertEqual(monitor["spec"]["endpoints"], [{
            "port": "http", "path": "/metrics",
            "relabelings": [{"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node"}],
            "metricRelabelings": [{"action": "labeldrop", "regex": "exported_node"}]}])
        named = [name for (kind, name), one in objects.items() if kind == "Service" and one["spec"]["ports"][0]["name"] == "http"]
        self.assertEqual(named, ["autopilot-metrics-service"])
        self.assertNotIn(("ServiceMonitor", "autopilot-metrics-monitor"), self.helm.objects())

    def promtool(self, rules, *tests):
        """promtool's result: the rules are valid, or in each of `tests` exactly these alerts fire, (name, node); without a node: ""."""
        promtool = shutil.which("promtool")
        if promtool is None:
            self.skipTest("promtool is not installed")
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "rules.yaml").write_text(json.dumps(rules))
            (Path(folder) / "tests.yaml").write_text(json.dumps({
                "rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [{
                    "interval": "1m", "input_series": told, "promql_expr_test": [{
                        "expr": 'count by (alertname, node) (ALERTS{alertstate="firing"})', "eval_time": "20m",
                        "exp_samples": [{"labels": f'{{alertname="{alert}"' + (f',node="{node}"}}' if node else "}"), "value": 1}
                                        for alert, node in firing]}]}
                    for told, firing in tests]}))
            command = ["test", "rules", "tests.yaml"] if tests else ["check", "rules", "rules.yaml"]
            done = subprocess.run([promtool, *command], cwd=folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_alerts_are_those_that_can_fire(self):
        rule = self.helm.objects("{PCIeBW: 15, prometheusRule: {create: true, labels: {role: alerts}}}",
                                 *MONITORING)["PrometheusRule", "autopilot-metrics"]
        self.assertEqual(rule["metadata"]["labels"]["role"], "alerts")
        alerts = {one["alert"]: one for group in rule["spec"]["groups"] for one in group["rules"]}
        self.assertIn("AutopilotFindingEvict", alerts)
        self.assertEqual(alerts["AutopilotPingFailures"]["annotations"]["summary"], "{{ $labels.deviceid }} does not answer {{ $labels.node }}")
        self.promtool(rule["spec"])
        self.assertNotIn(("PrometheusRule", "autopilot-metrics"), self.helm.objects("", *MONITORING))

    def test_kubectl_apply_has_room_for_the_alerts(self):
        """It keeps what was applied in an annotation, and all of them may have 262144 bytes."""
        rule = self.helm.objects("{prometheusRule: {create: true}}", *MONITORING)["PrometheusRule", "autopilot-metrics"]
        self.assertLess(len(json.dumps(rule, ensure_ascii=False).encode()), 240000)

    def test_each_alert_fires_on_what_it_is_for_and_on_nothing_else(self):
        rules = self.helm.rules()
        self.assertEqual({one["alert"] for one in rules["groups"][-1]["rules"]}, {*FIRES, "AutopilotPodsNotReady"})
        self.promtool(rules, (list(SOUND), []), *((sound_but(one), [(name, "node-1")]) for name, one in FIRES.items()))

    def test_pods_that_began_without_a_test_are_told_while_there_are_new_ones(self):
        rules = self.helm.rules("{controller: {enabled: true}, webhook: {enabled: true}}")

        def bypassed(values, webhook="preflight.autopilot.ibm.com"):
            return [{"series": f'apiserver_admission_webhook_fail_open_count{{name="{webhook}",type="admit"}}', "values": values}]
        # Evaluated after twenty minutes.
        ours = [("AutopilotWebhookBypassed", "")]
        self.promtool(rules, (bypassed("_x15 1x15"), ours), (bypassed("_x15 1x15", "namespace.preflight.autopilot.ibm.com"), ours),
                      (bypassed("7x15 8x15"), ours), (bypassed("8x30"), []), (bypassed("8x15 0x15"), []),
                      (bypassed("_x15 1x15", "other.example.com"), []), ([], []))

    def test_only_pods_of_the_agent_count_as_its_own(self):
        dashboard = self.helm.objects("dashboard: {create: true}", "--namespace", "gpu")["ConfigMap", "autopilot-dashboard"]["data"]["autopilot.json"]
        panel = next(one for one in json.loads(dashboard)["panels"] if one["title"] == "Pods of Autopilot that do not run")
        shown = {"groups": [{"name": "shown", "rules": [{"alert": "AutopilotPodsNotReady", "expr": panel["targets"][0]["expr"]}]}]}
        ours = [("AutopilotPodsNotReady", "node-1")]
        for rules in (self.helm.rules("{}", "--namespace", "gpu"), shown):
            self.promtool(rules, (sound_but(*failing()), ours), (sound_but(*failing(why=("terminated", "Error"))), ours),
                          (sound_but(*failing(why=("terminated", "Completed"))), []),
                          (sound_but(*failing(pod="autopilot-deep-test-1", kind="Job", owner="autopilot-deep-test")), []),
                          (sound_but(*failing(pod="autopilot-front", kind="ReplicaSet")), []),
                          (sound_but(*failing(kind="DaemonSet", owner="autopilot-ui")), []),
                          (sound_but(*failing(namespace=NAMESPACE)), []))

    def test_agent_alert_and_dashboard_have_one_limit_of_the_bandwidth(self):
        catalog = yaml.safe_load((ROOT / "catalog" / "thresholds.yaml").read_text(encoding="utf-8"))
        wanted = next(one["value"] for one in catalog["thresholds"] if one["id"] == PCIE)
        for values, limit, told in (("{}", wanted, None), ("PCIeBW: 15", 15, 15), ('PCIeBW: "15"', 15, 15), ('PCIeBW: ""', wanted, None),
                                    ("PCIeBW: 9999", 9999, 9999), ("PCIeBW:", wanted, None),
                                    (f"config: {{expectation: {{thresholds: {{{PCIE}: 20}}}}}}", 20, 20),
                                    (f"config: {{expectation: {{thresholds: {{{PCIE}: 3.5}}}}}}", 3.5, 3.5),
                                    (f"{{PCIeBW: 15, config: {{expectation: {{thresholds: {{{PCIE}: 20}}}}}}}}", 20, 20),
                                    ("{PCIeBW: 15, config: {expectation: {gpu_count: 8}}}", 15, 15)):
            with self.subTest(values=values):
                objects = self.helm.objects(yaml.dump({**yaml.safe_load(values), "prometheusRule": {"create": True},
                                                       "dashboard": {"create": True}}), *MONITORING)
                agent = yaml.safe_load(objects["ConfigMap", "autopilot"]["data"]["config.yaml"])
                self.assertEqual(agent.get("expectation", {}).get("thresholds", {}).get(PCIE), told)
                alert = objects["PrometheusRule", "autopilot-metrics"]["spec"]["groups"][-1]["rules"][0]
                self.assertIn(f'autopilot_health_checks{{health="pciebw"}} < {limit} unless', alert["expr"])
                self.assertTrue(alert["annotations"]["summary"].endswith(f", less than {limit}"), alert)
                panels = json.loads(objects["ConfigMap", "autopilot-dashboard"]["data"]["autopilot.json"])["panels"]
                panel = next(one for one in panels if one["title"] == "GPUs with low PCIe bandwidth")
                self.assertTrue(panel["targets"][0]["expr"].endswith(f" < {limit}"), panel)

    def test_a_simulated_machine_wakes_nobody(self):
        simulated = series("autopilot_simulated", 1)
        # Another one is as real as ever.
        real = [series("autopilot_simulated", 0, instance="10.0.0.2:8081"),
                series("autopilot_health_checks", 1, instance="10.0.0.2:8081", health="remapped", node="node-2", deviceid="0")]
        self.promtool(self.helm.rules(), *((sound_but(simulated, one), []) for one in FIRES.values()),
                      (sound_but(simulated, *real, *FIRES.values()), [("AutopilotRemappedRowsActive", "node-2")]))

    def test_the_alerts_look_at_the_labels_that_are_written(self):
        rules = self.helm.rules("labelPrefix: gpu-team.example.com")
        ours, others = (marked("WARN", "ERR_2026-11-01", prefix) for prefix in ("label_gpu_team_example_com", LABELS))
        self.promtool(rules, (sound_but(ours), [("AutopilotGPUNodeHealth", "node-1"), ("AutopilotDCGMLevel3Errors", "node-1")]),
                      (sound_but(others), []))
        summary = next(one for one in rules["groups"][-1]["rules"] if one["alert"] == "AutopilotGPUNodeHealth")["annotations"]["summary"]
        self.assertEqual(summary, "{{ $labels.node }} is marked {{ $labels.label_gpu_team_example_com_gpuhealth }}")


if __name__ == "__main__":
    testing.main()

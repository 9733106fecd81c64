# SPDX-License-Identifier: Apache-2.0
"""The alert rules, evaluated by Prometheus' own promtool."""

import json
import os
import re
import subprocess
import tempfile
import unittest

import harness

RULES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../deploy/alerts/autopilot.yaml")
OFF_BUS = {"check": "gpu.xid", "subject": "gpu/0000:3b:00.0", "index": "0", "uuid": "GPU-1", "reason": "gpu_fallen_off_bus",
           "action": "power_cycle", "held": "false"}


def series(family, value, **labels):
    every = {"job": "autopilot", "instance": "node-1", **labels}
    inside = ",".join(f'{name}="{text}"' for name, text in every.items())
    return {"series": f"{family}{{{inside}}}", "values": f"{value}x20"}


def finding(health, injected="false"):
    return series("autopilot_finding", "1+0", **OFF_BUS, health=health, injected=injected)


EVICT = series("autopilot_node_verdict", "1+0", node="node-1", verdict="EVICT")
# Metrics of the agent of a healthy node.
SOUND = (
    series("up", "1+0"),
    series("autopilot_node_verdict", "0+0", node="node-1", verdict="EVICT"),
    series("autopilot_simulated", "0+0"),
    series("autopilot_check_health", "1+0", check="gpu.xid", health="healthy"),
    series("autopilot_check_health", "0+0", check="gpu.xid", health="unknown"),
    series("autopilot_check_required", "1+0", check="gpu.xid"),
    series("autopilot_check_age_seconds", "30+0", check="gpu.xid"),
    series("autopilot_lanes_stuck", "0+0"),
    series("autopilot_helpers_stuck", "0+0"),
    series("autopilot_kernel_records_lost_total", "7+0"),
    series("autopilot_kernel_records_missed_total", "3+0"),
    series("autopilot_journal_lag_seconds", "0+0"),
    series("autopilot_journal_durable", "1+0"),
    series("autopilot_journal_dropped_total", "2+0"),
    series("autopilot_checks_run_total", "100+40"),
    series("autopilot_checks_late_total", "3+1"),
    series("autopilot_configuration_refused_total", "1+0"),
    series("autopilot_cluster_problem", "0+0"),
    # Of a day, from the beginning of the test.
    series("autopilot_tls_certificate_not_before_timestamp_seconds", "0+0"),
    series("autopilot_tls_certificate_expiry_timestamp_seconds", "86400+0"),
    series("autopilot_tls_renewal_failures_total", "1+0"),
    series("autopilot_tls_renewal_failing", "0+0"),
)


def sound_but(*changed):
    """The sound node with some of its series replaced, and others added."""
    names = {entry["series"] for entry in changed}
    return [entry for entry in SOUND if entry["series"] not in names] + list(changed)


class AlertRulesTest(unittest.TestCase):
    def expect(self, input_series, expected, at="15m"):
        """Alert and severity of all alerts that fire at that time, by default after a quarter of an hour."""
        promtool = harness.need_program("promtool")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "test.yaml")
            samples = [{"labels": f'{{alertname="{alert}",severity="{severity}"}}', "value": 1}
                       for alert, severity in expected]
            with open(path, "w", encoding="utf-8") as out:
                json.dump({"rule_files": [os.path.abspath(RULES)], "evaluation_interval": "1m", "tests": [{
                    "interval": "1m", "input_series": input_series, "promql_expr_test": [{
                        "expr": 'count by (alertname, severity) (ALERTS{alertstate="firing"})', "eval_time": at,
                        "exp_samples": samples}]}]}, out)
            done = subprocess.run([promtool, "test", "rules", path], capture_output=True, text=True, timeout=60,
                                  check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_promtool_accepts_the_rules(self):
        promtool = harness.need_program("promtool")
        done = subprocess.run([promtool, "check", "rules", RULES], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_sound_node_is_silent(self):
        self.expect(list(SOUND), [])

    def test_a_dead_gpu_pages_and_resolves_once_it_is_cleared(self):
        def until_cleared(family, values, **labels):
            return {**series(family, "1+0", **labels), "values": values}
        cleared = sound_but(until_cleared("autopilot_finding", "1x5 stale", **OFF_BUS, health="failed", injected="false"),
                            until_cleared("autopilot_node_verdict", "1x5 0x15", node="node-1", verdict="EVICT"))
        self.expect(cleared, [("AutopilotFindingEvict", "critical")], at="5m")
        self.expect(cleared, [], at="7m")

    def test_the_severity_follows_health_and_verdict(self):
        self.expect(sound_but(finding("failed"), EVICT), [("AutopilotFindingEvict", "critical")])
        self.expect(sound_but(finding("failed")), [("AutopilotFindingFailed", "warning")])
        self.expect(sound_but(finding("degraded"), EVICT), [("AutopilotFindingDegraded", "info")])
        self.expect(sound_but(finding("unknown"), EVICT), [])

    def test_an_agent_that_does_not_answer_has_an_alert(self):
        down = series("up", "0+0")
        self.expect(sound_but(down), [("AutopilotAgentDown", "warning")])
        self.expect(sound_but(down, series("autopilot_simulated", "1+0")), [])
        self.expect([series("up", "0+0", job="other")], [])

    def annotations(self, name, *input_series):
        """The values of that annotation of all failed findings that fire, as promtool expands them."""
        promtool = harness.need_program("promtool")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "test.yaml")
            with open(path, "w", encoding="utf-8") as out:
                json.dump({"rule_files": [os.path.abspath(RULES)], "evaluation_interval": "1m", "tests": [{
                    "interval": "1m", "input_series": list(input_series),
                    "alert_rule_test": [{"alertname": "AutopilotFindingFailed", "eval_time": "15m", "exp_alerts": []}]}]}, out)
            done = subprocess.run([promtool, "test", "rules", path], capture_output=True, text=True, timeout=60, check=False)
        return re.findall(rf'\b{name}="((?:\\.|[^"\\])*)"', done.stdout + done.stderr)

    def test_a_summary_names_the_node_if_the_scrape_labels_it_and_otherwise_the_address(self):
        labels = {**OFF_BUS, "health": "failed", "injected": "false", "instance": "10.0.0.7:8081"}
        for node, name in (({}, "10.0.0.7:8081"), ({"node": "gpu-7"}, "gpu-7")):
            self.assertEqual(self.annotations("summary", series("autopilot_finding", "1+0", **labels, **node)),
                             [f"gpu/0000:3b:00.0 on {name} is failed: gpu fallen off bus (gpu.xid)"])

    def test_annotations_name_the_action_and_the_section_of_the_reason(self):
        def annotation(name, **labels):
            return self.annotations(name, series("autopilot_finding", "1+0", **{**OFF_BUS, "health": "failed", "injected": "false", **labels}))
        self.assertRegex(annotation("description")[0], r'^Action: power cycle. .*autopilot explain gpu_fallen_off_bus')
        self.assertNotIn("Action", annotation("description", action="none")[0])
        for labels in {}, {"check": "custom.disk", "reason": "script_failed"}:
            page, section = annotation("runbook_url", **labels)[0].split("#")
            with open(os.path.join(os.path.dirname(RULES), "../..", page), encoding="utf-8") as file:
                text = file.read()
            self.assertTrue(f'<a id="{section}"></a>' in text or f"### `{section}`\n" in text, f"{page} has no section {section}")

    def test_an_injected_or_simulated_finding_does_not_page(self):
        self.expect(sound_but(finding("failed", injected="true"), EVICT), [("AutopilotExercise", "none")])
        self.expect(sound_but(finding("failed"), EVICT, series("autopilot_simulated", "1+0")), [("AutopilotExercise", "none")])

    def test_a_required_check_that_is_unknown_has_an_alert(self):
        unknown = series("autopilot_check_health", "1+0", check="gpu.xid", health="unknown")
        self.expect(sound_but(unknown), [("AutopilotRequiredCheckUnknown", "warning")])
        self.expect(sound_but(unknown, series("autopilot_check_required", "0+0", check="gpu.xid")), [])

    def test_each_problem_of_the_agent_has_an_alert(self):
        for alert, changed in (
            ("AutopilotCheckOld", series("autopilot_check_age_seconds", "3600+0", check="gpu.xid")),
            ("AutopilotChecksLate", series("autopilot_checks_late_total", "3+6")),
            ("AutopilotStuck", series("autopilot_helpers_stuck", "1+0")),
            ("AutopilotRecordsLost", series("autopilot_kernel_records_lost_total", "7+5")),
            ("AutopilotRecordsLost", series("autopilot_kernel_records_missed_total", "3+5")),
            ("AutopilotJournalLate", series("autopilot_journal_lag_seconds", "90+0")),
            ("AutopilotJournalNotDurable", series("autopilot_journal_durable", "0+0")),
            ("AutopilotJournalDropped", series("autopilot_journal_dropped_total", "2+1")),
            ("AutopilotConfigurationRefused", series("autopilot_configuration_refused_total", "1+1")),
            ("AutopilotClusterProblem", series("autopilot_cluster_problem", "1+0")),
            ("AutopilotTlsCertificateEnds", series("autopilot_tls_certificate_expiry_timestamp_seconds", "1060+0")),
            ("AutopilotTlsCertificateEnds", series("autopilot_tls_certificate_expiry_timestamp_seconds", "600+0")),
            ("AutopilotTlsRenewalFails", series("autopilot_tls_renewal_failing", "1+0")),
        ):
            with self.subTest(alert):
                self.expect(sound_but(changed), [(alert, "warning")])


if __name__ == "__main__":
    unittest.main(verbosity=2)

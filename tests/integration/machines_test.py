# SPDX-License-Identifier: Apache-2.0
"""Whole machines (tests/machines): the output of `autopilot check` for each, with all checks at once. An unexpected finding or
incident fails the test like a missing one."""

import json
import pathlib
import subprocess
import tempfile
import unittest

import yaml

import harness

MACHINES = pathlib.Path(__file__).resolve().parents[1] / "machines"
EXIT_CODES = {"healthy": 0, "degraded": 1, "failed": 2, "unknown": 3}


def spelled(subject):
    return subject["kind"] if subject["kind"] == "host" else f"{subject['kind']}/{subject['key']}"


def look_at(source, folder):
    tree = pathlib.Path(folder) / "tree"
    subprocess.run([harness.AUTOPILOT_SIM, "create", str(source), "--out", str(tree)], check=True, capture_output=True,
                   timeout=60)
    return subprocess.run([harness.AUTOPILOT, "check", "--root", str(tree), "--window", "0s", "-o", "json"],
                          capture_output=True, text=True, check=False, timeout=120)


def findings_of(node):
    return [
        {"check": result["check"], "subject": spelled(finding["subject"]), "health": finding["health"],
         "reason": finding["reason"]}
        for result in node["results"] for finding in result["findings"] if finding["health"] != "unsupported"
    ]


def incidents_of(node):
    return [
        {"cause": incident.get("cause"), "end": incident.get("end"), "blamed": spelled(incident["blamed"]),
         "health": incident["health"], "members": len(incident["members"])}
        for incident in node["incidents"]
    ]


def in_order(entries):
    return sorted(entries, key=json.dumps)


class MachinesTest(unittest.TestCase):
    maxDiff = None

    def test_every_machine_is_told_as_it_is(self):
        sources = sorted(path for path in MACHINES.iterdir() if path.is_dir())
        self.assertGreaterEqual(len(sources), 6)
        for source in sources:
            expected = yaml.safe_load((source / "expect.yaml").read_text())
            with self.subTest(source.name), tempfile.TemporaryDirectory(prefix="autopilot-test-") as folder:
                answer = look_at(source, folder)
                self.assertTrue(answer.stdout, answer.stderr)
                node = json.loads(answer.stdout)
                self.assertEqual(in_order(findings_of(node)), in_order(expected["findings"]))
                self.assertEqual(in_order(incidents_of(node)), in_order(expected["incidents"]))
                self.assertEqual((node["health"], node["verdict"]), (expected["health"], expected["verdict"]))
                self.assertEqual(answer.returncode, EXIT_CODES[expected["health"]])

    def test_every_machine_is_told_where_it_comes_from(self):
        readme = (MACHINES / "README.md").read_text()
        for source in MACHINES.iterdir():
            if source.is_dir():
                self.assertIn(f"| `{source.name}` |", readme)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""`autopilot learn propose` makes weights of signals from feedback in history and from folders of job telemetry; an agent uses them after
their adoption."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import harness

BEGIN = "2026-10-01T00:00:00Z"
HOUR = "2026-10-01T01:00:00Z"


def finding(number, signals):
    return {"type": "fault", "id": f"n{number % 12}/job-finding/{number}", "node": f"n{number % 12}", "begin": BEGIN, "detected": BEGIN, "end": HOUR,
            "class": "hardware", "cause": "clock", "health": "degraded", "confidence": 0.8, "job": "ml/train", "signals": signals}


def label(number, answer):
    return {"type": "label", "id": f"label-{number}", "node": f"n{number % 12}", "time": HOUR, "fault": f"n{number % 12}/job-finding/{number}",
            "answer": answer, "source": "repeat_test"}


def ran_well(node):
    return {"type": "job", "id": f"n{node}/after", "node": f"n{node}", "job": "ml/next", "start": BEGIN, "end": "2026-10-03T00:00:00Z",
            "outcome": "completed"}


class LearnSignalsTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="autopilot-test-")))

    def history(self, right):
        """60 findings for a low clock; that many of 10 are right."""
        records = [ran_well(node) for node in range(12)]
        for number in range(60):
            records += [finding(number, "sm_clock_low temp_high"), label(number, "faulty" if number % 10 < right else "healthy")]
        lines = self.folder / "history.jsonl"
        lines.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
        status, _, errors = harness.run("history", "import", str(lines), "--history", str(self.folder / "history.db"))
        self.assertEqual(status, 0, errors)
        return str(self.folder / "history.db")

    def propose(self, *words):
        status, output, errors = harness.run("learn", "propose", *words, "-o", "json")
        self.assertEqual(status, 0, errors)
        found = json.loads(output)
        return [one for one in found["proposals"] if one["kind"] == "signals"], found["refused"]

    def generate(self, folder, scenario):
        words = [harness.AUTOPILOT_SIM, "jobs", "generate", "--out", folder, "--scenario", scenario]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def adopt(self, one, *words):
        for _ in range(2):
            status, _, errors = harness.run("learn", "adopt", one, "--now", "--reason", "test", *words)
            self.assertEqual(status, 0, errors)

    def test_refuted_findings_lower_the_weight_of_their_signal_and_an_agent_uses_it(self):
        history = self.history(right=2)
        config = self.folder / "config.yaml"
        config.write_text("{}\n", encoding="utf-8")
        store = ["--store", str(self.folder / "state/simulated/learned")]
        (self.folder / "state/simulated").mkdir(parents=True)
        agent = self.enterContext(harness.Agent("--simulate", "hgx-h100-8", "--config", str(config), folder=str(self.folder)))
        agent.wait_ready()
        proposals, _ = self.propose("--history", history, *store)
        one, = proposals
        self.assertEqual((one["basis"]["records"], one["basis"]["places"]), (60, 12))
        weights = {weight["signal"]: weight["logOdds"] for weight in one["signals"]["weights"]}
        self.assertLess(weights["sm_clock_low"], 4)
        self.assertLess(one["replay"]["after"], one["replay"]["before"])
        self.assertEqual(self.propose("--history", history, *store)[0][0]["id"], one["id"])
        self.adopt(one["id"], *store)
        line = f'autopilot_learned_signals{{version="{one["id"]}"}} 1'
        harness.wait_until(lambda: line in agent.get("/metrics"), "the weights are in use", 40)
        status, _, errors = harness.run("learn", "revert", one["id"], *store)
        self.assertEqual(status, 0, errors)
        harness.wait_until(lambda: line not in agent.get("/metrics"), "the values that ship are in use", 40)

    def test_labels_of_one_answer_are_refused_with_their_number(self):
        proposals, refused = self.propose("--history", self.history(right=10))
        self.assertEqual(proposals, [])
        self.assertIn("60 findings are labelled faulty and 0 healthy", refused[-1]["why"])

    def test_a_folder_is_evaluated_and_states_what_is_missing(self):
        recording = str(self.folder / "recording")
        self.generate(recording, "gpu_clock")
        proposals, refused = self.propose("--signals", recording, "--store", str(self.folder / "learned"))
        self.assertEqual(proposals, [])
        self.assertIn("weights need 30 in all", refused[0]["why"])
        status, output, errors = harness.run("learn", "propose", "--signals", recording, "--store", str(self.folder / "learned"))
        self.assertEqual(status, 0, errors)
        self.assertIn("No proposal from the folders of --signals.", output)
        self.assertIn("weights need 30", output)
        self.assertNotIn("no measurement", output)

    def test_people_and_tests_that_contradict_each_other_change_nothing(self):
        lines = self.folder / "labels.jsonl"
        lines.write_text("".join(json.dumps({**label(number, "faulty"), "id": f"user-{number}", "source": "user"}) + "\n" for number in range(60)),
                         encoding="utf-8")
        history = self.history(right=2)
        status, _, errors = harness.run("history", "import", str(lines), "--history", history)
        self.assertEqual(status, 0, errors)
        proposals, refused = self.propose("--history", history)
        self.assertEqual(proposals, [])
        self.assertIn("48 of 60 findings have labels that contradict each other", refused[-1]["why"])

    def test_a_folder_without_labels_is_refused_by_name(self):
        recording = self.folder / "recording"
        self.generate(str(recording), "healthy")
        os.remove(recording / "labels.jsonl")
        status, _, errors = harness.run("learn", "propose", "--signals", str(recording), "--store", str(self.folder / "learned"))
        self.assertNotEqual(status, 0)
        self.assertIn("labels.jsonl", errors)


if __name__ == "__main__":
    unittest.main()

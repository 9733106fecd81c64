# SPDX-License-Identifier: Apache-2.0
"""autopilot replay: what policies would have done with one history."""

import json
import os
import subprocess
import tempfile
import unittest

import harness

EXAMPLE = os.path.join(os.path.dirname(__file__), "../../deploy/examples/remediation-policy.yaml")
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "train-uid"}


def at(time, **what):
    return {"time": f"2026-11-{time}:00Z", **what}


def evict(time, node, incident):
    return at(time, node={"name": node, "verdict": "EVICT",
                          "causes": [{"incident": incident, "cause": "nvlink_fatal", "blamed": "gpu/0000:3b:00.0",
                                      "action": "reset_gpu"}]})


# Twenty nodes; one is shown bad by a pre-flight test, later eight turn bad at once.
HISTORY = [
    *(at("01T00:00", node={"name": f"n{number}", "domain": f"rack-{number // 4}", "gpus": 8,
                           "labels": {"pool": "train"}}) for number in range(20)),
    at("01T10:00", pod={"uid": "u0", "namespace": "team", "name": "train-0", "node": "n3", "gpus": 8, "gated": True,
                        "owner": OWNER}),
    at("01T10:01", report={"name": "n3-1", "node": "n3", "namespace": "team", "pod": "train-0", "podUid": "u0",
                           "owner": OWNER, "outcome": "failed",
                           "failed": [{"test": "gpu.pcie_bandwidth", "message": "12 GB/s, 50 expected"}]}),
    at("01T16:00", node={"name": "n3", "passed": ["gpu.pcie_bandwidth"]}),
    *(evict("08T00:00", f"n{number}", f"i{number}") for number in range(8, 16)),
    at("08T06:00"),
]


class ReplayTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def replay(self, policy, events=None, *further):
        lines = "".join(json.dumps(event) + "\n" for event in (HISTORY if events is None else events))
        return subprocess.run([harness.AUTOPILOT, "replay", "--events", self.write("history.jsonl", lines), "--policy",
                               self.write("policy.yaml", policy), *further],
                              capture_output=True, text=True, timeout=60, check=False)

    def actions(self, policy):
        answer = self.replay(policy, None, "-o", "json")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return json.loads(answer.stdout)

    def steps(self, policy):
        return [(action["time"][8:16], action["action"], action["target"]["name"], action["recordedOnly"])
                for action in self.actions(policy)["actions"] if action["action"] not in ("event", "mark_report")]

    def test_in_mode_hold_the_pod_is_moved_and_its_node_comes_back(self):
        self.assertEqual(self.steps("mode: hold\n")[:5], [
            ("01T10:01", "cordon", "n3", False), ("01T10:01", "evict_pod", "train-0", False),
            ("01T16:00", "taint", "n3", False), ("01T16:00", "uncordon", "n3", False),
            # One day of patience after the last diagnostic, which did not run.
            ("05T16:00", "remove_taint", "n3", False)])

    def test_in_mode_observe_the_same_is_recorded(self):
        self.assertEqual(self.steps("")[:2], [("01T10:01", "cordon", "n3", True), ("01T10:01", "evict_pod", "train-0", True)])

    def test_the_breaker_holds_and_says_so(self):
        replayed = self.actions("mode: act\n")
        of_burst = [action for action in replayed["actions"] if action["time"].startswith("2026-11-08")]
        self.assertEqual([action for action in of_burst if action["action"] not in ("event", "mark_report")], [])
        self.assertEqual({action["waitsFor"] for action in of_burst}, {"breaker"})
        opened = [action for action in of_burst if action.get("reason") == "BreakerOpen"]
        self.assertEqual(len(opened), 1)
        self.assertIn("8 of 20 nodes of pool default failed with nvlink_fatal", opened[0]["why"])
        self.assertEqual(replayed["held"], [])

    def test_with_another_breaker_the_budget_is_what_holds(self):
        policy = "mode: act\nbreaker: {nodes: 9}\n"
        held = [step for step in self.steps(policy) if step[0].startswith("08") and step[1] == "cordon"]
        self.assertEqual(len(held), 2)
        self.assertEqual(len(self.actions(policy)["held"]), 2)

    def test_every_action_says_why_by_what_and_how_the_budget_stood(self):
        cordon = next(action for action in self.actions("mode: hold\n")["actions"] if action["action"] == "cordon")
        self.assertIn("gpu.pcie_bandwidth failed for pod team/train-0: 12 GB/s, 50 expected", cordon["why"])
        self.assertEqual(cordon["evidence"], ["n3-1"])
        self.assertEqual(cordon["budget"], "pool default: 1 of 2 nodes held, rack-0: 1 of 1, last hour: 1 of 6")
        self.assertEqual(cordon["undo"], "uncordon, after proof of health")
        self.assertTrue(cordon["plan"].startswith("n3-"))

    def test_a_pool_has_its_own_mode(self):
        policy = "pools: [{name: train, selector: {pool: train}, mode: hold}]\n"
        self.assertEqual(self.steps(policy)[0], ("01T10:01", "cordon", "n3", False))

    def test_a_person_reads_it_line_by_line(self):
        answer = self.replay("mode: hold\n")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        lines = answer.stdout.splitlines()
        self.assertEqual(lines[0], "2026-11-01T10:01:00.000Z  cordon  Node n3: gpu.pcie_bandwidth failed for pod "
                                   "team/train-0: 12 GB/s, 50 expected")
        self.assertIn("2026-11-01T10:01:00.000Z  event PodMoved  Job team/train: ", answer.stdout)
        self.assertRegex(lines[-1], r"^\d+ actions by \d+ plans; held at the end: 0$")

    def test_the_example_of_the_policy_can_be_replayed(self):
        with open(EXAMPLE, encoding="utf-8") as file:
            self.assertEqual(self.replay(file.read()).returncode, 0)

    def test_what_is_wrong_is_named_with_its_line(self):
        for policy, events, expected in (
            ("mode: act\nbudgts: {}\n", None, ["policy.yaml:2", "did you mean `budgets`?"]),
            ("mode: act\n", [HISTORY[0], {"time": "2026-11-01T00:00:00Z", "nod": {}}], ["history.jsonl:2: ", "nod"]),
            ("mode: act\n", [at("02T00:00"), at("01T00:00")], ["history.jsonl:2: ", "before"]),
        ):
            with self.subTest(expected):
                answer = self.replay(policy, events)
                self.assertEqual(answer.returncode, 78)
                for text in expected:
                    self.assertIn(text, answer.stderr)

    def test_a_file_that_is_not_there_or_has_no_lines_is_named(self):
        policy = self.write("policy.yaml", "mode: act\n")
        for events, expected in ((os.path.join(self.folder, "gone"), "cannot read events"),
                                 (self.folder, "cannot read events"),
                                 (self.write("long", "x" * (2 << 20)), "long:1: longer than 1 MiB")):
            with self.subTest(expected):
                answer = subprocess.run([harness.AUTOPILOT, "replay", "--events", events, "--policy", policy],
                                        capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(answer.returncode, 78, answer.stderr)
                self.assertIn(expected, answer.stderr)
        self.assertEqual(self.replay("mode: act\n", []).returncode, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)

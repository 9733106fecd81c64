# SPDX-License-Identifier: Apache-2.0
"""`autopilot learn evaluate` on traces that this file writes: nodes whose faults follow their returns, and traces with mistakes."""

import json
import random
import tempfile
import unittest
from pathlib import Path

import harness

NODES = 200
DAYS = 300
RETURN_FAULTS = 0.4  # probability of a fault within two days after a return
RATE = 1 / 250  # faults per node-day besides


def event(node, day, kind, level="Hardware Failure"):
    return {"node_id": node, "event_time": round(day, 4), "event_type": kind,
            "fault_type": {"Level": level, "Class": "GPU", "Desc": "GPU Lost"}}


def trace():
    """Events of a fleet, sorted by time."""
    dice = random.Random(42)
    events = []
    for number in range(NODES):
        day = dice.expovariate(RATE)
        while day + 1 < DAYS:
            end = day + dice.uniform(0.1, 0.9)
            events += [event(f"node-{number}", day, "fault_start"), event(f"node-{number}", end, "fault_end")]
            day = end + (dice.uniform(0.1, 2) if dice.random() < RETURN_FAULTS else dice.expovariate(RATE))
    return sorted(events, key=lambda one: one["event_time"])


class LearnTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="autopilot-test-")))

    def write(self, name, content):
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return str(path)

    def evaluate(self, *words):
        return harness.run("learn", "evaluate", *words)

    def figures(self, *words):
        status, output, errors = self.evaluate(*words, "-o", "json")
        self.assertEqual(status, 0, errors)
        return json.loads(output), errors

    def test_a_fleet_whose_faults_follow_returns_shows_it(self):
        path = self.write("trace.json", trace())
        found, errors = self.figures("--trace", path, "--nodes", str(NODES))
        self.assertEqual(errors, "")
        self.assertEqual(found["trace"]["nodes"], NODES)
        self.assertEqual(found["fitted"]["faults"] + found["judged"]["faults"], found["whole"]["faults"])
        three_days = next(one for one in found["windows"] if one["days"] == 3)
        self.assertGreater(three_days["lift"]["low"], 10)
        self.assertGreater(three_days["faultsInside"] / three_days["faults"], 0.25)
        self.assertGreater(found["models"][0]["gainPerFault"], 0.3)
        self.assertLess(abs(found["calibration"]["ratio"]["value"] - 1), 0.3)
        self.assertEqual({one["score"] for one in found["ranking"]},
                         {"hazard", "lemon score", "last return", "decayed count (28 d)", "lifetime count"})

    def test_the_table_fits_a_terminal_and_names_the_split(self):
        status, output, _ = self.evaluate("--trace", self.write("trace.json", trace()), "--nodes", str(NODES), "--fit-until", "120")
        self.assertEqual(status, 0)
        self.assertIn("0.0 to 120.0", output)
        self.assertLessEqual(max(map(len, output.splitlines())), 80)

    def test_the_same_seed_gives_the_same_output(self):
        path = self.write("trace.json", trace())
        words = ("--trace", path, "--nodes", str(NODES), "--seed")
        self.assertEqual(self.evaluate(*words, "3"), self.evaluate(*words, "3"))
        self.assertNotEqual(self.evaluate(*words, "3"), self.evaluate(*words, "4"))

    def test_a_trace_in_two_files_is_one_history(self):
        events = trace()
        cut = next(i for i, one in enumerate(events) if one["event_time"] > 150)
        first, second = self.write("first.json", events[:cut]), self.write("second.json", events[cut:])
        end = str(events[cut - 1]["event_time"])
        joined, errors = self.figures("--fit", first, "--trace", second, "--nodes", str(NODES))
        self.assertEqual(errors, "")
        whole, _ = self.figures("--trace", self.write("trace.json", events), "--nodes", str(NODES), "--fit-until", end)
        for part in ("judged", "windows"):
            self.assertEqual(joined[part], whole[part])

    def test_without_the_size_of_the_fleet_a_warning_says_what_is_wrong(self):
        events = [one for one in trace() if one["node_id"] != "node-0"]
        _, errors = self.figures("--trace", self.write("trace.json", events))
        self.assertIn("--nodes is not set", errors)

    def test_what_does_not_fit_together_is_reported(self):
        events = trace()
        events += [event("node-1", DAYS + 1, "fault_end"), event("node-2", DAYS + 1, "fault_start"),
                   event("node-2", DAYS + 2, "fault_start"), event("node-3", DAYS + 3, "fault_start", "Cosmic Failure"),
                   event("node-4", DAYS - 200, "fault_start")]
        found, errors = self.figures("--trace", self.write("trace.json", events), "--nodes", str(NODES))
        for name in ("endsWithoutBegin", "repeatedBegins", "unknownLevels", "outOfOrder"):
            self.assertGreaterEqual(found["trace"][name], 1, name)
        self.assertIn("faults that begin again before their end (second begin left out): 2", errors)
        self.assertIn("node node-1, day 301.000000, GPU (GPU Lost): ends without a begin before it; left out", errors)

    def test_a_trace_that_cannot_be_used_is_refused_with_the_place(self):
        good = json.dumps(trace()[:1])[:-1]
        for content, expected, code in (
            ("", "not JSON", 78),
            ("[]", "the trace has no entry", 78),
            (good + ',{"node_id":"a","event_time":NaN}]', "entry 1: event_time: expected a number", 78),
            (good + ',{"node_id":"a","event_time":-1}]', "entry 1: event_time: expected 0 to 36500 days", 78),
            (good + ',{"node_id":"a","event_type":"pause"}]', "entry 1: event_type: 'pause' is not valid", 78),
            (good + "]", "malformed", None),
        ):
            with self.subTest(expected):
                path = self.write("bad.json", content)
                status, output, errors = self.evaluate("--trace", path, "--nodes", "5")
                self.assertEqual(output, "")
                self.assertNotEqual(status, 0)
                if code:
                    self.assertEqual(status, code)
                    self.assertIn(f"{path}: {expected}", errors)

    def test_usage_errors(self):
        path = self.write("trace.json", trace())
        self.assertEqual(self.evaluate()[0], 64)
        self.assertEqual(self.evaluate("--trace", path, "--nodes", "0")[0], 64)
        self.assertEqual(self.evaluate("--trace", str(self.folder / "missing"))[0], 70)
        self.assertEqual(self.evaluate("--trace", str(self.folder))[0], 78)
        status, _, errors = self.evaluate("--trace", path, "--nodes", "5")
        self.assertEqual(status, 78)
        self.assertIn("state the size of the whole fleet", errors)
        status, _, errors = self.evaluate("--trace", path, "--nodes", str(NODES), "--fit-until", "295")
        self.assertEqual(status, 78)
        self.assertIn("--fit-until: day 295 leaves", errors)
        self.assertIn("less than the horizon of 28 days", errors)
        status, _, errors = self.evaluate("--trace", path, "--nodes", str(NODES), "--fit-until", "5000")
        self.assertEqual(status, 78)
        self.assertRegex(errors, r"--fit-until: day 5000 leaves nothing to judge: .*trace\.json ends on day \d+")
        for option, value, expected in (("--horizon", "0", "more than 0"), ("--horizon", "-3", "more than 0"), ("--horizon", "nan", "more than 0"),
                                        ("--seed", "-1", "a whole number from 0"), ("--fit-until", "-1", "a day after 0")):
            status, _, errors = self.evaluate("--trace", path, "--nodes", str(NODES), f"{option}={value}")
            self.assertEqual(status, 64, option)
            self.assertIn(f"{option}: expected {expected}", errors)


if __name__ == "__main__":
    unittest.main(verbosity=2)

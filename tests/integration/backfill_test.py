# SPDX-License-Identifier: Apache-2.0
"""`autopilot backfill` on files of a cluster."""
import json
import os
import tempfile
import unittest

import harness

CLUSTER = """nodes:
  - {name: n1, gpus: 8}
  - {name: n2, gpus: 8}
  - {name: n3, gpus: 8}
  - {name: n4, gpus: 8}
running:
  - {name: a, nodes: [n1, n2, n3], gpus: 8, ends_in: 100s, gpu_use: [90, 91, 0, 0], sampled: 1h}
pending:
  - {name: b, nodes: 4, gpus: 8, runs: 1h}
  - {name: ../c, nodes: 1, gpus: 8, runs: 50s}
  - {name: d, nodes: 1, gpus: 8, runs: 200s}
"""


class BackfillTest(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="autopilot-test-"))

    def backfill(self, text, *arguments, code=0):
        path = os.path.join(self.folder, "cluster.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        done = harness.run("backfill", path, *arguments)
        self.assertEqual(done[0], code, done)
        return done[1] if code < 2 else done[2]

    def test_a_short_job_runs_before_the_head_and_a_long_one_does_not(self):
        found = json.loads(self.backfill(CLUSTER, "-o", "json"))
        self.assertEqual([(one["job"], one["decision"], one["nodes"]) for one in found["pending"]],
                         [("b", "head", []), ("../c", "backfills", ["n4"]), ("d", "no_room", [])])
        self.assertEqual(found["headStartsInSeconds"], 100)
        without_c = "".join(line for line in CLUSTER.splitlines(True) if "../c" not in line)
        self.assertIn("would delay the head", self.backfill(without_c))

    def test_idle_gpus_are_shown_with_their_job_and_a_limit_ends_with_1(self):
        text = self.backfill(CLUSTER, "--max-idle", "25", code=1)
        self.assertIn("50.0 % of the held GPUs with samples are idle", text)
        self.assertIn("2.0 idle", " ".join(text.split()))
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines()), text)
        self.backfill(CLUSTER, "--max-idle", "60")

    def test_without_samples_the_use_is_unknown(self):
        text = CLUSTER.replace(", gpu_use: [90, 91, 0, 0], sampled: 1h", "")
        found = json.loads(self.backfill(text, "-o", "json", "--max-idle", "0"))
        self.assertEqual(found["running"][0]["use"], "unknown")
        self.assertNotIn("idlePercent", found)

    def test_manifests_never_preempt_and_end_before_the_head_starts(self):
        out = os.path.join(self.folder, "out")
        self.backfill(CLUSTER, "--manifests", out)
        self.assertEqual(sorted(os.listdir(out)), ["job-___c.patch.yaml", "priority-class.yaml"])
        with open(os.path.join(out, "priority-class.yaml"), encoding="utf-8") as file:
            self.assertRegex(file.read(), r"(?s)value: -1000.*preemptionPolicy: \"?Never")
        with open(os.path.join(out, "job-___c.patch.yaml"), encoding="utf-8") as file:
            patch = file.read()
        self.assertIn("activeDeadlineSeconds: 50", patch)
        self.assertIn("n4", patch)

    def test_a_wrong_file_names_its_lines(self):
        errors = self.backfill(CLUSTER.replace("n3]", "n9]").replace("runs: 50s", "run: 50s"), code=70)
        self.assertIn("cluster.yaml:7: job a runs on n9", errors)
        self.assertIn("cluster.yaml:10: ", errors)


if __name__ == "__main__":
    unittest.main()

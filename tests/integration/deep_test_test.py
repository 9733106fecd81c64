# SPDX-License-Identifier: Apache-2.0
"""The helper of a deep test with the stand-in for dcgmi: what it leaves in the termination message, and how it ends."""

import json
import os
import subprocess
import tempfile
import unittest

import harness


class DeepTestTest(unittest.TestCase):
    def run_test(self, *program, gpus=8, deadline="60s"):
        """Exit code, summary, and what the program printed."""
        with tempfile.TemporaryDirectory() as folder:
            message = os.path.join(folder, "termination-log")
            done = subprocess.run([harness.AUTOPILOT, "helper", "deep-test", "--output", message, "--deadline", deadline,
                                   "--gpus", str(gpus), "--", *program],
                                  capture_output=True, text=True, timeout=120, check=False)
            with open(message, encoding="utf-8") as file:
                text = file.read()
            self.assertLessEqual(len(text.encode()), 4096)
            return done.returncode, json.loads(text), done.stdout

    def simulate(self, *arguments, **options):
        return self.run_test(os.path.abspath(harness.AUTOPILOT_SIM), "deep-test", *arguments, **options)

    def test_a_machine_that_passes(self):
        code, summary, output = self.simulate("--machine", "hgx-h100-8")
        self.assertEqual(code, 0)
        self.assertNotIn("problem", summary)
        self.assertEqual({test["status"] for test in summary["tests"]}, {"pass"})
        self.assertEqual(sorted(summary["gpus"]), [str(gpu) for gpu in range(8)])
        self.assertIn("DCGM Diagnostic", json.loads(output))

    def test_one_that_fails_names_test_and_gpu_first(self):
        code, summary, _ = self.simulate("--result", "fail:pcie")
        self.assertEqual(code, 1)
        first = summary["tests"][0]
        self.assertEqual((first["name"], first["status"], first["gpus"]), ("pcie", "fail", [7]))
        self.assertIn("SIMULATED", first["message"])

    def test_what_crashes_or_hangs_says_nothing_of_the_gpus(self):
        for result, problem in (("crash", "signal 11"), ("hang", "did not end in time")):
            with self.subTest(result=result):
                code, summary, _ = self.simulate("--result", result, deadline="2s")
                self.assertEqual(code, 2)
                self.assertIn(problem, summary["problem"])
                self.assertEqual(summary["tests"], [])

    def test_fewer_gpus_than_were_given_are_no_pass(self):
        code, summary, _ = self.simulate("--machine", "l40s-4")
        self.assertEqual((code, summary["problem"]), (2, "4 of 8 GPUs were tested"))

    def test_the_programs_own_options_are_its_own(self):
        code, summary, output = self.run_test("printf", "%s ", "-j", "--help", "--")
        self.assertEqual((code, output), (2, "-j --help -- "))
        self.assertIn("no JSON of a DCGM diagnostic", summary["problem"])


if __name__ == "__main__":
    unittest.main()

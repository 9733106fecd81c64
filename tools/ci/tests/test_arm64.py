# SPDX-License-Identifier: Apache-2.0
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import arm64
import stage
from stage import Options


class Arm64(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        patch = mock.patch.object(stage, "LOGS", Path(folder.name))
        patch.start()
        self.addCleanup(patch.stop)
        # name of a program: its exit code and its output
        self.ends = {"run-arm64.sh": (0, "autopilot 0.1.0 (clang 16, Release)\nsim  healthy  verdict PASS")}
        self.begun = []

    def outcome(self):
        run = stage.Run("arm64", Options(jobs=1, fuzz_seconds=1, tidy_seconds=1))

        def command(argv, _):
            name = Path(argv[0]).name
            self.begun.append(name)
            status, said = self.ends.get(name, (0, ""))
            run.write(said)
            return status

        with mock.patch.object(run, "command", command):
            return arm64.arm64(run)

    def test_builds_and_runs(self):
        outcome = self.outcome()
        self.assertEqual((3, 0, 0), (outcome.passed, outcome.failed, outcome.skipped))
        self.assertEqual(["sysroot.sh", *["cmake"] * 4, "run-arm64.sh", "run-arm64.sh"], self.begun)

    def test_without_the_libraries_nothing_is_built_and_the_reason_said(self):
        self.ends = {"sysroot.sh": (77, "SKIP: this machine is arm64")}
        outcome = self.outcome()
        self.assertEqual(["skipped: this machine is arm64"], outcome.notes)
        self.assertEqual((0, 0, 1), (outcome.passed, outcome.failed, outcome.skipped))
        self.assertEqual(["sysroot.sh"], self.begun)

    def test_without_an_emulator_the_build_counts(self):
        self.ends = {"run-arm64.sh": (77, "SKIP: qemu-aarch64 is missing")}
        outcome = self.outcome()
        self.assertEqual((1, 0, 2), (outcome.passed, outcome.failed, outcome.skipped))
        self.assertIn("skipped: autopilot version: qemu-aarch64 is missing", outcome.notes)

    def test_a_check_that_could_not_look_fails(self):
        self.ends = {"run-arm64.sh": (0, "autopilot 0.1.0 (clang 16, Release)\nsim  healthy")}
        outcome = self.outcome()
        self.assertEqual((2, 1, 0), (outcome.passed, outcome.failed, outcome.skipped))
        self.assertIn("failed: autopilot check --simulate hgx-h100-8", outcome.notes)

    def test_what_does_not_build_or_run_fails(self):
        for program in ("sysroot.sh", "cmake", "run-arm64.sh"):
            self.ends = {program: (1, "")}
            self.assertGreater(self.outcome().failed, 0, program)


if __name__ == "__main__":
    unittest.main()

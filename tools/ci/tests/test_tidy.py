# SPDX-License-Identifier: Apache-2.0
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import stage
import tidy
from stage import Options


class NoCache:
    def mark_of(self, *_):
        return None


class Check(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for patch in (mock.patch.object(stage, "LOGS", self.folder),
                      mock.patch.dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}")):
            patch.start()
            self.addCleanup(patch.stop)

    def check(self, program):
        """The verdict on a file if this shell program replaces clang-tidy."""
        tool = self.folder / "clang-tidy-16"
        tool.write_text(f"#!/bin/sh\n{program}\n")
        tool.chmod(0o755)
        self.run_ = stage.Run("tidy", Options(jobs=1, fuzz_seconds=1, tidy_seconds=0))
        return tidy._check(self.run_, self.folder, NoCache(), Path("a.cpp"), float("inf"), True)

    def test_its_exit_code_is_the_verdict_and_its_words_are_kept(self):
        self.assertEqual("ok", self.check("exit 0"))
        self.assertEqual("failed", self.check("echo a.cpp:1: bad name; exit 1"))
        self.assertIn("a.cpp:1: bad name", self.run_.log.read_text())

    def test_what_the_analyzer_says_of_frames_of_coroutines_is_not_believed(self):
        frame = "/usr/include/boost/asio/impl/awaitable.hpp:165:9: error: uninitialized [clang-analyzer-core.CallAndMessage,-warnings-as-errors]"
        own = "src/a.cpp:1:2: error: uninitialized [clang-analyzer-core.CallAndMessage,-warnings-as-errors]"
        self.assertEqual("ok", self.check(f"echo '{frame}'; exit 1"))
        self.assertEqual("failed", self.check(f"echo '{frame}'; echo '{own}'; exit 1"))
        self.assertEqual("failed", self.check(f"echo '{frame}'; kill -SEGV $$"))

    def test_a_file_that_takes_all_its_processor_time_fails(self):
        with mock.patch.object(tidy, "LIMIT_PER_FILE", 1):
            self.assertEqual("failed", self.check("while :; do :; done"))
        self.assertIn("a.cpp: killed", self.run_.log.read_text())

    def test_a_crash_is_called_one_and_the_words_of_the_program_are_kept(self):
        self.assertEqual("failed", self.check("echo in function f; kill -SEGV $$"))
        self.assertIn("a.cpp: clang-tidy crashed (SIGSEGV)", self.run_.log.read_text())
        self.assertIn("in function f", self.run_.log.read_text())


if __name__ == "__main__":
    unittest.main()

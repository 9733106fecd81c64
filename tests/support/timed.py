# SPDX-License-Identifier: Apache-2.0
"""Runs a test file as `python3 FILE -v` does, and prints how long each of its tests took.

  python3 -B tests/support/timed.py FILE [ARGUMENTS OF UNITTEST]
"""

import os
import runpy
import sys
import time
import unittest


class TimedResult(unittest.TextTestResult):
    """Writes `took 1.234 s: test_name (class)` after the result of each test."""

    def startTest(self, test):
        self._begin = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        self.stream.writeln(f"took {time.monotonic() - self._begin:.3f} s: {test}".split("\n", maxsplit=1)[0])


if __name__ == "__main__":
    file = sys.argv[1]
    # As Python has it for a program, also where the file runs this again in another environment (sys.orig_argv).
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(file))
    unittest.TextTestRunner.resultclass = TimedResult
    runpy.run_path(file, run_name="__main__")

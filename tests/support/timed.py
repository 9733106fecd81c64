# SPDX-License-Identifier: Apache-2.0
"""Runs a test file as `python3 FILE -v` does, and prints how long each of its tests took.

  python3 -B tests/support/timed.py FILE [ARGUMENTS OF UNITTEST]

AUTOPILOT_PART=K/N in the environment: the Kth of N parts of the tests of each class, K from 1.
"""

import functools
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


class PartLoader(unittest.TestLoader):
    """Takes every Nth test of a class, so that N processes share them."""

    def __init__(self, part, parts):
        super().__init__()
        self._part = part
        self._parts = parts

    def getTestCaseNames(self, testCaseClass):
        return super().getTestCaseNames(testCaseClass)[self._part - 1::self._parts]


if __name__ == "__main__":
    file = sys.argv[1]
    # As Python sets it for a program, also if the file is run again in another environment (sys.orig_argv).
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(file))
    unittest.TextTestRunner.resultclass = TimedResult
    if "AUTOPILOT_PART" in os.environ:
        part, parts = map(int, os.environ["AUTOPILOT_PART"].split("/"))
        unittest.main = functools.partial(unittest.main, testLoader=PartLoader(part, parts))
    runpy.run_path(file, run_name="__main__")

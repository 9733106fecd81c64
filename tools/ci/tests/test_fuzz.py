# SPDX-License-Identifier: Apache-2.0
"""CI runs all targets of autopilot_fuzz."""

import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import fuzz
from stage import ROOT

FOLDER = ROOT / "tests" / "fuzz"


class Targets(unittest.TestCase):
    def test_every_file_is_a_target_of_the_program(self):
        table = re.findall(r'FuzzTarget\{"(\w+)", (\w+)::run\}', (FOLDER / "targets.hpp").read_text())
        self.assertEqual([name for name, _ in table], fuzz.targets())
        self.assertEqual([name for name, _ in table], [run for _, run in table])

    def test_seeds_are_those_of_a_target(self):
        self.assertLessEqual({folder.name for folder in (FOLDER / "corpus").iterdir()}, set(fuzz.targets()))


if __name__ == "__main__":
    unittest.main()

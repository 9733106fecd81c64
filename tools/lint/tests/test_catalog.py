# SPDX-License-Identifier: Apache-2.0
import unittest
from pathlib import Path

import support  # noqa: F401

import catalog

GOOD = """thresholds:
  - id: gpu.temperature.limit
    value: 90
    source: a page of the vendor
    date: 2026-08-22
    evidence: vendor
"""


class Catalog(unittest.TestCase):
    def problems(self, text):
        return catalog.check(Path("catalog/x.yaml"), text)

    def test_a_complete_entry_passes(self):
        self.assertEqual([], self.problems(GOOD))

    def test_each_missing_key_is_named_with_the_entry_and_its_line(self):
        for key in ("source", "date", "evidence"):
            with self.subTest(key):
                text = "".join(line for line in GOOD.splitlines(True) if f"{key}:" not in line)
                problems = self.problems(text)
                self.assertEqual(1, len(problems))
                self.assertTrue(problems[0].startswith(f"catalog/x.yaml:2: thresholds gpu.temperature.limit has no {key}"))

    def test_values_that_say_nothing_are_refused(self):
        self.assertEqual(1, len(self.problems(GOOD.replace("a page of the vendor", "''"))))
        self.assertEqual(1, len(self.problems(GOOD.replace("2026-08-22", "August"))))
        self.assertEqual(1, len(self.problems(GOOD.replace("2026-08-22", "2999-01-01"))))
        self.assertEqual(1, len(self.problems(GOOD.replace("evidence: vendor", "evidence: rumour"))))

    def test_a_key_that_stands_twice_is_refused(self):
        self.assertIn("the key value stands twice", self.problems(GOOD + "    value: 91\n")[0])

    def test_other_shapes_are_refused(self):
        self.assertEqual(1, len(self.problems("- a\n- b\n")))
        self.assertEqual(1, len(self.problems("thresholds: 3\n")))
        self.assertEqual(1, len(self.problems("thresholds: []\n")))
        self.assertEqual(1, len(self.problems("thresholds: [a]\n")))
        self.assertEqual(1, len(self.problems("thresholds: [\n")))


if __name__ == "__main__":
    unittest.main()

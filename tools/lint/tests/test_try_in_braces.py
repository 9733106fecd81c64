# SPDX-License-Identifier: Apache-2.0
import unittest
from pathlib import Path

import support  # noqa: F401  (makes the lints importable)

import try_in_braces

HARMLESS = [
    "return Row{row.text(0), std::move(finding)};",
    "return Value{TRY(text_of(value, name))};",
    "return Simulation{TRY(open(a, b)), {}, id};",
    "const auto all = TRY(read(driver, {Group::pcie, Group::clocks}));",
    "if (a, b) { x = TRY(f()); }",
    "auto f = [a, b]() -> Result<int> { return TRY(g()); };",
    "// Row{a, TRY(f())}",
]
FAULTY = [
    "return Row{row.text(0), TRY(parse(row.text(1)))};",
    "return Row{.name = name, .value = TRY(parse(text))};",
    "return Row{name,\n           TRY(parse(text))};",
    "use({name, TRY(parse(text))});",
    "const Row row = {f(a, b), TRY(parse(text))};",
]


class TryInBraces(unittest.TestCase):
    def test_harmless_statements_pass(self):
        for statement in HARMLESS:
            with self.subTest(statement):
                self.assertEqual([], try_in_braces.check(Path("src/store/a.cpp"), statement))

    def test_faulty_statements_are_found(self):
        for statement in FAULTY:
            with self.subTest(statement):
                self.assertEqual(1, len(try_in_braces.check(Path("src/store/a.cpp"), statement)))

    def test_the_line_is_that_of_the_try(self):
        problem = try_in_braces.check(Path("src/a.cpp"), FAULTY[2])[0]
        self.assertTrue(problem.startswith("src/a.cpp:2:"), problem)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
import tempfile
import unittest
from pathlib import Path

import support  # noqa: F401
import links


class Links(unittest.TestCase):
    def setUp(self):
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.root / "other.md").write_text("# One `two`, three\n\n## Same\n\n## Same\n\n```\n# code\n```\n", encoding="utf-8")

    def problems(self, text):
        return links.check(Path("page.md"), text, self.root)

    def test_files_and_headings_that_exist_are_accepted(self):
        text = "## Here\n[a](other.md) [b](other.md#one-two-three) [c](other.md#same-1) [d](#here) [e](https://example.com/x.md)\n"
        (self.root / "page.md").write_text(text, encoding="utf-8")
        self.assertEqual([], self.problems(text))

    def test_a_missing_file_and_a_missing_heading_are_reported_with_their_line(self):
        self.assertEqual(["page.md:2: gone.md does not exist"], self.problems("text\n[a](gone.md)\n"))
        self.assertEqual(["page.md:1: other.md has no heading #four"], self.problems("[a](other.md#four)\n"))
        self.assertEqual(["page.md:1: other.md has no heading #code"], self.problems("[a](other.md#code)\n"))

    def test_code_has_no_links(self):
        self.assertEqual([], self.problems("```\n[a](gone.md)\n```\n`[a](gone.md)`\n"))


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""The reader of pages finds each mistake of a page, and names its line."""

import os
import tempfile
import unittest
from pathlib import Path

import pages


class FitsTest(unittest.TestCase):
    def test_what_is_left_out_may_be_anything_and_nothing_else_may(self):
        printed = "NODE   VERDICT\ngpu-7  PASS\nsim-0  -\n"
        for shown in (["NODE VERDICT", "gpu-7  PASS", "sim-0  -"], ["...", "gpu-7 ...", "..."], ["...VER...", "...", "sim-0 -"], ["..."]):
            with self.subTest(shown):
                self.assertTrue(pages.fits(tuple(shown), printed))
        for shown in (["NODE VERDICT"], ["...", "gpu-7 WARN", "..."], ["gpu-7 PASS", "..."], ["NODE", "..."], ["node verdict", "..."]):
            with self.subTest(shown):
                self.assertFalse(pages.fits(tuple(shown), printed))

    def test_a_last_line_without_an_end_is_a_line(self):
        self.assertTrue(pages.fits(("ready",), "ready"))
        self.assertFalse(pages.fits(("ready",), ""))


class PageTest(unittest.TestCase):
    def setUp(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="autopilot-test-")))
        self.page = folder / "page.md"
        self.shell = pages.Shell(folder, dict(os.environ))
        self.addCleanup(self.shell.close)

    def follow(self, *lines, words=None):
        self.page.write_text("\n".join(lines) + "\n")
        return pages.Reader("machine", self.shell, words).follow(self.page)

    def test_commands_are_one_shell_and_see_the_files_of_the_page(self):
        count = self.follow("# Page", "<!-- file: greeting -->", "```text", "hello NAME", "```", "<!-- run: machine -->", "```console",
                            "$ FILE=greeting", "$ cat \\", "    $FILE", "hello NAME", "$ read LINE", "$ echo $?", "1", "```",
                            words={"NAME": "world"})
        self.assertEqual(count, 4)

    def test_what_fails_is_named_with_page_and_line(self):
        for lines, words in ((("$ true", "$ ls /nowhere"), "page.md:5: .* ls /nowhere\nended with 2"),
                             (("$ echo healthy", "failed"), "page.md:4: .*\nended with 0 and printed\nhealthy"),
                             (("$ sh -c 'exit 2'", "$ echo $?", "1"), "page.md:4: .*\nended with 2")):
            with self.subTest(lines), self.assertRaisesRegex(AssertionError, words):
                self.follow("# Page", "<!-- run: machine -->", "```console", *lines, "```")

    def test_what_comes_soon_is_waited_for(self):
        self.follow("<!-- run: machine -->", "```console", "$ (sleep 0.3; touch done) &", "```", "<!-- run: machine, until so -->", "```console",
                    "$ ls done", "done", "```")

    def test_blocks_of_elsewhere_and_those_that_cannot_be_run_are_not(self):
        self.assertEqual(self.follow("<!-- run: cluster -->", "```console", "$ false", "```", "<!-- not run: no registry -->", "```console",
                                     "$ false", "```"), 0)
        self.assertEqual([(one.kind, one.detail, one.line) for one in pages.blocks(self.page)],
                         [("run", "cluster", 2), ("not run", "no registry", 6)])

    def test_a_command_that_nobody_would_run_is_refused(self):
        for lines in (("", "```console", "$ true", "```"), ("<!-- run: moon -->", "```console", "$ true", "```"), ("", "```", "$ true", "```"),
                      ("", "```sh", "$ true", "```"), ("<!-- run: machine -->", "```console", "true", "```")):
            with self.subTest(lines), self.assertRaisesRegex(pages.PageError, "page.md:2: "):
                self.follow(*lines)


if __name__ == "__main__":
    unittest.main()

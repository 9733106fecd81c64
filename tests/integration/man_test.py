# SPDX-License-Identifier: Apache-2.0
"""The man pages that the program makes, in the programs that read them."""

import os
import subprocess
import tempfile
import unittest

import harness


class ManTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="autopilot-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        code, cls.out, errors = harness.run("man", cls.folder, environment={**os.environ, "SOURCE_DATE_EPOCH": "1767225600"})
        assert code == 0, errors
        cls.pages = sorted(os.path.join(where, name) for where, _, names in os.walk(cls.folder) for name in names)

    def rendered(self, page):
        done = subprocess.run([harness.need_program("groff"), "-man", "-ww", "-Tascii", "-P-cbou", os.path.join(self.folder, page)],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_there_is_a_page_of_each_verb_and_of_the_configuration(self):
        names = {os.path.relpath(page, self.folder) for page in self.pages}
        for name in ("man1/autopilot.1", "man1/autopilot-check.1", "man1/autopilot-jobs.1", "man1/kubectl-autopilot.1",
                     "man1/kubectl-autopilot-nodes.1", "man5/autopilot.yaml.5", "man5/autopilot-controller.yaml.5"):
            self.assertIn(name, names)
        self.assertNotIn("man1/autopilot-helper.1", names)
        self.assertIn(f"{len(names)} pages", self.out)

    def test_groff_has_no_warning(self):
        groff = harness.need_program("groff")
        done = subprocess.run([groff, "-man", "-ww", "-z", "-Tutf8", *self.pages], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_mandoc_has_no_warning(self):
        done = subprocess.run([harness.need_program("mandoc"), "-Tlint", "-Wwarning", *self.pages], capture_output=True, text=True,
                              timeout=120, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_a_page_has_what_help_has(self):
        page = self.rendered("man1/autopilot-check.1")
        for words in ("autopilot-check - Check the health of this machine", "--strict", "EXIT STATUS", "autopilot check gpu.xid gpu.ecc --no-agent",
                      "2026-01-01"):
            self.assertIn(words, page)
        jobs = self.rendered("man1/autopilot-jobs.1")
        self.assertIn("autopilot jobs replay", jobs)
        self.assertIn("--speed", jobs)
        settings = self.rendered("man5/autopilot.yaml.5")
        self.assertIn("AUTOPILOT_LISTEN", settings)
        self.assertNotIn("`", settings)

    def test_a_folder_that_cannot_be_made_is_named(self):
        code, _, errors = harness.run("man", "/dev/null/man")
        self.assertEqual(code, 70)
        self.assertIn("/dev/null/man", errors)


if __name__ == "__main__":
    unittest.main(verbosity=2)

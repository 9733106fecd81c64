# SPDX-License-Identifier: Apache-2.0
import json
import os
import shutil
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import tidy_cache


@unittest.skipUnless(shutil.which("clang++-16") and shutil.which("clang-tidy-16"), "clang 16 is not installed")
class Cache(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.base = Path(folder.name).resolve()
        self.kept = self.base / "kept"
        self.root = self.tree("one")

    def tree(self, name, header="int one();\n"):
        root = self.base / name
        (root / "build").mkdir(parents=True)
        (root / ".clang-tidy").write_text("Checks: bugprone-*\n")
        (root / "a.hpp").write_text(header)
        (root / "a.cpp").write_text('#include "a.hpp"\nint one() { return 1; }\n')
        command = f"/usr/bin/ccache /usr/bin/clang++-16 -I{root} -o a.o -c {root}/a.cpp"
        (root / "build" / "compile_commands.json").write_text(json.dumps(
            [{"directory": str(root / "build"), "command": command, "file": str(root / "a.cpp")}]))
        return root

    def mark(self, root=None, options=()):
        root = root or self.root
        return tidy_cache.TidyCache(root / "build", root, self.kept).mark_of(root / "a.cpp", list(options))

    def test_the_same_text_is_known_again_also_in_another_clone(self):
        self.assertEqual(self.mark(), self.mark())
        self.assertEqual(self.mark(), self.mark(self.tree("two")))

    def test_whatever_the_verdict_depends_on_makes_another_key(self):
        before = self.mark()
        self.assertNotEqual(before, self.mark(options=["--checks=-*"]))
        self.assertNotEqual(before, self.mark(self.tree("header", "int one();\nint two();\n")))
        self.assertNotEqual(before, self.mark(self.tree("comment", "int one();  // NOLINT\n")))
        (self.root / ".clang-tidy").write_text("Checks: cert-*\n")
        self.assertNotEqual(before, self.mark())

    def test_the_settings_of_a_folder_count_for_what_lies_in_it(self):
        def settle(root):
            source = root / "sub" / "b.cpp"
            source.parent.mkdir()
            source.write_text("int b() { return 1; }\n")
            (root / "build" / "compile_commands.json").write_text(json.dumps(
                [{"directory": str(root), "command": f"clang++-16 -o b.o -c {source}", "file": str(source)}]))
            return source
        source = settle(self.root)
        before = tidy_cache.TidyCache(self.root / "build", self.root, self.kept).mark_of(source, [])
        (source.parent / ".clang-tidy").write_text("InheritParentConfig: true\n")
        after = tidy_cache.TidyCache(self.root / "build", self.root, self.kept).mark_of(source, [])
        self.assertNotEqual(before, after)

    def test_what_cannot_be_preprocessed_or_is_not_compiled_has_no_verdict(self):
        (self.root / "a.hpp").unlink()
        self.assertIsNone(self.mark())
        cache = tidy_cache.TidyCache(self.root / "build", self.root, self.kept)
        self.assertIsNone(cache.mark_of(self.root / "b.cpp", []))

    def test_verdicts_that_nobody_asked_for_in_a_month_are_forgotten(self):
        self.kept.mkdir()
        for name, days in (("old", 31), ("new", 29)):
            (self.kept / name).touch()
            then = time.time() - days * 86400
            os.utime(self.kept / name, (then, then))
        self.mark()
        self.assertEqual(["new"], [path.name for path in self.kept.iterdir()])


if __name__ == "__main__":
    unittest.main()

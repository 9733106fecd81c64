# SPDX-License-Identifier: Apache-2.0
import io
import shutil
import unittest
from contextlib import redirect_stdout
from unittest import mock

from support import TreeCase

import ptx
import tree

KERNELS = "probes/gpu/kernels"


class Ptx(TreeCase):
    def setUp(self):
        super().setUp()
        for compiler in ptx.generate.COMPILERS:
            if reason := ptx.generate.why_not(compiler):
                self.skipTest(reason)
        shutil.copytree(tree.ROOT / KERNELS, self.root / KERNELS)

    def test_the_committed_texts_are_current(self):
        self.assertEqual(ptx.run(self.root), [])

    def test_a_change_of_a_kernel_is_seen_in_every_level(self):
        header = self.root / KERNELS / "memory.hpp"
        header.write_text(header.read_text().replace("^ flip", "+ flip"))
        self.assertEqual(len(ptx.run(self.root)), len(ptx.generate.LEVELS))

    def test_a_missing_text_is_seen(self):
        (self.root / KERNELS / "ptx" / "sm_80.ptx").unlink()
        self.assertRegex("\n".join(ptx.run(self.root)), "sm_80.ptx: not what")

    def test_what_does_not_compile_is_told(self):
        (self.root / KERNELS / "kernels.cu").write_text("#error here\n")
        self.assertRegex("\n".join(ptx.run(self.root)), "kernels.cu for sm_70: .*here")

    def test_levels_whose_compiler_is_missing_are_skipped_with_the_reason(self):
        levels = {"sm_80": "clang++-16", "sm_90a": "clang++-of-nobody"}
        with mock.patch.multiple(ptx.generate, LEVELS=levels, COMPILERS=sorted(levels.values())), \
                redirect_stdout(io.StringIO()) as said:
            self.assertEqual(ptx.run(self.root), [])
        self.assertIn("SKIP: clang++-of-nobody cannot be run", said.getvalue())


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
import shutil
import unittest

from support import TreeCase

import ptx
import tree

KERNELS = "probes/gpu/kernels"


class Ptx(TreeCase):
    def setUp(self):
        super().setUp()
        if reason := ptx.generate.why_not():
            self.skipTest(reason)
        shutil.copytree(tree.ROOT / KERNELS, self.root / KERNELS)

    def test_the_committed_texts_are_current(self):
        self.assertEqual(ptx.run(self.root), [])

    def test_a_change_of_a_kernel_is_seen_in_every_level(self):
        header = self.root / KERNELS / "pattern.hpp"
        header.write_text(header.read_text().replace("^ flip", "+ flip"))
        self.assertEqual(len(ptx.run(self.root)), len(ptx.generate.LEVELS))

    def test_a_missing_text_is_seen(self):
        (self.root / KERNELS / "ptx" / "sm_80.ptx").unlink()
        self.assertRegex("\n".join(ptx.run(self.root)), "sm_80.ptx: not what")

    def test_what_does_not_compile_is_told(self):
        (self.root / KERNELS / "kernels.cu").write_text("#error here\n")
        self.assertRegex("\n".join(ptx.run(self.root)), "kernels.cu for sm_70: .*here")


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""tools/release/symbol_versions.py: what it accepts and what it refuses, of programs that are made here."""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "release"))

import symbol_versions  # noqa: E402

SAID = """
Dynamic Section:
  NEEDED               libm.so.6
  NEEDED               libc.so.6
  FLAGS_1              0x0000000008000000

Version References:
  required from libc.so.6:
    0x09691a75 0x00 02 GLIBC_2.2.5
    0x06969198 0x00 11 GLIBC_2.28
  required from libm.so.6:
    0x06969189 0x00 03 GLIBC_2.9
"""


class SymbolVersions(unittest.TestCase):
    def test_numbers_are_compared_and_not_texts(self):
        self.assertEqual(symbol_versions.newest(SAID), "2.28")
        self.assertEqual(symbol_versions.problems("a", SAID, "2.28"), [])
        self.assertEqual(symbol_versions.problems("a", SAID, "2.27"), ["a: asks for GLIBC_2.28, and may ask for 2.27 at most"])

    def test_other_libraries_and_other_versions_are_refused(self):
        text = SAID.replace("libm.so.6\n  NEEDED", "libstdc++.so.6\n  NEEDED").replace("GLIBC_2.9", "GLIBC_ABI_DT_RELR")
        self.assertEqual(symbol_versions.problems("a", text, "2.28"),
                         ["a: is linked to libstdc++.so.6, which is not glibc", "a: asks for GLIBC_ABI_DT_RELR, which is no version of glibc's symbols"])
        self.assertEqual(len(symbol_versions.problems("a", "", "2.28")), 1)

    def test_a_program_of_this_system_is_refused_with_its_name(self):
        if shutil.which("clang-16") is None or shutil.which("llvm-objdump-16") is None:
            self.skipTest("clang-16 or llvm-16 is not installed")
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "program"
            source = "#include <stdlib.h>\nint main(void) { return arc4random() == 0; }\n"  # since 2.36
            subprocess.run(["clang-16", "-x", "c", "-", "-o", program], input=source, text=True, check=True)
            script = ROOT / "tools" / "release" / "symbol_versions.py"
            done = subprocess.run([sys.executable, "-B", script, program], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"{program}: asks for GLIBC_2.36, and may ask for 2.28 at most", done.stderr)
            done = subprocess.run([sys.executable, "-B", script, "--oldest", "2.36", program], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (0, f"{program}: glibc 2.36\n"), done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)

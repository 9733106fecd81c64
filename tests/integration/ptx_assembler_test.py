#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's own assembler takes the texts of the GPU kernels. The driver has one like it and compiles them where they run; the
one of CUDA 12.0 is as old as the oldest driver that must take them."""

import importlib.util
import re
import subprocess
import unittest
from pathlib import Path

import packages

packages.use()

TEXTS = sorted((Path(__file__).resolve().parents[2] / "probes" / "gpu" / "kernels" / "ptx").glob("*.ptx"))


def find_assembler():
    """Finds the assembler in its package; None if there is no package for this architecture."""
    try:
        package = importlib.util.find_spec("nvidia.cuda_nvcc")
    except ModuleNotFoundError:
        return None
    return Path(package.submodule_search_locations[0]) / "bin" / "ptxas" if package else None


class PtxAssembler(unittest.TestCase):
    def setUp(self):
        self.assembler = find_assembler()
        if self.assembler is None:
            self.skipTest("no ptxas for this kind of machine")
        self.assembler.chmod(0o755)  # a wheel does not keep it

    def assemble(self, text, name=None):
        return subprocess.run([self.assembler, f"-arch={name or text.stem}", "-v", "-o", "/dev/null", text],
                              capture_output=True, text=True, check=False)

    def test_every_text_is_assembled_without_a_warning_and_keeps_its_numbers_in_registers(self):
        self.assertEqual([text.stem for text in TEXTS], ["sm_70", "sm_80", "sm_90", "sm_90a"])
        for text in TEXTS:
            with self.subTest(text.stem):
                done = self.assemble(text)
                said = done.stdout + done.stderr
                self.assertEqual(done.returncode, 0, said)
                self.assertNotRegex(said, r"(?i)warning|serializ")
                kernels = re.findall(r"\.entry (\w+)\(", text.read_text())
                self.assertEqual(said.count("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"), len(kernels), said)

    def test_no_other_gpu_takes_what_is_for_one_capability(self):
        [text] = [text for text in TEXTS if text.stem == "sm_90a"]
        done = self.assemble(text, "sm_90")
        self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main()

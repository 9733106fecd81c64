# SPDX-License-Identifier: Apache-2.0
"""A user without rights sees everything that is readable, and is told what is not."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

import harness

NOBODY = 65534


class UnprivilegedTest(unittest.TestCase):
    def test_what_cannot_be_read_is_unknown_and_names_the_right(self):
        if os.geteuid() != 0:
            raise unittest.SkipTest("needs root to become another user")
        with tempfile.TemporaryDirectory() as folder:
            # The build folder may be closed to others.
            os.chmod(folder, 0o755)
            program = shutil.copy(harness.AUTOPILOT, folder)
            os.chmod(program, 0o755)
            done = subprocess.run([program, "check", "--no-agent", "--window", "0s", "-o", "json"], user=NOBODY,
                                  group=NOBODY, extra_groups=[], cwd="/", capture_output=True, text=True, timeout=60,
                                  env={"PATH": "/usr/bin:/bin", "HOME": folder})
            self.assertEqual(done.stderr, "")
            self.assertIn(done.returncode, (0, 1, 2, 3))
            node = json.loads(done.stdout)
            for result in node["results"]:
                if result["health"] == "unknown":
                    self.assertTrue(all(finding["message"] for finding in result["findings"]), result)
            filesystems = next(r for r in node["results"] if r["check"] == "storage.filesystem")
            self.assertIn(filesystems["health"], ("healthy", "degraded", "failed"))


if __name__ == "__main__":
    unittest.main(verbosity=2)

# SPDX-License-Identifier: Apache-2.0
"""A user without permissions sees everything that is readable, and a report of what is not."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

import harness

NOBODY = 65534


@unittest.skipIf(os.geteuid() != 0, "needs root to become another user")
class UnprivilegedTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="autopilot-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        # The build folder may be closed to others.
        os.chmod(self.folder, 0o755)
        self.program = shutil.copy(harness.AUTOPILOT, self.folder)
        os.chmod(self.program, 0o755)

    def check(self, *ids):
        done = subprocess.run([self.program, "check", *ids, "--no-agent", "--window", "0s", "-o", "json"], user=NOBODY,
                              group=NOBODY, extra_groups=[], cwd="/", capture_output=True, text=True, timeout=60,
                              env={"PATH": "/usr/bin:/bin", "HOME": self.folder})
        self.assertEqual(done.stderr, "")
        return done.returncode, {result["check"]: result for result in json.loads(done.stdout)["results"]}

    def test_what_cannot_be_read_is_unknown_and_says_why(self):
        code, results = self.check()
        self.assertIn(code, (0, 1, 2, 3))
        for result in results.values():
            if result["health"] == "unknown":
                self.assertTrue(all(finding["message"] for finding in result["findings"]), result)
        # Other programs of the machine may have mounts where this user may not go.
        unasked = [one for one in results["storage.filesystem"]["findings"] if one["health"] == "unknown"]
        self.assertEqual({one["reason"] for one in unasked} - {"not_permitted"}, set())
        self.assertNotIn("/", {one["subject"]["key"] for one in unasked})

    def test_a_filesystem_behind_a_closed_door_is_unknown_and_not_healthy(self):
        harness.need_program("mkfs.ext4")
        image, door = os.path.join(self.folder, "image"), os.path.join(self.folder, "door")
        disk = os.path.join(door, "disk")
        with open(image, "wb") as file:
            file.truncate(8 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
        os.makedirs(disk)
        os.chmod(door, 0o700)
        if subprocess.run(["mount", "-o", "loop", image, disk], capture_output=True, check=False).returncode != 0:
            self.skipTest("a loop device cannot be mounted here")
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        _, results = self.check("storage.filesystem")
        found = {one["subject"]["key"]: one for one in results["storage.filesystem"]["findings"]}
        self.assertEqual((found[disk]["health"], found[disk]["reason"]), ("unknown", "not_permitted"))


if __name__ == "__main__":
    unittest.main(verbosity=2)

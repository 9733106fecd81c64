# SPDX-License-Identifier: Apache-2.0
"""The message of a build on an unsupported system, or without permissions."""

import subprocess
import tempfile
import unittest
from pathlib import Path

import roots

UBUNTU = 'ID=ubuntu\nVERSION_ID="22.04"\nPRETTY_NAME="Ubuntu 22.04.5 LTS"\n'
CURE = "tar xf"


class OtherSystems(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        kept = roots.debian("bullseye")  # as old as Ubuntu 22.04, and with no package by our names as well
        folder = tempfile.TemporaryDirectory(prefix="autopilot-release-")
        cls.addClassCleanup(folder.cleanup)
        cls.root = roots.copy(kept, Path(folder.name) / "root")
        (cls.root / "etc/os-release").unlink()
        (cls.root / "etc/os-release").write_text(UBUNTU, encoding="ascii")
        (cls.root / "etc/apt/sources.list").write_text("", encoding="ascii")
        script = roots.ROOT / "tools" / "install-deps.sh"
        (cls.root / "opt/install-deps.sh").write_bytes(script.read_bytes())
        (cls.root / "opt/install-deps.sh").chmod(0o755)

    def told(self, *command):
        done = roots.run(self.root, *command)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        return done.stderr

    def test_root_of_an_ubuntu_is_told_the_cure_and_nothing_is_installed(self):
        packages = roots.run(self.root, "dpkg", "-l").stdout
        told = self.told("/opt/install-deps.sh", "build")
        self.assertIn("ubuntu 22.04 has no clang-16", told)
        self.assertIn(CURE, told)
        self.assertEqual(roots.run(self.root, "dpkg", "-l").stdout, packages)

    def test_an_ordinary_user_is_told_the_cure(self):
        told = self.told("setpriv", "--reuid=1000", "--clear-groups", "/opt/install-deps.sh", "build")
        self.assertIn("neither root nor is there sudo", told)
        self.assertIn(CURE, told)

    def test_a_system_without_apt_is_told_the_cure(self):
        told = self.told("env", "PATH=/opt/none", "/bin/bash", "-c", "command() { return 1; }; . /opt/install-deps.sh build")
        self.assertIn("this is no Debian system", told)
        self.assertIn(CURE, told)


if __name__ == "__main__":
    unittest.main(verbosity=2)

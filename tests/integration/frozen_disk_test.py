# SPDX-License-Identifier: Apache-2.0
"""An agent that starts on a disk that does not answer."""

import os
import shutil
import subprocess
import tempfile
import unittest

import harness


class FrozenDiskTest(unittest.TestCase):
    def setUp(self):
        if os.getuid() != 0:
            self.skipTest("only root can mount and freeze a disk")
        harness.need_program("mkfs.ext4")
        self.folder = tempfile.mkdtemp(prefix="autopilot-test-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        image = os.path.join(self.folder, "image")
        self.disk = os.path.join(self.folder, "disk")
        with open(image, "wb") as file:
            file.truncate(16 << 20)
        os.mkdir(self.disk)
        subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
        mounted = subprocess.run(["mount", "-o", "loop", image, self.disk], capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            self.skipTest(f"a loop device cannot be mounted here: {mounted.stderr.strip()}")
        self.addCleanup(self.unmount)

    def unmount(self):
        harness.wait_until(lambda: subprocess.run(["umount", self.disk], capture_output=True, check=False)
                           .returncode == 0, "the disk is free")

    def thaw(self):
        subprocess.run(["fsfreeze", "--unfreeze", self.disk], capture_output=True, check=False)

    def agent(self):
        return harness.Agent("--simulate", "hgx-h100-8", folder=self.folder,
                             environment={"AUTOPILOT_STATE_DIR": os.path.join(self.disk, "state")})

    def test_it_watches_without_a_journal_and_loses_none(self):
        with self.agent() as agent:
            agent.wait_ready()
            harness.run("inject", "xid", "--subject", "gpu/2", "--magnitude", "79", "--socket", agent.socket)
            incident = harness.wait_until(lambda: agent.node()["incidents"], "an incident is open")[0]
        frozen = subprocess.run(["fsfreeze", "--freeze", self.disk], capture_output=True, text=True, check=False)
        if frozen.returncode != 0:
            self.skipTest(f"a file system cannot be frozen here: {frozen.stderr.strip()}")
        self.addCleanup(self.thaw)
        with self.agent() as agent:
            agent.wait_ready()
            node = agent.node()
            self.assertEqual(node["incidents"], [])
            self.assertFalse(node["self"]["journalDurable"])
            self.assertIn("its disk does not answer", node["self"]["journalProblem"])
            _, table, _ = harness.run("status", "--socket", agent.socket)
            self.assertIn("JOURNAL", table)
            self.thaw()
        with self.agent() as agent:
            remembered = harness.wait_until(lambda: agent.node()["incidents"], "the incident is back")
            self.assertEqual([one["id"] for one in remembered], [incident["id"]])


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""A damaged journal never makes the verdict of a node better."""

import contextlib
import os
import shutil
import sqlite3
import tempfile
import unittest

import harness


def cut_in_half(journal):
    os.truncate(journal, os.path.getsize(journal) // 2)


def of_a_newer_version(journal):
    with contextlib.closing(sqlite3.connect(journal)) as database:
        database.execute("PRAGMA user_version=99")


def without_its_header(journal):
    with open(journal, "r+b") as file:
        file.write(bytes(100))


def removed(journal):
    os.remove(journal)


def not_to_be_opened(journal):
    os.remove(journal + ".lock")
    os.mkdir(journal + ".lock")


class JournalDamageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="autopilot-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        with harness.Agent("--simulate", "hgx-h100-8", folder=cls.folder) as agent:
            agent.wait_ready()
            harness.run("inject", "xid", "--subject", "gpu/2", "--magnitude", "79", "--socket", agent.socket)
            harness.wait_until(lambda: agent.node()["verdict"] == "EVICT", "the verdict is EVICT")

    def expect(self, damage, verdicts):
        """The next agent, of which the machine shows nothing of the fault, begins with one of these verdicts."""
        folder = tempfile.mkdtemp(prefix="autopilot-test-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        shutil.copytree(self.folder, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.sock*"))
        [journal] = [os.path.join(path, name) for path, _, names in os.walk(folder) for name in names
                     if name.endswith(".db") and not name.endswith("-history.db")]
        damage(journal)
        with harness.Agent("--simulate", "hgx-h100-8", folder=folder) as agent:
            agent.wait_ready()
            verdict = harness.wait_until(lambda: agent.node().get("verdict"), "there is a verdict")
            self.assertIn(verdict, verdicts)
            reasons = {finding["reason"] for check in agent.node()["results"] for finding in check["findings"]}
            self.assertIn("memory_lost", reasons)

    def test_what_can_be_read_holds(self):
        for damage in (of_a_newer_version, without_its_header, not_to_be_opened):
            with self.subTest(damage.__name__):
                self.expect(damage, ["EVICT"])

    def test_what_cannot_be_read_is_no_proof(self):
        for damage in (cut_in_half, removed):
            with self.subTest(damage.__name__):
                self.expect(damage, ["EVICT", "WARN"])


if __name__ == "__main__":
    unittest.main()

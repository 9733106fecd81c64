# SPDX-License-Identifier: Apache-2.0
"""`autopilot doctor`: what Autopilot can check here, and what more would add."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import harness

NOBODY = 65534


class DoctorTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="autopilot-doctor-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def environment(self, **variables):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AUTOPILOT_")}
        return {**kept, "AUTOPILOT_STATE_DIR": str(self.folder), "AUTOPILOT_SOCKET": str(self.folder / "agent.sock"), **variables}

    def run_doctor(self, *words, user=None, **variables):
        become = {"user": user, "group": user, "extra_groups": []} if user is not None else {}
        return subprocess.run([harness.AUTOPILOT, "doctor", *words], env=self.environment(**variables), capture_output=True, text=True,
                              timeout=120, check=False, **become)

    def rows(self, *words, **options):
        done = self.run_doctor(*words, "-o", "json", **options)
        document = json.loads(done.stdout)
        self.assertEqual(done.returncode, {"ok": 0, "limited": 1, "problem": 2}[document["state"]], done.stderr)
        return {row["topic"]: row for row in document["rows"]}

    def simulated(self, *faults):
        tree = str(self.folder / "machine")
        subprocess.run([harness.AUTOPILOT_SIM, "create", "hgx-h100-8", "--out", tree], check=True, capture_output=True, timeout=60)
        for fault in faults:
            subprocess.run([harness.AUTOPILOT_SIM, "inject", tree, *fault], check=True, capture_output=True, timeout=60)
        return tree

    def test_it_needs_no_agent_and_states_that_none_answers(self):
        row = self.rows()["agent"]
        self.assertEqual(row["state"], "limited")
        self.assertIn(str(self.folder / "agent.sock"), row["what"])
        self.assertIn("autopilot agent", row["command"])

    def test_an_agent_that_answers_is_named_with_its_version(self):
        with harness.Agent("--simulate", "no-gpu") as agent:
            rows = self.rows("--socket", agent.socket)
        version = json.loads(subprocess.run([harness.AUTOPILOT, "version", "-o", "json"], capture_output=True, check=True).stdout)
        self.assertIn(f"version {version['version']}", rows["agent"]["what"])
        self.assertEqual(rows["agent"]["state"], "problem", "it watches a simulated machine")
        self.assertIn("another machine", rows["agent"]["what"])

    def test_an_agent_of_this_machine_is_ok(self):
        with harness.Agent() as agent:
            agent.wait_ready()
            row = self.rows("--socket", agent.socket)["agent"]
        self.assertEqual(row["state"], "ok", row)
        self.assertIn("checks ran", row["what"])

    def test_a_configuration_with_a_problem_is_named(self):
        (self.folder / "config.yaml").write_text("log_level: loud\n", encoding="utf-8")
        row = self.rows(CONFIGURATION_DIRECTORY=str(self.folder))["configuration"]
        self.assertEqual(row["state"], "problem")
        self.assertIn(f"{self.folder}/config.yaml:1", row["what"])
        self.assertEqual(row["command"], "autopilot config check")

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_a_user_without_permissions_learns_what_they_add(self):
        os.chmod(self.folder, 0o777)
        rows = self.rows(user=NOBODY, HOME="/nonexistent")
        self.assertIn(f"uid {NOBODY}", rows["user"]["what"])
        missing = [row for topic, row in rows.items() if topic.startswith("CAP_")]
        listed = json.loads(subprocess.run([harness.AUTOPILOT, "check", "--list", "-o", "json"], capture_output=True, check=True).stdout)
        needing = {right: [] for check in listed["items"] for right in check["rights"]}
        for check in listed["items"]:
            for right in check["rights"]:
                needing[right].append(check["check"])
        self.assertTrue(missing, rows)
        for row in missing:
            self.assertTrue(set(row["checks"]) <= set(needing[row["topic"]]), row)
            self.assertTrue(row["command"])
        if rows["kernel log"]["state"] != "ok":
            self.assertIn("with CAP_SYSLOG", rows["kernel log"]["adds"])
            self.assertIn("host.memory", rows["kernel log"]["checks"])

    def test_the_driver_of_a_machine_is_described(self):
        row = self.rows("--root", self.simulated())["NVIDIA driver"]
        self.assertEqual(row["state"], "ok")
        self.assertIn("8 GPUs of 8", row["what"])
        self.assertIn("CUDA", row["what"])

    def test_a_driver_that_does_not_work_is_a_problem(self):
        row = self.rows("--root", self.simulated(("library_missing",)))["NVIDIA driver"]
        self.assertEqual(row["state"], "problem")
        self.assertTrue(row["command"])

    def test_the_page_fits_a_terminal_and_names_what_does_not_apply(self):
        done = self.run_doctor()
        self.assertIn(done.returncode, (0, 1, 2))
        for line in done.stdout.splitlines():
            self.assertLessEqual(len(line), 80, line)
        self.assertLess(len(done.stdout.splitlines()), 40)
        self.assertIn("user", done.stdout)

    def test_usage(self):
        self.assertEqual(self.run_doctor("--nonsense").returncode, 64)


if __name__ == "__main__":
    unittest.main()

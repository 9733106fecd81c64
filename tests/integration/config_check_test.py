# SPDX-License-Identifier: Apache-2.0
"""`autopilot config check`: the configuration as agent and controller read it."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import harness


class ConfigCheckTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="autopilot-config-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return str(path)

    def check(self, *words, code=0, **variables):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("AUTOPILOT_")}
        environment["CONFIGURATION_DIRECTORY"] = str(self.folder / "default")
        done = subprocess.run([harness.AUTOPILOT, "config", "check", *words], env={**environment, **variables}, capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def document(self, *words, **options):
        return json.loads(self.check(*words, "-o", "json", **options))

    def test_all_problems_are_shown_at_once_with_their_lines(self):
        file = self.write("bad.yaml", "lissten: 127.0.0.1:3333\nlimits:\n  lanes: 900\n")
        page = self.check(file, code=1, AUTOPILOT_LISTN=":1")
        self.assertIn(f"{file}:1: configuration: unknown key `lissten`; did you mean `listen`?", page)
        self.assertIn(f"{file}:3: `limits.lanes`: expected 1 to 64, found `900`", page)
        self.assertIn("AUTOPILOT_LISTN: unknown; did you mean `AUTOPILOT_LISTEN`?", page)
        document = self.document(file, code=1)
        self.assertFalse(document["valid"])
        self.assertEqual([one["line"] for one in document["files"][0]["problems"]], [1, 3])

    def test_the_default_file_is_named_whether_it_exists_or_not(self):
        default = str(self.folder / "default" / "config.yaml")
        self.assertIn(f"{default}: does not exist; the defaults apply", self.check())
        self.write("default/config.yaml", "log_level: debug\n")
        self.assertIn(f"{default}: valid", self.check())
        self.write("default/config.yaml", "log_level: loud\n")
        self.assertIn(f"{default}:1: `log_level`: expected", self.check(code=1))

    def test_the_agent_refuses_what_the_check_refuses(self):
        file = self.write("bad.yaml", "log_level: loud\n")
        done = subprocess.run([harness.AUTOPILOT, "agent", "--config", file], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 78)
        self.assertIn(f"{file}:1: `log_level`", done.stderr)
        self.check(file, code=1)

    def test_each_setting_names_its_source(self):
        file = self.write("good.yaml", "log_level: error\nlimits:\n  lanes: 5\n")
        document = self.document(file, "--show", AUTOPILOT_LOG_LEVEL="debug")
        settings = {one["name"]: (one["value"], one["source"], one["place"]) for one in document["files"][0]["settings"]}
        self.assertEqual(settings["limits.lanes"], ("5", "file", f"{file}:3"))
        self.assertEqual(settings["log_level"], ("debug", "environment", "AUTOPILOT_LOG_LEVEL"))
        self.assertEqual(settings["log_format"], ("text", "default", "default"))

    def test_a_password_is_not_shown(self):
        file = self.write("good.yaml", "history:\n  path: postgresql://agent:hidden@db/fleet\n")
        self.assertNotIn("hidden", self.check(file, "--show"))

    def test_log_rules_of_the_file_are_checked(self):
        rules = self.write("rules.yaml", "rules: 3\n")
        page = self.check(self.write("good.yaml", f"log_rules: [{rules}]\n"), code=1)
        self.assertIn(f"  {rules}:1: ", page)

    def test_a_missing_file_that_was_named_is_a_problem(self):
        self.assertIn("No such file", self.check(str(self.folder / "absent.yaml"), code=1))

    def test_the_controller_has_other_settings_and_a_policy(self):
        policy = self.write("policy.yaml", "modde: act\n")
        file = self.write("controller.yaml", f"jobs:\n  mode: act\npolicy: {policy}\n")
        self.assertIn(f"{policy}:1: ", self.check("--controller", file, code=1))
        self.write("policy.yaml", "")
        document = self.document("--controller", "--show", file)
        settings = {one["name"]: one["place"] for one in document["files"][0]["settings"]}
        self.assertEqual(settings["jobs.mode"], f"{file}:2")
        self.assertIn("unknown key `policy`", self.check(file, code=1))

    def test_several_files_are_checked_each_by_itself(self):
        good = self.write("good.yaml", "log_level: debug\n")
        bad = self.write("bad.yaml", "log_level: loud\n")
        page = self.check(good, bad, code=1)
        self.assertIn(f"{good}: valid", page)
        self.assertIn(f"{bad}: 1 problem", page)

    def test_usage(self):
        self.check("", code=64)
        self.check("--nonsense", code=64)


if __name__ == "__main__":
    unittest.main()

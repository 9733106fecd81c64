# SPDX-License-Identifier: Apache-2.0
"""`autopilot demo`: one fault of a simulated machine, step by step."""

import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

import harness


class DemoTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="autopilot-demo-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.environment = {**os.environ, "TMPDIR": str(self.folder)}

    def demo(self, *words, code=0):
        done = subprocess.run([harness.AUTOPILOT, "demo", *words], env=self.environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=180, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [], "the machine is removed")
        return done

    def names(self):
        return [one["name"] for one in json.loads(self.demo("--list", "-o", "json").stdout)]

    def test_the_default_is_a_gpu_that_falls_off_the_bus(self):
        page = self.demo().stdout
        self.assertEqual(re.findall(r"^Step (\d)", page, re.MULTILINE), ["1", "2", "3", "4", "5"])
        healthy, faulty = page.split("$ autopilot-sim inject", 1)
        self.assertIn("healthy", healthy)
        self.assertNotIn("failed", healthy)
        self.assertIn("Xid 79", faulty)
        self.assertIn("CAUSE", faulty)
        # The text and the table name the lost GPU by its address: its index belongs to another GPU now.
        self.assertIn("GPU 3 (0000:61:00.0) stops answering", healthy)
        self.assertRegex(faulty, r"\n-    0000:61:00\.0 .*failed")
        for command in ("$ autopilot check --root", "$ autopilot explain xid 79", "$ autopilot why --root"):
            self.assertIn(command, page)

    def test_every_scenario_shows_its_fault(self):
        names = self.names()
        self.assertGreaterEqual(len(names), 6)
        for name in names[1:]:
            with self.subTest(name):
                faulty = self.demo(name).stdout.split("$ autopilot-sim inject", 1)[1]
                self.assertRegex(faulty.split("Step 4", 1)[0], r"\b(failed|degraded)\b")
                self.assertIn("CAUSE", faulty)

    def test_the_list_names_each_scenario(self):
        page = self.demo("--list").stdout
        for name in self.names():
            self.assertIn(name, page)

    def start_on_terminal(self):
        parent, child = pty.openpty()
        process = subprocess.Popen([harness.AUTOPILOT, "demo"], env=self.environment, stdin=child, stdout=child, stderr=child)
        os.close(child)
        self.addCleanup(os.close, parent)
        return process, parent

    def read_until(self, terminal, wanted):
        text = ""
        while wanted not in text:
            text += os.read(terminal, 65536).decode(errors="replace")
        return text

    def test_on_a_terminal_it_waits_for_enter(self):
        process, terminal = self.start_on_terminal()
        try:
            self.read_until(terminal, "Press Enter")
            os.write(terminal, b"\n")
            self.assertIn("Step 2", self.read_until(terminal, "Press Enter"))
        finally:
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(60), 130)
        self.assertEqual(list(self.folder.iterdir()), [], "the machine is removed also on Ctrl-C")

    def test_without_the_simulator_it_states_what_is_missing(self):
        lonely = self.folder / "bin"
        lonely.mkdir()
        shutil.copy(harness.AUTOPILOT, lonely)
        done = subprocess.run([lonely / "autopilot", "demo"], env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("autopilot-sim does not exist; install it beside autopilot", done.stderr)

    def test_an_unknown_scenario_is_a_usage_error(self):
        self.assertIn("did you mean nvlink?", self.demo("nvlimk", code=64).stderr)


if __name__ == "__main__":
    unittest.main()

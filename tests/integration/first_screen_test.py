# SPDX-License-Identifier: Apache-2.0
"""What an operator sees first: the first problem is on the first screen of a small terminal, the live page fits and scrolls, and a shell
prompt has its few words at once."""

import json
import os
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import harness
import terminal

MACHINE = "hgx-h100-8"
# Each with words of its first line, and of its problem.
FAULTS = (
    (("xid", "--subject", "gpu/2", "--magnitude", "79"), "failed: GPU 2 Xid 79: ", r"^failed +GPU 2 \(0000:52:00\.0\): Xid 79"),
    (("row_remap_failed", "--subject", "gpu/5"), "failed: GPU 5", r"^failed +GPU 5 \("),
    (("nvlink_down", "--subject", "nvlink/0000:1b:00.0/3"), "NVLink", r"NVLink 3 of GPU 0"),
    (("filesystem_full",), "filesystem", r"^(failed|degraded) +/ is full"),
    (("nvme_critical",), "NVMe", r"^(failed|degraded) +.*nvme"),
)


def machine_with(folder, *faults):
    tree = os.path.join(folder, f"tree-{len(os.listdir(folder))}")
    subprocess.run([harness.AUTOPILOT_SIM, "create", MACHINE, "--out", tree], check=True, stdout=subprocess.DEVNULL)
    for fault in faults:
        subprocess.run([harness.AUTOPILOT_SIM, "inject", tree, *fault], check=True, stdout=subprocess.DEVNULL)
    return tree


class FirstScreenTest(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="autopilot-test-"))

    def first_screen(self, *arguments, rows=24, columns=80):
        """The screen behind the command line and with the next prompt."""
        shown = terminal.Terminal(["sh", "-c", 'echo "$ autopilot check"; "$0" "$@"; printf "$ "', harness.AUTOPILOT, *arguments],
                                  rows=rows, columns=columns)
        self.addCleanup(shown.close)
        shown.wait_end(120)
        self.assertEqual(shown.screen.scrolled, 0, shown.screen.text)
        return shown.screen.text

    def test_the_first_problem_is_on_the_first_screen(self):
        for fault, reason, problem in FAULTS:
            with self.subTest(fault[0]):
                text = self.first_screen("check", "--root", machine_with(self.folder, fault), "--window", "0s")
                lines = text.splitlines()
                self.assertIn(reason, lines[1])
                begin = next(number for number, line in enumerate(lines) if line.startswith(("failed", "degraded")))
                self.assertLessEqual(begin, 4, text)
                self.assertRegex("\n".join(lines[begin:begin + 3]), problem)
                self.assertIn("What to do: ", text)
                self.assertIn("(explain: ", text)
                self.assertNotIn("ack: ", text)  # without an agent

    def test_many_problems_fit_small_terminals(self):
        tree = machine_with(self.folder, *(fault for fault, _, _ in FAULTS))
        for rows, columns in ((24, 80), (12, 80), (30, 40)):
            with self.subTest(rows=rows, columns=columns):
                text = self.first_screen("check", "--root", tree, "--window", "0s", rows=rows, columns=columns)
                self.assertRegex(text, "\nfailed.*GPU 2 ")
                self.assertIn("What to do: ", text)
                self.assertIn("see --all", " ".join(text.split()))

    def test_all_checks_are_a_table_and_documents_are_complete(self):
        arguments = ("check", "--root", machine_with(self.folder, FAULTS[0][0]), "--window", "0s")
        code, page, _ = harness.run(*arguments)
        self.assertEqual(code, 2)
        self.assertNotIn("storage.raid", page)
        code, table, _ = harness.run(*arguments, "--all")
        self.assertEqual(code, 2)
        self.assertIn("storage.raid", table)
        code, text, _ = harness.run(*arguments, "-o", "json")
        document = json.loads(text)
        for result in document["results"]:
            self.assertIn(f"\n{result['check']} ", table)
        for text in (page, table):
            self.assertLessEqual(max(map(len, text.splitlines())), 80)


class WatchTest(unittest.TestCase):
    def setUp(self):
        self.agent = harness.Agent("--simulate", MACHINE)
        self.addCleanup(self.agent.close)
        self.agent.wait_ready()

    def inject(self, *fault):
        code, _, errors = harness.run("inject", *fault, "--socket", self.agent.socket)
        self.assertEqual(code, 0, errors)

    def watch(self, *arguments, **size):
        shown = terminal.Terminal([harness.AUTOPILOT, "status", "--watch", "--socket", self.agent.socket, *arguments], **size)
        self.addCleanup(shown.close)
        return shown

    def assert_restored(self, shown):
        self.assertEqual(shown.settings, shown.before)
        modes = shown.screen.modes
        self.assertEqual((modes["?1049"], modes["?25"], modes["?7"]), ("l", "h", "h"))

    def test_it_fits_shows_changes_and_scrolls(self):
        shown = self.watch()
        text = shown.wait_shows("q quits")
        self.assertRegex(text.splitlines()[0], "^sim-hgx-h100-8  healthy")
        self.inject("xid", "--subject", "gpu/2", "--magnitude", "79")
        shown.wait_shows(r"^failed +GPU 2 \(0000:52:00\.0\): Xid 79")
        self.assertEqual(shown.screen.scrolled, 0)
        shown.press("a")
        text = shown.wait_shows(r"gpu.present(.*\n)+.*lines 1 to ")
        header = text.splitlines()[0]
        shown.press("\x1b[6~")
        text = shown.wait_shows("^(storage|network|gpu.diagnosis)")
        self.assertEqual(text.splitlines()[0], header)
        self.assertNotIn("gpu.present ", text)
        shown.press("\x1b[F")
        shown.wait_shows("^INCIDENTS")
        shown.press("\x1b[H\x1b[B")
        shown.wait_shows("lines 2 to ")
        shown.press("a")
        shown.wait_shows("What to do: ")
        self.assertEqual(shown.screen.scrolled, 0)
        shown.press("q")
        self.assertEqual(shown.wait_end(), 2)
        self.assert_restored(shown)

    def test_the_last_page_remains_when_the_agent_ends(self):
        shown = self.watch()
        shown.wait_shows("q quits")
        self.agent.process.stop()
        text = shown.wait_shows("no agent answers since")
        self.assertRegex(text.splitlines()[0], r"^no agent answers since \d+s; the page is from \d\d:\d\d:\d\d UTC")
        self.assertRegex(text.splitlines()[1], "^sim-hgx-h100-8  healthy")
        self.assertIn("NVIDIA H100", text)
        shown.press("q")
        self.assertEqual(shown.wait_end(), 70)
        self.assert_restored(shown)

    def test_a_new_size_is_used(self):
        shown = self.watch(rows=40, columns=120)
        shown.wait_shows("q quits")
        for rows, columns in ((10, 40), (24, 80)):
            shown.resize(rows, columns)
            text = shown.wait_shows("q quits")
            self.assertIn("q quits", text.splitlines()[-1])
            self.assertIn("healthy", text)
            self.assertEqual(shown.screen.scrolled, 0)

    def test_signals_restore_the_terminal(self):
        for end in (lambda one: one.press("\x03"), lambda one: one.child.send_signal(signal.SIGTERM)):
            shown = self.watch()
            shown.wait_shows("q quits")
            self.assertNotEqual(shown.settings, shown.before)
            end(shown)
            self.assertEqual(shown.wait_end(), 0)
            self.assert_restored(shown)

    def test_without_a_terminal_each_change_is_a_new_page(self):
        path = Path(self.agent.folder) / "pages"
        with open(path, "w", encoding="utf-8") as file:
            child = subprocess.Popen([harness.AUTOPILOT, "status", "--watch", "--socket", self.agent.socket], stdout=file)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        harness.wait_until(lambda: "healthy  verdict PASS" in path.read_text(), "the first page is there")
        self.inject("xid", "--subject", "gpu/2", "--magnitude", "79")
        harness.wait_until(lambda: "Xid 79" in path.read_text(), "the second page is there")
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(20), 2)
        self.assertNotIn("\x1b", path.read_text())
        self.assertEqual(path.read_text().count("verdict PASS"), 1)


class ShortTest(unittest.TestCase):
    def short(self, socket):
        begin = time.monotonic()
        code, text, errors = harness.run("status", "--short", "--socket", socket)
        self.assertEqual(errors, "")
        self.assertEqual(len(text.splitlines()), 1, text)
        return code, text.strip(), time.monotonic() - begin

    def test_a_prompt_has_its_words(self):
        with harness.Agent("--simulate", MACHINE) as agent:
            agent.wait_ready()
            self.assertEqual(self.short(agent.socket)[:2], (0, "ok SIMULATED"))
            harness.run("inject", "row_remap_pending", "--subject", "gpu/5", "--socket", agent.socket)
            harness.wait_until(lambda: self.short(agent.socket)[:2] == (1, "degraded 1 SIMULATED"), "one problem")
            harness.run("inject", "xid", "--subject", "gpu/3", "--magnitude", "79", "--socket", agent.socket)
            harness.wait_until(lambda: self.short(agent.socket)[:2] == (2, "failed: GPU 3 Xid 79, and 1 more SIMULATED"), "the GPU failed")

    def test_without_an_agent_it_is_unknown_at_once(self):
        self.assertEqual(self.short("/nonexistent/agent.sock")[:2], (70, "unknown: no agent"))

    def test_an_agent_that_does_not_answer_is_not_waited_for(self):
        with harness.Agent("--simulate", MACHINE) as agent:
            agent.process.child.send_signal(signal.SIGSTOP)
            try:
                code, text, seconds = self.short(agent.socket)
            finally:
                agent.process.child.send_signal(signal.SIGCONT)
            self.assertEqual((code, text), (70, "unknown: no answer"))
            self.assertLess(seconds, 2)


if __name__ == "__main__":
    unittest.main()

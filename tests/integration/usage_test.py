# SPDX-License-Identifier: Apache-2.0
"""Error messages of the command line, and its exit codes."""

import json
import os
import subprocess
import tempfile
import unittest

import harness


def autopilot(*arguments, **environment):
    return subprocess.run(
        [os.path.join(harness.BIN, "autopilot"), *arguments],
        capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **environment},
    )


class UsageTest(unittest.TestCase):
    def test_errors_name_the_place_and_the_cure(self):
        for arguments, code, words in (
            ((), 64, "check"),
            (("chek",), 64, "did you mean check?"),
            (("--frobnicate",), 64, "--frobnicate"),
            (("check", "gpu.ec"), 64, "did you mean gpu.ecc"),
            (("check", "-o", "xml"), 64, "expected table, json or yaml, not 'xml'"),
            (("check", "--window", "abc"), 64, "expected a duration such as 2s or 500ms, not 'abc'"),
            (("check", "--tag", "nothing"), 64, "--list"),
            (("check", "--list", "--root", "/nonexistent"), 78, "a machine tree is a folder with that file"),
            (("check", "--window", "100h"), 64, "at most 1h"),
            (("check", "--config", "/tmp"), 78, "is a folder"),
            (("explain", "\x1b[2Jnonsense"), 64, "?[2Jnonsense"),
            (("explain", "a\u202eb"), 64, "'a?b'"),
            (("explain", "xid", "79", "--a\u202eb"), 64, "--a?b"),
            (("check", "--root", "/nonexistent"), 78, "autopilot record"),
            (("check", "--config", "/nonexistent.yaml"), 78, "/nonexistent.yaml"),
            (("inject", "xid", "--for", "soon"), 64, "expected a duration"),
            (("events", "--since", "soon"), 64, "--since"),
            (("agent", "--listen", "3333"), 64, "such as 127.0.0.1:3333 or [::1]:3333, or \"\", not '3333'"),
            (("status", "--socket", "/nonexistent"), 70, "autopilot agent"),
            (("explain", "nonsense"), 64, "nonsense"),
            (("explain", "xid", "79", "--frobnicate"), 64, "--frobnicate"),
            (("explain", "sxid", "many"), 64, "expected a number such as 20034, not 'many'"),
            (("decode", "/nonexistent"), 64, "/nonexistent"),
        ):
            with self.subTest(arguments):
                answer = autopilot(*arguments)
                self.assertEqual(answer.returncode, code, answer.stderr)
                self.assertIn(words, answer.stderr)
                self.assertEqual(answer.stdout, "")

    def test_an_error_does_not_repeat_all_that_it_was_given(self):
        answer = autopilot("explain", "x" * 100_000)
        self.assertEqual(answer.returncode, 64)
        self.assertLess(len(answer.stderr), 3000)
        self.assertIn("a whole log line in quotes", answer.stderr)

    def test_output_that_is_lost_is_an_error(self):
        for arguments in (("explain", "gpu.xid"), ("check", "--list"), ("version",), ("--help",)):
            for redirection in (">/dev/full", ">&-"):
                with self.subTest(arguments, redirection=redirection):
                    done = subprocess.run(["sh", "-c", f'"$0" "$@" {redirection}', harness.AUTOPILOT, *arguments],
                                          capture_output=True, text=True, timeout=60, check=False)
                    self.assertEqual(done.returncode, 70)
                    self.assertIn("could not be written", done.stderr)

    def test_what_a_killed_simulation_left_is_removed_by_the_next_one(self):
        with tempfile.TemporaryDirectory(prefix="autopilot-test-") as folder:
            killed, fresh = (os.path.join(folder, f"autopilot-sim-{name}") for name in ("killed", "fresh"))
            for path in (killed, fresh):
                os.makedirs(os.path.join(path, "machine"))
            os.utime(killed, (0, 0))
            answer = autopilot("check", "host.clock", "--simulate", "no-gpu", "--window", "0s", TMPDIR=folder)
            self.assertEqual(answer.returncode, 0, answer.stderr)
            self.assertEqual(os.listdir(folder), ["autopilot-sim-fresh"])

    def test_a_folder_for_temporary_files_that_does_not_exist_is_named(self):
        answer = autopilot("check", "--simulate", "no-gpu", TMPDIR="/nonexistent")
        self.assertEqual(answer.returncode, 70)
        self.assertIn("TMPDIR: No such file or directory", answer.stderr)

    def test_a_pipe_in_a_machine_tree_is_not_waited_for(self):
        with tempfile.TemporaryDirectory(prefix="autopilot-test-") as folder:
            tree = os.path.join(folder, "tree")
            subprocess.run([harness.AUTOPILOT_SIM, "create", "no-gpu", "--out", tree], check=True,
                           stdout=subprocess.DEVNULL)
            for name, code in (("kmsg.jsonl", 3), ("machine.yaml", 78)):
                with self.subTest(name):
                    os.remove(os.path.join(tree, name))
                    os.mkfifo(os.path.join(tree, name))
                    answer = autopilot("check", "host.lockups", "--root", tree, "--window", "0s", "--no-agent")
                    self.assertEqual(answer.returncode, code, answer.stderr)
                    self.assertIn("not a regular file", " ".join((answer.stdout + answer.stderr).split()))

    def test_errors_of_the_drivers_are_explained_by_their_codes(self):
        for words, expected in (
            (("xid", "79"), "Xid 79: "),
            (("sxid", "20034"), "SXid 20034: "),
            (("sxid", "99999999"), "not in the catalog"),
            (("xid", "4294967295"), "Xid 4294967295: not in the catalog"),
        ):
            with self.subTest(words):
                answer = autopilot("explain", *words)
                self.assertEqual(answer.returncode, 0, answer.stderr)
                self.assertIn(expected, answer.stdout)

    def test_a_line_of_the_log_is_explained_to_its_end(self):
        answer = autopilot("explain", "[ 1.234567] watchdog: BUG: soft lockup - CPU#7 stuck for 22s! [kworker/7:1:4242]")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        for label in ("cpu_stuck: ", "What ", "Confidence ", "Do now ", "Clears ", "May be wrong if "):
            self.assertIn("\n" + label, answer.stdout)

    def test_the_version_is_json_too(self):
        version = json.loads(autopilot("version", "-o", "json").stdout)
        self.assertIn(f"autopilot {version['version']} ({version['commit']}, {version['compiler']}", autopilot("version").stdout)

    def test_a_wrong_configuration_is_refused_with_its_line(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("node: a\nperiodd: 1\n")
            file.flush()
            answer = autopilot("check", "--config", file.name)
            self.assertEqual(answer.returncode, 78)
            self.assertIn(f"{file.name}:2", answer.stderr)
            self.assertIn("periodd", answer.stderr)

    def test_every_verb_explains_itself_with_examples_in_80_columns(self):
        overview = autopilot("--help").stdout
        for verb in ("check", "status", "snapshot", "events", "explain", "ack", "agent", "inject", "record", "replay", "decode",
                     "report"):
            with self.subTest(verb):
                self.assertIn(f"  {verb} ", overview)
                answer = autopilot(verb, "--help")
                self.assertEqual(answer.returncode, 0)
                self.assertIn("autopilot " + verb, answer.stdout.split("Example", 1)[1])
                self.assertEqual(answer.stdout.count("Exit status: 0 "), 1)

    def test_exit_codes_are_those_of_the_table(self):
        page = open(os.path.join(os.path.dirname(__file__), "../../docs/reference/exit-codes.md"), encoding="utf-8").read()
        for verb in ("check", "status", "why", "ack", "test", "jobs show", "slurm prolog", "learn adopt", "history import", "validations"):
            with self.subTest(verb):
                listed = page.split(f"| `autopilot {verb}` | ", 1)[1].split(" |", 1)[0]
                text = autopilot(*verb.split(), "--help").stdout
                self.assertIn("Exit status: " + listed, " ".join(text.split()))

    def test_the_list_of_checks_fits_the_terminal_and_is_json_too(self):
        table = autopilot("check", "--list").stdout
        self.assertIn("gpu.xid", table)
        self.assertIn("CAP_SYSLOG", table)
        self.assertTrue(all(len(line) <= 80 for line in table.splitlines()), table)
        items = json.loads(autopilot("check", "--list", "-o", "json").stdout)["items"]
        self.assertEqual([item["check"] for item in items],
                         [line.split()[0] for line in table.split("\n\n")[0].splitlines()[1:] if line[0] != " "])


if __name__ == "__main__":
    unittest.main()

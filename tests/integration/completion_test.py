# SPDX-License-Identifier: Apache-2.0
"""The completion scripts in the shells themselves."""

import os
import pty
import select
import subprocess
import time
import unittest

import harness

BASH = """
source <(autopilot completion bash)
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_autopilot
printf '%s\\n' "${COMPREPLY[@]}"
"""
# No agent of this machine may answer.
ENVIRONMENT = {**os.environ, "PATH": os.path.abspath(harness.BIN) + ":" + os.environ["PATH"], "AUTOPILOT_SOCKET": "/nonexistent/agent.sock"}
CASES = (
    (("dec",), ["decode"]),
    (("dri",), ["drift"]),
    (("config", "ch"), ["check"]),
    (("demo", "nv"), ["nvlink"]),
    (("check", "gpu.row"), ["gpu.row_remap"]),
    (("check", "--stri"), ["--strict"]),
    (("replay", "--ev"), ["--events"]),
    (("check", "-o", "y"), ["yaml"]),
    (("history", "export", "-o", ""), ["jsonl", "csv"]),
    (("history", "export", "--node", "n1", "--output", "c"), ["csv"]),
    (("history", "status", "-o", ""), ["table", "json", "yaml"]),
    (("learn", "evaluate", "-o", ""), ["table", "json"]),
    (("decode", "-o", ""), ["table", "json"]),
    (("nodes", "history", "n1", "--type", "fau"), ["fault"]),
    (("check", "--tag", "stor"), ["storage"]),
    (("check", "--simulate", "hgx-h"), ["hgx-h100-8"]),
    (("inject", "row_remap_p"), ["row_remap_pending"]),
    (("explain", "host.clock.o"), ["host.clock.offset"]),
    (("explain", "xid79"), ["xid79"]),
    (("explain", "EVI"), ["EVICT"]),
    (("events", "--reason", "row_remap_fail"), ["row_remap_failed"]),
    (("events", "--kind", "incident_o"), ["incident_opened"]),
    (("test", "gpu.sd"), ["gpu.sdc"]),
    (("completion", "z"), ["zsh"]),
    (("slurm", "pro"), ["prolog"]),
    (("nodes", "lem"), ["lemons"]),
    (("report", "--gpu"), ["--gpu-hour-price"]),
    (("report", "-o", "h"), ["html"]),
    (("ack", ""), ["--help", "-h", "--reason", "-r", "--output", "-o", "--socket"]),
    (("help",), []),
)


def complete(*words, environment=None):
    done = subprocess.run([harness.need_program("bash"), "-c", BASH, "bash", "autopilot", *words], env=environment or ENVIRONMENT,
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.split()


def typed_in_zsh(text, expected):
    """What a terminal shows after `text` and Tab, once it contains `expected`."""
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe("zsh", ["zsh", "-f", "-i"], {**ENVIRONMENT, "TERM": "dumb", "PS1": "> "})
    shown = ""

    def read_until(wanted):
        nonlocal shown
        end = time.monotonic() + 30
        while wanted not in shown:
            if not select.select([terminal], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"{wanted!r} is not shown: {shown!r}")
            shown += os.read(terminal, 4096).decode(errors="replace")

    try:
        os.write(terminal, b"autoload -Uz compinit && compinit -D -u; source <(autopilot completion zsh); echo rea''dy\n")
        read_until("ready\r\n")
        shown = ""
        os.write(terminal, f"{text}\t".encode())
        read_until(expected)
        return shown
    finally:
        os.close(terminal)
        os.waitpid(child, 0)


class CompletionTest(unittest.TestCase):
    def test_what_may_stand_there_is_offered(self):
        for words, expected in CASES:
            with self.subTest(words):
                self.assertEqual(complete(*words), expected)

    def test_bash_breaks_words_and_they_are_completed(self):
        self.assertEqual(complete("check", "--output", "=", "j"), ["json"])
        self.assertEqual(complete("check", "--output", "="), ["table", "json", "yaml"])

    def test_files_are_offered_where_they_fit(self):
        self.assertIn("/dev/null", complete("decode", "/dev/nul"))
        self.assertIn("/dev/null", complete("check", "--config", "/dev/nul"))

    def test_without_an_agent_the_answer_is_quick_and_silent(self):
        for words in (("ack", ""), ("explain", "gpu."), ("jobs", "why", "")):
            begin = time.monotonic()
            done = subprocess.run([harness.AUTOPILOT, "__complete", "zsh", *words], env=ENVIRONMENT, capture_output=True, text=True,
                                  timeout=60, check=False)
            taken = time.monotonic() - begin
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            if not harness.is_sanitized(harness.AUTOPILOT):
                self.assertLess(taken, 3.0, "a person waits for it; 0.3 s on an idle machine")

    def test_incidents_and_diagnostics_come_from_the_agent(self):
        with harness.Agent("--simulate", "hgx-h100-8") as agent:
            agent.wait_ready()
            harness.run("inject", "row_remap_failed", "--subject", "gpu/2", "--socket", agent.socket)
            harness.wait_until(lambda: agent.node()["incidents"], "there is an incident")
            incident = agent.node()["incidents"][0]["id"]
            environment = {**ENVIRONMENT, "AUTOPILOT_SOCKET": agent.socket}
            # An agent on a busy machine may answer later than completion waits.
            for words, offered in ((("ack", ""), incident), (("explain", incident[:5]), incident), (("test", "gpu."), "gpu.sdc")):
                harness.wait_until(lambda words=words, offered=offered: offered in complete(*words, environment=environment), f"{offered} is offered")

    def test_zsh_completes_with_the_script(self):
        harness.need_program("zsh")
        self.assertIn("gpu.row_remap", typed_in_zsh("autopilot check gpu.row", "gpu.row_remap"))
        shown = typed_in_zsh("autopilot events --kind incident_", "incident_opened")
        self.assertIn("incident_closed", shown)

    def test_zsh_takes_the_script(self):
        done = subprocess.run([harness.need_program("zsh"), "-f", "-c",
                               "source <(autopilot completion zsh) && print -r -- ${_comps[autopilot]}"],
                              env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("autopilot", done.stdout)

    def test_fish_completes_with_the_script(self):
        fish = harness.need_program("fish")
        for line, expected in (("autopilot check gpu.row", "gpu.row_remap"), ("autopilot check -o y", "yaml"),
                               ("autopilot explain xid79", "xid79"), ("autopilot decode /dev/nul", "/dev/null")):
            with self.subTest(line):
                done = subprocess.run([fish, "--no-config", "-c", f"autopilot completion fish | source; complete -C '{line}'"], env=ENVIRONMENT,
                                      capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual([one.split("\t")[0] for one in done.stdout.splitlines()], [expected])


if __name__ == "__main__":
    unittest.main(verbosity=2)

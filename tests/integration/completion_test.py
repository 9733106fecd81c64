# SPDX-License-Identifier: Apache-2.0
"""The completion scripts in the shells themselves."""

import os
import subprocess
import unittest

import harness

BASH = """
source <(autopilot completion bash)
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_autopilot
printf '%s\\n' "${COMPREPLY[@]}"
"""
ENVIRONMENT = {**os.environ, "PATH": os.path.abspath(harness.BIN) + ":" + os.environ["PATH"]}


def complete(*words):
    done = subprocess.run([harness.need_program("bash"), "-c", BASH, "bash", "autopilot", *words], env=ENVIRONMENT,
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.split()


class CompletionTest(unittest.TestCase):
    def test_what_may_stand_there_is_offered(self):
        for words, expected in (
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
            (("explain", "host.clo"), ["host.clock"]),
            (("completion", "z"), ["zsh"]),
            (("slurm", "pro"), ["prolog"]),
            (("nodes", "lem"), ["lemons"]),
            (("report", "--gpu"), ["--gpu-hour-price"]),
            (("report", "-o", "h"), ["html"]),
            (("helper",), []),
        ):
            with self.subTest(words):
                self.assertEqual(complete(*words), expected)

    def test_zsh_takes_the_script(self):
        done = subprocess.run([harness.need_program("zsh"), "-f", "-c",
                               "source <(autopilot completion zsh) && print -r -- ${_comps[autopilot]}"],
                              env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("autopilot", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)

# SPDX-License-Identifier: Apache-2.0
"""A test that wants namespaces of its own: it runs itself again inside them."""

import os
import shutil
import subprocess
import sys

SKIPPED = 77
INSIDE = "AUTOPILOT_TEST_INSIDE"


def enter(namespaces, programs, trial):
    """Returns inside `namespaces` (options of unshare). Ends the test as skipped where one of `programs` is missing or
    `trial`, a command that uses what the test needs, fails inside them."""
    if INSIDE in os.environ:
        return
    command = ["unshare", *namespaces, *([] if os.geteuid() == 0 else ["--map-root-user"])]
    for program in ("unshare", *programs):
        if shutil.which(program) is None:
            _skip(f"{program} is not installed")
    tried = subprocess.run([*command, *trial], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        _skip(f"no namespaces as this test needs them can be made here: {tried.stderr.strip()}")
    os.execvpe(command[0], [*command, sys.executable, *sys.orig_argv[1:]], {**os.environ, INSIDE: "yes"})


def _skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)

# SPDX-License-Identifier: Apache-2.0
"""Packages of requirements.txt for the tests that need more than the standard library."""

import os
import subprocess
import sys

# ctest shows a program that ends with this as skipped.
SKIPPED = 77
HERE = os.path.dirname(os.path.abspath(__file__))


def use():
    """Runs the calling program again with the Python that has the packages; skips it where that cannot be made."""
    made = subprocess.run([os.path.join(HERE, "venv.sh"), sys.executable], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        reason = (made.stderr.strip().splitlines() or ["no reason given"])[-1]
        print(f"skipped: the packages of requirements.txt cannot be installed: {reason}")
        sys.exit(SKIPPED)
    python = made.stdout.strip()
    # Not realpath: the Python of a virtual environment is a link to the system's Python.
    if os.path.abspath(sys.executable) != python:
        os.execv(python, [python, *sys.orig_argv[1:]])

# SPDX-License-Identifier: Apache-2.0
"""Go programs that tests build from their modules: servers of other projects."""

import fcntl
import os
import subprocess
import unittest

import harness

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "../../build/go")
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "autopilot", "go")


def build(name):
    """The path of the program whose module is the folder `name`. Skips where Go or its modules cannot be had; safe to
    run by many at once."""
    go = harness.need_program("go")
    folder = os.path.abspath(FOLDER)
    os.makedirs(folder, exist_ok=True)
    os.makedirs(CACHE, exist_ok=True)
    # A go that is too old reports this and loads no other; its downloads can be removed with the folder.
    environment = dict(os.environ, GOTOOLCHAIN="local", GOPATH=CACHE, GOMODCACHE=os.path.join(CACHE, "modules"),
                       GOCACHE=os.path.join(CACHE, "cache"), GOFLAGS="-mod=readonly -modcacherw", GOWORK="off",
                       CGO_ENABLED="0")
    program = os.path.join(folder, name)
    with open(program + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        run = {"cwd": os.path.join(HERE, name), "env": environment, "capture_output": True, "text": True, "check": False}
        modules = subprocess.run([go, "mod", "download"], **run)
        if modules.returncode != 0:
            reason = (modules.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise unittest.SkipTest(f"the modules of {name}/go.mod cannot be had: {reason}")
        built = subprocess.run([go, "build", "-trimpath", "-o", program, "."], **run)
        if built.returncode != 0:
            raise AssertionError(f"{name} does not build:\n{built.stderr}")
    return program

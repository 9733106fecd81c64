#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the commands of a new contributor: processor and wall time of make run, make test and make check, from a clone of this
commit with empty caches.

  build_bench.py [run] [test] [check]      without a name: all
  BENCH_RECORD=1                           writes the table into docs/benchmarks/
"""

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from table import ROOT, Table, record

COMMAND = "make bench-build"
TITLE = "From a clone to running: the build"
PARTS = ("run", "test", "check")
SERVING = "run: serving until a signal"
ALL_OTHERS = "[ 2/2]"
TOUCHED = "src/checks/gpu/row_remap.cpp"


def used():
    """Seconds of a processor that ended children took, with their own."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Clone:
    """A clone of this commit, with caches of its own that begin empty."""

    def __init__(self, base: Path, name: str):
        self.folder = base / name / "autopilot"
        caches = base / name / "caches"
        self._environment = {**os.environ, "XDG_CACHE_HOME": str(caches), "CCACHE_DIR": str(caches / "ccache")}
        subprocess.run(["git", "clone", "--quiet", ROOT, self.folder], check=True)

    def make(self, *arguments: str, until: str = "", ended: bool = True) -> tuple[float, float, bool]:
        """Processor minutes, minutes of wall time until the line `until` or the end, and success. With `ended`, the command is
        interrupted after that line."""
        processor, wall = used(), time.monotonic()
        with subprocess.Popen(["make", *arguments], cwd=self.folder, env=self._environment, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True) as child:
            said = False
            for line in child.stdout:
                print(f"      {line}", end="", flush=True)
                if until and until in line and not said:
                    said = True
                    wall = time.monotonic() - wall
                    if ended:
                        os.killpg(child.pid, signal.SIGINT)
        if not said:
            wall = time.monotonic() - wall
        return (used() - processor) / 60, wall / 60, said if until and ended else child.returncode == 0


def add(table, what, result, most_processor, most_wall):
    processor, wall, succeeded = result
    note = "" if succeeded else "it FAILED"
    if most_processor:
        table.add(f"{what}: processor", processor, "min", most_processor, note)
    table.add(f"{what}: wall", wall, "min", most_wall, note)


def add_run_row(table, base):
    add(table, "make run, from a clone to the table", Clone(base, "run").make("run", until=SERVING), 18, 11)


def add_test_rows(table, base):
    clone = Clone(base, "test")
    add(table, "make test, with empty caches", clone.make("test"), 70, 40)
    add(table, "make test, again", clone.make("test"), None, 10)


def add_check_rows(table, base):
    clone = Clone(base, "check")
    processor, wall, succeeded = clone.make("check")
    table.add("make check, with empty caches: processor", processor, "min", note="" if succeeded else "it FAILED")
    table.add("make check, with empty caches: wall", wall, "min")
    source = clone.folder / TOUCHED
    source.write_text(source.read_text() + "// touched\n")
    processor, wall, succeeded = clone.make("check", until=ALL_OTHERS, ended=False)
    note = "until the unit tests of checks and the golden cases passed; then those of all that links them run"
    table.add("make check, one check changed: wall", wall * 60, "s", 15, note if succeeded else "it FAILED")


def main():
    parts = sys.argv[1:] or PARTS
    if unknown := set(parts) - set(PARTS):
        sys.exit(f"build_bench: unknown part {', '.join(sorted(unknown))}: {', '.join(PARTS)} exist")
    table = Table()
    rows = {"run": add_run_row, "test": add_test_rows, "check": add_check_rows}
    with tempfile.TemporaryDirectory(prefix="autopilot-build-") as base:
        for part in parts:
            rows[part](table, Path(base))
    print()
    print(table.text(COMMAND))
    if os.environ.get("BENCH_RECORD", "") not in ("", "0"):
        print(f"written: {record(table, TITLE, COMMAND, '-build')}")


if __name__ == "__main__":
    main()

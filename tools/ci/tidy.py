# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy-16 on many files at once, within a time budget."""

import json
import re
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import changes
from stage import ROOT, Outcome, Run, configure, skip
from tidy_cache import TidyCache, default_folder

LIMIT_PER_FILE = 600  # processor seconds, because other stages share the processors
ERROR = re.compile(r"^(\S+?):\d+:\d+: error: .*\[([^\[\]]+)\]$", re.MULTILINE)
# The analyzer of clang 16 does not know that a coroutine runs in a frame that asio has initialised: if a function awaits before
# its first call, the analyzer reports a member of that frame, in asio's own header, as uninitialised. We cannot put a NOLINT
# there, and core checks cannot be disabled for a folder.
UNTRUE = ("/boost/asio/impl/awaitable.hpp", "clang-analyzer-core.CallAndMessage,-warnings-as-errors")


def _sources_of(files: list[Path], compiled: set[Path]) -> list[Path]:
    """Sources to check: changed sources, and for a header the source of its name; other headers are checked with their includers."""
    wanted = []
    for path in files:
        source = path.with_suffix(".cpp") if path.suffix in (".hpp", ".h") else path
        if source in compiled and source not in wanted:
            wanted.append(source)
    return wanted


def _compiled(build: Path) -> set[Path]:
    entries = json.loads((build / "compile_commands.json").read_text())
    paths = {Path(entry["file"]) for entry in entries}
    return {path.relative_to(ROOT) for path in paths if path.is_relative_to(ROOT) and not path.is_relative_to(build)}


def _options(source: Path, analyse: bool) -> list[str]:
    # The path-sensitive analyzer takes two thirds of the time. A test may read an optional unchecked: it crashes here, and not on
    # a user's machine.
    if source.stem.endswith("_test"):
        return ["--checks=-clang-analyzer-*,-bugprone-unchecked-optional-access"]
    return [] if analyse else ["--checks=-clang-analyzer-*"]


def _check(run: Run, build: Path, cache: TidyCache, source: Path, deadline: float, analyse: bool) -> str:
    """ok, known (clean in an earlier run), failed or late."""
    options = _options(source, analyse)
    mark = cache.mark_of(ROOT / source, options)
    if mark and mark.exists():
        mark.touch()
        return "known"
    if time.monotonic() > deadline:
        return "late"
    child = run.start(["prlimit", f"--cpu={LIMIT_PER_FILE}", "clang-tidy-16", "--quiet", "-p", build, *options, source],
                      text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said, complaint = child.communicate()
    if child.returncode in (-signal.SIGKILL, -signal.SIGXCPU):
        run.write(f"{source}: killed, at the latest after {LIMIT_PER_FILE} s of a processor")
        return "failed"
    if child.returncode < 0:
        # clang-tidy crashes on some functions in some checks; its output names both.
        run.write(f"{source}: clang-tidy crashed ({signal.Signals(-child.returncode).name})")
    errors = ERROR.findall(said)
    is_untrue = bool(errors) and all(path.endswith(UNTRUE[0]) and check == UNTRUE[1] for path, check in errors)
    if child.returncode == 0 or (child.returncode == 1 and is_untrue):
        if mark:
            mark.touch()
        return "ok"
    run.write(f"{source}:\n{said}{complaint}")
    return "failed"


def tidy(run: Run, whole_tree: bool) -> Outcome:
    build = ROOT / "build" / "tidy"
    # Some sources include generated headers; only their text is needed, not their objects.
    if not configure(run, "tidy"):
        return Outcome(failed=1, notes=["cmake could not configure"])
    files, compared = (changes.all_files(), "all files") if whole_tree else changes.changed_files()
    sources = _sources_of(files, _compiled(build))
    if not sources:
        return skip(f"no compiled file changed (compared with {compared})")
    budget = run.options.tidy_seconds
    deadline = min(time.monotonic() + budget if budget else float("inf"), run.options.deadline)
    cache = TidyCache(build, ROOT, default_folder())
    with ThreadPoolExecutor(run.options.jobs) as pool:
        results = list(pool.map(lambda source: _check(run, build, cache, source, deadline, whole_tree), sources))
    known = results.count("known")
    outcome = Outcome(passed=results.count("ok") + known, failed=results.count("failed"), skipped=results.count("late"))
    outcome.notes.append(f"{len(sources)} files, compared with {compared}; listed in {run.log.relative_to(ROOT)}")
    if known:
        outcome.notes.append(f"{known} of them found clean earlier and unchanged since")
    for source, result in zip(sources, results):
        run.write(f"{result} {source}")
        if result == "failed":
            outcome.notes.append(f"failed: {source}")
    late = [str(source) for source, result in zip(sources, results) if result == "late"]
    if late:
        outcome.notes.append(f"skipped: {len(late)} files after the budget of {budget} s (make verify checks all): "
                             + ", ".join(late[:5]) + (", ..." if len(late) > 5 else ""))
    return outcome

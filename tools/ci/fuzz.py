# SPDX-License-Identifier: Apache-2.0
"""Builds autopilot_fuzz and runs its targets: tests/fuzz/x_fuzz.cpp with the seeds of tests/fuzz/corpus/x_fuzz."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable

from stage import NO_TIME, ROOT, Outcome, OutOfTime, Run, skip

PROGRAM = ROOT / "build" / "asan" / "bin" / "autopilot_fuzz"
SECONDS_OF_SEEDS = 120  # libFuzzer ends an input that takes 10 s


def targets() -> list[str]:
    return sorted(path.stem for path in (ROOT / "tests" / "fuzz").glob("*_fuzz.cpp"))


def _seeds(target: str) -> list[Path]:
    """Folder of the target's seeds. Not every target has one."""
    folder = ROOT / "tests" / "fuzz" / "corpus" / target
    return [folder] if folder.is_dir() else []


def _run_one(run: Run, target: str, words: list, timeout: int, note: Callable[[str], str]) -> Outcome:
    found = run.folder / "found" / target
    found.mkdir(parents=True, exist_ok=True)
    single = Run(f"{run.name}-{target}", run.options, run.beside)
    single.log.write_text("")
    argv = [PROGRAM, target, "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1", f"-artifact_prefix={found}/", *words]
    try:
        status = single.command(argv, timeout, {"ASAN_SYMBOLIZER_PATH": "/usr/bin/llvm-symbolizer-16"})
    except OutOfTime:  # results of the other targets still count
        return skip(f"{target}: {NO_TIME}")
    log = single.log.read_text(errors="replace")
    if status == 0:
        executed = re.search(r"stat::number_of_executed_units:\s+(\d+)", log)
        return Outcome(passed=1, notes=[f"{target}: {note(f'{int(executed.group(1)) if executed else 0:,} inputs')}"])
    run.write(f"---- {target} ----\n" + "\n".join(log.splitlines()[-60:]))
    return Outcome(failed=1, notes=[f"failed: {target}: see {single.log.relative_to(ROOT)}, input in {found.relative_to(ROOT)}"])


def _fuzz_one(run: Run, target: str) -> Outcome:
    seconds = run.options.fuzz_seconds
    grown = ROOT / "build" / "asan" / "corpus" / target
    grown.mkdir(parents=True, exist_ok=True)
    words = [f"-max_total_time={seconds}", grown, *_seeds(target)]
    return _run_one(run, target, words, seconds + 120, lambda inputs: f"{inputs} in {seconds} s")


def _replay_one(run: Run, target: str) -> Outcome:
    return _run_one(run, target, ["-runs=0", *_seeds(target)], SECONDS_OF_SEEDS, lambda inputs: inputs)


def _all(run: Run, each: Callable[[Run, str], Outcome]) -> Outcome:
    names = targets()
    if not names:
        return skip("no fuzz target in tests/fuzz")
    if run.command(["cmake", "--preset", "asan"], 300) != 0:
        return Outcome(failed=1, notes=["cmake could not configure"])
    build = ["cmake", "--build", "--preset", "asan", "-j", run.options.jobs, "--target", PROGRAM.name]
    if run.command(build, 2400) != 0:
        return Outcome(failed=1, notes=[f"{PROGRAM.name} does not build"])
    total = Outcome()
    with ThreadPoolExecutor(run.options.jobs) as pool:
        for outcome in pool.map(lambda name: each(run, name), names):
            total.add(outcome)
    return total


def fuzz(run: Run) -> Outcome:
    """Searches for new inputs for a while, starting from the seeds and the inputs of earlier runs."""
    return _all(run, _fuzz_one)


def replay(run: Run) -> Outcome:
    """Runs each seed once, so that fixed bugs stay fixed."""
    return _all(run, _replay_one)

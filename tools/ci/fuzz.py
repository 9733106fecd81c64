# SPDX-License-Identifier: Apache-2.0
"""Builds and runs every fuzz target: tests/fuzz/x_fuzz.cpp with the seeds of tests/fuzz/corpus/x_fuzz."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from stage import NO_TIME, ROOT, Outcome, OutOfTime, Run, skip


def targets() -> list[str]:
    return sorted(path.stem for path in (ROOT / "tests" / "fuzz").glob("*_fuzz.cpp"))


def _run_one(run: Run, target: str) -> Outcome:
    seconds = run.options.fuzz_seconds
    found = run.folder / "found" / target
    grown = ROOT / "build" / "asan" / "corpus" / target
    seeds = ROOT / "tests" / "fuzz" / "corpus" / target
    for folder in (found, grown):
        folder.mkdir(parents=True, exist_ok=True)
    single = Run(f"{run.name}-{target}", run.options)
    single.log.write_text("")
    argv = [ROOT / "build" / "asan" / "bin" / target, f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048",
            "-print_final_stats=1", f"-artifact_prefix={found}/", grown] + ([seeds] if seeds.is_dir() else [])
    try:
        status = single.command(argv, seconds + 120, {"ASAN_SYMBOLIZER_PATH": "/usr/bin/llvm-symbolizer-16"})
    except OutOfTime:  # what another target found counts
        return skip(f"{target}: {NO_TIME}")
    log = single.log.read_text(errors="replace")
    executed = re.search(r"stat::number_of_executed_units:\s+(\d+)", log)
    if status == 0:
        return Outcome(passed=1, notes=[f"{target}: {int(executed.group(1)) if executed else 0:,} inputs in {seconds} s"])
    run.write(f"---- {target} ----\n" + "\n".join(log.splitlines()[-60:]))
    return Outcome(failed=1, notes=[f"failed: {target}: see {single.log.relative_to(ROOT)}, input in {found.relative_to(ROOT)}"])


def fuzz(run: Run) -> Outcome:
    names = targets()
    if not names:
        return skip("no fuzz target in tests/fuzz")
    if run.command(["cmake", "--preset", "asan"], 300) != 0:
        return Outcome(failed=1, notes=["cmake could not configure"])
    build = ["cmake", "--build", "--preset", "asan", "-j", run.options.jobs, "--target", *names]
    if run.command(build, 2400) != 0:
        return Outcome(failed=1, notes=["a fuzz target does not build"])
    total = Outcome()
    with ThreadPoolExecutor(run.options.jobs) as pool:
        for outcome in pool.map(lambda name: _run_one(run, name), names):
            total.add(outcome)
    return total

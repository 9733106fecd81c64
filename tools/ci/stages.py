# SPDX-License-Identifier: Apache-2.0
"""The stages of each command of the Makefile."""

import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import arm64
import changes
import fuzz
import junit
import tidy
from stage import LOGS, ROOT, Outcome, OutOfTime, Run, Stage, configure, one, skip

BUILD_LIMIT = 3000
TEST_LIMIT = 6000  # all tests in a cluster take more than an hour
SIMULATED_CLUSTERS = 2000
DAMAGED_JOURNALS = 10000
# Slots per processor for tests: a test that starts programs and waits takes one slot, a test that computes two
# (AUTOPILOT_PLACES_OF_WORK in cmake/Targets.cmake). Integration tests of the release mostly wait.
PLACES = 2
PLACES_OF_WAITING = 4
CANNOT_RUN = 77
# ctest names of the programs with threads; the others have one thread and are covered by ASan.
THREADED = ("runtime", "net", "store", "kube", "host", "diagnostics", "nettest", "preflight", "report", "compat", "agent", "catalog")

FAILED_TEST = re.compile(r"\*\*\*(Failed|Timeout|Exception)")  # as ctest prints it

SANITIZER_ENV = {
    "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
    "ASAN_SYMBOLIZER_PATH": "/usr/bin/llvm-symbolizer-16",
    "TSAN_SYMBOLIZER_PATH": "/usr/bin/llvm-symbolizer-16",
}


def _build(run: Run, preset: str, targets: list[str] | None = None) -> Outcome:
    if not configure(run, preset):
        return one(False, "cmake could not configure")
    argv = ["cmake", "--build", "--preset", preset, "-j", run.options.jobs]
    return one(run.command(argv + (["--target", *targets] if targets else []), BUILD_LIMIT) == 0)


def _ctest(run: Run, preset: str, selection: list[str], wrapper: tuple[str, ...] = (), places: int = PLACES) -> Outcome:
    reports = run.folder / "googletest"
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir(parents=True)
    report = run.folder / "ctest.xml"
    report.unlink(missing_ok=True)
    argv = [*wrapper, "ctest", "--test-dir", f"build/{preset}", "-j", run.options.jobs * places, "--output-on-failure",
            "--no-tests=ignore", "--test-output-size-passed", "1000000", "--test-output-size-failed", "1000000",
            "--output-junit", report, *selection]
    try:
        status = run.command(argv, TEST_LIMIT, {**SANITIZER_ENV, "GTEST_OUTPUT": f"xml:{reports}/"})
    except OutOfTime:
        if FAILED_TEST.search(run.log.read_text(errors="replace")):
            return one(False, "a test failed before the time was over")
        raise
    if not report.exists():
        return one(False, f"ctest ended with {status} and wrote no report")
    outcome = junit.count(report, reports)
    if status != 0 and outcome.failed == 0:
        outcome.add(one(False, f"ctest ended with {status}"))
    return outcome


def _built_tests(preset: str, target: str, *labels: str):
    """Builds the target and runs the tests with one of the labels."""
    def run_stage(run: Run) -> Outcome:
        built = _build(run, preset, [target])
        if built.failed:
            return built
        waits = labels == ("integration",) and "asan" not in preset
        built.add(_ctest(run, preset, ["-L", f"^({'|'.join(labels)})$"], places=PLACES_OF_WAITING if waits else PLACES))
        return built
    return run_stage


def _unit(preset: str, title: str) -> Stage:
    return Stage(f"{preset}-unit", f"{title}: unit and golden tests", _built_tests(preset, "unit_tests", "unit", "golden"))


def _integration(preset: str, title: str) -> Stage:
    return Stage(f"{preset}-integration", f"{title}: integration tests", _built_tests(preset, "integration_tests", "integration"))


def _beside_integration(stage: Stage) -> Stage:
    return replace(stage, beside="release-integration")


def _simulations(preset: str, title: str) -> Stage:
    """These tests compute all the time: beside integration tests they would disturb tests that measure delays."""
    return Stage(f"{preset}-simulations", f"{title}: simulations", _built_tests(preset, "integration_tests", "simulation"))


def _stale_tests(run: Run, targets: list[str], nearest: list[str] | None = None) -> Outcome:
    """Builds the targets of dev and runs the unit and golden tests, or those in `nearest`, whose program or data has changed since
    they passed."""
    built = _build(run, "dev", targets)
    if built.failed:
        return built
    marks = LOGS / "check-passed"
    marks.mkdir(parents=True, exist_ok=True)
    stale = {test: mark for test, mark in changes.marks_of_tests("dev", ("unit", "golden")).items() if (nearest is None or test in nearest) and
             not ((marks / test).exists() and (marks / test).read_text() == mark)}
    if not stale:
        built.notes.append("nothing changed since these tests passed")
        return built
    outcome = _ctest(run, "dev", ["-R", f"^({'|'.join(stale)})$"])
    for test in outcome.programs:
        (marks / test).write_text(stale[test])
    built.add(outcome)
    return built


def _nearest_tests(run: Run) -> Outcome:
    if not configure(run, "dev"):
        return one(False, "cmake could not configure")
    there = changes.marks_of_tests("dev", ("unit", "golden"))
    nearest = [test for test in changes.nearest_tests() if test in there]
    cases = changes.nearest_golden_cases()
    if not nearest and not cases:
        return skip("no file of a folder with tests changed")
    outcome = _stale_tests(run, [f"autopilot_{test}_tests" for test in nearest] + ["autopilot_golden_tests"] * bool(cases), nearest)
    if cases and not outcome.failed:
        outcome.add(_changed_golden_cases(run, cases))
    outcome.notes.insert(0, "of " + ", ".join([*nearest, *(f"tests/golden/{case}" for case in cases)]))
    return outcome


def _changed_golden_cases(run: Run, cases: list[str]) -> Outcome:
    report = run.folder / "golden.xml"
    report.unlink(missing_ok=True)
    names = ":".join(f"{case}.*" for case in cases)
    status = run.command([ROOT / "build" / "dev" / "bin" / "autopilot_golden_tests", f"--gtest_filter={names}"], TEST_LIMIT,
                         {"GTEST_OUTPUT": f"xml:{report}"})
    outcome = junit.count_googletest(report) if report.exists() else Outcome()
    if status != 0 and not outcome.failed:
        outcome.add(one(False, f"the golden tests ended with {status}"))
    return outcome


def _simulate(program: str, seeds: int, what: str):
    """Runs many more seeds than the tests of the release."""
    def run_stage(run: Run) -> Outcome:
        built = _build(run, "release", [program])
        if built.failed:
            return built
        share = -(-seeds // run.options.jobs)

        def part(number: int) -> int:
            return run.command([ROOT / "build" / "release" / "bin" / program], TEST_LIMIT,
                               {"AUTOPILOT_SIMULATION_FIRST_SEED": str(1 + number * share), "AUTOPILOT_SIMULATION_SEEDS": str(share)})
        with ThreadPoolExecutor(run.options.jobs) as pool:
            failed = sum(status != 0 for status in pool.map(part, range(run.options.jobs)))
        return one(failed == 0, f"{share * run.options.jobs} {what}")
    return run_stage


def _kit(*arguments: str) -> list:
    return [sys.executable, "-B", ROOT / "tests" / "cluster" / "cluster.py", *arguments]


def _cluster_programs(run: Run) -> Outcome:
    status = run.command(_kit("build"), BUILD_LIMIT)
    return skip(junit.skip_reason(run.log.read_text())) if status == CANNOT_RUN else one(status == 0)


def _cluster(label: str):
    def run_stage(run: Run) -> Outcome:
        built = _build(run, "release", ["integration_tests"])
        if built.failed:
            return built
        try:
            return _ctest(run, "release", ["-L", f"^{label}$"])
        finally:
            # A killed ctest leaves its child processes behind.
            run.command(_kit("down"), 120)
    return run_stage


def _cluster_smoke(run: Run) -> Outcome:
    status = run.command(_kit("cached"), 60)
    if status == CANNOT_RUN:
        return skip(junit.skip_reason(run.log.read_text()))
    return _cluster("smoke")(run) if status == 0 else one(False, "the cache of Kubernetes cannot be read")


def _release_binaries(run: Run) -> Outcome:
    """Starts and installs the result of `make release-binaries` on other systems."""
    if run.command(["make", "release-binaries"], BUILD_LIMIT) != 0:
        return one(False, "make release-binaries failed")
    status = run.command([sys.executable, "-B", ROOT / "tests" / "release" / "run.py"], TEST_LIMIT)
    if status == CANNOT_RUN:
        return skip(junit.skip_reason(run.log.read_text()))
    outcome = junit.count_unittest("release", run.log.read_text())
    if status != 0 and outcome.failed == 0:
        outcome.add(one(False, f"tests/release/run.py ended with {status}"))
    return outcome


def _threads(run: Run) -> Outcome:
    targets = [f"autopilot_{name}_tests" for name in THREADED]
    built = _build(run, "tsan", ["programs", *targets])
    if built.failed:
        return built
    # TSan of clang 16 does not support the memory layout with many random address bits.
    fixed = ("setarch", "-R") if subprocess.run(["setarch", "-R", "true"], check=False).returncode == 0 else ()
    outcome = _ctest(run, "tsan", ["-R", f"^({'|'.join(THREADED)})$"], fixed)
    outcome.notes.insert(0, "of " + ", ".join(THREADED))
    built.add(outcome)
    return built


def _format(run: Run) -> Outcome:
    files = changes.all_files()
    status = run.command(["clang-format-16", "--dry-run", "--Werror", *files], 600)
    return one(status == 0, f"{len(files)} files" if status == 0 else "cure: make format")


def _lints(run: Run) -> Outcome:
    total = Outcome()
    folder = ROOT / "tools" / "lint"
    commands = {f"tests of {name}": [sys.executable, "-m", "unittest", "discover", "-s", ROOT / "tools" / name / "tests"]
                for name in ("ci", "lint")}
    commands |= {path.stem: [sys.executable, path] for path in sorted(folder.glob("*.py")) if path.stem != "tree"}
    scripts = sorted(path for path in _tracked() if path.suffix == ".sh" or path == Path(".ci/run"))
    commands["shellcheck"] = ["shellcheck", *scripts]
    for name, argv in commands.items():
        status = run.command(argv, 300)
        total.add(one(status == 0, "" if status == 0 else f"failed: {name}"))
    total.notes.insert(0, ", ".join(commands))
    return total


def _tracked() -> list[Path]:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, text=True, capture_output=True, check=True)
    return [Path(name) for name in done.stdout.splitlines() if (ROOT / name).exists()]


FORMAT = Stage("format", "clang-format-16 of all files", _format)
LINTS = Stage("lints", "lints", _lints)
# These stages run beside tests, which leave nearly half of the processor time: they wait for programs, for clocks and for
# Kubernetes. Only builds and lints run there, because tests would miss their deadlines.
TIDY_CHANGED = Stage("tidy", "clang-tidy-16 of changed files", lambda run: tidy.tidy(run, whole_tree=False))
TIDY_ALL = Stage("tidy", "clang-tidy-16 of all files", lambda run: tidy.tidy(run, whole_tree=True), beside="cluster")
RELEASE_BUILD = Stage("release-build", "release: build", lambda run: _build(run, "release", ["integration_tests"]))
ASAN_BUILD = _beside_integration(Stage("asan-build", "ASan+UBSan: build", lambda run: _build(run, "asan", ["unit_tests", fuzz.PROGRAM.name])))
FUZZ_REPLAY = Stage("fuzz-replay", "ASan+UBSan: every fuzz target over its corpus", fuzz.replay)
FUZZ = Stage("fuzz", "fuzzing", fuzz.fuzz)
CLUSTER_PROGRAMS = Stage("cluster-programs", "Kubernetes for the tests in a cluster: build", _cluster_programs)
CLUSTER = Stage("cluster", "release: all tests in a cluster", _cluster("cluster"))
CLUSTER_SMOKE = Stage("cluster-smoke", "release: the smoke test in a cluster", _cluster_smoke)
ARM64 = Stage("arm64", "release for arm64: build, and run on an emulator", arm64.arm64)
SIMULATION = Stage("simulation", "release: the planner in many simulated clusters",
                   _simulate("autopilot_controller_simulation_tests", SIMULATED_CLUSTERS, "clusters for thirty days"))
DAMAGE = Stage("damage", "release: agents whose journal is damaged",
               _simulate("autopilot_journal_simulation_tests", DAMAGED_JOURNALS, "journals damaged again and again"))
RECORDINGS = Stage("recordings", "release: recordings of all golden cases", _built_tests("release", "integration_tests", "recordings"))
BENCH_BUILD = Stage("bench-build", "benchmarks: build", lambda run: _build(run, "bench"))
RELEASE_BINARIES = Stage("release-binaries", "archive and packages for other systems: build, start and install", _release_binaries)
TSAN = Stage("tsan", "TSan: tests of what has threads", _threads)

PLANS: dict[str, list[Stage]] = {
    "check": [Stage("dev-nearest", "dev: tests of the folders that changed", _nearest_tests),
              Stage("dev-unit", "dev: all other unit and golden tests that are affected", lambda run: _stale_tests(run, ["unit_tests"]))],
    "lint": [FORMAT, LINTS, TIDY_CHANGED],
    "fuzz": [FUZZ],
    "cluster": [CLUSTER_PROGRAMS, CLUSTER],
    # Tests that wait for programs and clocks come first; computing stages take the rest.
    "test": [
        RELEASE_BUILD, replace(_integration("release", "release"), needs="release-build"), CLUSTER_SMOKE,
        ASAN_BUILD, replace(_unit("asan", "ASan+UBSan"), needs="asan-build"), _beside_integration(FORMAT), _beside_integration(LINTS),
        replace(_beside_integration(_simulations("release", "release")), needs="release-build"),
        _beside_integration(FUZZ_REPLAY), _beside_integration(TIDY_CHANGED),
    ],
    # Stages that `make test` does not run.
    "verify": [
        _integration("asan", "ASan+UBSan"), _simulations("asan", "ASan+UBSan"), TSAN,
        _unit("gcc-release", "g++ 12 release"), _integration("gcc-release", "g++ 12 release"),
        _simulations("gcc-release", "g++ 12 release"),
        _unit("gcc-asan", "g++ 12 ASan+UBSan"), _integration("gcc-asan", "g++ 12 ASan+UBSan"),
        _simulations("gcc-asan", "g++ 12 ASan+UBSan"), RECORDINGS, BENCH_BUILD, FUZZ, ARM64, RELEASE_BINARIES,
        CLUSTER_PROGRAMS, CLUSTER, SIMULATION, DAMAGE, TIDY_ALL,
    ],
}

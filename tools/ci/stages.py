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
from stage import ROOT, Outcome, OutOfTime, Run, Stage, configure, one, skip

BUILD_LIMIT = 3000
TEST_LIMIT = 6000  # all tests in a cluster take more than an hour
SIMULATED_CLUSTERS = 2000
# Of each processor, for tests: those that start programs and wait for them take one, those that compute both
# (AUTOPILOT_PLACES_OF_WORK of cmake/Targets.cmake).
PLACES = 2
LABELS = ("unit", "golden", "integration")
# ctest names of the programs whose threads matter; the rest is single-threaded and covered by ASan. Those that most
# others stand on are in every run. Tests of the doors start helpers, for which all programs have to be built.
THREADED = ("runtime", "net", "store", "kube")
THREADED_WITH_PROGRAMS = ("host", "agent", "catalog")

FAILED_TEST = re.compile(r"\*\*\*(Failed|Timeout|Exception)")  # as ctest says it

SANITIZER_ENV = {
    "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
    "ASAN_SYMBOLIZER_PATH": "/usr/bin/llvm-symbolizer-16",
    "TSAN_SYMBOLIZER_PATH": "/usr/bin/llvm-symbolizer-16",
}


def _tests_of(preset: str) -> list[dict]:
    import json
    done = subprocess.run(["ctest", "--test-dir", f"build/{preset}", "--show-only=json-v1"], cwd=ROOT, text=True,
                          capture_output=True, check=False)
    return json.loads(done.stdout)["tests"] if done.returncode == 0 else []


def _build(run: Run, preset: str, targets: list[str] | None = None) -> Outcome:
    if not configure(run, preset):
        return one(False, "cmake could not configure")
    argv = ["cmake", "--build", "--preset", preset, "-j", run.options.jobs]
    return one(run.command(argv + (["--target", *targets] if targets else []), BUILD_LIMIT) == 0)


def _ctest(run: Run, preset: str, selection: list[str], wrapper: list[str]) -> Outcome:
    reports = run.folder / "googletest"
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir(parents=True)
    report = run.folder / "ctest.xml"
    report.unlink(missing_ok=True)
    argv = [*wrapper, "ctest", "--test-dir", f"build/{preset}", "-j", run.options.jobs * PLACES, "--output-on-failure",
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


def _test(preset: str, label: str, *further: str):
    def run_stage(run: Run) -> Outcome:
        if not any(label in _labels(test) for test in _tests_of(preset)):
            return skip(f"no test is labelled {label}")
        return _ctest(run, preset, ["-L", f"^{label}$", *further], [])
    return run_stage


def _labels(test: dict) -> list[str]:
    return next((entry["value"] for entry in test.get("properties", []) if entry["name"] == "LABELS"), [])


def _all_tests(preset: str):
    def run_stage(run: Run) -> Outcome:
        built = _build(run, preset)
        if built.failed:
            return built
        built.add(_ctest(run, preset, ["-LE", "^cluster$"], []))
        return built
    return run_stage


def _simulation(run: Run) -> Outcome:
    """The planner in many more clusters than its unit test has."""
    program = ROOT / "build" / "release" / "bin" / "autopilot_controller_simulation_tests"
    share = -(-SIMULATED_CLUSTERS // run.options.jobs)

    def part(number: int) -> int:
        return run.command([program], TEST_LIMIT, {"AUTOPILOT_SIMULATION_FIRST_SEED": str(1 + number * share),
                                                   "AUTOPILOT_SIMULATION_SEEDS": str(share)})
    with ThreadPoolExecutor(run.options.jobs) as pool:
        failed = sum(status != 0 for status in pool.map(part, range(run.options.jobs)))
    return one(failed == 0, f"{share * run.options.jobs} clusters for thirty days")


def _kit(*arguments: str) -> list:
    return [sys.executable, "-B", ROOT / "tests" / "cluster" / "cluster.py", *arguments]


def _cluster_programs(run: Run) -> Outcome:
    status = run.command(_kit("build"), BUILD_LIMIT)
    return skip(junit.skip_reason(run.log.read_text())) if status == 77 else one(status == 0)


def _cluster(*further: str):
    def run_stage(run: Run) -> Outcome:
        try:
            return _test("release", "cluster", *further)(run)
        finally:
            # A ctest that was killed has not ended what it started.
            run.command(_kit("down"), 120)
    return run_stage


def _tests_with_threads(parts: tuple[str, ...]) -> list[str]:
    return [f"autopilot_{name}_tests" for name in parts]


def _threads(parts: tuple[str, ...], *further_targets: str):
    def run_stage(run: Run) -> Outcome:
        built = _build(run, "tsan", [*further_targets, *_tests_with_threads(parts)])
        if built.failed:
            return built
        # The memory layout that TSan of clang 16 knows is lost with many random address bits.
        fixed = ["setarch", "-R"] if subprocess.run(["setarch", "-R", "true"], check=False).returncode == 0 else []
        outcome = _ctest(run, "tsan", ["-R", f"^({'|'.join(parts)})$"], fixed)
        outcome.notes.insert(0, "of " + ", ".join(parts))
        built.add(outcome)
        return built
    return run_stage


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


def _release_with_tests(preset: str, title: str) -> list[Stage]:
    build = f"{preset}-build"
    return [Stage(build, f"{title}: build", lambda run: _build(run, preset))] + [
        Stage(f"{preset}-{label}", f"{title}: {label} tests", _test(preset, label), build) for label in LABELS]


FORMAT = Stage("format", "clang-format-16 of all files", _format)
LINTS = Stage("lints", "lints", _lints)
# What runs beside tests takes what they leave of the processors, which is nearly half: they wait for programs, for
# clocks and for Kubernetes. It is only what nobody waits for: tests with little of the processors end by their deadlines.
TIDY_CHANGED = Stage("tidy", "clang-tidy-16 of changed files", lambda run: tidy.tidy(run, whole_tree=False))
TIDY_ALL = Stage("tidy", "clang-tidy-16 of all files", lambda run: tidy.tidy(run, whole_tree=True), beside="cluster")
FUZZ = Stage("fuzz", "fuzzing", fuzz.fuzz)
ASAN = Stage("asan", "clang 16 ASan+UBSan: build and all tests", _all_tests("asan"))
ASAN_BUILD = Stage("asan-build", "clang 16 ASan+UBSan: build", lambda run: _build(run, "asan"), beside="release-integration")
# Of the release alone: there is one cluster on a machine, and it runs what ships.
CLUSTER_PROGRAMS = Stage("cluster-programs", "Kubernetes for the tests in a cluster: build", _cluster_programs)
CLUSTER = [CLUSTER_PROGRAMS, Stage("cluster", "release: tests in a cluster", _cluster(), "release-build")]
CLUSTER_SHORT = [CLUSTER_PROGRAMS,
                 Stage("cluster", "release: the short tests in a cluster", _cluster("-L", "^short$"), "release-build")]
ARM64 = Stage("arm64", "clang 16 release for arm64: build, and run on an emulator", arm64.arm64)
SIMULATION = Stage("simulation", "release: the planner in many simulated clusters", _simulation, "release-build", "cluster")
TSAN_BUILD = Stage("tsan-build", "clang 16 TSan: build", lambda run: _build(run, "tsan", _tests_with_threads(THREADED)), beside="asan")
TSAN = Stage("tsan", "clang 16 TSan: build and threaded tests", _threads(THREADED))
TSAN_ALL = Stage("tsan", TSAN.title, _threads((*THREADED, *THREADED_WITH_PROGRAMS), "programs"))

PLANS: dict[str, list[Stage]] = {
    "check": [
        Stage("dev-build", "dev: build", lambda run: _build(run, "dev")),
        Stage("dev-unit", "dev: unit tests", _test("dev", "unit"), "dev-build"),
        # Without the stories of causes, which take two minutes there.
        Stage("dev-golden", "dev: golden tests", _test("dev", "golden", "-E", "^causes$"), "dev-build"),
    ],
    "lint": [FORMAT, LINTS, TIDY_CHANGED],
    "fuzz": [FUZZ],
    "cluster": [Stage("release-build", "release: build", lambda run: _build(run, "release")), *CLUSTER],
    "test": [FORMAT, LINTS, *_release_with_tests("release", "release"), *CLUSTER_SHORT, ASAN_BUILD, ASAN, TSAN_BUILD, TSAN, FUZZ,
             replace(TIDY_CHANGED, beside="asan")],
    "verify": [
        FORMAT, LINTS, *_release_with_tests("release", "clang 16 release"),
        *CLUSTER, SIMULATION, TIDY_ALL, *_release_with_tests("gcc-release", "g++ 12 release"), ASAN,
        Stage("gcc-asan", "g++ 12 ASan+UBSan: build and all tests", _all_tests("gcc-asan")), TSAN_ALL, ARM64, FUZZ,
    ],
}

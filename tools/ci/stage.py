# SPDX-License-Identifier: Apache-2.0
"""A stage of CI, its outcome, and how it runs commands."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).resolve().parents[2]
LOGS = ROOT / "build" / "ci"
NO_TIME = "no time was left; with what this run built the next one takes less"


@dataclass
class Failure:
    """A failed test and its message."""

    name: str
    text: str


@dataclass
class Outcome:
    """Counts of tests, or of one step that passed or failed. Notes are printed below the stage; failures and the slowest tests at
    the end of the whole run."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    notes: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    times: list[tuple[float, str]] = field(default_factory=list)  # seconds and name of each test
    programs: list[str] = field(default_factory=list)  # ctest tests that passed

    def add(self, other: "Outcome") -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.notes += other.notes
        self.failures += other.failures
        self.times += other.times
        self.programs += other.programs


def one(ok: bool, note: str = "") -> Outcome:
    return Outcome(passed=int(ok), failed=int(not ok), notes=[note] if note else [])


def skip(reason: str) -> Outcome:
    return Outcome(skipped=1, notes=[f"skipped: {reason}"])


@dataclass
class Options:
    jobs: int
    fuzz_seconds: int
    tidy_seconds: int  # wall time after which no further file is started; 0: no limit
    deadline: float = float("inf")  # deadline of the whole plan, in time.monotonic()


class OutOfTime(Exception):
    """The time of the plan is over. A stage that has not ended by then is skipped, with this reason."""


class Run:
    """Input of a stage: its log and the options."""

    def __init__(self, name: str, options: Options, beside: bool = False):
        self.name = name
        self.options = options
        self.beside = beside
        self.log = LOGS / f"{name}.log"
        self.folder = LOGS / name

    def write(self, text: str) -> None:
        with self.log.open("a", encoding="utf-8") as log:
            log.write(text + "\n")

    def start(self, argv: list, **further) -> subprocess.Popen:
        """Starts a program in its own session."""
        child = subprocess.Popen([str(word) for word in argv], cwd=ROOT, stdin=subprocess.DEVNULL, start_new_session=True,
                                 **further)
        if self.beside:
            # Linux shares the processors between sessions first, so SCHED_IDLE has an effect only within one session.
            with contextlib.suppress(OSError):
                Path(f"/proc/{child.pid}/autogroup").write_text("19")
        return child

    def command(self, argv: list, timeout: int, env: dict[str, str] | None = None) -> int:
        """Exit code of a program whose output goes to the log; 124 if it was killed after `timeout` seconds."""
        self.write("$ " + " ".join(str(word) for word in argv))
        left = self.options.deadline - time.monotonic()
        with self.log.open("ab") as log:
            child = self.start(argv, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, **(env or {})})
            try:
                return child.wait(max(0.0, min(timeout, left)))
            except subprocess.TimeoutExpired:
                if left < timeout:
                    self._kill(child, "killed: no time is left")
                    raise OutOfTime from None
                return self._kill(child, f"killed: not done after {timeout} s")
            except BaseException:
                self._kill(child, "killed: CI was interrupted")
                raise

    def _kill(self, child: subprocess.Popen, why: str) -> int:
        # Kill the whole group: a build leaves compilers behind, and a test its agents.
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        self.write(why)
        return 124


@dataclass
class Stage:
    name: str  # also the name of the log
    title: str
    run: Callable[[Run], Outcome]
    needs: str = ""  # a stage that must pass first
    # An earlier stage that mostly waits. The stages that name it run beside it, one after the other, on the remaining processor time.
    beside: str = ""


def configure(run: Run, preset: str) -> bool:
    return run.command(["cmake", "--preset", preset, f"-DAUTOPILOT_TESTS={'OFF' if preset == 'bench' else 'ON'}"], 300) == 0


def failures_of(stage: Stage, outcome: Outcome) -> list[Failure]:
    """The failures of its tests; if there are none, the end of its log."""
    if outcome.failures:
        return [Failure(f"{stage.name}: {failure.name}", failure.text) for failure in outcome.failures]
    log = LOGS / f"{stage.name}.log"
    return [Failure(stage.name, log.read_text(encoding="utf-8", errors="replace") if log.exists() else "")]


def execute(stage: Stage, options: Options, failed: set[str], beside: bool = False) -> tuple[Outcome, float]:
    begin = time.monotonic()
    if stage.needs in failed:
        return skip(f"{stage.needs} failed"), 0.0
    if begin > options.deadline:
        return skip(NO_TIME), 0.0
    run = Run(stage.name, options, beside)
    LOGS.mkdir(parents=True, exist_ok=True)
    run.log.write_text("")
    try:
        outcome = stage.run(run)
    except OutOfTime:
        outcome = skip(NO_TIME)
    except Exception as error:  # a bug in a stage must not prevent the later stages
        run.write(f"{type(error).__name__}: {error}")
        outcome = one(False, f"the stage itself broke: {type(error).__name__}: {error}")
    return outcome, time.monotonic() - begin


class Beside:
    """Stages that run beside another one, one after the other."""

    def __init__(self, stages: list[Stage], options: Options, failed: set[str]):
        self._ended = {stage.name: threading.Event() for stage in stages}
        self._results: dict[str, tuple[Outcome, float]] = {}
        # A separate thread, because its child processes inherit its low priority.
        threading.Thread(target=self._run, args=(stages, options, failed), daemon=True).start()

    def _run(self, stages: list[Stage], options: Options, failed: set[str]) -> None:
        with contextlib.suppress(OSError):  # without this permission it runs with normal priority
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        for stage in stages:
            outcome, seconds = execute(stage, options, failed, beside=True)
            self._results[stage.name] = outcome, seconds
            if outcome.failed:
                failed.add(stage.name)
            self._ended[stage.name].set()

    def result(self, name: str) -> tuple[Outcome, float]:
        self._ended[name].wait()
        return self._results[name]

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs all stages of a command of the Makefile, and prints which passed, failed and were skipped."""

import argparse
import os
import sys
import time

from passed import Passed, committed_tree, default_folder
from stage import ROOT, Beside, Failure, Options, Outcome, execute, failures_of
from stages import PLANS

BUDGETS = {"fuzz_seconds": {"verify": 60}, "tidy_seconds": {"verify": 0, "test": 600}, "minutes": {"test": 80}}
# Plans that take hours resume after an interruption.
RESUMED = ("verify",)
SLOWEST_SHOWN = 10
NOTES_SHOWN = 25
FAILURES_SHOWN = 10
LINES_OF_FAILURE = 25
LINE_LENGTH = 400


def spoken(seconds: float) -> str:
    whole = int(seconds + 0.5)
    return f"{whole // 60} min {whole % 60:02} s" if whole >= 60 else f"{seconds:.1f} s"


def word(outcome: Outcome) -> str:
    if outcome.failed:
        return "FAILED"
    return "ok" if outcome.passed else "skipped"


def show(outcome: Outcome) -> None:
    for note in outcome.notes[:NOTES_SHOWN]:
        print(f"        {note}")
    if len(outcome.notes) > NOTES_SHOWN:
        print(f"        ... and {len(outcome.notes) - NOTES_SHOWN} more lines of this kind")


def show_failures(failures: list[Failure]) -> None:
    """Printed at the end, which readers see first, and which survives if only the end of long output is kept."""
    for failure in failures[:FAILURES_SHOWN]:
        print(f"failed: {failure.name}")
        for line in failure.text.splitlines()[-LINES_OF_FAILURE:]:
            print(f"        | {line[:LINE_LENGTH]}")
    for failure in failures[FAILURES_SHOWN:]:
        print(f"failed: {failure.name}")


def show_slowest(times: list[tuple[float, str]]) -> None:
    if times:
        print("slowest tests:")
    for seconds, name in sorted(times, reverse=True)[:SLOWEST_SHOWN]:
        print(f"  {seconds:7.1f} s  {name}")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plan", choices=sorted(PLANS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--fuzz-seconds", type=int, help="per target; 20, for verify 60")
    parser.add_argument("--minutes", type=int, help="what is not done by then is skipped, and said; 80 for test, else no limit")
    parser.add_argument("--again", action="store_true", help="run stages that passed before for these files, too")
    parser.add_argument("--only", action="append", metavar="STAGE", help="run only this stage; may be repeated")
    parser.add_argument("--list", action="store_true", help="name the stages and end")
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    stages = PLANS[arguments.plan]
    if arguments.list:
        for stage in stages:
            print(f"{stage.name:24} {stage.title}")
        return 0
    if arguments.only:
        unknown = set(arguments.only) - {stage.name for stage in stages}
        if unknown:
            print(f"{arguments.plan} has no stage {', '.join(sorted(unknown))}; see --list", file=sys.stderr)
            return 2
        stages = [stage for stage in stages if stage.name in arguments.only]
    begin = time.monotonic()
    minutes = arguments.minutes or BUDGETS["minutes"].get(arguments.plan)
    options = Options(jobs=arguments.jobs,
                      fuzz_seconds=arguments.fuzz_seconds or BUDGETS["fuzz_seconds"].get(arguments.plan, 20),
                      tidy_seconds=BUDGETS["tidy_seconds"].get(arguments.plan, 600),
                      deadline=begin + 60 * minutes if minutes else float("inf"))
    os.chdir(ROOT)
    total = Outcome()
    failed: list[str] = []
    failures: list[Failure] = []
    skipped: list[str] = []
    beside: dict[str, Beside] = {}
    resumes = arguments.plan in RESUMED and not arguments.again
    # A shorter fuzzing time than the plan's does not count as passed for the plan.
    is_whole = options.fuzz_seconds >= BUDGETS["fuzz_seconds"].get(arguments.plan, 0)
    tree = committed_tree() if resumes and is_whole else ""
    if resumes and not tree:
        print("no stage is skipped or remembered: " + ("files differ from the commit" if is_whole else "--fuzz-seconds is shorter than usual"))
    passed = Passed(arguments.plan, tree, default_folder())
    known = {stage.name: outcome for stage in stages if (outcome := passed.find(stage.name)) is not None}
    for number, stage in enumerate(stages, 1):
        if others := [other for other in stages if other.beside == stage.name and other.name not in known]:
            beside |= dict.fromkeys((other.name for other in others), Beside(others, options, set(failed)))
        begun = beside.get(stage.name)
        print(f"[{number:2}/{len(stages)}] {stage.title}{f', begun beside {stage.beside}' if begun else ''} ...", flush=True)
        if stage.name in known:
            outcome, seconds = known[stage.name], 0.0
        else:
            outcome, seconds = begun.result(stage.name) if begun else execute(stage, options, set(failed))
            # A file that changed during the run may or may not have been tested.
            if tree and tree == committed_tree():
                passed.keep(stage.name, outcome)
        print(f"        {word(outcome)} in {spoken(seconds)}: {outcome.passed} passed, {outcome.failed} failed, "
              f"{outcome.skipped} skipped")
        show(outcome)
        if outcome.failed:
            failed.append(stage.name)
            failures += failures_of(stage, outcome)
            print(f"        see build/ci/{stage.name}.log, and the end of this run")
        elif not outcome.passed:
            skipped.append(stage.name)
        total.add(outcome)
        sys.stdout.flush()
    show_slowest(total.times)
    show_failures(failures)
    summary = f"{arguments.plan}: {len(stages)} stages in {spoken(time.monotonic() - begin)}; "
    summary += f"FAILED: {', '.join(failed)}" if failed else "none failed"
    summary += f"; skipped: {', '.join(skipped)}" if skipped else ""
    print(summary)
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr, flush=True)
        # Not sys.exit, which waits for the stages that run beside.
        os._exit(130)

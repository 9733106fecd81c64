# SPDX-License-Identifier: Apache-2.0
"""Counts tests: ctest reports which programs ran; GoogleTest's own report, and the lines of unittest -v, contain which of
their tests passed or were skipped."""

import re
import xml.etree.ElementTree as xml
from pathlib import Path

from stage import Failure, Outcome


def _reason(case: xml.Element) -> str:
    node = case.find("skipped")
    text = (node.get("message") or node.text or "") if node is not None else ""
    lines = [line for line in text.splitlines() if line and not line.startswith("/") and ".cpp:" not in line]
    return " ".join(lines).strip() or "no reason given"


def _failure(name: str, said: str, why: str = "") -> Outcome:
    return Outcome(failed=1, notes=[f"failed: {name}{f': {why}' if why else ''}"], failures=[Failure(name, said.strip("\n"))])


def count_googletest(report: Path) -> Outcome:
    outcome = Outcome()
    for suite in xml.parse(report).getroot().iter("testsuite"):
        for case in suite.findall("testcase"):
            name = f"{case.get('classname')}.{case.get('name')}"
            outcome.times.append((float(case.get("time", "0")), name))
            if case.find("failure") is not None:
                said = "\n".join(failure.get("message", "") for failure in case.findall("failure"))
                outcome.add(_failure(name, said))
            elif case.get("result") == "skipped" or case.find("skipped") is not None:
                outcome.skipped += 1
                outcome.notes.append(f"skipped: {name}: {_reason(case)}")
            elif case.get("result", "completed") == "completed" and case.get("status") == "run":
                outcome.passed += 1
    return outcome


UNITTEST = re.compile(r"^.*\.\.\. (?P<result>ok|FAIL|ERROR|skipped (?P<reason>.+))$")
TOOK = re.compile(r"^took (\d+\.\d+) s: (\w+)")  # tests/support/timed.py
NAMED = re.compile(r"^((?:test_|setUp|tearDown)\w+) (\([\w.]+\))")
DOUBLE_RULE, RULE = "=" * 70, "-" * 70


def _said_by_unittest(output: str) -> dict[str, str]:
    """The message of each failed test, by its name and class; for a test with subtests, of the first that failed."""
    said: dict[str, str] = {}
    for block in output.split(DOUBLE_RULE + "\n")[1:]:
        title, _, rest = block.partition("\n")
        match = NAMED.match(title.removeprefix("FAIL: ").removeprefix("ERROR: "))
        if match is not None:
            text = rest.partition(RULE + "\n")[2].partition("\n" + RULE + "\n")[0]
            said.setdefault(match.group(), text.strip("\n"))
    return said


def count_unittest(entry: str, output: str) -> Outcome:
    """unittest prints the name of a test with a docstring on the line before its result."""
    outcome = Outcome()
    name, title, said = entry, "", _said_by_unittest(output)
    for line in output.splitlines():
        if named := NAMED.match(line.strip()):
            name, title = f"{entry}.{named.group(1)}", named.group()
        if took := TOOK.match(line):
            outcome.times.append((float(took.group(1)), f"{entry}.{took.group(2)}"))
        if not (match := UNITTEST.match(line)):
            continue
        if match.group("result") == "ok":
            outcome.passed += 1
        elif match.group("reason"):
            outcome.skipped += 1
            outcome.notes.append(f"skipped: {name}: " + match.group("reason").strip("'\""))
        else:
            outcome.failed += 1
            outcome.notes.append(f"failed: {name}")
            if title in said:
                outcome.failures.append(Failure(name, said.pop(title)))
    return outcome


def count(ctest_report: Path, googletest_folder: Path) -> Outcome:
    """The ctest test `x` is the program autopilot_x_tests. A program that reports no tests, or that fails without a failed test,
    counts as one test."""
    total = Outcome()
    for entry in xml.parse(ctest_report).getroot().iter("testcase"):
        name = entry.get("name", "")
        status, said = entry.get("status"), entry.findtext("system-out") or ""
        report = googletest_folder / f"autopilot_{name}_tests.xml"
        if status == "run":
            total.programs.append(name)
        inner = count_googletest(report) if report.exists() else count_unittest(name, said)
        if inner.passed + inner.failed + inner.skipped:
            if status == "fail" and inner.failed == 0:
                inner.add(_failure(name, said, "its program ended badly (crash, leak or timeout)"))
            total.add(inner)
        elif status == "run":
            total.passed += 1
            total.times.append((float(entry.get("time", "0")), name))
        elif status in ("notrun", "disabled"):
            total.add(Outcome(skipped=1, notes=[f"skipped: {name}: {skip_reason(said)}"]))
        else:
            total.add(_failure(name, said))
    return total


SKIPPED = re.compile(r"^(?:SKIP|skipped|cannot run here):? +(.+)$", re.MULTILINE)


def skip_reason(output: str) -> str:
    """The reason that a skipped script prints."""
    match = SKIPPED.search(output)
    return match.group(1).strip() if match else "not run"

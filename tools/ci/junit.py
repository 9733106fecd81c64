# SPDX-License-Identifier: Apache-2.0
"""Counts tests: ctest says which programs ran; GoogleTest's own report, and the lines that unittest -v prints, say which
of their tests passed or were skipped."""

import re
import xml.etree.ElementTree as xml
from pathlib import Path

from stage import Outcome


def _reason(case: xml.Element) -> str:
    node = case.find("skipped")
    text = (node.get("message") or node.text or "") if node is not None else ""
    lines = [line for line in text.splitlines() if line and not line.startswith("/") and ".cpp:" not in line]
    return " ".join(lines).strip() or "no reason given"


def count_googletest(report: Path) -> Outcome:
    outcome = Outcome()
    for suite in xml.parse(report).getroot().iter("testsuite"):
        for case in suite.findall("testcase"):
            name = f"{case.get('classname')}.{case.get('name')}"
            if case.find("failure") is not None:
                outcome.failed += 1
                outcome.notes.append(f"failed: {name}")
            elif case.get("result") == "skipped" or case.find("skipped") is not None:
                outcome.skipped += 1
                outcome.notes.append(f"skipped: {name}: {_reason(case)}")
            elif case.get("result", "completed") == "completed" and case.get("status") == "run":
                outcome.passed += 1
    return outcome


UNITTEST = re.compile(r"^.*\.\.\. (?P<result>ok|FAIL|ERROR|skipped (?P<reason>.+))$")
NAMED = re.compile(r"^((?:test_|setUp)\w+) \(")


def count_unittest(entry: str, output: str) -> Outcome:
    """A test with a docstring is named on the line before its result."""
    outcome = Outcome()
    name = entry
    for line in output.splitlines():
        if named := NAMED.match(line):
            name = f"{entry}.{named.group(1)}"
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
    return outcome


def count(ctest_report: Path, googletest_folder: Path) -> Outcome:
    """`x` of ctest is the program autopilot_x_tests; one that tells nothing of its tests, or fails without a failed test,
    counts as one."""
    total = Outcome()
    for entry in xml.parse(ctest_report).getroot().iter("testcase"):
        name = entry.get("name", "")
        status = entry.get("status")
        report = googletest_folder / f"autopilot_{name}_tests.xml"
        inner = count_googletest(report) if report.exists() else count_unittest(name, entry.findtext("system-out") or "")
        if inner.passed + inner.failed + inner.skipped:
            if status == "fail" and inner.failed == 0:
                inner.add(Outcome(failed=1, notes=[f"failed: {name}: its program ended badly (crash, leak or timeout)"]))
            total.add(inner)
        elif status == "run":
            total.passed += 1
        elif status in ("notrun", "disabled"):
            total.add(Outcome(skipped=1, notes=[f"skipped: {name}: {skip_reason(entry.findtext('system-out') or '')}"]))
        else:
            total.add(Outcome(failed=1, notes=[f"failed: {name}"]))
    return total


SKIPPED = re.compile(r"^(?:SKIP|skipped|cannot run here):? +(.+)$", re.MULTILINE)


def skip_reason(output: str) -> str:
    """A script that does not run says why."""
    match = SKIPPED.search(output)
    return match.group(1).strip() if match else "not run"

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what tests of pairs find on simulated fabrics, and what planning and judging them costs. BENCH_RECORD=1: writes the table into
docs/benchmarks as well."""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../integration"))
import harness  # noqa: E402
from table import Table, record  # noqa: E402

TITLE = "Tests of pairs on simulated fabrics"
COMMAND = "tools/bench.sh 2 pairs"
METHODS = {"ours": "ours", "ring": "ring, all pairs", "circle": "round-robin, all pairs", "two": "two rounds, cut at twice the middle time"}


def measured():
    """Group to its cases, in their order; and the milliseconds of planning."""
    done = subprocess.run([os.path.join(harness.BIN, "pairs_bench"), "--benchmark_format=json"], capture_output=True, text=True, check=True)
    groups, planning = {}, None
    for one in json.loads(done.stdout)["benchmarks"]:
        if one["name"].startswith("plan_and_judge"):
            planning = one["real_time"]
            continue
        group, what = one["name"].split("/")[:2]
        groups.setdefault(group, []).append(dict(one, what=what))
    return groups, planning


def by(cases, key):
    found = {}
    for case in cases:
        found.setdefault(key(case), []).append(case)
    return found


def times(case):
    """The loss, in standard deviations of the result of a pair in the first round."""
    return case["loss"] / case["deviation"]


def is_promised(case):
    return times(case) > 4.99 or case["loss"] == 0


def worst(cases):
    """The larger of two shares in percent: planted faults that were missed, and reported culprits that were healthy."""
    promised = [case for case in cases if is_promised(case)]
    return max(100 * (1 - min(case["recall"], case["precision"])) for case in promised)


def mistaken(cases):
    return max(100 * (1 - case["told_apart"]) for case in cases if is_promised(case))


def spoken(case):
    return f"{case['recall']:.3f}/{case['precision']:.3f}"


def add_kinds(table, cases):
    for what, some in by(cases, lambda case: case["what"]).items():
        notes = "; ".join(f"{times(case):.1f} x: {spoken(case)}" if case["loss"] < 1 else spoken(case) for case in some)
        table.add(f"{what}: missed or wrongly accused", worst(some), "%", 2,
                  f"recall/precision by loss in standard deviations of a pair: {notes}; {some[0]['planted'] / 10:.0f} faults in a fabric of "
                  f"{some[0]['nodes']:.0f} nodes, 4 rails")
        table.add(f"{what}: found, and taken for another kind", mistaken(some), "%", 5)


def add_paths(table, cases):
    for what, some in by(cases, lambda case: case["what"]).items():
        notes = "; ".join(f"loss of {100 * case['loss']:.0f} %: {spoken(case)}" for case in some)
        table.add(f"{what}: missed or wrongly accused", worst(some), "%", 2,
                  f"recall/precision by {notes}; one fault, {some[0]['nodes']:.0f} nodes, {some[0]['planted']:.0f} fabrics")
        table.add(f"{what}: found, and taken for another kind", mistaken(some), "%", 5)


def add_sizes(table, cases):
    for (nodes, what), some in by(cases, lambda case: (int(case["nodes"]), case["what"])).items():
        if what == "node":
            notes = "; ".join(f"noise {100 * case['deviation'] / 0.663:.0f} %: {spoken(case)}, {case['rounds']:.1f} rounds" for case in some)
            table.add(f"{nodes} nodes, an eighth is slow by 5 x: missed or wrongly accused", worst(some), "%", 2, f"recall/precision: {notes}")
            continue
        case = some[0]
        table.add(f"{nodes} nodes, {what}: accused wrongly", case["wrong"], "", 0,
                  f"{case['accused']:.0f} accused, {case['planted']:.0f} planted, 3 fabrics, {case['rounds']:.1f} rounds")


def add_methods(table, cases, fabric):
    for (nodes, what), some in by(cases, lambda case: (int(case["nodes"]), case["what"])).items():
        rounds = max(case["most_rounds"] for case in some)
        notes = "; ".join(f"{100 * case['loss']:.0f} %: {spoken(case)}" for case in some)
        table.add(f"{nodes} nodes, {fabric}, {METHODS[what]}: rounds", rounds, "", 3 if what == "ours" else None,
                  f"{rounds / 2:.1f} min of 30 s each, {rounds / 6:.1f} min of 10 s; recall/precision by loss: {notes}; an eighth is slow")


def notes_by_loss(cases):
    return "; ".join(f"{100 * case['loss']:.0f} %: {spoken(case)}" for case in cases)


def add_tcp(table, cases):
    for what, some in by(cases, lambda case: case["what"]).items():
        table.add(f"by TCP, {what}: missed or wrongly accused", worst(some), "%", 2,
                  f"recall/precision by loss: {notes_by_loss(some)}; {some[0]['planted'] / 10:.0f} faults in a fabric of {some[0]['nodes']:.0f} nodes, "
                  "2 rails, 2:1, one flow of each pair")


def add_hidden(table, cases):
    for case in cases:
        table.add(f"by TCP, {case['what']}: accused wrongly", case["wrong"], "", 1, f"100 healthy fabrics of {case['nodes']:.0f} nodes")


def add_flat(table, cases):
    for nodes, some in by(cases, lambda case: int(case["nodes"])).items():
        table.add(f"by TCP, {nodes} nodes without names of leaves, all below one: missed or wrongly accused", worst(some), "%", 2,
                  f"recall/precision by loss: {notes_by_loss(some)}; an eighth is slow, 40 fabrics")


def add_pair_rows(table):
    groups, planning = measured()
    table.add("planning and judging a run over 1,000 nodes with 8 rails", planning, "ms", 100, "three rounds and the verdict, without the tests")
    add_kinds(table, groups["kind"])
    add_paths(table, groups["path"])
    add_sizes(table, groups["size"])
    add_methods(table, groups["method"], "2:1")
    add_methods(table, groups["room"], "room for all flows")
    add_tcp(table, groups["tcp"])
    add_hidden(table, groups["hidden"])
    add_flat(table, groups["flat"])


def main():
    table = Table()
    add_pair_rows(table)
    print()
    print(table.text(COMMAND))
    if os.environ.get("BENCH_RECORD", "") not in ("", "0"):
        print(f"written: {record(table, TITLE, COMMAND, '-pairs')}")


if __name__ == "__main__":
    main()

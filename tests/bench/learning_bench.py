#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures post-flight learning on fleets that are drawn by seed: degraded nodes found by learned baselines and by other rules, a shift of
firmware, budgets of false findings, the choice of diagnostics; and the in-flight engine with learned weights of signals. BENCH_LONG=1: more
seeds. BENCH_RECORD=1: writes the table into docs/benchmarks as well."""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../integration"))
import harness  # noqa: E402
from table import Table, record  # noqa: E402

TITLE = "Post-flight learning on simulated fleets"
FIRST_SEED = 1001  # tuning used seeds below
SIGNAL_SEEDS = (1601, 1620)  # judged; learned from seeds below 400
RULES = {
    "no_repeats": "the baseline without repeated measurements",
    "mean_5": "mean of the nodes, 5 % below (as SuperBench)",
    "iqr_15": "1.5 interquartile ranges (as SuperBench)",
    "iqr_30": "3 interquartile ranges (as SuperBench)",
}


def is_on(name):
    return os.environ.get(name, "") not in ("", "0")


def run(what, seeds, first=FIRST_SEED):
    words = [os.path.join(harness.BIN, "learning_bench"), what, str(first), str(first + seeds - 1)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.stderr.strip()}")
    return json.loads(done.stdout), f"seeds {first} to {first + seeds - 1}"


def accuracy(one):
    return f"P {one['precision']:.3f}, R {one['recall']:.3f}, AUC {one['auc']:.4f}"


def add_detection(table, seeds):
    rows, seeds_text = run("detection", seeds)
    cells = {}
    for row in rows:
        cells.setdefault((row["magnitude"], row["contamination"]), {})[row["rule"]] = row
    for (magnitude, share), cell in cells.items():
        where = f"{magnitude:.0%} slower, {share:.0%} faulty nodes in the fleet"
        ours = cell["baseline"]
        best = max(cell[rule]["f1"] for rule in ("mean_5", "iqr_15"))
        note = (f"{accuracy(ours)}; {ours['refused']} of {ours['fleets']} fleets refused; five metrics, fleets of 400 nodes; judged are 500 other "
                f"nodes, of which 10 % are slower; budget: the better of mean and 1.5 IQR; {seeds_text}")
        table.add(f"F1, {where}", ours["f1"], "", None, note, least=best)
        for rule, title in RULES.items():
            one = cell[rule]
            table.add(f"F1 of {title}", one["f1"], "", None,
                      f"{accuracy(one)}; beside the baseline {one['gain'][0]:+.3f} to {one['gain'][1]:+.3f} (95 %, paired bootstrap over seeds)")


def add_shift(table, seeds):
    for row in (rows := run("shift", 2 * seeds))[0]:
        is_ours = row["rule"] == "baseline"
        what = "the baseline" if is_ours else RULES[row["rule"]]
        refused = f"; {row['refused']} of {row['fleets']} fleets refused as two groups" if is_ours else ""
        table.add(f"half of the fleet 4 % slower, spread {row['spread']:.1%}: failed by {what}", 100 * row["failed"] / row["nodes"], "%",
                  1 if is_ours else None, f"worst fleet {row['worst']:.2%}{refused}; 400 nodes; {rows[1]}")


def add_breakdown(table, seeds):
    rows, seeds_text = run("breakdown", seeds)
    for row in rows:
        table.add(f"40 % of the fleet {row['magnitude']:.0%} slower: wrong baselines", row["wrong"], "", 0,
                  f"median nearer to the faulty nodes; {row['refused']} of {row['fleets']} fleets refused, the rest learned from the healthy; "
                  f"{seeds_text}")


def add_budget(table, seeds):
    rows, seeds_text = run("budget", seeds)
    for row in rows:
        value, low, high = row["rate"]
        ratio = value / row["asked"]
        table.add(f"realised / asked false findings, {row['method']}", max(ratio, 1 / ratio) if ratio else None, "", 1.5,
                  f"asked {row['asked']:.0f}, realised {value:.1f} ({low:.1f} to {high:.1f}) for 1,000 node-days; the larger of the ratio and its "
                  f"inverse; learned from {row['scores']:,} scores; {row['within']} of {row['seeds']} seeds alone are within 1.5; {seeds_text}")


def add_selection(table, seeds):
    rows, seeds_text = run("selection", seeds)
    costs = {row["policy"]: row for row in rows}
    others = min(costs[name]["total"] for name in ("never", "always full", "weekly full"))
    for name, row in costs.items():
        table.add(f"cost of diagnostics and escaped faults, {name}", row["total"] / 1000, "1,000 GPU-hours",
                  others / 1000 if name == "selector" else None,
                  f"diagnostics {row['diagnostics'] / 1000:,.0f}, losses {row['losses'] / 1000:,.0f}, false positives "
                  f"{row['false_positives'] / 1000:,.1f}; {row['escaped']:,} of {row['faults']:,} faults escaped; 400 nodes, 360 days; {seeds_text}")
    selectors = [row for name, row in costs.items() if name.startswith("selector")]
    for name in ("weekly full", "always full"):
        equal = [row for row in selectors if row["escaped"] <= costs[name]["escaped"]]
        least = min((row["diagnostics"] for row in equal), default=None)
        table.add(f"time of diagnostics with at most the escaped faults of {name}", None if least is None else least / costs[name]["diagnostics"],
                  "of its time", 1, "the cheapest selector of the rows above with as few escaped faults"
                  if equal else "no selector of the rows above has as few escaped faults")


def add_signals(table):
    first, last = SIGNAL_SEEDS
    one, seeds_text = run("signals", last - first + 1, first)
    off, on, weights, poisoned = one["arms"]
    setting = (f"{one['nodes']} nodes, {one['hours']:.0f} h, {one['rate']:.0f} faults per 1,000 node-days; a cluster whose clocks hardly differ "
               f"({one['silicon']:.1%}), with {one['missing_windows']:.0%} missing windows and losses of clock of {one['clock_loss'][0]:.0%} to "
               f"{one['clock_loss'][1]:.0%}; {seeds_text}")
    def accuracy_of(arm):
        return f"{arm['detected']} of {arm['faults']} faults, {arm['false_findings']} false findings"
    table.add("in-flight F1, learning off", off["f1"], "", None, f"{accuracy_of(off)}; {setting}")
    table.add("in-flight F1, learning on", on["f1"], "", None,
              f"{accuracy_of(on)}; learned on seeds {one['fit'][0]} to {one['fit'][1]}, {one['labelled']} labelled findings ({one['wrong']} wrong), "
              f"{one['scores']:,} scores: {one['learned']}", least=off["f1"])
    table.add("gain in F1, lower end of the interval", one["gain"][1], "", None,
              f"{one['gain'][0]:+.3f}, {one['gain'][1]:+.3f} to {one['gain'][2]:+.3f} (95 %, paired bootstrap over seeds)", least=0)
    table.add("false accusations, learning on", on["false_accusations"], "", off["false_accusations"],
              f"in {on['node_days']:,.0f} node-days; off: {off['false_accusations']}")
    table.add("in-flight F1, only weights", weights["f1"], "", None, accuracy_of(weights))
    table.add("in-flight F1, 40 % of the labels wrong", poisoned["f1"], "", None, f"{accuracy_of(poisoned)}; {one['poisoned']}", least=off["f1"])


def main():
    seeds = 30 if is_on("BENCH_LONG") else 10
    command = "make bench-learning" + (" BENCH_LONG=1" if is_on("BENCH_LONG") else "")
    table = Table()
    add_detection(table, seeds)
    add_shift(table, seeds)
    add_breakdown(table, seeds)
    add_budget(table, seeds)
    add_selection(table, max(3, seeds // 3))
    add_signals(table)
    print()
    print(table.text(command))
    if is_on("BENCH_RECORD"):
        print(f"written: {record(table, TITLE, command, '-learning')}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the in-flight engine on simulated jobs: what it finds, what it reports beside it, how soon, and what it costs; without some of
its parts; and beside other methods. BENCH_LONG=1: more seeds. BENCH_RECORD=1: writes the table into docs/benchmarks as well."""

import concurrent.futures
import json
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../integration"))
import harness  # noqa: E402
from table import Table, record  # noqa: E402

TITLE = "The in-flight engine on simulated jobs"
RATE = 800  # faults per 1,000 node-days: 200 times the rate of the field, so that few runs have many faults
DECISION_SEED = "7001"
MOST = 3000  # as many as fit beside each other
PARTS = ("roles", "persistence", "whitening", "fusion")
OTHERS = {
    "watchdog": "fixed watchdog, 10 min without a step",
    "three_sigma": "3 standard deviations from the mean, 1 min",
    "single_mad": "3.5 MAD from the median, one window",
    "minimum_reference": "0.75 of the fastest GPU (as NVRx, by SM clock)",
    "tensor_idle": "tensor activity <= 0.001 for 10 min (as DLRover)",
    "distance_sum": "sum of distances for 4 min (as Minder, without its network)",
}
HANGS = ("hang_lost_rank", "hang_link_equal_counts", "hang_mismatch", "hang_stopped_process", "hang_data_loader")
METHODS = ("engine", *(f"without_{part}" for part in PARTS), *OTHERS)


def is_on(name):
    return os.environ.get(name, "") not in ("", "0")


def cases(is_long):
    """Name to the seeds and the other arguments of jobs_bench. Tuning used seeds below 1001."""
    def case(seeds, rate, *more, methods=("engine",), hours=24):
        words = ["--seeds", seeds, "--nodes", "16", "--hours", str(hours), "--rate", str(rate), *more]
        for method in methods:
            words += ["--method", method]
        return seeds, words

    hangs = [word for name in HANGS for word in ("--class", name)]
    return {
        "healthy": case("2001-2180" if is_long else "2001-2020", 0, "--confounders", "mixed"),
        "methods": case("1001-1020" if is_long else "1001-1006", RATE, "--confounders", "mixed", methods=METHODS),
        "faults": case("1001-1060" if is_long else "1001-1020", RATE),
        "hangs": case("3001-3060" if is_long else "3001-3024", MOST, *hangs, hours=8),
        "slow 5": case("4001-4036" if is_long else "4001-4012", MOST, "--class", "gpu_clock", "--magnitude", "0.05", hours=8),
        "slow 10": case("5001-5036" if is_long else "5001-5012", MOST, "--class", "gpu_clock", "--magnitude", "0.1", hours=8),
    }


def run(words):
    done = subprocess.run([os.path.join(harness.BIN, "jobs_bench"), *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"jobs_bench {' '.join(words)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def measured(is_long):
    """Name of a case to its result with `seeds`. As many run at once as there are cores."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {name: (seeds, pool.submit(run, words)) for name, (seeds, words) in cases(is_long).items()}
        results = {name: dict(future.result(), seeds=seeds) for name, (seeds, future) in running.items()}
    results["decisions"] = run(["--decisions", "20000", "--seed", DECISION_SEED])
    minutes = "60" if is_long else "30"
    results["scale"] = run(["--scale", "10000", "--jobs", "500", "--minutes", minutes])
    results["reception"] = run(["--scale", "10000", "--jobs", "500", "--minutes", minutes, "--through", "receiver"])
    return results


def between(estimate, digits=3):
    """An interval of 95 %."""
    return "no trial" if estimate is None else f"{estimate[1]:.{digits}f} to {estimate[2]:.{digits}f}"


def value(estimate):
    return None if estimate is None else estimate[0]


def minutes(seconds):
    return None if seconds is None else seconds / 60


def spoken(figure, unit, digits=1):
    return "not measured" if figure is None else f"{figure:.{digits}f} {unit}"


def exposure(one):
    return f"{one['node_days']:,.0f} node-days, {one['job_days']:,.0f} job-days"


def add_faults(table, case):
    one = case["methods"]["engine"]
    runs = f"seeds {case['seeds']}, 16 nodes, 24 h, {RATE} faults per 1,000 node-days, all classes; {exposure(one)}"
    table.add("F1", value(one["f1"]), "", None, f"{between(one['f1'])}; {runs}", least=0.93)
    table.add("precision", value(one["precision"]), "", None,
              f"{between(one['precision'])}; {one['false_findings']} false findings; it falls with the rate of faults", least=0.95)
    table.add("recall", value(one["recall"]), "", None, f"{between(one['recall'])}; {one['detected']} of {one['faults']}")
    rate = one["accusations_per_1000_node_days"]
    table.add("false accusations among faults", value(rate), "per 1,000 node-days", None,
              f"{between(rate, 1)}; {one['false_accusations']}: {one['wrong_culprits']} during a fault of the job; "
              f"{one['blamed_confounders']} while a confounder was there, which is nearly always")
    for magnitude in ("5 %", "10 %", "20 %", "30 %", "50 %"):
        if magnitude in one["slow"]:
            add_slow(table, f"slow, magnitude nearest to {magnitude}", one["slow"][magnitude])
    for name, group in one["classes"].items():
        table.add(f"recall of {name}", value(group["recall"]), "", None, f"{between(group['recall'])}; {group['detected']} of {group['faults']}")


def add_slow(table, what, group, recall=None, delay=None, note=""):
    table.add(f"{what}: recall", value(group["recall"]), "", None,
              f"{between(group['recall'])}; {group['detected']} of {group['faults']}{note}", least=recall)
    table.add(f"{what}: median delay", minutes(group["delay_median_s"]), "min", delay, f"P90 {spoken(minutes(group['delay_p90_s']), 'min')}")


def add_regressions(table, cases):
    """Slow jobs of which nothing was reported, whatever the culprit."""
    groups = [group for case in cases for magnitude, group in case["methods"]["engine"]["slow"].items() if magnitude in ("10 %", "20 %", "30 %", "50 %")]
    faults = sum(group["faults"] for group in groups)
    missed = sum(round((1 - value(group["noticed"])) * group["faults"]) for group in groups)
    table.add("steps longer by 10 % or more: not reported", missed / max(1, faults), "", 0.03, f"{missed} of {faults}, all runs")


def add_decisions(table, case):
    for name, policy in case["policies"].items():
        if name == "clairvoyant":
            continue
        table.add(f"regret of the decision, {name}", policy["regret"], "", 0.05 if name == "expected loss" else None,
                  f"of the goodput that is lost by never acting, beside a clairvoyant; {policy['lost_hours']:,.0f} h lost in {case['trials']:,} slow jobs, "
                  f"{policy['stops']:,} swaps and stops, {policy['false_stops']:,} for a culprit that was none; findings state a probability of 0.6 to 1 "
                  f"and are right as often; seed {DECISION_SEED}")


def add_healthy(table, case):
    one = case["methods"]["engine"]
    rate = one["accusations_per_1000_node_days"]
    doubt = ", so these node-days are too few to exclude more than 1" if rate[2] > 1 >= rate[0] else ""
    table.add("false accusations without faults", value(rate), "per 1,000 node-days", 1,
              f"{between(rate, 1)}{doubt}; {one['false_accusations']} in {exposure(one)}; seeds {case['seeds']}, 16 nodes, 24 h; odd seeds have all "
              "confounders except missing columns and a shared node, which are drawn; even ones have the drawn confounders")
    table.add("of these, in jobs with unequal stages or sequences", case["unequal_stages_and_sequences"], "", 0,
              f"accusations of nodes, {case['unequal_node_days']:,.0f} node-days")
    table.add("false findings that name no node, without faults", one["false_findings"] - one["false_accusations"], "")
    hangs = one["false_hangs_per_job_day"]
    table.add("false hangs without faults", one["false_hangs"], "", 0, f"{between(hangs, 3)} per job-day; {one['job_days']:,.0f} job-days")


def add_hangs(table, case, others):
    one = case["methods"]["engine"]
    table.add("false hangs among faults", one["false_hangs"] + sum(other["false_hangs"] for other in others), "", 0,
              f"{one['job_days'] + sum(other['job_days'] for other in others):,.0f} job-days")
    goals = {"ras": ("hang with RAS", 180, 0.95), "other": ("hang without RAS", 300, 0.7), "serving": ("hang of inference", None, None)}
    for source, (what, delay, top) in goals.items():
        group = one["hangs"].get(source)
        if group is None:
            continue
        table.add(f"{what}: confirmed", group["confirmed"] / group["faults"], "", None,
                  f"{group['confirmed']} of {group['faults']}; seeds {case['seeds']}, 16 nodes, 8 h, only hangs")
        table.add(f"{what}: P90 of the time to confirm it", group["confirmed_p90_s"], "s", delay,
                  f"from the last step, or the onset if no step is seen; median {spoken(group['confirmed_median_s'], 's', 0)}, "
                  f"most {spoken(group['confirmed_most_s'], 's', 0)}")
        table.add(f"{what}: first named culprit is right", value(group["top1"]), "", None,
                  f"{between(group['top1'])}; {group['named_right']} of {group['named']} with a named culprit; detected {group['detected']} of "
                  f"{group['faults']}", least=top)


def f1_of(runs):
    faults, detected, wrong = (sum(run[i] for run in runs) for i in range(3))
    return 2 * detected / max(1, faults + detected + wrong)


def gain(whole, part):
    """How much F1 gains by what `part` lacks, with the interval of 95 % of a paired bootstrap over the seeds."""
    draw = random.Random(1)
    pairs = list(zip(whole["each_run"], part["each_run"]))
    gains = []
    for _ in range(2000):
        some = [draw.choice(pairs) for _ in pairs]
        gains.append(f1_of([one for one, _ in some]) - f1_of([other for _, other in some]))
    gains.sort()
    return f"F1 gains {f1_of(whole['each_run']) - f1_of(part['each_run']):.3f} by it ({gains[50]:.3f} to {gains[-51]:.3f}, paired bootstrap over the seeds); "


def add_methods(table, case):
    """The engine, the engine without its parts, and other methods, on the same records."""
    names = {"engine": "the engine, the same seeds"}
    names.update({f"without_{part}": f"the engine without {part}" for part in PARTS})
    names.update(OTHERS)
    whole = case["methods"]["engine"]
    for method, what in names.items():
        one = case["methods"][method]
        by_it = gain(whole, one) if method.startswith("without") else ""
        hangs = list(one["hangs"].values())
        confirmed = sum(group["confirmed"] for group in hangs)
        table.add(f"F1 of {what}", value(one["f1"]), "", None,
                  f"{between(one['f1'])}; {by_it}P {value(one['precision']) or 0:.3f} ({between(one['precision'])}), R {value(one['recall']) or 0:.3f} "
                  f"({between(one['recall'])}); false accusations {one['false_accusations']:,}, {value(one['accusations_per_1000_node_days']):,.0f} "
                  f"per 1,000 node-days ({between(one['accusations_per_1000_node_days'], 0)}); hangs reported {confirmed} of "
                  f"{sum(group['faults'] for group in hangs)}, false hangs {one['false_hangs']}; {1000 * one['cpu_s'] / one['node_days']:.0f} ms of "
                  f"processor time for a node-day; seeds {case['seeds']}, confounders as without faults")


def add_cost(table, results):
    engines = [case["methods"]["engine"] for case in results.values() if "methods" in case]
    days = sum(one["node_days"] for one in engines)
    table.add("processor time of the engine for a node-day", 1000 * sum(one["cpu_s"] for one in engines) / days, "ms", None,
              f"{days:,.0f} node-days of windows of 10 s, 8 GPUs and 8 NICs")
    scale = results["scale"]
    what = f"{scale['nodes']:,} nodes in {scale['jobs']} jobs"
    table.add(f"{what}: processor time for a minute", scale["cpu_s_per_minute"], "s", 60,
              f"one core is 60 s; the most of a minute {scale['most_cpu_s_of_a_minute']:.2f} s; {scale['minutes']} min, {scale['records']:,} records, "
              f"which were generated outside of this time; {scale['findings']} findings")
    table.add(f"{what}: largest RSS of the process", scale["peak_bytes"] / 2**20, "MiB", 2048,
              f"with the generator and the records of one window; what the engine holds at the end: {scale['heap_bytes'] / 2**20:,.0f} MiB")
    cases_of_runs = [case for case in results.values() if "methods" in case]
    received = results["reception"]
    cpu = received["receiver_cpu_s_per_minute"] + received["brain_cpu_s_per_minute"]
    table.add(f"{what}, with the receiver: processor time for a minute", cpu, "s", 60,
              f"batches of all nodes every 10 s, {received['bytes'] / received['batches'] / 1024:.1f} KiB each, without TLS: event loop "
              f"{received['receiver_cpu_s_per_minute']:.2f} s, parsing, assembly and brain {received['brain_cpu_s_per_minute']:.2f} s; "
              f"{received['refused']} refused, {received['malformed']} malformed")
    table.add(f"{what}, with the receiver: largest RSS of the process", received["peak_bytes"] / 2**20, "MiB", 2048,
              f"with the generator; what receiver and brain hold at the end: {received['heap_bytes'] / 2**20:,.0f} MiB")
    table.add("processor time of all runs", minutes(sum(case["cpu_s"] for case in cases_of_runs)), "min", None,
              f"with the generator and all methods, without {what}; the longest took {max(case['wall_s'] for case in cases_of_runs):.0f} s")


def add_rows(table, results):
    def engine(name):
        return results[name]["methods"]["engine"]

    add_faults(table, results["faults"])
    for name, recall, delay in (("slow 10", 0.95, 8), ("slow 5", 0.6, 40)):
        add_slow(table, f"one GPU whose SM clock is {name[5:]} % too low", engine(name)["slow"]["all"], recall, delay,
                 f"; seeds {results[name]['seeds']}, 16 nodes, 8 h, only this fault, false accusations {engine(name)['false_accusations']}")
    add_regressions(table, [results[name] for name in ("faults", "slow 5", "slow 10")])
    add_healthy(table, results["healthy"])
    add_decisions(table, results["decisions"])
    add_hangs(table, results["hangs"], [engine(name) for name in ("faults", "slow 5", "slow 10")])
    add_methods(table, results["methods"])
    add_cost(table, results)


def main():
    is_long = is_on("BENCH_LONG")
    command = "make bench-jobs" + (" BENCH_LONG=1" if is_long else "")
    table = Table()
    add_rows(table, measured(is_long))
    print()
    print(table.text(command))
    if is_on("BENCH_RECORD"):
        print(f"written: {record(table, TITLE, command, '-jobs')}")


if __name__ == "__main__":
    main()

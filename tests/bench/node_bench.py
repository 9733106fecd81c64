#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the budgets of one node and prints them as a table. The driver is simulated, with eight GPUs.

BENCH_LONG=1: leaves the agent idle for ten minutes, as the budget requires, before its memory and processor time are read, simulates
six hours of runs (else two), and takes more samples. BENCH_RECORD=1: also writes the table into docs/benchmarks.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../integration"))
import harness  # noqa: E402
from aged import add_aged_rows  # noqa: E402
from kernel_log_rows import add_show_rows, add_storm_rows  # noqa: E402
from pairs_bench import add_pair_rows  # noqa: E402
from probes import answer_times, percentile  # noqa: E402
from processes import Others, cpu_seconds, product, pss_mib  # noqa: E402
from programs import add_program_rows  # noqa: E402
from sampler_rows import add_sampler_rows  # noqa: E402
from stranger_rows import add_stranger_rows  # noqa: E402
from table import Table, record  # noqa: E402
from webhook_bench import add_webhook_rows  # noqa: E402

IS_LONG = os.environ.get("BENCH_LONG", "") not in ("", "0")
REST_SECONDS = 600 if IS_LONG else 60
MACHINE = "hgx-h100-8"
TITLE = "One node, eight simulated GPUs"
COMMAND = "make bench BENCH_LONG=1" if IS_LONG else "make bench"


def driver_calls(agent):
    return agent.node()["self"]["driverCalls"]


def add_rest_rows(table):
    with harness.Agent("--simulate", MACHINE) as agent:
        agent.wait_ready()
        time.sleep(5)
        before = {pid: cpu_seconds(pid) for pid in product(agent.pid)}
        calls, begin, others = driver_calls(agent), time.monotonic(), Others(before)
        time.sleep(REST_SECONDS)
        seconds = time.monotonic() - begin
        pids = product(agent.pid)
        used = sum(cpu_seconds(pid) - before.get(pid, 0.0) for pid in pids)
        after = f"after {REST_SECONDS} s"
        table.add(f"at rest: PSS of agent and helpers {after}", pss_mib(pids), "MiB", 20, f"{len(pids)} processes")
        table.add(f"at rest: CPU over {REST_SECONDS} s", used / seconds * 100, "% of a core", 0.2, others.note())
        table.add("at rest: NVML calls", (driver_calls(agent) - calls) / seconds * 60, "/min", 1500)
        others = Others(pids)
        times = answer_times(agent.port, "/metrics", rate=50, seconds=60 if IS_LONG else 10)
        table.add("/metrics at 50 scrapes/s, p99", percentile(times, 0.99), "ms", 2,
                  f"{len(times)} scrapes, median {percentile(times, 0.5):.1f} ms; {others.note()}")


def add_hang_row(table):
    """The driver hangs in every call: no client of the agent may notice it."""
    seconds = 60
    with harness.Agent("--simulate", MACHINE) as agent:
        agent.wait_ready()
        code, _, errors = harness.run("inject", "driver_hang", "--for", f"{2 * seconds}s", "--socket", agent.socket)
        assert code == 0, errors
        others = Others([agent.pid])  # its helpers are killed meanwhile
        times = answer_times(agent.port, "/v1/node", rate=20, seconds=seconds)
        assert agent.result("gpu.driver")["health"] != "healthy", "the driver answers although it was told to hang"
        table.add("slowest /v1/node while the driver hangs", max(times), "ms", 50,
                  f"{len(times)} requests in {seconds} s; {others.note()}")


def add_start_rows(table, folder):
    tree = os.path.join(folder, "machine")
    subprocess.run([harness.AUTOPILOT_SIM, "create", MACHINE, "--out", tree], check=True, stdout=subprocess.DEVNULL)
    count = 30 if IS_LONG else 10
    one_shot, agent_start = [], []
    for _ in range(count):
        begin = time.monotonic()
        harness.run("check", "--root", tree, "--window", "0s")
        one_shot.append((time.monotonic() - begin) * 1000)
        begin = time.monotonic()
        with harness.Agent("--root", tree) as agent:
            agent.wait_ready()
            agent_start.append((time.monotonic() - begin) * 1000)
    table.add("start to verdict, no window: check", percentile(one_shot, 0.5), "ms", 300,
              f"median of {count}, slowest {max(one_shot):.0f} ms")
    table.add("start to verdict: agent is ready", percentile(agent_start, 0.5), "ms", 300,
              f"median of {count}, slowest {max(agent_start):.0f} ms; looked for every 20 ms")


def add_size_row(table, folder):
    copy = shutil.copy(harness.AUTOPILOT, folder)
    subprocess.run(["strip", copy], check=True)
    table.add("executable, stripped", os.path.getsize(copy) / 1e6, "MB", 18)


def main():
    table = Table()
    with tempfile.TemporaryDirectory(prefix="autopilot-bench-") as folder:
        add_size_row(table, folder)
        add_start_rows(table, folder)
        add_rest_rows(table)
        add_sampler_rows(table, folder, MACHINE, 300 if IS_LONG else 60)
        add_aged_rows(table, folder, MACHINE, 6 if IS_LONG else 2)
        add_hang_row(table)
        add_stranger_rows(table)
        add_show_rows(table, 2000 if IS_LONG else 300)
        settle = 600 if IS_LONG else 30
        add_storm_rows(table, "", settle)
        add_storm_rows(table, ", 90 % lost", settle, per_step=100)
        add_program_rows(table, folder)
        add_webhook_rows(table, folder)
        add_pair_rows(table)
    print()
    print(f"simulated driver and machine {MACHINE}")
    print(table.text(COMMAND))
    if os.environ.get("BENCH_RECORD", "") not in ("", "0"):
        print(f"written: {record(table, TITLE, COMMAND)}")


if __name__ == "__main__":
    main()

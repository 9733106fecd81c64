#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the budgets of one node and prints them as a table. What answers is a simulated driver of eight GPUs.

BENCH_REST_SECONDS (120): how long the agent is left alone before its memory and processor time are read; the budget speaks of
ten minutes.
"""

import http.client
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../integration"))
import harness  # noqa: E402

REST_SECONDS = float(os.environ.get("BENCH_REST_SECONDS", "120"))
MACHINE = "hgx-h100-8"


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def name_of(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
        return file.read().strip()


def product(pid):
    """The agent and its helpers, without the player of the simulated machine."""
    own = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
            own += [int(word) for word in file.read().split()]
    return [pid] + [child for child in own if name_of(child) == "autopilot"]


def pss_kib(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return int(re.search(r"^Pss:\s+(\d+)", file.read(), re.M).group(1))


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def metric(text, name):
    return float(re.search(rf"^{name} (\S+)", text, re.M).group(1))


def at_rest(agent):
    agent.wait_ready()
    before = {pid: cpu_seconds(pid) for pid in product(agent.pid)}
    calls = metric(agent.get("/metrics"), "autopilot_driver_calls_total")
    begin = time.monotonic()
    time.sleep(REST_SECONDS)
    seconds = time.monotonic() - begin
    pids = product(agent.pid)
    used = sum(cpu_seconds(pid) - before.get(pid, 0.0) for pid in pids)
    calls = metric(agent.get("/metrics"), "autopilot_driver_calls_total") - calls
    return sum(pss_kib(pid) for pid in pids) / 1024, used / seconds * 100, calls / seconds * 60


def scrapes(agent, seconds=10, rate=50):
    connection = http.client.HTTPConnection("127.0.0.1", agent.port, timeout=10)
    times = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begin = time.monotonic()
        connection.request("GET", "/metrics")
        connection.getresponse().read()
        times.append((time.monotonic() - begin) * 1000)
        time.sleep(max(0.0, 1 / rate - (time.monotonic() - begin)))
    connection.close()
    return percentile(times, 0.99)


def starts(count=10):
    times = []
    for _ in range(count):
        begin = time.monotonic()
        harness.run("check", "--root", starts.tree, "--window", "0s")
        times.append((time.monotonic() - begin) * 1000)
    return statistics.median(times)


def stripped_mb(folder):
    copy = shutil.copy(harness.AUTOPILOT, folder)
    subprocess.run(["strip", copy], check=True)
    return os.path.getsize(copy) / 1e6


def main():
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        starts.tree = os.path.join(folder, "machine")
        subprocess.run([harness.AUTOPILOT_SIM, "create", MACHINE, "--out", starts.tree], check=True,
                       stdout=subprocess.DEVNULL)
        rows.append(("executable, stripped", f"{stripped_mb(folder):.1f} MB", "<= 15 MB"))
        rows.append(("start to verdict, no window (median of 10)", f"{starts():.0f} ms", "<= 300 ms"))
        with harness.Agent("--simulate", MACHINE) as agent:
            pss, cpu, calls = at_rest(agent)
            rows.append((f"agent and helpers after {REST_SECONDS:.0f} s: PSS", f"{pss:.1f} MiB", "<= 20 MiB"))
            rows.append((f"agent and helpers over {REST_SECONDS:.0f} s: CPU", f"{cpu:.2f} % of a core", "<= 0.2 %"))
            rows.append(("NVML calls", f"{calls:.0f} /min", "<= 1500 /min"))
            rows.append(("/metrics at 50 scrapes/s: p99", f"{scrapes(agent):.1f} ms", "<= 2 ms"))
    print(f"simulated driver, {MACHINE}; {platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}, "
          f"{time.strftime('%Y-%m-%d')}")
    width = max(len(row[0]) for row in rows)
    for what, measured, budget in rows:
        print(f"  {what:<{width}}  {measured:>16}   budget {budget}")


if __name__ == "__main__":
    main()

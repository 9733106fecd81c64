# SPDX-License-Identifier: Apache-2.0
"""Memory and processor time of an agent after hours of rounds, without the hours: checks run FASTER times as often. Windows are
divided by the same number, so each history holds as many samples as at the usual interval."""

import json
import os
import re
import time

import harness
from processes import Others, cpu_seconds, product, pss_mib

FASTER = 30
LEAST_PERIOD = 1.0  # seconds: a check with a shorter interval than FASTER runs less often


def write_faster_config(path, machine):
    _, listed, _ = harness.run("check", "--list", "--simulate", machine, "-o", "json")
    checks = {
        check["check"]: {
            "period": f"{max(LEAST_PERIOD, check['periodSeconds'] / FASTER) * 1000:.0f}ms",
            "window": f"{check['windowSeconds'] / FASTER * 1000:.0f}ms",
        }
        for check in json.loads(listed)["items"]
    }
    with open(path, "w", encoding="ascii") as file:
        json.dump({"checks": checks}, file)


def own_memory_mib(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return int(re.search(r"^Anonymous:\s+(\d+)", file.read(), re.M).group(1)) / 1024


def add_aged_rows(table, folder, machine, hours):
    """Adds rows of an aged agent: in the second half of the hours the memory must not grow."""
    config = os.path.join(folder, "faster.yaml")
    write_faster_config(config, machine)
    half = hours * 3600 / FASTER / 2
    with harness.Agent("--simulate", machine, "--config", config) as agent:
        agent.wait_ready()
        time.sleep(half)
        halfway, others = own_memory_mib(agent.pid), Others(product(agent.pid))
        time.sleep(half)
        pids = product(agent.pid)
        after = f"after {hours} h of rounds, {FASTER} times as often"
        note = f"agent's own {own_memory_mib(agent.pid):.1f} MiB, {halfway:.1f} MiB halfway; {others.note()}"
        table.add(f"at rest: PSS {after}", pss_mib(pids), "MiB", 20, note)
        table.add(f"at rest: own memory of the agent grows in the second half of {hours} h of rounds",
                  own_memory_mib(agent.pid) - halfway, "MiB", 1)
        used = sum(cpu_seconds(pid) for pid in pids)
        table.add("at rest: CPU of these rounds at the usual pace", used / (hours * 3600) * 100, "% of a core", 0.2, others.note())

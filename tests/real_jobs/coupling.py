#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the simulated driver of one node report what its ranks do. Each second, the state of each rank's process and the phase that it
wrote become power, clocks and utilisation of its GPU.

  coupling.py TREE STATE ADDRESS=RANK:PID:INNER...     PID here, INNER in the namespace of the node"""

import json
import os
import sys
import time

import yaml

# Of an L40S, plausible: watts, MHz, per cent.
READINGS = {"b": (290, 2415, 0.98), "s": (118, 2490, 1), "i": (36, 210, 0)}
USED = 31 << 30


def state_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "Z"


def phase_of(state, rank, pid):
    """A stopped or ended process launches nothing: its GPU is idle."""
    if state_of(pid) in "TtZX":
        return "i"
    try:
        with open(os.path.join(state, f"gpu-{rank}"), encoding="ascii") as file:
            return file.read(1) or "i"
    except FileNotFoundError:
        return "i"


def write(path, text):
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(f"{path}.new", path)


def main():
    tree, state = sys.argv[1:3]
    gpus = {}
    for word in sys.argv[3:]:
        address, holder = word.split("=")
        gpus[address] = holder.split(":")
    path = os.path.join(tree, "nvml.yaml")
    with open(path, encoding="utf-8") as file:
        driver = yaml.load(file, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    while True:
        for address, (rank, pid, inner) in gpus.items():
            readings = driver["gpus"][address]["readings"]
            power, clock, used = READINGS[phase_of(state, rank, pid)]
            readings |= {"power.usage": power, "clocks.sm": clock, "utilization": used, "memory.used": USED, "pcie.generation": 4,
                         "processes.count": 1, "processes.pids": inner, "clocks.event_reasons": 0 if used else 1}
        write(path, json.dumps(driver))
        time.sleep(1)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replaces all_reduce_perf of nccl-tests: fake_all_reduce_perf.py HOW [--log FILE] [-g N] [-J FILE] [ignored ...]

HOW: pass, slow, wrong, unchecked, exit (with 3, and a report in which nothing is wrong), old (knows no -J), garbage, crash, hang.
At its start it writes one line of JSON to the FILE of --log: its process id, its arguments and its visible GPUs."""

import json
import os
import signal
import sys
import time


def value_of(flag):
    return sys.argv[sys.argv.index(flag) + 1] if flag in sys.argv else None


def rows(how):
    for size in (256 << 20, 1 << 30, 2 << 30):
        rate = 20.0 if how == "slow" else 470.0
        checked = "N/A" if how == "unchecked" else 0.0
        way = {"time": 1.0, "alg_bw": rate / 1.75, "bus_bw": rate, "nwrong": 2.0 if how == "wrong" and size == 1 << 30 else checked}
        yield {"size": size, "count": size // 4, "type": "float", "redop": "sum", "root": "    -1", "out_of_place": way,
               "in_place": way | {"nwrong": checked}}


def main():
    how = sys.argv[1]
    if value_of("--log"):
        with open(value_of("--log"), "a", encoding="utf-8") as file:
            print(json.dumps({"pid": os.getpid(), "arguments": sys.argv[2:], "visible": os.environ.get("CUDA_VISIBLE_DEVICES")}), file=file)
    if how == "hang":
        time.sleep(600)
    if how == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "old":
        print("invalid option 'J'")
        return 1
    with open(value_of("-J"), "w", encoding="utf-8") as file:
        if how == "garbage":
            file.write('{"version":2,')
        else:
            json.dump({"version": 2, "results": list(rows(how))}, file)
    print("# Avg bus bandwidth    : 470")
    return {"wrong": 1, "exit": 3}.get(how, 0)


sys.exit(main())

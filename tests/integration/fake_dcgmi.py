#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replaces dcgmi: fake_dcgmi.py HOW [--dcgm 3|4] [--log FILE] [--gpus N] [-i 0,3] [ignored ...]

HOW: pass, fail:TEST:GPU, warn:TEST:GPU, skip, refused, dead, garbage, torn, empty, exit:CODE, crash, hang, deaf.
At its start it writes one line of JSON to FILE: its process id, its process group and its arguments."""

import json
import os
import signal
import sys
import time

TESTS = [("Deployment", "software", "NVML Library"), ("Hardware", "memory", "GPU Memory"),
         ("Integration", "pcie", "PCIe"), ("Stress", "targeted_power", "Targeted Power")]


def status_of(how, test, gpu):
    word, _, rest = how.partition(":")
    if word == "skip":
        return "Skip"
    if word in ("fail", "warn") and rest == f"{test}:{gpu}":
        return word.capitalize()
    return "Pass"


def worst_of(results):
    return max((one["status"] for one in results), key=["Skip", "Pass", "Warn", "Fail"].index)


def of_version_4(how, gpus):
    categories = []
    for category, test, _ in TESTS:
        results = []
        for gpu in gpus:
            status = status_of(how, test, gpu)
            results.append({"entity_group": "GPU", "entity_group_id": 1, "entity_id": gpu, "status": status})
            if status in ("Fail", "Warn"):
                results[-1]["warnings"] = [{"warning": f"{test} is not well", "error_id": 13, "error_category": 1}]
        categories.append({"category": category, "tests": [
            {"name": test, "results": results, "test_summary": {"status": worst_of(results)}}]})
    entities = [{"entity_id": gpu, "device_id": "2330"} for gpu in gpus]
    return {"DCGM Diagnostic": {"test_categories": categories}, "metadata": {"version": "4.2.3"},
            "entity_groups": [{"entity_group": "GPU", "entity_group_id": 1, "entities": entities}]}


def of_version_3(how, gpus):
    categories = []
    for category, test, name in TESTS:
        results = []
        for gpu in gpus:
            status = status_of(how, test, gpu)
            results.append({"gpu_id": str(gpu), "status": status})
            if status in ("Fail", "Warn"):
                results[-1]["warnings"] = f"{test} is not well"
        # Tests of the machine name no GPU.
        shown = [{"status": worst_of(results)}] if category == "Deployment" else results
        categories.append({"category": category, "tests": [{"name": name, "results": shown}]})
    return {"DCGM GPU Diagnostic": {"test_categories": categories, "version": "3.3.9"}}


def option(name, default):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def main():
    how = sys.argv[1]
    log = option("--log", "")
    if log:
        with open(log, "a", encoding="utf-8") as file:
            print(json.dumps({"pid": os.getpid(), "group": os.getpgrp(), "arguments": sys.argv[1:]}), file=file, flush=True)
    if how == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if how in ("hang", "deaf"):
        time.sleep(3600)
    if how == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "dead":
        print("Error: no connection to a host engine.")
        return 214
    if how == "garbage":
        sys.stdout.buffer.write(b"\x00\xff{]" * 1000)
        return 0
    if how == "empty":
        return 0
    chosen = option("-i", "")
    gpus = [int(gpu) for gpu in chosen.split(",")] if chosen else list(range(int(option("--gpus", "8"))))
    name = "DCGM Diagnostic" if option("--dcgm", "4") == "4" else "DCGM GPU Diagnostic"
    document = (of_version_4 if option("--dcgm", "4") == "4" else of_version_3)(how, gpus)
    if how == "refused":
        document = {name: {"runtime_error": "MIG is enabled on a GPU"}}
    text = json.dumps(document, indent=2)
    print(text[:len(text) // 2] if how == "torn" else text)
    if how.startswith("exit:"):
        return int(how.partition(":")[2])
    return 226 if how.startswith("fail:") or how == "refused" else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of the webhook for the creation of a pod. BENCH_RECORD=1: also writes the table into docs/benchmarks."""

import json
import os
import sys
import tempfile

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../integration"))
from certificates import Certificates  # noqa: E402
from programs import figures, microseconds  # noqa: E402
from table import ROOT, Table, record  # noqa: E402

TITLE = "Webhook of the controller"
# A real-time process, which runs before other work of the machine.
IS_FIRST = os.sched_getscheduler(0) == os.SCHED_FIFO
COMMAND = ("chrt -f 10 " if IS_FIRST else "") + "tools/bench.sh 2 webhook"


def add_webhook_rows(table, folder):
    """Adds rows for the review that an API server sends for a pod of a Job, with eight GPUs."""
    with open(os.path.join(ROOT, "tests/webhook/mutate/job/pod.yaml"), encoding="utf-8") as file:
        request = {"uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "operation": "CREATE", "object": yaml.safe_load(file),
                   "kind": {"group": "", "version": "v1", "kind": "Pod"}}
    review = os.path.join(folder, "review.json")
    with open(review, "w", encoding="utf-8") as file:
        json.dump({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}, file)
    keys = Certificates(folder)
    keys.make_authority("authority")
    keys.make("server", "authority", "IP:127.0.0.1")
    webhook = figures("webhook_bench", {"AUTOPILOT_BENCH_TLS": folder, "AUTOPILOT_BENCH_REVIEW": review})
    asked, empty = (webhook[f"{name}/iterations:1/real_time"] for name in ("mutate_pod", "empty_handler"))
    table.add("webhook: 500 reviews/s over TLS, p99", asked["p99_ms"], "ms", 5,
              f"{asked['reviews']:.0f} reviews of {asked['bytes'] / 1000:.1f} kB, four connections, median {asked['median_ms']:.2f} ms")
    table.add("webhook: the same of a handler that only answers", empty["p99_ms"], "ms", note=f"median {empty['median_ms']:.2f} ms")
    table.add("webhook: one review, without TLS", microseconds(webhook["review_alone/0"]) / 1000, "ms", note="one core")
    table.add("webhook: the longest review that is looked at", microseconds(webhook["review_alone/780000"]) / 1000, "ms",
              note="3 MiB of small values; all others wait for it")


def main():
    table = Table()
    with tempfile.TemporaryDirectory(prefix="autopilot-bench-") as folder:
        add_webhook_rows(table, folder)
    print()
    print(table.text(COMMAND))
    if os.environ.get("BENCH_RECORD", "") not in ("", "0"):
        print(f"written: {record(table, TITLE, COMMAND, '-webhook')}")


if __name__ == "__main__":
    main()

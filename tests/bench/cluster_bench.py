#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how soon a cluster sees what an agent sees: from a record in the kernel log to the label and the condition of its
Node object. The API server and etcd are real, the machine of eight GPUs is simulated.

BENCH_LONG=1: more samples. BENCH_RECORD=1: writes the table into docs/benchmarks as well.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../integration"))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../cluster"))
from fed_machine import MACHINE, FedMachine, xid  # noqa: E402
from kit.cluster import ROOT, Cluster  # noqa: E402
from kit.reason import CannotRun  # noqa: E402
from node_watch import NodeWatch  # noqa: E402
from probes import percentile  # noqa: E402
from processes import Others, product  # noqa: E402
from table import Table, record  # noqa: E402

CANNOT_RUN = 77
IS_LONG = os.environ.get("BENCH_LONG", "") not in ("", "0")
NODES = 100 if IS_LONG else 30  # a node is quiet once
PREFIX = "autopilot.ibm.com"
TITLE = "One node of a cluster, eight simulated GPUs"
COMMAND = "make bench-cluster BENCH_LONG=1" if IS_LONG else "make bench-cluster"


def label_of(node):
    return node["metadata"]["labels"].get(f"{PREFIX}/gpuhealth")


def condition_of(node):
    found = [one["status"] for one in node["status"].get("conditions", []) if one["type"] == "GpuHealthy"]
    return found[0] if found else None


def is_settled(node):
    return label_of(node) == "PASS" and condition_of(node) == "True"


def settings_for(cluster, node, folder):
    path = os.path.join(folder, f"{node}.yaml")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"node": node, "kubernetes": {"write_node": True, "kubeconfig": str(cluster.kubeconfig)}}, file)
    return path


def show_times(cluster, node):
    """Milliseconds from a record to the label and to the condition, from a watch of the node; and the load of other processes."""
    settings = settings_for(cluster, node, str(cluster.folder))
    with FedMachine(agent=("--allow-simulated", "--config", settings)) as machine, NodeWatch(cluster, node) as watch:
        watch.until(is_settled, f"{node} is PASS")
        others = Others(product(machine.agent.pid) + [machine.feeder.pid])
        begin = watch.now()
        machine.write(xid(2, 79, "pid='<unknown>', name=<unknown>, GPU has fallen off the bus."))
        seen = {}
        while len(seen) < 2:
            at, state = watch.next()
            if label_of(state) == "EVICT":
                seen.setdefault("label", (at - begin) * 1000)
            if condition_of(state) == "False":
                seen.setdefault("condition", (at - begin) * 1000)
        return seen["label"], seen["condition"], others.note()


def main():
    table = Table()
    cluster = Cluster(say=lambda text: print(text, file=sys.stderr, flush=True))
    is_ours = not cluster.folder.exists()
    try:
        cluster.up(0, NODES, ROOT / "build" / "bench" / "bin")
        times = [show_times(cluster, f"sim-{i}") for i in range(NODES)]
    except CannotRun as reason:
        print(f"cannot run here: {reason}", file=sys.stderr)
        return CANNOT_RUN
    finally:
        if is_ours:
            cluster.down()
    for name, values in (("label", [one[0] for one in times]), ("condition", [one[1] for one in times])):
        table.add(f"first change of a quiet node: {name}, p99", percentile(values, 0.99), "ms", 250,
                  f"{NODES} nodes, median {percentile(values, 0.5):.0f} ms, slowest {max(values):.0f} ms; at the last node {times[-1][2]}")
    print()
    print(f"simulated driver and machine {MACHINE}; kube-apiserver and etcd on the same machine")
    print(table.text(COMMAND))
    if os.environ.get("BENCH_RECORD", "") not in ("", "0"):
        print(f"written: {record(table, TITLE, COMMAND, '-cluster')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

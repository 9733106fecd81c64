# SPDX-License-Identifier: Apache-2.0
"""Measures the delay from a kernel record to visible output, and a storm of records."""

import json
import random
import time

import harness
from fed_machine import FedMachine, xid
from probes import AnswersMeanwhile, Client, percentile, time_until_seen
from processes import PeakMemory, Others, cpu_seconds, pace, product, pss_mib

STORM_RECORDS = 1_000_000
STORM_SECONDS = 10
STEPS_PER_SECOND = 100  # of a feeder that gives only so much, see `autopilot-sim feed --help`
BLOCK = 1000
SICK_GPU = 1


def show_times(machine, count):
    """Milliseconds from writing a record to the API and to /metrics, of `count` records one after another."""
    client = Client(machine.agent.port)
    record = xid(2, 94, "pid=500000, name=python, Ch 00000010")
    machine.write(record)
    time_until_seen(client, "/v1/checks/gpu.xid", b"pid=500000,")
    first = json.loads(bytes(client.get("/v1/checks/gpu.xid")))["findings"][0]["evidence"]["sequence"]
    to_api, to_metrics = [], []
    for number in range(2, count + 2):
        time.sleep(random.uniform(0.05, 0.15))
        machine.write(record)
        if number % 2 == 0:
            seen = f'"lastSequence":{first + number - 1},'
            to_api.append(time_until_seen(client, "/v1/checks/gpu.xid", seen.encode()))
        else:
            seen = f'autopilot_kernel_records_total{{check="gpu.xid",name="xid",value="94",subject="gpu/0000:52:00.0"}} {number}\n'
            to_metrics.append(time_until_seen(client, "/metrics", seen.encode()))
    client.close()
    return to_api, to_metrics


def add_show_rows(table, count):
    with FedMachine() as machine:
        others = Others(product(machine.agent.pid) + [machine.feeder.pid])
        to_api, to_metrics = show_times(machine, count)
        note = f"{count // 2} records, median {percentile(to_api, 0.5):.1f} ms; {others.note()}"
        table.add("kernel record to API, p99", percentile(to_api, 0.99), "ms", 10, note)
        note = f"{count // 2} records, median {percentile(to_metrics, 0.5):.1f} ms"
        table.add("kernel record to /metrics, p99", percentile(to_metrics, 0.99), "ms", 10, note)


def storm_block():
    """One GPU fell off the bus, and everybody's channels die of it."""
    lines = []
    for i in range(BLOCK):
        if i % 100 == 7:
            lines.append(xid(SICK_GPU, 79, "pid='<unknown>', name=<unknown>, GPU has fallen off the bus."))
        else:
            lines.append(xid(SICK_GPU, 45, f"pid={4000 + i % 37}, name=python, Ch {i % 64:08x}"))
    return b"".join(lines)


def play_storm(machine):
    """Seconds that it took to write it."""
    block = storm_block()
    begin = time.monotonic()
    for done in range(0, STORM_RECORDS, BLOCK):
        pace(begin, done, STORM_RECORDS / STORM_SECONDS)
        machine.write(block)
    return time.monotonic() - begin


def blames_the_sick_gpu(agent):
    """Exactly one incident: the GPU that is off the bus, failed."""
    incidents = [one for one in agent.node()["incidents"] if one["state"] == "open"]
    found = [(one["blamed"]["kind"], one["blamed"]["key"], one["reason"], one["health"]) for one in incidents]
    return found == [("gpu", "0000:43:00.0", "gpu_fallen_off_bus", "failed")], found


def add_storm_rows(table, name, settle_seconds, **options):
    with FedMachine(**options) as machine:
        agent = machine.agent
        pids = product(agent.pid)
        calm = pss_mib(pids)
        before = machine.records()
        others = Others([*pids, machine.feeder.pid])
        with PeakMemory(pids) as peak, AnswersMeanwhile(agent.port, "/v1/node", "/metrics") as answers:
            seconds = play_storm(machine)

            def all_told():
                counts = [now - then for now, then in zip(machine.records(), before)]
                return counts if counts[0] + counts[1] >= STORM_RECORDS else None

            try:
                read, lost, missed = harness.wait_until(all_told, "every record is read or lost", deadline=60)
            except AssertionError:
                read, lost, missed = [now - then for now, then in zip(machine.records(), before)]
        share = 100 * lost / STORM_RECORDS
        prefix = f"storm{name}: "
        table.add_truth(prefix + "read + lost = written", read + lost == STORM_RECORDS,
                        f"written in {seconds:.1f} s, read {read:,}, lost {lost:,} ({share:.0f} %), "
                        f"read and missed by a check {missed:,}")
        table.add(prefix + "growth of memory (PSS)", peak.mib - calm, "MiB", 16,
                  f"from {calm:.1f} MiB; {others.note()}")
        for path, times in answers.times.items():
            table.add(prefix + f"slowest answer of {path}", max(times), "ms", 50, f"of {len(times)}")
        is_right, found = blames_the_sick_gpu(agent)
        table.add_truth(prefix + "the one right incident", is_right, "" if is_right else str(found))
        time.sleep(1)
        cpu_before, begin = sum(map(cpu_seconds, pids)), time.monotonic()
        time.sleep(settle_seconds)
        pids = product(agent.pid)
        used = (sum(map(cpu_seconds, pids)) - cpu_before) / (time.monotonic() - begin) * 100
        table.add(prefix + f"PSS {settle_seconds:.0f} s later", pss_mib(pids), "MiB", 20)
        table.add(prefix + f"CPU in these {settle_seconds:.0f} s", used, "% of a core", 0.2)

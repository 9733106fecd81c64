# SPDX-License-Identifier: Apache-2.0
"""A kernel log that is written while the agent reads it: single records, and more than the agent can read."""

import json
import os
import re
import signal
import tempfile
import time
import unittest

import harness
from fed_kernel_log import FedKernelLog

GPU = "0000:43:00"  # of hgx-h100-8
OTHER_GPU = "0000:52:00"


def xid(code, text, gpu=GPU):
    return f"NVRM: Xid (PCI:{gpu}): {code}, {text}"


def self_metric(agent, name):
    return int(float(re.search(rf"^autopilot_{name} (\S+)$", agent.get("/metrics"), re.M).group(1)))


def record_counts(text):
    """Read, lost, missed."""
    return [int(float(re.search(rf"^autopilot_kernel_records_{word}_total (\S+)$", text, re.M).group(1)))
            for word in ("read", "lost", "missed")]


class KernelLogTest(unittest.TestCase):
    def wait_for_reason(self, agent, reason):
        def found():
            return [finding for finding in agent.result("gpu.xid")["findings"] if finding["reason"] == reason]
        return harness.wait_until(found, f"gpu.xid says {reason}")[0]

    def test_a_record_is_seen_without_waiting_for_the_next_round(self):
        with FedKernelLog() as log, harness.Agent("--root", log.tree) as agent:
            agent.wait_ready()
            self.assertEqual(agent.result("gpu.xid")["health"], "healthy")
            self.assertEqual(agent.result("gpu.xid")["witnesses"], ["/dev/kmsg"])
            log.write(xid(79, "pid='<unknown>', name=<unknown>, GPU has fallen off the bus."))
            finding = self.wait_for_reason(agent, "gpu_fallen_off_bus")
            self.assertEqual(finding["subject"]["key"], GPU + ".0")
            self.assertEqual(self_metric(agent, "kernel_records_read_total"), log.boot_records + 1)

    def test_what_could_not_be_read_is_counted_to_the_record(self):
        written = 20_000
        with FedKernelLog(records=500, per_step=20) as log, harness.Agent("--root", log.tree) as agent:
            agent.wait_ready()
            before = record_counts(agent.get("/metrics"))
            log.write(*[xid(79 if i % 100 == 7 else 45, f"pid={i}, name=python, Ch {i:08x}") for i in range(written)])

            def all_told():
                counts = [now - then for now, then in zip(record_counts(agent.get("/metrics")), before)]
                return counts if counts[0] + counts[1] == written else None

            _, lost, missed = harness.wait_until(all_told, "read and lost are what was written", deadline=60)
            self.assertGreater(lost, written / 2)
            self.assertEqual(self.wait_for_reason(agent, "gpu_fallen_off_bus")["subject"]["key"], GPU + ".0")
            # Several checks read the log; records that several of them missed are reported once.
            harness.wait_until(lambda: told_lost(agent) == lost + missed, "the events tell the same loss")

    def test_an_error_whose_line_was_lost_is_told_by_the_drivers_library(self):
        with FedKernelLog(records=500, per_step=20) as log, harness.Agent("--root", log.tree) as agent:
            agent.wait_ready()
            tell_by_library(log.tree, 95)
            log.write(*[xid(45, f"pid={i}, name=python, Ch {i:08x}", OTHER_GPU) for i in range(20_000)])
            finding = self.wait_for_reason(agent, "xid_memory")
            self.assertEqual(finding["subject"]["key"], GPU + ".0")
            self.assertEqual(finding["evidence"]["witness"], "nvml events")
            self.assertEqual(finding["evidence"]["code"], 95)

    def test_an_error_that_both_witnesses_told_is_counted_once(self):
        with FedKernelLog(records=500, per_step=20) as log, harness.Agent("--root", log.tree) as agent:
            agent.wait_ready()
            log.write(xid(31, "pid=4242, name=train, Ch 00000010, intr 00000000. MMU Fault"))
            harness.wait_until(lambda: xids_counted(agent, 31) == 1, "the log tells it")
            tell_by_library(log.tree, 31)
            log.write(*[xid(45, f"pid={i}, name=python, Ch {i:08x}", OTHER_GPU) for i in range(20_000)])
            # A run that finds lost records calls the library; the next run may not.
            lost = harness.wait_until(lambda: losses(agent), "records were lost")[0]
            harness.wait_until(lambda: agent.result("gpu.xid")["completed"] > lost["time"], "the library was asked")
            self.assertEqual(xids_counted(agent, 31), 1)
            members = [member for incident in agent.node()["incidents"] for member in incident["members"]
                       if member["finding"]["evidence"].get("code") == 31]
            self.assertEqual([member["finding"]["evidence"].get("count", 1) for member in members], [1])

    def test_a_restart_counts_no_record_twice_and_forgets_none(self):
        with FedKernelLog() as log, tempfile.TemporaryDirectory(prefix="autopilot-test-") as folder:
            written = seen_before = 0
            for number, how in ((50, signal.SIGTERM), (0, signal.SIGTERM), (1, signal.SIGKILL), (1, signal.SIGTERM),
                                (300, signal.SIGKILL), (2, signal.SIGTERM)):
                # Records written while no agent ran, and records written while it runs.
                for part, is_running in ((number // 2, False), (number - number // 2, True)):
                    if is_running:
                        agent = harness.Agent("--root", log.tree, folder=folder)
                        agent.wait_ready()
                    log.write(*[xid(45, f"pid=7, name=python3, Ch {written + i:08x}") for i in range(part)])
                    written += part
                with agent:
                    harness.wait_until(lambda: xids_counted(agent, 45) == written - seen_before, "the metric counts what is new")
                    harness.wait_until(lambda: told_xids(agent) == written, "events tell every record once")
                    member = harness.wait_until(lambda: only_member(agent, written), "the incident counts them all")
                    latest = max(event["time"] for event in xid_events(agent))
                    self.assertEqual(member["finding"]["lastSeen"], latest)
                    # Longer than what only repeats may wait for the journal.
                    settled = time.monotonic() + 3
                    harness.wait_until(lambda: time.monotonic() > settled and has_nothing_to_keep(agent), "the journal has it")
                    agent.process.stop(how)
                seen_before = written


def xid_events(agent):
    _, body = agent.request("GET", "/v1/events", headers={"Accept": "application/json"})
    return [event for event in json.loads(body)["items"] if event["kind"] == "kernel_record" and event["reason"] == "xid"]


def has_nothing_to_keep(agent):
    return re.search(r"^autopilot_journal_lag_seconds (\S+)$", agent.get("/metrics"), re.M).group(1) == "0"


def told_xids(agent):
    return sum(event["details"].get("count", 1) for event in xid_events(agent))


def xids_counted(agent, code):
    rows = re.findall(rf'^autopilot_kernel_records_total\{{.*value="{code}".*\}} (\S+)$', agent.get("/metrics"), re.M)
    return sum(int(float(number)) for number in rows)


def tell_by_library(tree, code):
    """An Xid of a GPU that NVML reports to its listeners."""
    path = os.path.join(tree, "nvml.yaml")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    assert not re.search(r"^events:", text, re.M)
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text + f'events:\n  - {{id: 1, gpu: "{GPU}.0", xid: {code}}}\n')
    os.rename(path + ".new", path)


def only_member(agent, count):
    members = [member for incident in agent.node()["incidents"] for member in incident["members"]]
    if len(members) != 1 or members[0]["finding"]["evidence"].get("count", 1) != count:
        return None
    return members[0]


def losses(agent):
    """Events about lost records."""
    _, body = agent.request("GET", "/v1/events", headers={"Accept": "application/json"})
    return [event for event in json.loads(body)["items"] if event["kind"] == "records_lost"]


def told_lost(agent):
    return sum(event["details"]["lost"] for event in losses(agent))


if __name__ == "__main__":
    unittest.main()

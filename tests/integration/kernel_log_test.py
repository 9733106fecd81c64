# SPDX-License-Identifier: Apache-2.0
"""A kernel log that is written while the agent reads it: single records, and more than anybody can read."""

import json
import re
import unittest

import harness
from fed_kernel_log import FedKernelLog

GPU = "0000:43:00"  # of hgx-h100-8


def xid(code, text, gpu=GPU):
    return f"NVRM: Xid (PCI:{gpu}): {code}, {text}"


def self_metric(agent, name):
    return int(float(re.search(rf"^autopilot_{name} (\S+)$", agent.get("/metrics"), re.M).group(1)))


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
            read, lost = self_metric(agent, "kernel_records_read_total"), self_metric(agent, "kernel_records_lost_total")
            log.write(*[xid(79 if i % 100 == 7 else 45, f"pid={i}, name=python, Ch {i:08x}") for i in range(written)])

            def all_told():
                text = agent.get("/metrics")
                numbers = [int(float(re.search(rf"^autopilot_kernel_records_{word}_total (\S+)$", text, re.M).group(1)))
                           for word in ("read", "lost")]
                return numbers if sum(numbers) - read - lost == written else None

            numbers = harness.wait_until(all_told, "read and lost are what was written", deadline=60)
            self.assertGreater(numbers[1] - lost, written / 2)
            self.assertEqual(self.wait_for_reason(agent, "gpu_fallen_off_bus")["subject"]["key"], GPU + ".0")
            # Several checks read the log; what all of them missed is told once.
            harness.wait_until(lambda: told_lost(agent) == numbers[1] - lost, "the events tell the same loss")


def told_lost(agent):
    _, body = agent.request("GET", "/v1/events", headers={"Accept": "application/json"})
    return sum(event["details"]["lost"] for event in json.loads(body)["items"] if event["kind"] == "records_lost")


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""Agents of many simulated nodes in one process: what they say of their nodes, how often they ask, and what is left when they die."""

import calendar
import os
import re
import signal
import time
import unittest
from pathlib import Path

from kit import audit, fleet, reports, simulated, testing
from kit.api import condition_of
from kit.cluster import ROOT, Cluster

PROGRAMS = Path(os.environ.get("AUTOPILOT_BIN_DIR", ROOT / "build" / "bin"))
PREFIX = "autopilot.ibm.com"
NODES = 50
CONDITIONS = ("GpuHealthy", "NetworkHealthy", "StorageHealthy", "HostHealthy")
# The same for every fault that evicts work: a GPU that must be replaced, a GPU that fell off the bus, and a line of the driver.
FAULTS = {"fleet-3": "fault=row_remap_failed,subject=gpu/2", "fleet-17": "fault=fell_off_bus,subject=gpu/5",
          "fleet-41": "fault=xid,subject=gpu/1,magnitude=79"}
UNTIL_FAULTS = 30
HEARTBEAT = 20


class FleetTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().open()
        cls.api = cls.cluster.api
        cls.log = cls.cluster.processes.log_of(fleet.PROGRAM)

    @classmethod
    def tearDownClass(cls):
        reports.remove(cls.api)

    def start(self, count, *arguments):
        names = [f"fleet-{number}" for number in range(count)]
        self.addCleanup(self.api.run, "delete", "node", "--ignore-not-found", *names)
        self.api.run("create", "-f", "-", text=simulated.as_text([simulated.node(name) for name in names]))
        self.addCleanup(self.cluster.processes.stop, fleet.PROGRAM)
        self.log.unlink(missing_ok=True)
        self.addCleanup(fleet.forget_addresses, self.api)
        return fleet.start(self.cluster, PROGRAMS, count, *arguments, prefix="fleet-")

    def nodes(self):
        return {node["metadata"]["name"]: node for node in self.api.get("nodes")["items"]
                if node["metadata"]["name"].startswith("fleet-")}

    def words(self):
        """The label of each node."""
        return {name: node["metadata"]["labels"].get(f"{PREFIX}/gpuhealth") for name, node in self.nodes().items()}

    def conditions(self, kind):
        return [condition_of(node, kind) for _, node in sorted(self.nodes().items())]

    def reports(self):
        """Reports of the current nodes, without reports of earlier nodes of the same name."""
        uids = {node["metadata"]["uid"] for node in self.nodes().values()}
        return {report["metadata"]["name"]: report for report in self.api.get("nhr", "-n", fleet.NAMESPACE)["items"]
                if {owner["uid"] for owner in report["metadata"]["ownerReferences"]} <= uids}

    def wait_until_all_have_written(self):
        self.api.wait(lambda: "every agent has written" in self.log.read_text(), "every agent has written", 180)

    def looked_at(self):
        """The last check time of each node, from its annotation."""
        return {name: seconds_of(node["metadata"]["annotations"][f"{PREFIX}/checked-at"]) for name, node in self.nodes().items()}

    def test_each_node_is_said_to_be_what_it_is(self):
        planned = [word for node, fault in FAULTS.items() for word in ("--fault", f"node={node},{fault},at={UNTIL_FAULTS}s")]
        began = time.time()
        pid = self.start(NODES, *planned)
        self.wait_until_all_have_written()
        print(f"{NODES} agents have written {time.time() - began:.1f} s after they began")
        nodes = self.nodes()
        self.assertEqual({name: node["metadata"]["annotations"][f"{PREFIX}/summary"] for name, node in nodes.items()
                          if node["metadata"]["labels"].get(f"{PREFIX}/gpuhealth") != "PASS"}, {})
        self.assertEqual({condition_of(node, kind) for node in nodes.values() for kind in CONDITIONS}, {"True"})
        told = self.api.wait(lambda: len(self.reports()) == NODES and self.reports(), "there is a report of each node")
        for report in told.values():
            self.assertTrue(report["status"]["simulated"])
            self.assertEqual(len(report["status"]["gpus"]), 8)
        self.assert_evicts_these(set(FAULTS))
        self.assert_modest(began)
        print(memory_of(pid))

    def assert_evicts_these(self, struck):
        expected = {f"fleet-{number}": "EVICT" if f"fleet-{number}" in struck else "PASS" for number in range(NODES)}
        self.api.wait(lambda: self.words() == expected, f"{sorted(struck)} are evicted and no others", 180)
        self.api.wait(lambda: {name for name, report in self.reports().items() if report["status"]["written"]["verdict"] == "EVICT"}
                      == struck, "the reports say the same", 60)
        self.api.wait(lambda: {name for name, node in self.nodes().items() if condition_of(node, "GpuHealthy") == "False"} == struck,
                      "the conditions say the same", 60)

    def assert_modest(self, began):
        self.api.wait(lambda: time.time() > began + 75, "more than the minute that is counted is over", 80)
        asked = audit.requests(self.cluster.control_plane.audit_log, fleet.ACCOUNT)
        asked = [one for one in asked if one.time >= began]
        most = {"writes": 0, "lists": 0}
        for number in range(NODES):
            own = [one for one in asked if one.about.split(".")[0] == f"fleet-{number}"]
            for what, verbs in (("writes", audit.WRITES), ("lists", ("list",))):
                most[what] = max(most[what], audit.most_in_a_minute([one for one in own if one.verb in verbs]))
        print(f"{len(asked)} requests; of one agent in a minute at most {most}")
        self.assertEqual([one for one in asked if not re.match(r"fleet-\d+(\.|$)", one.about)], [])
        self.assertGreater(most["writes"], 0)
        self.assertLessEqual(most["writes"], 6)
        self.assertLessEqual(most["lists"], 6)

    def test_what_a_fault_was_is_taken_back_when_it_ends_and_what_evicted_stays(self):
        self.start(3, "--fault", "node=fleet-0,fault=filesystem_full,subject=mount//,at=5s,for=60s",
                   "--fault", "node=fleet-1,fault=fell_off_bus,subject=gpu/5,at=5s,for=60s")
        self.api.wait(lambda: self.conditions("StorageHealthy") == ["False", "True", "True"], "one disk is full", 180)
        self.api.wait(lambda: self.conditions("GpuHealthy") == ["True", "False", "True"], "one GPU is gone", 60)
        self.api.wait(lambda: self.conditions("StorageHealthy") == ["True", "True", "True"], "the disk has room again", 180)
        self.assertEqual(self.words(), {"fleet-0": "PASS", "fleet-1": "EVICT", "fleet-2": "PASS"})

    def test_agents_that_die_leave_the_time_when_they_looked_last(self):
        pid = self.start(3, "--heartbeat", f"{HEARTBEAT}s")
        self.wait_until_all_have_written()
        first = self.looked_at()
        self.api.wait(lambda: all(when > first[name] for name, when in self.looked_at().items()), "agents that live say so",
                      3 * HEARTBEAT)
        os.kill(pid, signal.SIGKILL)
        self.api.wait(lambda: max(self.looked_at().values()) < time.time() - 3 * HEARTBEAT, "everybody can see that nobody looks any more",
                      5 * HEARTBEAT)
        # Without a controller the label is not removed.
        self.assertEqual(set(self.words().values()), {"PASS"})


def seconds_of(text):
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


def memory_of(pid):
    """Memory of the process alone, without its helpers."""
    rolled = dict(re.findall(r"^(\w+): +(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE))
    threads = len(list(Path(f"/proc/{pid}/task").iterdir()))
    pss = int(rolled["Pss"]) / 1024
    return f"{NODES} agents: PSS {pss:.1f} MiB, {pss / NODES:.2f} MiB each, {threads} threads"


if __name__ == "__main__":
    testing.main()

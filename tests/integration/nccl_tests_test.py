#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`autopilot network test --kind nccl` over eight hosts: the GPUs of two nodes sum up together, pair by pair (nccl_lab.py)."""

import concurrent.futures
import json
import unittest

import harness
import network_lab
import own_namespaces
from gpu_lab import GPUS, PROCESSES, TLS_PORT
from nccl_lab import USUAL, NcclLabTest

HOSTS = 8
CHECK = "network.nccl_allreduce"


class NcclTestsTest(NcclLabTest):
    LEAVES = {number: "" for number in range(1, HOSTS + 1)}

    def test_agents_tell_how_many_gpus_they_have(self):
        self.assertEqual(self.lab[1].get("/v1/network")["gpus"], len(GPUS))

    def test_nobody_but_agents_may_take_gpus(self):
        """Though lines are open to everybody here."""
        host = self.lab[2]
        by_tcp = {"address": host.address(0), "allowed": self.lab[1].address(0), "processes": 1, "seconds": 5}
        for body, status in ((by_tcp, "200"), (by_tcp | {"gpus": 2, "testSeconds": 1}, "403")):
            told, code = self.lab[1].run("curl", "-s", "-w", "\n%{http_code}", "-X", "POST", "-d", json.dumps(body),
                                         f"http://{host.address(0)}:{network_lab.PORT}/v1/network/servers").rsplit("\n", 1)
            self.assertEqual(code, status, told)
            if code == "200":
                host.request("DELETE", f"/v1/network/servers/{json.loads(told)['id']}")

    def test_a_healthy_fabric_gives_no_suspect(self):
        shown, found = self.measure(self.lab[1], CHECK)
        self.assertEqual(found, [], self.said)
        self.assertIn("gpus-2, Gbit/s\nFROM \\ TO", shown)
        self.assertIn("Suspects: none\n", shown)
        self.assertIn(f"{CHECK}: round 1: 4 pairs are measured", self.said)
        rates = [one["value"] / 1e9 for one in self.lab[1].get(f"/v1/checks/{CHECK}")["observations"] if one["name"] == "bandwidth.received"]
        self.assertGreaterEqual(len(rates), HOSTS)
        for rate in rates:
            self.assertLessEqual(rate, USUAL * 1.02)
            self.assertGreater(rate, USUAL / 2)

    def test_a_slow_node_is_named(self):
        self.plant(self.lab[5], bus_gigabits_per_second=USUAL / 2)
        shown, found = self.measure(self.lab[3], CHECK)
        self.assertEqual(found, [("peer/h5", "node_slower_than_others")], self.said)
        self.assertIn("peer/h5", shown)

    def test_a_node_that_is_slow_beyond_measure_is_named_too(self):
        self.plant(self.lab[5], bus_gigabits_per_second=USUAL / 100)
        _, found = self.measure(self.lab[3], CHECK, "--nodes", "h2,h3,h4,h5")
        self.assertEqual(found, [("peer/h5", "node_slower_than_others")], self.said)

    def test_wrong_sums_are_a_finding_and_name_pair_and_node(self):
        for rank in (1, 2):  # of the waiting process, and of the other process
            with self.subTest(rank=rank):
                self.plant(self.lab[4], wrong_rank=rank)
                self.plant(self.lab[6], wrong_rank=rank)
                shown, found = self.measure(self.lab[2], CHECK, "--nodes", "h4,h6", codes=(1,))
                [(subject, reason)] = found
                self.assertIn(subject, ("link/h4/gpus-2|h6/gpus-2", "link/h6/gpus-2|h4/gpus-2"))
                self.assertEqual(reason, "allreduce_wrong_between_nodes")
                source, destination = subject.removeprefix("link/").replace("/gpus-2", "").split("|")
                at = destination if rank == 1 else source
                self.assert_said(f"returned wrong sums, on {at}: ")
                self.assertRegex(shown, r"1 h4 +- +!\n2 h6 +! +-\n")

    def test_a_gpu_that_somebody_uses_is_left_alone(self):
        self.use(self.lab[7])
        self.measure(self.lab[1], CHECK, "--nodes", "h2,h7", codes=(3,))
        self.assertRegex("".join(self.said.split()), "isinuseby|inuseby1process")

    def test_lines_are_left_to_a_job_that_begins_in_the_middle_of_a_test(self):
        host = self.lab[3]
        with concurrent.futures.ThreadPoolExecutor() as pool:
            test = pool.submit(self.lab[1].command, "network", "test", "--nodes", "h1,h2,h3,h4", timeout=280)
            harness.wait_until(lambda: self.is_measuring(host), "its line is tested", 60)
            self.use(host)
            # A process that arrives within three seconds of a test of these GPUs is found by the next reading.
            harness.wait_until(lambda: host.request("POST", f"/v1/checks/{PROCESSES}") and test.done(), "the run ends", 280)
            code, out, err = test.result()
        self.said = out + err
        self.assertEqual(code, 3, self.said)
        self.assert_said("h3: a job is on this node, which is not tested beside it")
        found = [(subject, reason) for subject, reason in self.lab[1].findings("network.bandwidth") if "h3" in subject]
        self.assertTrue(found, self.said)
        self.assertEqual({reason for _, reason in found}, {"could_not_look"}, self.said)
        ways = [one for one in self.lab[1].get("/v1/checks/network.bandwidth")["observations"] if one["name"] == "bandwidth.received"]
        measured = [{one["attributes"]["source"], one["attributes"]["destination"]} for one in ways if one.get("value") is not None]
        self.assertTrue(measured, "the others go on")
        self.assertFalse([pair for pair in measured if "h3" in pair], "what was under way there was ended")

    @staticmethod
    def is_measuring(host):
        """True if the host is a side of a test: it has connections besides those of agents."""
        ports = [[end.rsplit(":", 1)[1] for end in line.split()[2:4]] for line in host.run("ss", "-Htn", "state", "established").splitlines()]
        return any(not {str(network_lab.PORT), str(TLS_PORT)} & set(pair) for pair in ports)

    def test_what_cannot_be_measured_is_unknown_and_says_why(self):
        faults = ({"driver": {"calls": {"cuInit": {"result": 100}}}}, "CUDA_ERROR_NO_DEVICE"), \
                 ({"calls": {"ncclCommInitRank": {"result": 3}}}, "ncclCommInitRank: "), ({"calls": {"ncclGetUniqueId": {"result": "abort"}}}, "signal 6")
        for planted, why in faults:
            with self.subTest(planted):
                for number in (1, 6):
                    self.plant(self.lab[number], **planted)
                self.measure(self.lab[7], CHECK, "--nodes", "h1,h6", codes=(3,))
                self.assert_said(why)

    def test_a_node_with_fewer_gpus_is_left_out_by_name(self):
        host = self.lab[8]
        self.start_again(host, gpus=GPUS[:1])
        self.addCleanup(self.start_again, host)
        code, out, err = self.lab[6].command("network", "test", "--kind", "nccl", "--plan", "-o", "json")
        self.assertEqual(code, 0, out + err)
        plan = json.loads(out)
        self.assertEqual([one["rail"] for one in plan["rails"]], ["gpus-2", "gpus-1"])
        self.assertEqual(plan["leftOut"], [{"node": "h8", "why": "no other node has an equal number of GPUs of the same vendor"}])
        self.measure(self.lab[6], CHECK, "--nodes", "h6,h8", codes=(3,))
        self.assert_said("no two nodes have an equal number of GPUs")

    def test_nobody_listens_afterwards(self):
        self.measure(self.lab[8], CHECK, "--nodes", "h2,h6,h8")
        for host in self.lab.hosts.values():
            harness.wait_until(lambda host=host: not self.listeners(host), "nobody listens", 10)

    @staticmethod
    def listeners(host):
        """But for the agent itself."""
        listening = [line.split()[3] for line in host.run("ss", "-Hltn").splitlines()]
        return [one for one in listening if not one.endswith((f":{network_lab.PORT}", f":{TLS_PORT}"))]


if __name__ == "__main__":
    own_namespaces.enter(network_lab.NAMESPACES, network_lab.PROGRAMS, network_lab.TRIAL)
    unittest.main(verbosity=2)

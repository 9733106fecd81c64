#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`autopilot network test --kind nccl` where nodes have GPUs of AMD: they sum up by HIP and RCCL, in pairs and together, and never with a
node whose GPUs are of NVIDIA (nccl_lab.py)."""

import json
import os
import shutil
import unittest

import harness
import kfd
import network_lab
import own_namespaces
from gpu_lab import GPUS
from nccl_lab import USUAL, NcclLabTest

PAIRS = "network.nccl_allreduce"
GROUP = "network.nccl_group"
OF_NVIDIA = 5  # number of the host
OTHER_VENDOR = "its GPUs are of NVIDIA, and do not sum up with those of AMD"


class RcclTestsTest(NcclLabTest):
    LEAVES = {number: "" for number in range(1, OF_NVIDIA + 1)}

    @classmethod
    def setUpClass(cls):
        harness.need_hip()
        super().setUpClass()

    @classmethod
    def prepare(cls):
        played = {"libamdhip64.so.6": "libamdhip64-sim.so", "librccl.so.1": "librccl-sim.so"}
        cls.of_amd = cls.folder_of("of_amd", {name: os.path.join(harness.BIN, by) for name, by in played.items()})

    @staticmethod
    def kfd_of(host):
        return os.path.join(host.folder, "kfd")

    @classmethod
    def play(cls, host, **what):
        super().play(host, **what)
        kfd.make(cls.kfd_of(host), *GPUS)

    @classmethod
    def start(cls, host, gpus=GPUS):
        if host.number == OF_NVIDIA:
            super().start(host, gpus)
            return
        words = [f"AUTOPILOT_SIM_CUDA={cls.file_of(host, 'cuda')}", f"AUTOPILOT_SIM_NCCL={cls.file_of(host, 'nccl')}",
                 f"LD_LIBRARY_PATH={cls.of_amd}"]
        cls.start_with(host, words, "gpu_host.py", "--kfd", cls.kfd_of(host), *gpus)

    def use(self, host):
        """A process has memory of a GPU of that host."""
        self.addCleanup(self.start_again, host)  # its next regular run would be in a minute
        self.addCleanup(shutil.rmtree, os.path.join(self.kfd_of(host), "proc", "4200"))
        kfd.use(self.kfd_of(host), 4200, number=1)

    def test_agents_tell_how_many_gpus_they_have_and_whose(self):
        for number, vendor in ((1, "amd"), (OF_NVIDIA, "nvidia")):
            network = self.lab[number].get("/v1/network")
            self.assertEqual((network["gpus"], network["gpuVendor"]), (len(GPUS), vendor))

    def test_pairs_are_measured_between_gpus_of_amd_alone(self):
        self.plant(self.lab[2], bus_gigabits_per_second=USUAL / 2)
        shown, found = self.measure(self.lab[1], PAIRS)
        self.assertEqual(found, [("peer/h2", "node_slower_than_others")], self.said)
        self.assertIn("amd-gpus-2, Gbit/s\nFROM \\ TO", shown)
        code, out, err = self.lab[3].command("network", "test", "--kind", "nccl", "--plan", "-o", "json")
        self.assertEqual(code, 0, out + err)
        plan = json.loads(out)
        self.assertEqual([one["rail"] for one in plan["rails"]], ["amd-gpus-2", "gpus-2"])
        self.assertEqual(plan["leftOut"], [{"node": "h5", "why": "no other node has an equal number of GPUs of the same vendor"}])

    def test_a_gpu_that_somebody_uses_is_left_alone(self):
        self.use(self.lab[2])
        self.measure(self.lab[1], PAIRS, "--nodes", "h2,h3", codes=(3,))
        self.assertRegex("".join(self.said.split()), "isinuseby4200|inuseby1process")

    def test_beside_a_job_that_the_agent_knows_of_no_test_begins(self):
        host = self.lab[4]
        self.use(host)
        self.start_again(host)
        harness.wait_until(lambda: any(one["name"] == "processes.count" and one["value"] for one in
                                       host.get("/v1/checks/gpu.processes")["observations"]), "the agent knows of the job")
        self.measure(self.lab[1], PAIRS, "--nodes", "h3,h4", codes=(3,))
        self.assert_said("a job is on this node, which is not tested beside it")

    def test_together_the_node_of_the_other_vendor_is_left_out_by_name(self):
        shown, found = self.measure(self.lab[3], GROUP, "--together", codes=(3,))
        self.assertEqual(found, [("peer/h5", "could_not_look")], self.said)
        self.assert_said(OTHER_VENDOR)
        self.assertRegex(shown, r"all nodes +4 +8 +\d\.\d+ +h1, h2, h3, h4\n")
        self.assert_said(f"{GROUP}: all nodes: 8 GPUs of 4 nodes sum up together")

    def test_one_node_of_each_is_no_all_reduce(self):
        self.measure(self.lab[1], GROUP, "--together", "--nodes", "h1,h5", codes=(3, 70))
        self.assert_said("fewer than two nodes have GPUs of the same vendor")


if __name__ == "__main__":
    own_namespaces.enter(network_lab.NAMESPACES, network_lab.PROGRAMS, network_lab.TRIAL)
    unittest.main(verbosity=2)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`autopilot network test --kind nccl --together` over eight hosts: the GPUs of many nodes sum up together, those below each leaf, and all
(nccl_lab.py). Leaves are what agents say of their nodes; one switch plays all of them."""

import json
import unittest

import harness
import network_lab
import own_namespaces
from gpu_lab import GPUS
from nccl_lab import USUAL, NcclLabTest

CHECK = "network.nccl_group"


class NcclGroupsTest(NcclLabTest):
    LEAVES = {1: "L1", 2: "L1", 3: "L2", 4: "L2", 5: "L3", 6: "L3", 7: "L3", 8: ""}

    def together(self, host, *words, codes=(0, 1)):
        """Result of each all-reduce, in Gbit/s, `!` or `?`, by the name of its group, and the new findings of the check."""
        shown, found = self.measure(host, CHECK, "--together", *words, codes=codes)
        self.findings = found
        groups = {one["subject"]["key"]: one.get("value") for one in host.get(f"/v1/checks/{CHECK}")["observations"]
                  if one["name"] == "group.bus"}
        return groups, shown

    def assert_is_usual(self, rate):
        self.assertLessEqual(rate / 1e9, USUAL * 1.02)
        self.assertGreater(rate / 1e9, USUAL / 2)

    def test_leaves_are_measured_and_then_all(self):
        groups, shown = self.together(self.lab[1])
        self.assertEqual(self.findings, [], self.said)
        self.assertEqual(sorted(groups), ["all nodes", "leaf L1", "leaf L2", "leaf L3"])
        for rate in groups.values():
            self.assert_is_usual(rate)
        self.assertRegex(shown, r"leaf L3 +3 +6 +\d\.\d+ +h5, h6, h7\n")
        self.assertRegex(shown, r"all nodes +8 +16 +\d\.\d+ +h1, h2, h3, h4, h5, h6, h7, h8\n")
        self.assert_said(f"{CHECK}: below each of 3 leaves: 14 GPUs of 7 nodes sum up together")
        self.assert_said(f"{CHECK}: all nodes: 16 GPUs of 8 nodes sum up together")

    def test_a_slow_node_slows_its_leaf_and_all(self):
        self.plant(self.lab[4], bus_gigabits_per_second=USUAL / 2)
        groups, _ = self.together(self.lab[3])
        for name in ("leaf L2", "all nodes"):
            self.assertLess(groups[name] / 1e9, USUAL * 0.55)
        for name in ("leaf L1", "leaf L3"):
            self.assert_is_usual(groups[name])
        self.assertEqual(self.findings, [], "two leaves of two nodes are too few to compare")

    def test_of_three_leaves_alike_the_slow_one_is_named(self):
        self.plant(self.lab[4], bus_gigabits_per_second=USUAL / 2)
        self.together(self.lab[6], "--nodes", "h1,h2,h3,h4,h5,h6", codes=(1,))
        self.assertEqual(self.findings, [("peer/leaf L2", "group_slower_than_others")], self.said)
        self.assert_said("h3, h4")

    def test_a_node_that_takes_no_part_is_left_out_by_name_and_the_others_go_on(self):
        self.use(self.lab[5])
        groups, shown = self.together(self.lab[2], codes=(3,))
        self.assertEqual(self.findings, [("peer/h5", "could_not_look")], self.said)
        self.assertIsNone(groups.pop("h5"))
        self.assert_said("leaf L3: again")
        self.assertRegex(shown, r"leaf L3 +2 +4 +\d\.\d+ +h6, h7\n")
        self.assertRegex(shown, r"all nodes +7 +14 +")
        self.assertRegex("".join(self.said.split()), "isinuseby|inuseby1process")

    def test_however_many_say_no_the_others_sum_up(self):
        for number in (1, 2, 4, 5, 7):
            self.use(self.lab[number])
        groups, _ = self.together(self.lab[6], codes=(3,))
        self.assertEqual([subject for subject, _ in self.findings if "leaf" not in subject], [f"peer/h{n}" for n in (1, 2, 4, 5, 7)], self.said)
        self.assert_is_usual(groups["all nodes"])

    def test_one_that_crashes_is_left_out_too(self):
        for calls in ({"ncclGetUniqueId": {"result": "abort"}}, {"ncclCommInitRank": {"result": "abort"}}):
            with self.subTest(calls):
                self.plant(self.lab[1 if "ncclGetUniqueId" in calls else 6], calls=calls)
                who = ["h1", "h6"]["ncclCommInitRank" in calls]
                groups, _ = self.together(self.lab[3], "--nodes", "h1,h6,h8", codes=(3,))
                self.assertEqual(self.findings, [(f"peer/{who}", "could_not_look")], self.said)
                self.assert_is_usual(groups["all nodes"])
                for number in (1, 6):
                    self.play(self.lab[number])

    def test_wrong_sums_name_the_node_that_got_them(self):
        for rank, node in ((1, "h1"), (2, "h3"), (5, "h8")):
            with self.subTest(rank=rank):
                for number in (1, 3, 8):
                    self.plant(self.lab[number], wrong_rank=rank)
                _, shown = self.together(self.lab[2], "--nodes", "h1,h3,h8", codes=(1,))
                self.assertEqual(self.findings, [(f"peer/{node}", "allreduce_wrong_in_group")], self.said)
                self.assertRegex(shown, rf"all nodes +! +{node}: gpu \d ")

    def test_nodes_with_fewer_gpus_take_part_as_well(self):
        self.start_again(self.lab[8], gpus=GPUS[:1])
        self.addCleanup(self.start_again, self.lab[8])
        _, shown = self.together(self.lab[7], "--nodes", "h1,h5,h8")
        self.assertRegex(shown, r"all nodes +3 +5 +\d\.\d+ ")

    def test_what_cannot_be_asked_is_told(self):
        for words, why in ((("--together",), "add --kind nccl"), (("--kind", "nccl", "--together", "--plan"), "excludes")):
            code, out, err = self.lab[1].command("network", "test", *words)
            self.assertEqual(code, 64, out + err)
            self.assertIn(why, err)
        self.measure(self.lab[1], CHECK, "--together", "--nodes", "h2", codes=(64, 70))
        self.assert_said("name two or more")

    def test_an_end_before_its_time_frees_all_nodes(self):
        code, body = self.lab[1].request("POST", "/v1/operations", '{"kind": "network.nccl_group"}')
        self.assertIn(code, (200, 201, 202), body)
        operation = f"/v1/operations/{json.loads(body)['id']}"
        harness.wait_until(lambda: "sum up together" in self.lab[1].request("GET", operation)[1], "GPUs are in use", 20)
        self.lab[1].request("DELETE", operation)
        groups, _ = self.together(self.lab[1])
        self.assert_is_usual(groups["all nodes"])


if __name__ == "__main__":
    own_namespaces.enter(network_lab.NAMESPACES, network_lab.PROGRAMS, network_lab.TRIAL)
    unittest.main(verbosity=2)

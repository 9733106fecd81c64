#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real training job of eight ranks on four nodes, with real faults: a stopped process, a processor quota, a limited line, collectives that
do not match, a frozen filesystem; and what looks like a fault and is none: a long checkpoint, an evaluation. PyTorch with gloo, real agents
with TLS; only the GPUs are played (coupling.py). It takes about 45 minutes: detection needs minutes of real time, as in the field."""

import os
import signal
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))

import own_namespaces  # noqa: E402
import network_lab  # noqa: E402

PROGRAMS = [*network_lab.PROGRAMS, "tc", "nsenter", "mkfs.ext4", "fsfreeze"]
own_namespaces.enter(network_lab.NAMESPACES, PROGRAMS, network_lab.TRIAL)

import harness  # noqa: E402
import lab as lab_of_jobs  # noqa: E402

WARM_UP = int(os.environ.get("AUTOPILOT_WARM_UP", "240"))  # s: steps of a start are not compared, and a usual gap between them has to be known
HANG = 300  # s: without NCCL RAS
SLOW = 900  # s: 8 of 10 minutes, and what the windows add
ACCUSES = ("gpu", "nic", "host", "leaf")


def setUpModule():
    if subprocess.run([lab_of_jobs.PYTHON, "-c", "import torch, yaml"], capture_output=True, check=False).returncode != 0:
        raise unittest.SkipTest("python3-torch is not installed: tools/install-deps.sh jobs")


class RealJobTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = lab_of_jobs.JobLab()
        cls.addClassCleanup(cls.lab.close)

    def setUp(self):
        self.lab.start_job()
        self.addCleanup(self.lab.stop_job)
        self.addCleanup(self.lab.lift_limits)
        harness.wait_until(self.knows_all_ranks, "the coordinator knows all ranks", 90)
        self.watch_healthy(WARM_UP)

    def knows_all_ranks(self):
        job = self.lab.job()
        return job is not None and job["ranks"] == 8 and job["nodes"] == 4

    def findings(self, *effects):
        """Open findings that a person would be alerted about."""
        job = self.lab.job()
        return [one for one in (job or {"findings": []})["findings"] if one["severity"] != "info" and "resolved" not in one and
                (not effects or one["effect"] in effects)]

    def watch_healthy(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.assertEqual([], self.findings(), self.lab.why() if self.findings() else "")
            time.sleep(2)

    def wait_found(self, effects, limit):
        begin = time.monotonic()
        found = harness.wait_until(lambda: self.findings(*effects), f"a finding of {effects}", limit)[0]
        print(f"{self.id()}: {found['effect']} after {time.monotonic() - begin:.0f} s: {found['summary']}", flush=True)
        return found

    def assert_accuses(self, found, rank, kinds=("gpu", "host")):
        culprit = found["culprit"]
        self.assertIn(culprit["kind"], kinds, self.lab.why())
        self.assertEqual(rank.host.name, culprit.get("node"), self.lab.why())

    def assert_accuses_nobody(self):
        self.assertEqual([], [one for one in self.findings() if one["culprit"]["kind"] in ACCUSES], self.lab.why())

    # --- faults ---

    def test_a_stopped_process_is_named(self):
        rank = self.lab.ranks[5]
        rank.signal(signal.SIGSTOP)
        self.addCleanup(rank.signal, signal.SIGCONT)
        found = self.wait_found(["hang"], HANG)
        self.assert_accuses(found, rank)
        self.assertIn(5, found["ranks"])
        self.assertIn("stopped", self.lab.why())

    def test_a_rank_with_a_processor_quota_is_named(self):
        rank = self.lab.ranks[3]
        self.lab.limit_processor(rank, 0.04)
        self.assert_accuses(self.wait_found(["slow", "none"], SLOW), rank)

    def test_a_limited_line_is_named_or_nothing_is(self):
        host = self.lab.lab[3]
        host.limit_sending(0, 40)
        self.addCleanup(host.run, "tc", "qdisc", "del", "dev", host.interface(0), "root")
        found = self.wait_found(["slow", "regression"], SLOW)
        if found["culprit"]["kind"] in ACCUSES:
            self.assertEqual(host.name, found["culprit"]["node"], self.lab.why())

    def test_collectives_that_do_not_match_accuse_no_node(self):
        self.lab.order("mismatch", rank=6)
        self.wait_found(["hang"], HANG)
        self.assert_accuses_nobody()

    def test_a_data_loader_on_a_frozen_filesystem_is_named(self):
        rank = self.lab.ranks[4]
        self.lab.freeze_data(rank.host)
        self.addCleanup(self.lab.thaw_data, rank.host)
        self.assert_accuses(self.wait_found(["hang"], HANG), rank, ("gpu", "host", "storage"))

    # --- no faults ---

    def test_a_long_checkpoint_accuses_nobody(self):
        self.lab.order("checkpoint", seconds=150)
        self.watch_healthy(240)

    def test_an_evaluation_accuses_nobody(self):
        self.lab.order("evaluation", seconds=120)
        self.watch_healthy(200)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""autopilot-fleet-sim without a cluster: what it refuses to begin."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import harness

FLEET = os.path.join(harness.BIN, "autopilot-fleet-sim")


class FleetSimTest(unittest.TestCase):
    def setUp(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.kubeconfig = folder / "kubeconfig"
        # No program listens there.
        self.kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
            "users": [{"name": "u", "user": {"token": "x"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}))

    def refusal(self, *arguments):
        done = subprocess.run([FLEET, "--kubeconfig", str(self.kubeconfig), "--nodes", "2", *arguments], capture_output=True, text=True,
                              check=False, timeout=60)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr

    def test_machines_that_do_not_exist_are_written_to_no_cluster_unasked(self):
        self.assertIn("without --allow-simulated", self.refusal())

    def test_a_fault_that_can_befall_nobody_is_told_at_once(self):
        self.assertIn("no node sim-2", self.refusal("--allow-simulated", "--fault", "node=sim-2,fault=xid"))
        self.assertIn("fault= is missing", self.refusal("--allow-simulated", "--fault", "node=sim-1"))

    def test_an_address_that_is_none_is_told(self):
        for address, words in (("nowhere:3333", "nowhere"), ("[::1]:3333", "expected an IPv4 address")):
            self.assertIn(words, self.refusal("--allow-simulated", "--listen", address))


if __name__ == "__main__":
    unittest.main()

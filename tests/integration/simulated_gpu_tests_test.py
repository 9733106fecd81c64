# SPDX-License-Identifier: Apache-2.0
"""The active tests of GPUs on simulated machines: sound machines of each model pass all of them."""

import json
import unittest

import harness

TESTS = ["gpu.pcie_bandwidth", "gpu.memory_bandwidth", "gpu.compute", "gpu.memory_test", "gpu.sdc", "gpu.p2p"]
MACHINES = {"hgx-h100-8": 8, "hgx-b200-8": 8, "dgx-a100-8": 8, "l40s-4": 4}


class SimulatedGpuTests(unittest.TestCase):
    def test_sound_machines_of_each_model_pass(self):
        for machine, gpus in MACHINES.items():
            with self.subTest(machine=machine), harness.Agent("--simulate", machine) as agent:
                code, out, error = harness.run("test", *TESTS, "--socket", agent.socket, "-o", "json", timeout=120)
                self.assertEqual(code, 0, out + error)
                items = json.loads(out)["items"]
                self.assertEqual([one["operation"]["kind"] for one in items], TESTS)
                for one in items:
                    self.assertEqual((one["result"]["health"], one["result"]["findings"]), ("healthy", []), one["operation"]["kind"])
                    tested = {seen["subject"]["key"] for seen in one["operation"]["observations"] if seen["subject"]["kind"] == "gpu"}
                    self.assertEqual(len(tested), gpus, one["operation"]["kind"])

    def test_a_machine_without_gpus_offers_none(self):
        with harness.Agent("--simulate", "no-gpu") as agent:
            code, out, _ = harness.run("test", "--socket", agent.socket)
            self.assertEqual(code, 0)
            self.assertNotIn("gpu.", out)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Users of a failed GPU: an incident names the pod, also after the pod has ended."""

import json
import unittest

import harness


class WorkloadsTest(unittest.TestCase):
    def test_an_incident_names_the_pod_that_used_the_gpu(self):
        with harness.Agent("--simulate", "hgx-h100-8") as agent:
            agent.wait_ready()
            self.inject(agent, "throttle", "--subject", "gpu/2", "--for", "3s")
            harness.wait_until(lambda: self.users(agent), "the process is seen on the GPU")
            self.assertEqual([user["name"] for user in self.users(agent)], ["process.4200"])
            harness.wait_until(lambda: not self.users(agent), "the process is gone")
            self.inject(agent, "xid", "--subject", "gpu/2", "--magnitude", "79")
            incident = harness.wait_until(lambda: self.incident(agent), "the GPU fell off the bus")
            self.assertEqual([(one["podNamespace"], one["pod"], one["process"], one["pid"])
                              for one in incident["workloads"]], [("ml", "train-0", "python3", 4200)])
            code, table, errors = harness.run("status", "--socket", agent.socket)
            self.assertEqual(code, 2, errors)
            self.assertIn("Used by: pod ml/train-0 (python3, 4200)", " ".join(table.split()))

    def inject(self, agent, *arguments):
        code, _, errors = harness.run("inject", *arguments, "--socket", agent.socket)
        self.assertEqual(code, 0, errors)

    def users(self, agent):
        status, body = agent.request("POST", "/v1/checks/gpu.processes", unix=True)
        self.assertEqual(status, 200, body)
        return [one for one in json.loads(body)["observations"] if one["name"].startswith("process.")]

    def incident(self, agent):
        return next((one for one in agent.node()["incidents"] if one["reason"] == "gpu_fallen_off_bus"), None)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""The active tests of GPUs on simulated machines: sound machines of each model pass all of them."""

import concurrent.futures
import json
import os
import tempfile
import unittest

import harness
from ibm_client import statuses

TESTS = ["gpu.pcie_bandwidth", "gpu.memory_bandwidth", "gpu.compute", "gpu.memory_test", "gpu.sdc", "gpu.p2p"]
DCGMI = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_dcgmi.py")
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


class TestsAtOnce(unittest.TestCase):
    def agent(self, how):
        """An agent that lets every client test its GPUs; dcgmi is replaced by a program that answers according to `how`."""
        config = os.path.join(self.enterContext(tempfile.TemporaryDirectory()), "config.yaml")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"compat": {"open_actions": True}, "dcgm": {"command": [DCGMI, how]}}, file)
        agent = self.enterContext(harness.Agent("--simulate", "l40s-4", "--config", config))
        agent.wait_ready()
        return agent

    def operations(self, agent):
        """The first one first."""
        return json.loads(agent.get("/v1/operations"))["items"][::-1]

    def test_those_of_one_question_are_made_one_after_the_other(self):
        agent = self.agent("pass")
        path = f"/status?check=pciebw,gpumem,dcgm&host={agent.node()['node']}"
        status, body = agent.request("GET", path, headers={"Accept": "application/json"}, timeout=60)
        self.assertEqual(status, 200, body)
        self.assertEqual([(one["name"], one["outcome"], one["fresh"]) for one in json.loads(body)["checks"]],
                         [("pciebw", "passed", True), ("gpumem", "passed", True), ("dcgm", "passed", True)], body)
        made = self.operations(agent)
        self.assertEqual({one["kind"]: one["state"] for one in made},
                         {"gpu.pcie_bandwidth": "succeeded", "gpu.compute": "succeeded", "gpu.dcgm": "succeeded"})
        for before, after in zip(made, made[1:]):
            self.assertLessEqual(before["finished"], after["started"])
        self.assertEqual(statuses(agent.request("GET", path, timeout=60)[1]), ["OK"])

    def test_another_one_of_gpus_is_refused_while_one_of_all_runs(self):
        agent = self.agent("hang")

        def start(kind, **wanted):
            status, body = agent.request("POST", "/v1/operations", json.dumps({"kind": kind, **wanted}),
                                         {"Content-Type": "application/json"}, unix=True)
            return status, json.loads(body)

        gpus = [{"kind": "gpu", "key": "0000:4a:00.0"}]
        status, first = start("gpu.dcgm")
        self.assertEqual(status, 202, first)
        for wanted in ({}, {"reservation": gpus}):
            status, refused = start("gpu.sdc", **wanted)
            self.assertEqual(status, 409, refused)
            self.assertEqual(refused["error"]["message"], f"another test of GPUs runs: {first['id']} (gpu.dcgm of {first['owner']}); "
                             "try again when it is over")
        self.assertEqual(start("self_test")[0], 202, "it is of no GPU")
        with concurrent.futures.ThreadPoolExecutor() as pool:
            asked = pool.submit(agent.request, "GET", "/pciebw", headers={"Accept": "application/json"}, timeout=60)
            self.assertRaises(TimeoutError, asked.result, 1)
            self.assertEqual(agent.request("DELETE", f"/v1/operations/{first['id']}", unix=True)[0], 202)
            [answer] = json.loads(asked.result()[1])["checks"]
        self.assertEqual((answer["outcome"], answer["fresh"]), ("passed", True), "who asks for an answer waits for its turn")
        harness.wait_until(lambda: start("gpu.sdc")[0] == 202, "the GPUs are free")


class AfterARestart(unittest.TestCase):
    """A new agent has made no test, and proves nothing by that."""

    def test_what_a_test_found_wrong_stands_until_another_one_finds_it_right(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())

        def agent(how):
            config = os.path.join(folder, "config.yaml")
            with open(config, "w", encoding="utf-8") as file:
                json.dump({"dcgm": {"command": [DCGMI, how]}}, file)
            return harness.Agent("--simulate", "l40s-4", "--config", config, folder=folder)

        def bad(agent):
            return {one["subject"]["key"] for one in agent.result("gpu.dcgm")["findings"] if one["health"] == "failed"}

        def test(agent, code):
            said, out, error = harness.run("test", "gpu.dcgm", "--socket", agent.socket, timeout=60)
            self.assertEqual(said, code, out + error)

        with agent("fail:memory:1") as first:
            test(first, 2)
            incident = harness.wait_until(lambda: first.node()["incidents"], "an incident is open")[0]["id"]
            [gpu] = bad(first)
        with agent("pass") as second:
            second.wait_ready()
            looked = second.result("gpu.dcgm")
            self.assertIn("the findings of the last test remain", json.dumps(looked["findings"]))
            self.assertEqual(bad(second), {gpu}, looked)
            self.assertEqual([one["id"] for one in second.node()["incidents"] if one["state"] == "open"], [incident])
            test(second, 0)
            harness.wait_until(lambda: not bad(second), "the new test ends it")


if __name__ == "__main__":
    unittest.main()

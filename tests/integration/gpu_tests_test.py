# SPDX-License-Identifier: Apache-2.0
"""The tests of the GPU probe on a running agent: the real probe against simulated drivers of CUDA and NVML, what the checks
make of it, and that nothing of it outlives the test."""

import contextlib
import glob
import json
import os
import signal
import sqlite3
import tempfile
import threading
import unittest

import harness
from fed_kernel_log import FedKernelLog
from simulated_gpus import GPUS, make_machine


def children_of(pid):
    """Ids of all processes below that one."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if parent == pid:
            found += [int(entry), *children_of(int(entry))]
    return found


def probes_of(pid):
    return [child for child in children_of(pid) if harness.arguments_of(child)[:1] and
            harness.arguments_of(child)[0].endswith("autopilot-gpu-probe")]


class GpuTests(unittest.TestCase):
    def agent(self, changes=None, calls=None, nvml=(), deadline="60s", schedule=None, hidden=(), kernels="best",
              state=None, time="100ms", is_fed=False):
        """Agent of a machine of make_machine. `state`: the agent's state folder; if missing, a temporary one. `is_fed`: the test writes its
        kernel log."""
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        tree = make_machine(self.folder, changes, calls, nvml, hidden)
        if is_fed:
            self.kernel_log = self.enterContext(FedKernelLog(tree))
        config = os.path.join(self.folder, "config.yaml")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"gpu_probe": {"time": time, "deadline": deadline, "kernels": kernels}, "gpu_tests": schedule or {}}, file)
        agent = harness.Agent("--root", tree, "--config", config, folder=state)
        self.addCleanup(agent.close)
        agent.wait_ready()
        return agent

    def make(self, agent, check):
        """Runs `autopilot test CHECK`: exit code, operation, and the result of the check."""
        code, out, error = harness.run("test", check, "--socket", agent.socket, "-o", "json", timeout=120)
        self.assertTrue(out, error)
        item = json.loads(out)["items"][0]
        return code, item["operation"], item.get("result")

    def findings(self, result):
        return [(one["subject"]["key"], one["health"], one["reason"]) for one in result["findings"]]

    def begin(self, agent, check):
        """An operation whose probe hangs."""
        status, body = agent.request("POST", "/v1/operations", body=json.dumps({"kind": check}), unix=True,
                                     headers={"Content-Type": "application/json"})
        self.assertEqual(status, 202, body)
        [probe] = harness.wait_until(lambda: probes_of(agent.pid), "the probe has started")
        return json.loads(body)["id"], probe

    def state(self, agent, operation):
        return json.loads(agent.get(f"/v1/operations/{operation}"))["state"]

    def values(self, operation, name):
        return {one["subject"]["key"]: one.get("value") for one in operation["observations"] if one["name"] == name}

    def test_sound_gpus_pass(self):
        agent = self.agent()
        code, operation, result = self.make(agent, "gpu.pcie_bandwidth")
        self.assertEqual((code, operation["state"], result["health"]), (0, "succeeded", "healthy"), operation)
        self.assertEqual(operation["message"], "pcie on 4 GPUs")
        self.assertEqual(self.values(operation, "pcie_bandwidth.host_to_device"), dict.fromkeys(GPUS, 25))
        self.assertEqual(self.values(operation, "pcie_bandwidth.generation"), dict.fromkeys(GPUS, 4))
        self.assertEqual(self.values(operation, "pcie_bandwidth.wrong"), dict.fromkeys(GPUS, 0))

    def test_a_gpu_that_takes_data_slowly_is_named(self):
        agent = self.agent({2: {"host_to_device_gb_per_s": 12}})
        code, operation, result = self.make(agent, "gpu.pcie_bandwidth")
        self.assertEqual((code, operation["state"]), (1, "succeeded"), operation)
        self.assertEqual(self.findings(result), [(GPUS[2], "degraded", "pcie_bandwidth_low")])
        self.assertIn("12 GB/s from the host; generation 4 with 16 lanes", result["findings"][0]["message"])

    def test_each_test_names_the_gpu_that_fails_it(self):
        wrong = {"wrong_bits": [{"multiprocessor": 2, "bits": "0x1"}]}
        for check, change, reason in (("gpu.sdc", wrong, "silent_corruption"), ("gpu.compute", wrong, "compute_wrong"),
                                      ("gpu.memory_test", {"stuck": [{"offset": 4096, "bits": "0x10"}]}, "memory_words_wrong"),
                                      ("gpu.memory_bandwidth", {"memory_gb_per_s": 300}, "memory_bandwidth_low")):
            with self.subTest(check):
                agent = self.agent({1: change})
                code, operation, result = self.make(agent, check)
                self.assertEqual((code, operation["state"]), (1, "succeeded"), operation)
                self.assertEqual({(key, health) for key, health, _ in self.findings(result)}, {(GPUS[1], "degraded")})
                self.assertIn(reason, [found for _, _, found in self.findings(result)])
                agent.close()

    def test_gpus_that_pass_everything_are_healthy(self):
        agent = self.agent()
        for check in ("gpu.memory_bandwidth", "gpu.compute", "gpu.memory_test", "gpu.sdc", "gpu.p2p"):
            with self.subTest(check):
                code, operation, result = self.make(agent, check)
                self.assertEqual((code, operation["state"], result["health"]), (0, "succeeded", "healthy"), result)

    def proven(self, agent, check):
        """The UUIDs of the GPUs with a pass record of it, as the next agent reads them from the journal."""
        [path] = [path for path in glob.glob(f"{agent.folder}/state/simulated/*.db") if not path.endswith("-history.db")]
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as journal:
            return {uuid for [uuid] in journal.execute("SELECT gpu_uuid FROM pass_records WHERE test = ?", (check,))}

    def test_an_xid_in_the_middle_of_a_test_takes_the_proof_from_its_gpu(self):
        agent = self.agent(time="3s", is_fed=True)
        operation, _ = self.begin(agent, "gpu.sdc")
        self.kernel_log.write(f"NVRM: Xid (PCI:{GPUS[1][:-2]}): 94, pid='<unknown>', name=<unknown>, Contained: CE User Channel (0x9)."
                              " RST: No, D-RST: No")
        harness.wait_until(lambda: json.loads(agent.get("/v1/incidents"))["items"], "the Xid is an incident")
        self.assertEqual(self.state(agent, operation), "running", "the Xid came in the middle")
        harness.wait_until(lambda: self.state(agent, operation) == "succeeded", "the test has passed", 60)
        harness.wait_until(lambda: len(self.proven(agent, "gpu.sdc")) == 3, "three GPUs have proof of it")
        before = self.proven(agent, "gpu.sdc")
        self.assertEqual(self.make(agent, "gpu.sdc")[0], 0)
        harness.wait_until(lambda: self.proven(agent, "gpu.sdc") > before, "the next test proves it of the fourth")

    def test_cards_of_an_unknown_model_are_all_slower_than_they_were(self):
        model = {"nvml": [('name: "NVIDIA L40S"', 'name: "NVIDIA L40X"')]}
        state = self.enterContext(tempfile.TemporaryDirectory())
        agent = self.agent(state=state, **model)
        for _ in range(3):
            self.assertEqual(self.make(agent, "gpu.memory_bandwidth")[2]["health"], "healthy")
        agent.close()
        agent = self.agent({number: {"memory_gb_per_s": 600} for number in range(len(GPUS))}, state=state, **model)
        _, _, result = self.make(agent, "gpu.memory_bandwidth")
        self.assertEqual(self.findings(result), [(gpu, "degraded", "memory_bandwidth_declined") for gpu in GPUS], result)
        self.assertIn("expected from its earlier diagnostics", result["findings"][0]["message"])

    def test_kernels_that_disagree_on_one_gpu_alone_accuse_it(self):
        agent = self.agent({1: {"wrong_wgmma": "0x4", "bf16_tflops": 100}})
        code, operation, result = self.make(agent, "gpu.compute")
        self.assertEqual((code, operation["state"]), (1, "succeeded"), operation)
        self.assertEqual(self.findings(result), [(GPUS[1], "degraded", "compute_wrong")])
        self.assertIn("computed correct results with the same kernel", result["findings"][0]["message"])
        self.assertEqual(self.values(operation, "compute.wrong"), dict.fromkeys(GPUS, 0))
        self.assertEqual(list(self.values(operation, "compute.disputed")), [GPUS[1]])
        self.assertEqual(self.values(operation, "compute.bf16_mma_sync"), {GPUS[1]: 100})
        self.assertEqual(set(self.values(operation, "compute.bf16")), set(GPUS) - {GPUS[1]})

    def test_kernels_that_disagree_on_all_gpus_leave_it_open(self):
        agent = self.agent({number: {"wrong_wgmma": "0x4"} for number in range(len(GPUS))})
        _, operation, result = self.make(agent, "gpu.compute")
        self.assertEqual(operation["state"], "succeeded", operation)
        self.assertEqual(sorted(self.findings(result)), [(gpu, "unknown", "could_not_look") for gpu in sorted(GPUS)])

    def test_a_kernel_that_fails_is_left_out_where_somebody_says_so(self):
        fails = {"bf16_tflops": 100, "calls": {"cuFuncSetAttribute": {"result": 719, "after": 1}}}
        for kernels, health, rates in (("best", "unknown", {}), ("sm_90", "healthy", dict.fromkeys(GPUS, 100))):
            with self.subTest(kernels):
                agent = self.agent(dict.fromkeys(range(len(GPUS)), fails), kernels=kernels)
                _, operation, result = self.make(agent, "gpu.compute")
                self.assertEqual((operation["state"], result["health"]), ("succeeded", health), result)
                self.assertEqual({gpu: rate for gpu, rate in self.values(operation, "compute.bf16").items() if rate}, rates)
                self.assertTrue(all("gemm_bf16_wgmma" in one["message"] for one in result["findings"]), result)
                agent.close()

    def test_only_gpus_that_are_reserved_are_tested(self):
        agent = self.agent()
        status, body = agent.request("POST", "/v1/operations", unix=True, headers={"Content-Type": "application/json"},
                                     body=json.dumps({"kind": "gpu.pcie_bandwidth", "reservation": [{"kind": "gpu", "key": GPUS[1]}]}))
        self.assertEqual(status, 202, body)
        operation = json.loads(body)["id"]
        harness.wait_until(lambda: self.state(agent, operation) == "succeeded", "it has passed", 60)
        told = json.loads(agent.get(f"/v1/operations/{operation}"))
        self.assertEqual(list(self.values(told, "pcie_bandwidth.host_to_device")), [GPUS[1]])

    def test_gpus_in_use_are_skipped(self):
        agent = self.agent(nvml=[("processes.count: 0", "processes.count: 1")])
        code, operation, _ = self.make(agent, "gpu.pcie_bandwidth")
        self.assertEqual((code, operation["state"]), (3, "skipped"), operation)
        self.assertRegex(operation["message"], r"^GPU in use by process \d+ on GPU 0 \(0000:4a:00.0\)")

    def test_who_comes_in_the_middle_makes_no_gpu_slow(self):
        agent = self.agent({2: {"memory_gb_per_s": 40, "host_to_device_gb_per_s": 1}})
        driver = os.path.join(self.folder, "machine", "nvml.yaml")
        with open(driver, encoding="utf-8") as file:
            idle = file.read()

        def come():
            harness.wait_until(lambda: probes_of(agent.pid), "the probe has started")
            with open(driver + ".new", "w", encoding="utf-8") as file:
                file.write(idle.replace("processes.count: 0", "processes.count: 1"))
            os.replace(driver + ".new", driver)

        coming = threading.Thread(target=come)
        coming.start()
        code, operation, result = self.make(agent, "gpu.compute")
        coming.join()
        # The probe itself finds processes that arrive at the very beginning, GPU by GPU.
        self.assertEqual(code, 3, operation)
        self.assertEqual([one for one in (result or {"findings": []})["findings"] if one["health"] != "unknown"], [], operation)
        self.assertIn(" in use by ", json.dumps([operation, result]))

    def test_a_gpu_whose_driver_errs_in_the_middle_is_unknown_and_the_others_are_tested(self):
        agent = self.agent({1: {"calls": {"cuMemcpyHtoDAsync_v2": {"result": 214, "after": 2}}}})
        code, operation, result = self.make(agent, "gpu.pcie_bandwidth")
        self.assertEqual((code, operation["state"]), (3, "succeeded"), operation)
        self.assertEqual({(key, health) for key, health, _ in self.findings(result)}, {(GPUS[1], "unknown")})
        self.assertIn("CUDA_ERROR_ECC_UNCORRECTABLE", json.dumps(result["findings"]))

    def test_a_gpu_that_cuda_does_not_list_is_unknown_and_the_others_are_tested(self):
        agent = self.agent(hidden=[3])
        code, operation, result = self.make(agent, "gpu.pcie_bandwidth")
        self.assertEqual((code, operation["state"]), (3, "succeeded"), operation)
        self.assertEqual({(key, health) for key, health, _ in self.findings(result)}, {(GPUS[3], "unknown")})
        self.assertIn("CUDA does not list this GPU", json.dumps(result["findings"]))

    def test_divided_gpus_are_not_tested(self):
        agent = self.agent(nvml=[("mig: false", "mig: true")])
        code, operation, _ = self.make(agent, "gpu.pcie_bandwidth")
        self.assertEqual((code, operation["state"]), (3, "failed"), operation)
        self.assertIn("is divided into instances (MIG)", operation["message"])

    def test_a_probe_that_crashes_says_nothing_of_the_gpus(self):
        agent = self.agent(calls={"cuInit": {"result": "abort"}})
        code, operation, _ = self.make(agent, "gpu.pcie_bandwidth")
        self.assertEqual((code, operation["state"]), (3, "failed"), operation)
        self.assertIn("the GPU probe ended by signal 6", operation["message"])
        self.assertEqual(agent.judged("gpu.pcie_bandwidth")["findings"][0]["reason"], "could_not_look")

    def test_a_driver_that_is_not_there_is_named(self):
        agent = self.agent(calls={"cuInit": {"result": 100}})
        code, operation, _ = self.make(agent, "gpu.pcie_bandwidth")
        self.assertEqual((code, operation["state"]), (3, "failed"), operation)
        self.assertIn("cuInit: CUDA_ERROR_NO_DEVICE (100)", operation["message"])

    def test_one_that_hangs_ends_at_the_deadline_with_all_it_started(self):
        agent = self.agent(calls={"cuInit": {"result": "hang"}}, deadline="10s")
        code, out, _ = harness.run("test", "gpu.pcie_bandwidth", "--deadline", "3s", "--socket", agent.socket, timeout=90)
        self.assertEqual(code, 3, out)
        self.assertRegex(out, r"gpu.pcie_bandwidth +timed_out")
        harness.wait_until(lambda: not probes_of(agent.pid), "the probe is gone")
        self.assertEqual(agent.judged("gpu.pcie_bandwidth")["findings"][0]["reason"], "timed_out")

    def test_cancelled_or_killed_in_the_middle_it_leaves_nothing(self):
        agent = self.agent(calls={"cuInit": {"result": "hang"}})
        operation, probe = self.begin(agent, "gpu.pcie_bandwidth")
        agent.request("DELETE", f"/v1/operations/{operation}", unix=True)
        harness.wait_until(lambda: self.state(agent, operation) == "cancelled", "it is cancelled")
        harness.wait_until(lambda: not harness.arguments_of(probe), "the probe is gone")
        operation, probe = self.begin(agent, "gpu.pcie_bandwidth")
        agent.process.stop(signal.SIGKILL)
        harness.wait_until(lambda: not harness.arguments_of(probe), "the probe is gone with the agent")

    def test_idle_gpus_are_tested_at_times_without_anybody_asking(self):
        # The first turn is within a tenth of the time.
        agent = self.agent(schedule={"every": "10m", "checks": ["gpu.pcie_bandwidth"]})
        done = harness.wait_until(lambda: [one for one in json.loads(agent.get("/v1/operations"))["items"]
                                           if one["owner"] == "schedule" and one["state"] == "succeeded"], "a turn has come", 90)
        self.assertEqual([one["kind"] for one in done], ["gpu.pcie_bandwidth"])


if __name__ == "__main__":
    unittest.main(verbosity=2)

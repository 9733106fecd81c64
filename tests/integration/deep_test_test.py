# SPDX-License-Identifier: Apache-2.0
"""The helper of a deep diagnostic with a replacement of dcgmi, and with our own diagnostics on GPUs of simulated drivers: its
termination message, and its exit code."""

import json
import os
import signal
import subprocess
import tempfile
import time
import unittest

import harness
from simulated_gpus import GPUS, make_machine


class DeepTestTest(unittest.TestCase):
    def run_test(self, *program, gpus=8, deadline="60s"):
        """Exit code, summary, and what the program printed."""
        with tempfile.TemporaryDirectory() as folder:
            message = os.path.join(folder, "termination-log")
            done = subprocess.run([harness.AUTOPILOT, "helper", "deep-test", "--output", message, "--deadline", deadline,
                                   "--gpus", str(gpus), "--", *program],
                                  capture_output=True, text=True, timeout=120, check=False)
            with open(message, encoding="utf-8") as file:
                text = file.read()
            self.assertLessEqual(len(text.encode()), 4096)
            return done.returncode, json.loads(text), done.stdout

    def simulate(self, *arguments, **options):
        return self.run_test(os.path.abspath(harness.AUTOPILOT_SIM), "deep-test", *arguments, **options)

    def test_a_machine_that_passes(self):
        code, summary, output = self.simulate("--machine", "hgx-h100-8")
        self.assertEqual(code, 0)
        self.assertNotIn("problem", summary)
        self.assertEqual({test["status"] for test in summary["tests"]}, {"pass"})
        self.assertEqual(sorted(summary["gpus"]), [str(gpu) for gpu in range(8)])
        self.assertIn("DCGM Diagnostic", json.loads(output))

    def test_one_that_fails_names_test_and_gpu_first(self):
        code, summary, _ = self.simulate("--result", "fail:pcie")
        self.assertEqual(code, 1)
        first = summary["tests"][0]
        self.assertEqual((first["name"], first["status"], first["gpus"]), ("pcie", "fail", [7]))
        self.assertIn("SIMULATED", first["message"])

    def test_what_crashes_or_hangs_says_nothing_of_the_gpus(self):
        for result, problem in (("crash", "signal 11"), ("hang", "did not end in time")):
            with self.subTest(result=result):
                code, summary, _ = self.simulate("--result", result, deadline="2s")
                self.assertEqual(code, 2)
                self.assertIn(problem, summary["problem"])
                self.assertEqual(summary["tests"], [])

    def test_fewer_gpus_than_were_given_are_no_pass(self):
        code, summary, _ = self.simulate("--machine", "l40s-4")
        self.assertEqual((code, summary["problem"]), (2, "4 of 8 GPUs were tested"))

    def test_the_programs_own_options_are_its_own(self):
        code, summary, output = self.run_test("printf", "%s ", "-j", "--help", "--")
        self.assertEqual((code, output), (2, "-j --help -- "))
        self.assertIn("no JSON of a DCGM diagnostic", summary["problem"])


TESTS = ["pcie", "host_bandwidth", "compute", "memory_bandwidth", "arithmetic_speed", "memory", "sdc", "nvlink", "peer_bandwidth"]
WRONG_BITS = {"wrong_bits": [{"multiprocessor": 2, "bits": "0x1"}]}


def probe_of(pid):
    """Ids of the probes that this process has started."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        children = [int(word) for word in file.read().split()]
    return [child for child in children if "autopilot-gpu-probe" in "".join(harness.arguments_of(child)[:1])]


@unittest.skipIf(harness.is_sanitized(harness.AUTOPILOT), "a simulated GPU computes on the processors, with sanitizers too slowly")
class OwnDeepTestTest(unittest.TestCase):
    def machine(self, changes=None, calls=None, nvml=(), hidden=()):
        """Creates the machine, as make_machine."""
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        tree = make_machine(self.folder, changes, calls, nvml, hidden)
        return ["--tree", tree, "--library", os.path.join(harness.BIN, "libnvidia-ml-sim.so"),
                "--cuda-library", os.path.join(harness.BIN, "libcuda-sim.so")]

    def begin(self, machine, *more, gpus=4, deadline="100s"):
        self.message = os.path.join(self.folder, "termination-log")
        return subprocess.Popen([harness.AUTOPILOT, "helper", "deep-test", "--output", self.message, "--deadline", deadline,
                                 "--gpus", str(gpus), "--tests", "own", "--", "--seconds", "0.1", "--memory-share", "0.5",
                                 *machine, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def end(self, helper):
        """Exit code and summary."""
        self.output, self.errors = helper.communicate(timeout=120)
        with open(self.message, encoding="utf-8") as file:
            text = file.read()
        self.assertLessEqual(len(text.encode()), 4096)
        return helper.returncode, json.loads(text)

    def make(self, machine, *more, **options):
        return self.end(self.begin(machine, *more, **options))

    @staticmethod
    def named(summary, status):
        return {test["name"]: test.get("gpus", []) for test in summary["tests"] if test["status"] == status}

    def assert_says_nothing(self, made, words):
        code, summary = made
        self.assertEqual(code, 2, self.errors)
        self.assertIn(words, summary["problem"])
        self.assertEqual(self.named(summary, "fail"), {})

    def test_gpus_that_are_sound_pass_every_test(self):
        code, summary = self.make(self.machine())
        self.assertEqual(code, 0, summary)
        self.assertNotIn("problem", summary)
        self.assertEqual(self.named(summary, "pass"), {name: [0, 1, 2, 3] for name in TESTS})
        self.assertEqual(list(summary["gpus"]), ["0", "1", "2", "3"])
        self.assertTrue(all(summary["gpus"].values()), "serials by which the agent knows them")
        self.assertIn(f"pcie_bandwidth.host_to_device gpu/{GPUS[0]} 25 gigabytes_per_second", self.output)
        self.assertIn("gpu.p2p: healthy", self.output)

    def test_what_is_wrong_is_named(self):
        for change, failed in ((WRONG_BITS, {"sdc", "compute"}), ({"stuck": [{"offset": 4096, "bits": "0x10"}]}, {"memory"})):
            with self.subTest(failed=failed):
                code, summary = self.make(self.machine({1: change}))
                self.assertEqual(code, 1, summary)
                self.assertNotIn("problem", summary)
                self.assertEqual(self.named(summary, "fail"), dict.fromkeys(failed, [1]))
                self.assertIn("GPU 1", summary["tests"][0]["message"])

    def test_words_that_change_on_their_way_are_of_the_link(self):
        code, summary = self.make(self.machine({1: {"copy_bits": "0x8"}}))
        self.assertEqual((code, self.named(summary, "fail")), (1, {"pcie": [1], "compute": [1]}))
        self.assertIn("a planted wrong word was not found", summary["problem"], "other tests cannot trust what they read")
        self.assertEqual(list(summary["gpus"]), ["0", "2", "3"])

    def test_what_is_slow_is_named_otherwise(self):
        code, summary = self.make(self.machine({2: {"host_to_device_gb_per_s": 12, "memory_gb_per_s": 300, "peer_gb_per_s": 3}}))
        self.assertEqual(code, 1, summary)
        self.assertEqual(self.named(summary, "fail"),
                         dict.fromkeys(("host_bandwidth", "memory_bandwidth", "arithmetic_speed", "peer_bandwidth"), [2]))
        for name in ("pcie", "memory", "compute", "sdc", "nvlink"):
            self.assertIn(2, self.named(summary, "pass")[name], "all that it gave was right")

    def test_the_operators_limits_count(self):
        code, summary = self.make(self.machine(), "--threshold", "gpu.pcie_bandwidth.host_to_device=30")
        self.assertEqual((code, self.named(summary, "fail")), (1, {"host_bandwidth": [0, 1, 2, 3]}))

    def test_a_gpu_that_errs_or_is_not_listed_was_not_tested(self):
        for machine, words in (({"changes": {3: {"calls": {"cuLaunchKernel": {"result": 214, "after": 20}}}}}, "UNCORRECTABLE (214)"),
                               ({"hidden": (3,)}, f"GPU 3 ({GPUS[3]})")):
            with self.subTest(words=words):
                made = self.make(self.machine(**machine))
                self.assert_says_nothing(made, words)
                self.assertEqual(sorted(made[1]["gpus"]), ["0", "1", "2"])
                self.assertEqual(self.named(made[1], "pass")["memory_bandwidth"], [0, 1, 2])

    def test_what_is_wrong_counts_beside_a_gpu_that_was_not_tested(self):
        code, summary = self.make(self.machine({0: WRONG_BITS}, hidden=(3,)))
        self.assertEqual((code, self.named(summary, "fail")), (1, {"compute": [0], "sdc": [0]}))
        self.assertIn(f"GPU 3 ({GPUS[3]})", summary["problem"])

    def test_fewer_gpus_than_were_given_are_no_pass(self):
        code, summary = self.make(self.machine(), gpus=8)
        self.assertEqual((code, summary["problem"]), (2, "4 of 8 GPUs were tested"))

    def test_gpus_that_somebody_uses_are_left_alone(self):
        machine = self.machine(nvml=[("processes.count: 0", "processes.count: 1")])
        made = self.make(machine)
        self.assert_says_nothing(made, "GPU in use by process 4200 on GPU 0")
        self.assertEqual((made[1]["tests"], made[1]["gpus"]), ([], {}))

    def test_a_probe_that_crashes_says_nothing(self):
        made = self.make(self.machine(calls={"cuInit": {"result": "abort"}}))
        self.assert_says_nothing(made, "the GPU probe ended by signal 6")
        self.assertEqual((made[1]["tests"], made[1]["gpus"]), ([], {}))

    def test_one_that_hangs_is_ended_in_time(self):
        began = time.monotonic()
        made = self.make(self.machine({1: {"calls": {"cuStreamSynchronize": {"result": "hang", "after": 3}}}}), deadline="4s")
        self.assertLess(time.monotonic() - began, 30)
        self.assert_says_nothing(made, "the GPU probe did not end in time")
        self.assertEqual(made[1]["gpus"], {})
        self.assertEqual(made[1]["problem"].count("no time was left"), 1, made[1]["problem"])

    def test_one_that_is_killed_says_nothing(self):
        helper = self.begin(self.machine({1: {"calls": {"cuStreamSynchronize": {"result": "hang", "after": 3}}}}), deadline="10s")
        [probe] = harness.wait_until(lambda: probe_of(helper.pid), "the probe has started")
        os.kill(probe, signal.SIGKILL)
        self.assert_says_nothing(self.end(helper), "the GPU probe ended by signal 9")

    def test_no_driver_and_no_cuda_are_told(self):
        machine = self.machine(calls={"cuInit": {"result": 100}})
        self.assert_says_nothing(self.make(machine), "cuInit: CUDA_ERROR_NO_DEVICE (100)")
        machine[machine.index("--cuda-library") + 1] = "/nowhere/libcuda.so.1"
        self.assert_says_nothing(self.make(machine), "/nowhere/libcuda.so.1")
        del machine[:]
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        made = self.make(machine)
        self.assert_says_nothing(made, "the driver does not say which GPUs are in use")
        self.assertEqual((made[1]["tests"], made[1]["gpus"]), ([], {}))


if __name__ == "__main__":
    unittest.main()

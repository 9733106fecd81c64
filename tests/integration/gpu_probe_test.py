# SPDX-License-Identifier: Apache-2.0
"""autopilot-gpu-probe with the simulated driver, which computes like a GPU, with the configured errors."""

import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest
import unittest.mock

import harness

PROBE = os.path.join(harness.BIN, "autopilot-gpu-probe")
LIBRARY = os.path.join(harness.BIN, "libcuda-sim.so")
QUICK = ["--seconds", "0.02"]
PATIENCE = "5"  # seconds: the longest call of a busy machine is shorter
NOTHING_LEFT = {"contexts": 0, "allocations": 0, "pinned": 0, "modules": 0, "streams": 0, "events": 0}


def gpu(number, **fields):
    """A row of the driver's table; JSON is YAML."""
    return {"uuid": f"GPU-{number:08x}-0000-0000-0000-000000000000", "pci_address": f"0000:{number:02X}:00.0",
            "memory_mib": 48} | fields


class ProbeCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="autopilot-gpu-probe-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.record = os.path.join(self.folder, "record.json")

    def environment(self, gpus, **driver):
        table = os.path.join(self.folder, "cuda.yaml")
        with open(table, "w", encoding="utf-8") as file:
            json.dump({"gpus": gpus} | driver, file)
        return os.environ | {"AUTOPILOT_SIM_CUDA": table, "AUTOPILOT_SIM_CUDA_RECORD": self.record}

    def probe(self, gpus, *arguments, code=0, library=LIBRARY, **driver):
        """The report of a run that ends with the code. `driver`: members of its table besides the GPUs."""
        usual = [] if "--seconds" in arguments else QUICK
        # A simulated GPU computes on the processors, with sanitizers many times slower.
        patient = ["--patience", "200"] if harness.is_sanitized(PROBE) and "--patience" not in arguments else []
        done = subprocess.run([PROBE, "--library", library, *usual, *patient, *arguments], env=self.environment(gpus, **driver),
                              capture_output=True, text=True, check=False, timeout=240)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        self.stderr = done.stderr
        return json.loads(done.stdout)

    def recorded(self):
        with open(self.record, encoding="utf-8") as file:
            return json.load(file)

    def assert_nothing_left(self):
        record = self.recorded()
        self.assertEqual({name: record[name] for name in NOTHING_LEFT}, NOTHING_LEFT)


def tests_of(report, index=0):
    return {(test["test"], test["scope"]): test for test in report["gpus"][index]["tests"]}


def series_of(test):
    return {series["name"]: series for series in test["measured"]}


class Measurements(ProbeCase):
    def test_the_speeds_of_the_driver_are_what_is_measured(self):
        report = self.probe([gpu(1, host_to_device_gb_per_s=25, device_to_host_gb_per_s=20, memory_gb_per_s=1500)],
                            "--tests", "pcie,hbm")
        tests = tests_of(report)
        pcie = series_of(tests["pcie", "alone"])
        self.assertAlmostEqual(pcie["host_to_device"]["median"], 25, delta=0.01)
        self.assertAlmostEqual(pcie["device_to_host"]["best"], 20, delta=0.01)
        self.assertAlmostEqual(pcie["both_ways"]["median"], 40, delta=0.01, msg="both take as long as the slower one")
        for name in ("copy", "scale", "triad", "daxpy"):
            self.assertAlmostEqual(series_of(tests["hbm", "alone"])[name]["median"], 1500, delta=1)
        for series in pcie.values():
            self.assertEqual(series["best"], max(series["samples"]))
        self.assert_nothing_left()

    def test_matrix_products_are_right_and_as_fast_as_the_driver_says(self):
        report = self.probe([gpu(1, f64_tflops=7.5, bf16_tflops=120), gpu(2, compute_capability="7.0")], "--tests", "gemm")
        new = series_of(tests_of(report, 0)["gemm", "together"])
        self.assertAlmostEqual(new["f64"]["median"], 7.5, delta=0.01)
        self.assertAlmostEqual(new["bf16"]["median"], 120, delta=0.1)
        old = tests_of(report, 1)["gemm", "together"]
        self.assertEqual(list(series_of(old)), ["f64"], "tensor cores for bf16 came with 8.0")

    def test_every_multiprocessor_is_asked_by_the_canary(self):
        report = self.probe([gpu(1, multiprocessors=7)], "--tests", "sdc")
        self.assertEqual(tests_of(report)["sdc", "alone"]["multiprocessors_tested"], 7)

    def test_the_memory_test_takes_its_whole_share(self):
        report = self.probe([gpu(1)], "--tests", "memory", "--memory-share", "0.5")
        test = tests_of(report)["memory", "alone"]
        self.assertAlmostEqual(test["bytes_tested"], 24 << 20, delta=4096)
        self.assertGreaterEqual(test["passes"], 2)

    def test_copies_between_gpus_are_a_matrix(self):
        report = self.probe([gpu(1, peer_gb_per_s=100), gpu(2), gpu(3, peer_access=False)], "--tests", "p2p")
        uuids = [one["uuid"] for one in report["gpus"]]
        for index, uuid in enumerate(uuids):
            for scope in ("alone", "together"):
                test = tests_of(report, index)["p2p", scope]
                self.assertEqual({series["peer"] for series in test["measured"]}, set(uuids) - {uuid})
                self.assertEqual({series["name"] for series in test["measured"]}, {"write", "read"})
        first = tests_of(report, 0)["p2p", "alone"]
        self.assertAlmostEqual(first["measured"][0]["median"], 100, delta=0.1)
        self.assertEqual((first["peers"], first["peers_with_direct_access"]), (2, 1))
        self.assert_nothing_left()

    def test_one_gpu_has_no_peers(self):
        report = self.probe([gpu(1)], "--tests", "p2p", code=3)
        self.assertEqual(tests_of(report)["p2p", "alone"]["skipped"], "needs a second GPU")

    def test_a_report_that_cannot_be_written_is_no_success(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([PROBE, "--library", LIBRARY, *QUICK, "--tests", "sdc"], env=self.environment([gpu(1)]), stdout=full,
                                  stderr=subprocess.PIPE, text=True, check=False, timeout=240)
        self.assertEqual(done.returncode, 3)
        self.assertIn("autopilot-gpu-probe: the report: No space left on device", done.stderr)

    def test_the_quick_tests_are_run_where_nobody_chooses(self):
        self.assertEqual([test for test, _ in tests_of(self.probe([gpu(1)]))], ["pcie", "hbm", "gemm", "sdc"])

    def test_what_the_driver_makes_of_the_kernels_stays_in_no_file(self):
        for said in ({}, {"CUDA_CACHE_DISABLE": "0"}):
            with self.subTest(said), unittest.mock.patch.dict(os.environ, said):
                self.probe([gpu(1)], "--tests", "sdc")
                self.assertIs(self.recorded()["caches_kernels"], False)

    def test_it_says_that_the_driver_is_simulated(self):
        self.assertIs(self.probe([gpu(1)], "--tests", "pcie")["simulated"], True)
        self.assertIn("SIMULATED", self.stderr)

    def test_gpus_are_tested_one_by_one_and_all_together(self):
        report = self.probe([gpu(1), gpu(2), gpu(3)], "--tests", "pcie,hbm")
        for index in range(3):
            self.assertEqual(list(tests_of(report, index)), [("pcie", "alone"), ("pcie", "together"), ("hbm", "together")])

    def test_only_chosen_gpus_are_touched(self):
        report = self.probe([gpu(1), gpu(2), gpu(3)], "--tests", "pcie", "--gpus", "GPU-00000002,2")
        self.assertEqual([one["index"] for one in report["gpus"]], [1, 2])
        self.assertEqual(self.recorded()["peak_bytes"][0], 0)

    def test_a_gpu_takes_the_kernels_of_its_level(self):
        levels = {"7.5": "sm_70", "8.6": "sm_80", "9.0": "sm_90a", "10.0": "sm_90"}
        report = self.probe([gpu(1 + i, compute_capability=word) for i, word in enumerate(levels)], "--tests", "hbm")
        self.assertEqual([one["kernels"] for one in report["gpus"]], list(levels.values()))
        self.assertFalse(any("refused_kernels" in one for one in report["gpus"]))

    def test_lower_kernels_are_used_where_somebody_says_so(self):
        machine = [gpu(1, bf16_tflops=120, wgmma_tflops=350)]
        best = self.probe(machine, "--tests", "gemm")
        self.assertAlmostEqual(series_of(tests_of(best)["gemm", "alone"])["bf16"]["median"], 350, delta=0.5)
        report = self.probe(machine, "--tests", "gemm", "--kernels", "sm_90")
        self.assertEqual(report["gpus"][0]["kernels"], "sm_90")
        self.assertAlmostEqual(series_of(tests_of(report)["gemm", "alone"])["bf16"]["median"], 120, delta=0.1)

    def test_an_older_driver_gets_what_it_takes(self):
        report = self.probe([gpu(1)], "--tests", "gemm", version=11080)
        self.assertEqual(report["gpus"][0]["kernels"], "sm_90")
        self.assertEqual(report["gpus"][0]["refused_kernels"],
                         "sm_90a: cuModuleLoadData: CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222)")
        self.assertIn("those of sm_90 are used", self.stderr)
        self.assertEqual(list(series_of(tests_of(report)["gemm", "alone"])), ["f64", "bf16"])
        self.assert_nothing_left()


    def test_a_gpu_without_the_shared_memory_for_the_best_kernels_gets_the_next(self):
        report = self.probe([gpu(1, calls={"cuFuncSetAttribute": {"result": 1}})], "--tests", "gemm,power")
        self.assertEqual(report["gpus"][0]["kernels"], "sm_90")
        self.assertEqual(report["gpus"][0]["refused_kernels"], "sm_90a: gemm_bf16_wgmma: cuFuncSetAttribute: CUDA_ERROR_INVALID_VALUE (1)")
        self.assertIn("those of sm_90 are used", self.stderr)
        self.assertEqual(list(series_of(tests_of(report)["gemm", "alone"])), ["f64", "bf16"])
        self.assert_nothing_left()


class Faults(ProbeCase):
    def test_a_link_that_turns_bits_over_gives_wrong_results(self):
        report = self.probe([gpu(1, copy_bits="0x8")], "--tests", "pcie", code=2)
        self.assertEqual(tests_of(report)["pcie", "alone"]["wrong"],
                         [{"where": "byte 0 of a copy", "count": 1, "detail": "bits 0x8"}])

    def test_a_multiprocessor_that_computes_wrongly_is_named(self):
        report = self.probe([gpu(1), gpu(2, wrong_bits=[{"multiprocessor": 2, "bits": "0x1"}])], "--tests", "sdc", code=2)
        self.assertEqual(tests_of(report, 0)["sdc", "together"]["wrong"], [])
        [wrong] = tests_of(report, 1)["sdc", "together"]["wrong"]
        self.assertEqual(wrong["where"], "multiprocessor 2")
        self.assertGreater(wrong["count"], 0)

    def test_a_gpu_that_runs_nothing_has_passed_nothing(self):
        planted = "a planted wrong word was not found: the GPU ran no kernel"
        for test, said in (("sdc", r"the GPU computed 0 of [0-9]+ digests, on 0 of its 4 multiprocessors"), ("memory", planted), ("p2p", planted)):
            with self.subTest(test):
                report = self.probe([gpu(1), gpu(2, runs_kernels=False)], "--tests", test, code=3)
                self.assertNotIn("error", report["gpus"][0])
                self.assertRegex(report["gpus"][1]["error"], f"^{test}: {said}$")
        for test in ("hbm", "gemm"):
            with self.subTest(test):
                self.assertTrue(tests_of(self.probe([gpu(1, runs_kernels=False)], "--tests", test, code=2))[test, "alone"]["wrong"])

    def test_a_wrong_matrix_product_is_seen(self):
        report = self.probe([gpu(1, wrong_bits=[{"multiprocessor": 1, "bits": "0x4"}])], "--tests", "gemm", code=2)
        wrong = tests_of(report)["gemm", "alone"]["wrong"]
        self.assertRegex(wrong[0]["where"], r"^f64 product, row \d+, column \d+$")
        self.assertTrue(any(one["where"].startswith("bf16") for one in wrong))

    def test_a_product_that_one_kernel_gets_wrong_and_the_other_right_accuses_no_gpu(self):
        report = self.probe([gpu(1, wrong_wgmma="0x4", bf16_tflops=120, wgmma_tflops=350)], "--tests", "gemm")
        test = tests_of(report)["gemm", "alone"]
        self.assertEqual(test["wrong"], [])
        self.assertRegex(test["disputed"][0]["where"], r"^bf16 product, row \d+, column \d+$")
        self.assertEqual(list(series_of(test)), ["f64", "bf16_mma_sync"], "no figure of the kernel that is wrong")
        self.assertAlmostEqual(series_of(test)["bf16_mma_sync"]["median"], 120, delta=0.1)
        self.assertIn("the kernels disagree: gemm_bf16_wgmma is wrong where gemm_bf16 is right", self.stderr)
        self.assert_nothing_left()

    def test_a_product_that_both_kernels_get_wrong_is_wrong(self):
        wrong_bits = [{"multiprocessor": 0, "bits": "0x8"}]
        report = self.probe([gpu(1, wrong_wgmma="0x4", wrong_bits=wrong_bits)], "--tests", "gemm", code=2)
        test = tests_of(report)["gemm", "alone"]
        self.assertTrue(any(one["where"].startswith("bf16") for one in test["wrong"]))
        self.assertNotIn("disputed", test)

    def test_a_kernel_that_fails_is_named(self):
        report = self.probe([gpu(1, calls={"cuFuncSetAttribute": {"result": 719, "after": 1}})], "--tests", "gemm", code=3)
        self.assertEqual(report["gpus"][0]["error"], "gemm: gemm_bf16_wgmma: cuFuncSetAttribute: CUDA_ERROR_LAUNCH_FAILED (719)")

    def test_stuck_bits_of_memory_are_counted_with_their_first_place(self):
        report = self.probe([gpu(1, stuck=[{"offset": 8192, "bits": "0x10"}, {"offset": 65536, "bits": "0x2"}])],
                            "--tests", "memory", code=2)
        [wrong] = tests_of(report)["memory", "alone"]["wrong"]
        self.assertIn("byte 8192 of", wrong["where"])
        self.assertEqual(wrong["detail"], "bits 0x12")

    def test_what_was_wrong_counts_where_an_error_ended_the_test(self):
        """As with bad memory, which an uncorrectable error follows."""
        bad_memory = gpu(1, stuck=[{"offset": 8192, "bits": "0x10"}], calls={"cuLaunchKernel": {"result": 214, "after": 2}})
        report = self.probe([bad_memory], "--tests", "memory", code=2)
        [wrong] = tests_of(report)["memory", "alone"]["wrong"]
        self.assertIn("byte 8192 of", wrong["where"])
        self.assertEqual(report["gpus"][0]["error"], "memory: cuLaunchKernel: CUDA_ERROR_ECC_UNCORRECTABLE (214)")
        bad_unit = gpu(1, wrong_bits=[{"multiprocessor": 1, "bits": "0x4"}], calls={"cuFuncSetAttribute": {"result": 719, "after": 1}})
        report = self.probe([bad_unit], "--tests", "gemm", code=2)
        self.assertIn("f64 product", tests_of(report)["gemm", "alone"]["wrong"][0]["where"])
        self.assertIn("LAUNCH_FAILED (719)", report["gpus"][0]["error"])

    def test_an_error_names_call_and_code_and_ends_only_that_gpu(self):
        report = self.probe([gpu(1, calls={"cuLaunchKernel": {"result": 214, "after": 5}}), gpu(2)],
                            "--tests", "pcie,hbm", code=3)
        self.assertEqual(report["gpus"][0]["error"], "hbm: cuLaunchKernel: CUDA_ERROR_ECC_UNCORRECTABLE (214)")
        self.assertIn(("pcie", "together"), tests_of(report, 0), "what was measured before stays")
        self.assertIn(("hbm", "together"), tests_of(report, 1))
        self.assertNotIn("error", report["gpus"][1])
        self.assert_nothing_left()

    def test_a_gpu_that_cannot_be_opened_is_told(self):
        report = self.probe([gpu(1, calls={"cuCtxCreate_v2": {"result": 999}}), gpu(2)], "--tests", "pcie", code=3)
        self.assertEqual(report["gpus"][0]["error"], "cuCtxCreate_v2: CUDA_ERROR_UNKNOWN (999)")
        self.assertIn(("pcie", "together"), tests_of(report, 1))

    def test_a_call_that_hangs_is_given_up_and_the_others_go_on(self):
        report = self.probe([gpu(1), gpu(2, calls={"cuStreamSynchronize": {"result": "hang", "after": 3}})],
                            "--tests", "pcie,hbm", "--patience", PATIENCE, code=3)
        self.assertEqual(report["gpus"][1]["error"], f"cuStreamSynchronize has not returned for {PATIENCE} s")
        self.assertIn(("hbm", "together"), tests_of(report, 0))

    def test_a_driver_that_hangs_at_once_is_given_up(self):
        report = self.probe([gpu(1)], "--patience", PATIENCE, calls={"cuInit": {"result": "hang"}}, code=3)
        self.assertEqual(report["error"], f"cuInit has not returned for {PATIENCE} s")

    def test_little_memory_shrinks_the_tests_and_too_little_refuses(self):
        report = self.probe([gpu(1, memory_mib=1000, free_mib=8)], "--tests", "hbm", "--memory-share", "0.5")
        self.assertLessEqual(self.recorded()["peak_bytes"][0], 8 << 20)
        self.assertLess(tests_of(report)["hbm", "alone"]["bytes_of_a_buffer"], 8 << 20)
        report = self.probe([gpu(1, memory_mib=1000, free_mib=4)], code=3)
        self.assertIn("too little memory: 4 of 1000 MiB are free", report["gpus"][0]["error"])

    def test_no_more_than_the_share_is_taken(self):
        report = self.probe([gpu(1, memory_mib=48)], "--tests", "all", "--memory-share", "0.25")
        self.assertLessEqual(self.recorded()["peak_bytes"][0], 12 << 20)
        self.assertEqual(report["gpus"][0]["most_used_bytes"], self.recorded()["peak_bytes"][0])

    def test_an_older_gpu_than_the_kernels_is_told(self):
        report = self.probe([gpu(1, compute_capability="6.1")], "--tests", "hbm", code=3)
        self.assertIn("compute capability 6.1 is older", report["gpus"][0]["error"])

    def test_without_a_driver_or_a_gpu_nobody_could_look(self):
        for gpus, library, text in (([], LIBRARY, "cuInit: CUDA_ERROR_NO_DEVICE (100)"),
                                    ([], "/nowhere/libcuda.so.1", "CUDA driver is not installed"),
                                    ([gpu(1)], os.path.join(harness.BIN, "libnvidia-ml-sim.so"), "it lacks cuInit")):
            report = self.probe(gpus, library=library, code=3)
            self.assertIn(text, report["error"])
            self.assertEqual(report["gpus"], [])

    def test_an_unknown_gpu_names_those_there_are(self):
        self.assertIn("expected 0 to 1", self.probe([gpu(1), gpu(2)], "--gpus", "7", code=3)["error"])


class Peers(ProbeCase):
    """Copies between GPUs of which one is not well."""

    def pairs(self, report, index, scope):
        """Results by the UUID of the other GPU: the measured values, and why a pair was not tested."""
        test = tests_of(report, index)["p2p", scope]
        return ({series["peer"] for series in test.get("measured", [])}, {one["peer"]: one["why"] for one in test.get("not_looked", [])})

    def uuid(self, number):
        return gpu(number)["uuid"]

    def test_one_that_cannot_be_opened_is_left_out_and_named(self):
        why = "cuCtxCreate_v2: CUDA_ERROR_UNKNOWN (999)"
        report = self.probe([gpu(1), gpu(2), gpu(3, calls={"cuCtxCreate_v2": {"result": 999}})], "--tests", "p2p", code=3)
        self.assertEqual(report["gpus"][2]["error"], why)
        for index, other in ((0, 2), (1, 1)):
            self.assertNotIn("error", report["gpus"][index])
            for scope in ("alone", "together"):
                self.assertEqual(self.pairs(report, index, scope), ({self.uuid(other)}, {self.uuid(3): why}))
        self.assertEqual(tests_of(report, 0)["p2p", "alone"]["peers"], 1)
        self.assert_nothing_left()

    def test_a_pair_that_fails_names_its_other_gpu_and_leaves_what_was_measured(self):
        why = "cuCtxCreate_v2: CUDA_ERROR_UNKNOWN (999)"
        report = self.probe([gpu(1), gpu(2), gpu(3, calls={"cuCtxCreate_v2": {"result": 999, "after": 1}})], "--tests", "p2p", code=3)
        for index, other in ((0, 2), (1, 1)):
            self.assertEqual(report["gpus"][index]["error"], f"p2p: with {self.uuid(3)}: {why}")
            for scope in ("alone", "together"):
                self.assertEqual(self.pairs(report, index, scope), ({self.uuid(other)}, {self.uuid(3): why}))
        self.assertEqual(self.pairs(report, 2, "alone"), ({self.uuid(1), self.uuid(2)}, {}), "it can open the others")
        self.assert_nothing_left()

    def test_who_measured_no_pair_at_all_tells_of_no_peers(self):
        report = self.probe([gpu(1), gpu(2, calls={"cuCtxEnablePeerAccess": {"result": 217}})], "--tests", "p2p", code=3)
        test = tests_of(report)["p2p", "alone"]
        self.assertEqual(test["measured"], [])
        self.assertNotIn("peers", test)
        self.assertEqual(report["gpus"][0]["error"], f"p2p: with {self.uuid(2)}: cuCtxEnablePeerAccess: CUDA_ERROR_PEER_ACCESS_UNSUPPORTED (217)")
        self.assert_nothing_left()

    def test_who_is_alone_with_one_that_is_left_out_says_why_it_has_no_peer(self):
        report = self.probe([gpu(1), gpu(2, calls={"cuMemGetInfo_v2": {"result": 214}})], "--tests", "p2p", code=3)
        self.assertEqual(tests_of(report)["p2p", "alone"]["skipped"],
                         f"no other GPU is left: {self.uuid(2)}: cuMemGetInfo_v2: CUDA_ERROR_ECC_UNCORRECTABLE (214)")

    def test_one_that_was_given_up_is_left_out(self):
        hanging = gpu(3, calls={"cuStreamSynchronize": {"result": "hang", "after": 3}})
        report = self.probe([gpu(1), gpu(2), hanging], "--tests", "pcie,p2p", "--patience", PATIENCE, code=3)
        why = f"cuStreamSynchronize has not returned for {PATIENCE} s"
        self.assertEqual([one.get("error") for one in report["gpus"]], [None, None, why])
        for index, other in ((0, 2), (1, 1)):
            self.assertEqual(self.pairs(report, index, "together"), ({self.uuid(other)}, {self.uuid(3): why}))

    def test_one_that_hangs_with_its_peers_takes_one_of_them_along_and_is_named(self):
        hanging = gpu(4, calls={"cuCtxCreate_v2": {"result": "hang", "after": 1}})
        report = self.probe([gpu(1), gpu(2), gpu(3), hanging], "--tests", "p2p", "--patience", PATIENCE, code=3)
        why = f"cuCtxCreate_v2 has not returned for {PATIENCE} s, with {self.uuid(4)}"
        [error, *others] = [one.get("error", "") for one in report["gpus"]]
        self.assertTrue(error.startswith(why), error)
        self.assertEqual(others, ["", "", ""])
        suspected = f"{self.uuid(1)} hangs in a call with it"
        for index, other in ((1, 3), (2, 2)):
            self.assertEqual(self.pairs(report, index, "together"), ({self.uuid(other)}, {self.uuid(1): error, self.uuid(4): suspected}))
        self.assertEqual(tests_of(report, 3)["p2p", "alone"]["skipped"], suspected)


class Memory(ProbeCase):
    """Another process on the GPU can take memory that was free a moment ago."""

    def test_a_gpu_without_memory_was_not_looked_at_and_the_others_go_on(self):
        for when, after, test, left in (("at the start", 0, "pcie", []), ("in the middle", 4, "hbm", [("pcie", "alone"), ("pcie", "together")])):
            with self.subTest(when):
                report = self.probe([gpu(1, calls={"cuMemAlloc_v2": {"result": 2, "after": after}}), gpu(2)], "--tests", "pcie,hbm", code=3)
                self.assertEqual(report["gpus"][0]["error"], f"{test}: cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2)")
                self.assertEqual(list(tests_of(report, 0)), left)
                self.assertNotIn("error", report["gpus"][1])
                self.assertIn(("hbm", "together"), tests_of(report, 1))
                self.assert_nothing_left()


class SensorCase(ProbeCase):
    """A simulated NVML beside the simulated CUDA driver; both have the same GPUs."""

    ADDRESSES = ["0000:4a:00.0", "0000:61:00.0", "0000:ca:00.0", "0000:e1:00.0"]

    def setUp(self):
        super().setUp()
        self.tree = os.path.join(self.folder, "machine")
        subprocess.run([harness.AUTOPILOT_SIM, "create", "l40s-4", "--out", self.tree], check=True, stdout=subprocess.DEVNULL)

    def environment(self, gpus, **driver):
        return super().environment(gpus, **driver) | {"AUTOPILOT_SIM_MACHINE": self.tree}

    def change(self, old, new):
        """Changes NVML's values of the first GPU."""
        path = os.path.join(self.tree, "nvml.yaml")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertIn(old, text)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(old, new, 1))

    def probe(self, gpus, *arguments, **options):
        return super().probe(gpus, "--nvml-library", os.path.join(harness.BIN, "libnvidia-ml-sim.so"), *arguments, **options)


class Sensors(SensorCase):
    def setUp(self):
        super().setUp()
        self.gpus = [gpu(number, pci_address=address) for number, address in enumerate(self.ADDRESSES[:2])]

    def test_sensors_are_read_while_a_test_runs(self):
        self.change("clocks.event_reasons: 1", "clocks.event_reasons: 68")
        self.change("pcie.generation: 1", "pcie.generation: 4")
        report = self.probe(self.gpus, "--tests", "pcie", "--seconds", "2")
        sample = next(one for one in report["gpus"][0]["sensors"] if one["test"] == "pcie")
        self.assertEqual((sample["temperature_c"], sample["power_w"], sample["power_limit_w"], sample["sm_clock_mhz"]),
                         (32, 34, 350, 210))
        self.assertEqual(sample["throttle_reasons"], ["sw_power_cap", "hw_thermal"])
        self.assertEqual((sample["pcie_generation"], sample["pcie_lanes"]), (4, 16))

    def test_power_is_told_for_each_state(self):
        report = self.probe(self.gpus[:1], "--tests", "power")
        test = tests_of(report)["power", "alone"]
        self.assertEqual([(series["name"], series["unit"], series["median"]) for series in test["measured"]],
                         [("idle", "W", 34), ("spin", "W", 34), ("busy", "W", 34)], "the simulated sensor knows no load")

    def test_a_gpu_that_others_use_is_refused_and_the_others_are_tested(self):
        self.change("processes.count: 0", "processes.count: 2")
        report = self.probe(self.gpus, "--tests", "pcie", code=3)
        self.assertIn("in use by 4200 4201", report["gpus"][0]["error"])
        self.assertIn(("pcie", "together"), tests_of(report, 1))
        self.assertEqual(self.recorded()["peak_bytes"][0], 0, "nothing was put on it")
        self.probe(self.gpus, "--tests", "pcie", "--beside-others")

    def test_a_gpu_that_others_use_has_no_copies_from_its_peers(self):
        self.change("processes.count: 0", "processes.count: 2")
        report = self.probe([*self.gpus, gpu(2, pci_address=self.ADDRESSES[2])], "--tests", "p2p", code=3)
        self.assertEqual(self.recorded()["peak_bytes"][0], 0, "nothing was put on it")
        [left_out] = tests_of(report, 1)["p2p", "alone"]["not_looked"]
        self.assertEqual(left_out["peer"], self.gpus[0]["uuid"])
        self.assertIn("in use by 4200 4201", left_out["why"])
        self.assertEqual({series["peer"] for series in tests_of(report, 1)["p2p", "alone"]["measured"]}, {gpu(2)["uuid"]})

    def test_a_gpu_without_room_for_power_is_refused(self):
        self.change("power.usage: 34", "power.usage: 340")
        self.assertIn("draws 340 of its 350 W", self.probe(self.gpus, "--tests", "pcie", code=3)["gpus"][0]["error"])

    def test_without_nvml_the_tests_go_on_and_say_so(self):
        report = super(SensorCase, self).probe(self.gpus, "--tests", "pcie,power", "--nvml-library", "/nowhere/nvml.so")
        self.assertIn("NVML is not installed", report["sensor_error"])
        self.assertEqual(report["gpus"][0]["sensors"], [])
        self.assertIn("the power draw of the GPU is unknown", tests_of(report)["power", "together"]["skipped"])

    def test_an_nvml_that_hangs_is_given_up(self):
        self.change("gpus:", "functions: {nvmlDeviceGetHandleByPciBusId_v2: hang}\ngpus:")
        report = self.probe(self.gpus, "--tests", "pcie", "--patience", PATIENCE, code=3)
        self.assertEqual(report["gpus"][0]["error"], f"NVML has not returned for {PATIENCE} s")


class Program(ProbeCase):
    def run_probe(self, *arguments):
        return subprocess.run([PROBE, *arguments], capture_output=True, text=True, check=False, timeout=60)

    def test_help_has_examples_and_exit_codes(self):
        done = self.run_probe("--help")
        self.assertEqual(done.returncode, 0)
        for text in ("Examples:", "Exit codes:", "pcie", "hbm"):
            self.assertIn(text, done.stdout)

    def test_wrong_usage_is_64_and_names_the_nearest_test(self):
        for arguments in (["--tests", "hbn"], ["--seconds", "-1"], ["--memory-share", "2"], ["--no-such"],
                          ["--seconds", "nan"], ["--memory-share", "nan"], ["--patience", "nan"]):
            with self.subTest(arguments):
                done = self.run_probe(*arguments)
                self.assertEqual((done.returncode, done.stdout), (64, ""))
        self.assertIn("did you mean hbm?", self.run_probe("--tests", "hbn").stderr)

    def test_sigterm_ends_it_within_a_second_or_so(self):
        def seconds_of_end():
            process = harness.Process([PROBE, "--library", LIBRARY, "--tests", "hbm", "--seconds", "600"], self.environment([gpu(1), gpu(2)]))
            try:
                harness.wait_until(lambda: process.find(r"gpu \d: hbm, all together"), "a test has begun")
                began = time.monotonic()
            finally:
                process.stop(deadline=10)
            return time.monotonic() - began

        took = []
        while len(took) < 4 and min(took, default=10) > 2:  # a machine that does other things may hold one of them up
            took.append(seconds_of_end())
        self.assertLessEqual(min(took), 2, took)

    def test_sigterm_frees_everything_and_tells_what_was_measured(self):
        process = harness.Process([PROBE, "--library", LIBRARY, "--tests", "pcie,hbm", "--seconds", "600"],
                                  self.environment([gpu(1), gpu(2)]), stdout=subprocess.PIPE)
        self.addCleanup(process.child.stdout.close)
        try:
            harness.wait_until(lambda: process.find(r"gpu \d: pcie, alone"), "a test has begun")
        finally:
            code = process.stop(deadline=10)
        self.assertEqual(code, 128 + 15)
        report = json.loads(process.child.stdout.read())
        self.assertIs(report["stopped"], True)
        self.assert_nothing_left()

    def test_sigterm_ends_a_probe_that_hangs_in_the_driver(self):
        for calls, hanging in (({"cuInit": {"result": "hang"}}, gpu(1)),
                               ({}, gpu(1, calls={"cuCtxCreate_v2": {"result": "hang"}}))):
            process = harness.Process([PROBE, "--library", LIBRARY, "--tests", "pcie"],
                                      self.environment([hanging, gpu(2)], calls=calls), stdout=subprocess.PIPE)
            try:
                harness.wait_until(lambda: process.find("SIMULATED"), "the driver is open")
            finally:
                code = process.stop(deadline=10)
            self.assertEqual(code, 128 + 15)
            self.assertIs(json.loads(process.child.stdout.read())["stopped"], True)
            process.child.stdout.close()


if __name__ == "__main__":
    unittest.main()

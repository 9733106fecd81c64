# SPDX-License-Identifier: Apache-2.0
"""The archive for a machine with a GPU, run on a machine without one, and the page of its results."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness

SOURCES = os.path.join(os.path.dirname(__file__), "..", "hardware")
PAGES = os.path.join(SOURCES, "..", "..", "docs", "benchmarks")


def call(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=250)


class Hardware(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="autopilot-hardware-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        archive = os.path.join(cls.folder, "hardware.tar.gz")
        packed = call(sys.executable, "-B", os.path.join(SOURCES, "pack.py"), "--programs", harness.BIN, "--out", archive)
        # The limit of its size is one of release binaries; what is too large is there nevertheless.
        assert packed.returncode == 0 or harness.is_sanitized(harness.AUTOPILOT), packed.stderr
        subprocess.run(["tar", "xzf", archive, "-C", cls.folder], check=True)
        cls.run_program = os.path.join(cls.folder, "autopilot-hardware", "run")
        cls.first = os.path.join(cls.folder, "figures")
        ran = call(cls.run_program, cls.first, "--simulate")
        assert ran.returncode == 0, ran.stderr

    def setUp(self):
        self.figures = os.path.join(self.folder, self.id())
        shutil.copytree(self.first, self.figures, symlinks=True)

    def path(self, name):
        return os.path.join(self.figures, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return json.load(file)

    def write(self, name, content):
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump(content, file)

    def page(self, *arguments, code=0):
        done = call(sys.executable, "-B", os.path.join(SOURCES, "page.py"), self.figures, *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def rows(self):
        """Cells of each row, by the first of them."""
        lines = [line.strip("| ").split(" | ") for line in self.page().splitlines() if line.startswith("| ")]
        return {cells[0]: [cell.strip() for cell in cells[1:]] for cells in lines}

    def test_the_page_says_what_was_measured_and_that_nothing_was_of_a_gpu(self):
        self.assertRegex(self.page(), r"^# Simulated GPU \(SIMULATED")
        rows = self.rows()
        self.assertRegex(rows["GPU 0, sm_90a: pcie, alone: host_to_device"][0], r"^[\d.]+ GB/s$")
        self.assertEqual(rows["gpu.xid"][0], "healthy")
        self.assertRegex(rows["agent and helpers at rest: PSS"][0], r"MiB$")
        self.assertRegex(rows["quick tests, all GPUs"][0], r"^[\d.]+ s$")

    def test_both_kernels_of_a_gpu_that_has_two_stand_on_the_page(self):
        rows = self.rows()
        for level in ("sm_90a", "sm_90"):
            self.assertRegex(rows[f"GPU 0, {level}: gemm, alone: bf16"][0], r"^[\d.]+ TFLOP/s$")
        os.remove(self.path("mma_sync.json"))
        self.assertEqual(self.rows()["kernels sm_90"][0], "not measured")
        report = self.read("all.json")
        report["gpus"][0]["kernels"] = "sm_80"
        self.write("all.json", report)
        self.assertNotIn("kernels sm_90", self.rows())

    def test_kernels_that_disagree_stand_on_the_page(self):
        report = self.read("mma_sync.json")
        report["gpus"][0]["tests"][0]["disputed"] = [{"where": "bf16 product, row 3, column 9"}]
        self.write("all.json", report)
        self.assertRegex(self.page(), r"\| kernels disagree \| right \| NO \| .*row 3, column 9")

    def test_the_own_copies_are_compared_with_those_of_the_driver(self):
        if harness.is_sanitized(os.path.join(harness.BIN, "libcuda-sim.so")):
            self.skipTest("a library with a sanitizer cannot be loaded by Python")
        shares = self.rows()
        for name in ("host_to_device", "device_to_host", "copy"):
            self.assertEqual(shares[f"{name}, of the best reference"][0], "100.0 %")

    def references(self, *arguments):
        """The output of references.py for a simulated GPU; all libraries that it opens are in a folder of the build."""
        if harness.is_sanitized(os.path.join(harness.BIN, "libcuda-sim.so")):
            self.skipTest("a library with a sanitizer cannot be loaded by Python")
        done = subprocess.run([sys.executable, "-B", os.path.join(SOURCES, "references.py"), "--seconds", "0.02", "--library",
                               os.path.join(harness.BIN, "libcuda-sim.so"), *arguments], capture_output=True, text=True, check=False, timeout=250,
                              env=os.environ | {"AUTOPILOT_SIM_CUDA": self.path("cuda.yaml"), "AUTOPILOT_SIM_CUDA_RECORD": self.path("record.json")})
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_matrix_products_are_compared_with_those_of_cublas(self):
        said = self.references("--cublas", os.path.join(harness.BIN, "..", "fakes", "fake_cublas.so"))
        self.assertNotIn("cuBLAS", said["missing"])
        for name, rows in (("f64", 1024), ("bf16", 2048)):
            self.assertEqual(said["measured"][name]["unit"], "TFLOP/s")
            self.assertRegex(said["measured"][name]["how"], f"^cuBLAS 120304: product of two {name} matrices of {rows} rows, the left one transposed, ")
            [slower] = [one for one in said["slower"] if one["name"] == name]
            self.assertAlmostEqual(said["measured"][name]["best"] / slower["best"], 2, delta=0.01, msg="the fastest one counts")
        record = self.read("record.json")
        self.assertEqual((record["contexts"], record["allocations"]), (0, 0), record)
        self.write("references.json", said)
        rows = self.rows()
        self.assertRegex(rows["f64, of the best reference"][0], r"^[\d.,]+ %$")
        self.assertRegex(rows["f64, a slower reference"][0], r"^[\d.,]+ TFLOP/s$")

    def test_without_cublas_the_copies_are_compared_all_the_same(self):
        said = self.references("--cublas", "/nowhere/libcublas.so.12")
        self.assertIn("/nowhere/libcublas.so.12", said["missing"]["cuBLAS"])
        self.assertIn("simulated driver", self.references()["missing"]["cuBLAS"])
        self.assertEqual(set(said["measured"]) & {"host_to_device", "device_to_host", "copy"}, {"host_to_device", "device_to_host", "copy"})

    def used(self, name, *helpers):
        """Writes the resources of the agent at the time of the measurement: the agent itself, and NVML helpers with their ticks."""
        lines = ["1 2048 10 0 bin/autopilot agent", *(f"{pid} 1024 {ticks} 0 bin/autopilot helper nvml" for pid, ticks in helpers)]
        with open(self.path(f"agent_{name}.used"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        with open(self.path(f"agent_{name}.json"), "w", encoding="utf-8") as file:
            json.dump({"self": {"driverCalls": 0 if name == "before" else 100}}, file)

    def test_a_call_costs_what_all_helpers_took_over_all_calls(self):
        with open(self.path("ticks"), "w", encoding="utf-8") as file:
            file.write("100")
        self.used("before", (7, 100), (8, 50))
        self.used("after", (7, 130), (8, 70))
        self.assertEqual(self.rows()["a call of NVML"][0], "5.00 ms")
        self.assertIn("2 helpers over 100 calls", self.rows()["a call of NVML"][3])
        self.used("after", (7, 130), (9, 5))
        cost, *_, how = self.rows()["a call of NVML"]
        self.assertEqual(cost, "not measured")
        self.assertIn("a helper was replaced", how)

    def test_the_machine_can_be_looked_at_again(self):
        code, output, errors = harness.run("check", "--root", self.path("machine"), "--tag", "gpu", "-o", "json")
        self.assertEqual(code, 0, errors)
        self.assertEqual(json.loads(output)["health"], "healthy")

    def test_only_an_h200_is_held_to_its_shares(self):
        reference = {"unit": "GB/s", "best": 1e6, "how": "something faster"}
        self.write("references.json", {"measured": {"copy": reference}, "slower": [], "missing": {}})
        for name, kept in (("NVIDIA H200", "NO"), ("NVIDIA GH200 480GB", "")):
            report = self.read("all.json")
            report["gpus"][0]["name"] = name
            self.write("all.json", report)
            share = self.rows()["copy, of the best reference"]
            self.assertEqual((share[1], share[2]), (">= 98 %" if kept else "", kept), name)

    def test_shares_of_the_data_sheet_are_told_of_a_model_that_is_known(self):
        self.assertNotIn("memory copy, of the data sheet", self.rows())
        report = self.read("all.json")
        report["gpus"][0]["name"] = "NVIDIA H200"
        best = {series["name"]: series["best"] for test in report["gpus"][0]["tests"] for series in test.get("measured", [])}
        self.write("all.json", report)
        rows = self.rows()
        for what, name, promised in (("memory copy", "copy", 4800), ("f64 product", "f64", 67), ("bf16 product", "bf16", 989)):
            share, wanted, kept, how = rows[f"{what}, of the data sheet"]
            self.assertEqual((share, wanted, kept), (f"{100 * best[name] / promised:.1f} %", "", ""))
            self.assertIn(f"of {promised:,}; ", how)

    def test_the_memory_that_quick_tests_took_is_held_to_its_limit(self):
        self.assertEqual(self.rows()["quick tests, memory of a GPU"][1:3], ["<= 2 GiB", "yes"])
        report = self.read("quick.json")
        report["gpus"][0]["most_used_bytes"] = 3 << 30
        self.write("quick.json", report)
        self.assertEqual(self.rows()["quick tests, memory of a GPU"][:3], ["3.00 GiB", "<= 2 GiB", "NO"])

    def test_a_series_without_a_sample_was_not_measured(self):
        report = self.read("all.json")
        series = report["gpus"][0]["tests"][0]["measured"][0]
        series["samples"] = []
        del series["best"], series["median"]
        self.write("all.json", report)
        test = report["gpus"][0]["tests"][0]
        self.assertEqual(self.rows()[f"GPU 0, sm_90a: {test['test']}, {test['scope']}: {series['name']}"][0], "not measured")

    def test_a_wrong_result_stands_on_the_page(self):
        report = self.read("all.json")
        report["gpus"][0]["tests"][0]["wrong"] = [{"place": "multiprocessor 3"}]
        report["gpus"][0]["error"] = "hbm: cuLaunchKernel: CUDA_ERROR_ECC_UNCORRECTABLE (214)"
        self.write("all.json", report)
        page = self.page()
        self.assertRegex(page, r'\| wrong \| right \| NO \| .*multiprocessor 3')
        self.assertRegex(page, r"\| ended early \|.*\(214\) \|")

    def test_what_could_not_be_measured_says_why(self):
        os.remove(self.path("references.json"))
        with open(self.path("references.err"), "w", encoding="utf-8") as file:
            file.write("this machine has no python3\n")
        self.assertRegex(self.rows()["references"][-1], "this machine has no python3")

    def test_without_a_gpu_there_is_no_page(self):
        with open(self.path("all.json"), "w", encoding="utf-8"):
            pass
        with open(self.path("all.err"), "w", encoding="utf-8") as file:
            file.write("autopilot-gpu-probe: libcuda.so.1: no driver is installed here\n")
        self.assertRegex(self.page(code=1), "no GPU was measured: .*no driver is installed here")

    def test_figures_of_no_gpu_are_not_recorded(self):
        before = sorted(os.listdir(PAGES))
        self.assertRegex(self.page("--record", code=1), "simulated machine are not recorded")
        self.assertEqual(sorted(os.listdir(PAGES)), before)

    def test_earlier_figures_are_not_written_over(self):
        self.assertEqual(call(self.run_program, self.figures, "--simulate").returncode, 64)


if __name__ == "__main__":
    unittest.main()

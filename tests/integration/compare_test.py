# SPDX-License-Identifier: Apache-2.0
"""`autopilot compare` on two runs that two_runs.py writes. What a statistic must be is computed here a second time."""
import json
import os
import statistics
import tempfile
import unittest
import xml.etree.ElementTree

import chromium
import harness
import two_runs

SAME_WORK = "gpus: 8\ngpu_model: H100\nmodel: llama\nbatch: 128\ndataset: c4\nexclusive: true\n"
NCCL = """# nThread 1 nGpus 1 minBytes 1024 maxBytes 17179869184 step: 2(factor) warmup iters: 5 iters: 20
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
  8589934592    2147483648     float     sum      -1  34300.1  250.43  {0:.2f}      0  34302.2  250.42  {0:.2f}      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : {0:.3f}
"""


class CompareTest(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="autopilot-test-"))
        self.out = os.path.join(self.folder, "out")

    def compare(self, *arguments, code=0):
        done = harness.run("compare", *arguments)
        self.assertEqual(done[0], code, done)
        return done[1] if code < 2 else done[2]

    def result(self):
        with open(os.path.join(self.out, "compare.json"), encoding="utf-8") as file:
            return json.load(file)

    def two_runs(self, *arguments):
        a, b = two_runs.make(self.folder)
        text = self.compare(a, b, *arguments, "-o", self.out, code=1)
        return text, self.result()

    def series(self, side, metric, subject="", file=None):
        return next(one for one in side["series"] if one["metric"] == metric and one.get("subject", "") == subject
                    and file in (None, one["source"]["file"]))

    def assert_statistics(self, series, values):
        ordered = sorted(values)
        self.assertEqual(series["readings"], len(values))
        self.assertAlmostEqual(series["mean"], statistics.fmean(values), places=4)
        self.assertAlmostEqual(series["deviation"], statistics.pstdev(values), places=4)
        self.assertAlmostEqual(series["p95"], ordered[-(-95 * len(values) // 100) - 1], places=4)
        self.assertAlmostEqual(series["max"], ordered[-1], places=4)

    def side(self, name, files):
        path = os.path.join(self.folder, name)
        os.makedirs(path)
        for file, text in files.items():
            with open(os.path.join(path, file), "w", encoding="utf-8") as out:
                out.write(text)
        return path

    def test_statistics_equal_those_of_another_program(self):
        _, found = self.two_runs()
        a, b = found["a"], found["b"]
        self.assert_statistics(self.series(a, "cpu.user"), [round(x, 2) for x in two_runs.CPU_A])
        self.assert_statistics(self.series(a, "gpu.util", "GPU 1"), [round(100 * x, 2) for x in two_runs.GPU_A[1]])
        self.assert_statistics(self.series(a, "mem.used"), two_runs.MEM_A)
        self.assert_statistics(self.series(b, "cpu.user", file="cpu_loaded.csv"), [round(x, 2) for x in two_runs.CPU_LOADED_B])
        self.assertEqual(self.series(b, "mem.total")["mean"], two_runs.TOTAL_B)
        self.assertEqual(self.series(b, "mem.available")["mean"], two_runs.AVAILABLE_B)
        self.assertNotIn("mem.available", [one["metric"] for one in a["series"]])

    def test_a_clock_without_its_meridiem_is_repaired_and_reported(self):
        _, found = self.two_runs()
        cpu = self.series(found["a"], "cpu.user")
        self.assertEqual(cpu["gaps"], [{"afterSeconds": 2650, "lengthSeconds": 43205, "repaired": True}])
        self.assertEqual(cpu["seconds"], 7975)
        self.assertIn("clock", [one["kind"] for one in found["remarks"]])

    def test_the_data_shows_what_means_hide(self):
        text, found = self.two_runs()
        remarks = {(one["side"], one["kind"]): one["text"] for one in found["remarks"]}
        idle = sum(two_runs.burst(i) for i in range(1597))
        self.assertIn(f"at 0 % in {idle} of 1597 readings ({5 * idle} s); {idle} of these", remarks["A", "starvation"])
        self.assertIn("holds 8 GPUs and uses 2: 75 %", remarks["A", "allocation"])
        self.assertIn("3 of 4 GPUs unused", remarks["B", "unused_gpus"])
        self.assertIn("NVIDIA_VISIBLE_DEVICES", remarks["B", "isolation"])
        self.assertIn("readings 16 to 56 of 1250 (41 readings)", remarks["B", "loaded_window"])
        self.assertIn("add up to 98.2 %", remarks["B", "columns"])
        self.assertIn("not how much memory is occupied", " ".join(remarks["A", "meaning"].split()))
        self.assertIn("3 of 4 GPUs unused", text)

    def test_different_work_has_no_winner_and_every_reason_is_named(self):
        text, found = self.two_runs()
        self.assertTrue(text.startswith("A (Bluefin) and B (OpenPod): not comparable\n"), text)
        self.assertEqual(found["comparability"], "not_comparable")
        self.assertIsNone(found["winner"])
        self.assertGreaterEqual(len(found["reasons"]), 5)
        for reason in ("GPUs of the job: A 2, B 1", "Model: A gan, B gan_deep", "Workers that load data: A 16, B 1"):
            self.assertIn(reason, found["reasons"])
        self.assertIn("no throughput", " ".join(found["reasons"]).lower())
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines() if self.folder not in line), text)

    def test_every_number_names_its_file_lines_and_column(self):
        _, found = self.two_runs()
        self.assertEqual(self.series(found["a"], "cpu.user")["source"],
                         {"file": "cpu.csv", "firstLine": 2, "lastLine": 1597, "column": 3, "name": "%user"})
        for figure in found["figures"]:
            for side in ("a", "b"):
                self.assertTrue(figure[side] is None or figure[side]["sources"], figure)

    def test_claims_of_a_report_are_checked(self):
        _, found = self.two_runs("--claims", os.path.join(self.folder, "REPORT.md"))
        claims = {(one["side"], one["low"], one["unit"]): one for one in found["claims"]}
        self.assertEqual({key: one["result"] for key, one in claims.items()}, {
            ("A", 20, "%"): "refuted", ("A", 8.3, "%"): "holds", ("A", 80, "%"): "refuted", ("B", 15, "%"): "holds",
            ("B", 84, "GB"): "holds", ("B", 541, "GB"): "refuted", ("B", 40, "%"): "refuted"})
        self.assertIn("kbavail", claims["B", 541, "GB"]["explanation"])
        self.assertIn("memory controller", claims["A", 80, "%"]["explanation"])
        self.assertEqual(claims["A", 20, "%"]["statedIn"]["firstLine"], 3)

    def test_costs_follow_from_the_prices(self):
        _, found = self.two_runs("--cost", os.path.join(self.folder, "cost.yaml"))
        lines = {one["name"]: one for one in found["costs"]["lines"]}
        self.assertAlmostEqual(lines["Electricity of a rack and year"]["a"], 22048.92, places=2)
        self.assertAlmostEqual(lines["Price of a utilised node"]["a"], 55555.56, places=2)
        self.assertAlmostEqual(lines["Price of a utilised node"]["b"], 83333.33, places=2)
        self.assertEqual((lines["Staff of a year"]["a"], lines["Staff of a year"]["b"]), (70000, 62500))
        hour = lines["GPU-hour"]["b"]
        used = found["b"]["gpuHoursUsed"] / found["b"]["gpuHoursAllocated"]
        self.assertAlmostEqual(lines["Utilised GPU-hour, as measured"]["b"], hour / used, places=6)

    def test_texts_of_sar_and_nvidia_smi_equal_the_sheets(self):
        sheets, _ = two_runs.make(self.folder)
        texts = two_runs.make_texts(os.path.join(self.folder, "texts"))
        self.compare(sheets, texts, "-o", self.out, code=1)
        found = self.result()
        for metric, subject in (("cpu.user", ""), ("gpu.util", "GPU 0"), ("gpu.util", "GPU 1")):
            a, b = self.series(found["a"], metric, subject), self.series(found["b"], metric, subject)
            self.assertEqual((a["readings"], a["seconds"], a["intervalSeconds"]), (b["readings"], b["seconds"], b["intervalSeconds"]))
            self.assertAlmostEqual(a["mean"], b["mean"], delta=0.3 if metric == "gpu.util" else 1e-6)
        self.assertIn("rows were read as those of 2 GPUs", " ".join(found["b"]["notes"]))

    def test_the_same_work_on_both_sides_has_a_winner(self):
        a = self.side("a", {"facts.yaml": SAME_WORK, "nccl.log": NCCL.format(468.2)})
        b = self.side("b", {"facts.yaml": SAME_WORK, "nccl.log": NCCL.format(420.1)})
        text = self.compare(a, b, "-o", self.out)
        found = self.result()
        self.assertEqual((found["comparability"], found["winner"]), ("comparable", "A"))
        self.assertIn("without bounds", found["conclusion"])
        self.assertTrue(text.startswith("A (a) and B (b): comparable\n"))

    def test_a_file_of_another_kind_is_left_out_with_the_reason(self):
        a = self.side("a", {"facts.yaml": SAME_WORK, "notes.txt": "bought milk\n", "cpu.csv": "time,%user\n10:00:00,1\n10:00:05,2\n"})
        self.compare(a, a, "-o", self.out, code=1)
        left = self.result()["a"]["leftOut"]
        self.assertEqual([one["file"] for one in left], ["notes.txt"])

    def test_what_cannot_be_read_ends_with_70_and_names_the_place(self):
        good = self.side("good", {"facts.yaml": SAME_WORK})
        self.assertIn("no such file", self.compare(good, os.path.join(self.folder, "missing"), code=70))
        self.assertIn("no measurement", self.compare(good, self.side("empty", {"notes.txt": "bought milk\n"}), code=70))
        wrong = self.compare(good, self.side("wrong", {"facts.yaml": "gpus: many\n"}), code=70)
        self.assertIn("wrong/facts.yaml:1: ", wrong)
        names = self.compare(good, self.side("names", {"cpu.csv": "10:00:00,1\n10:00:05,2\n"}), code=70)
        self.assertIn("cpu.csv: line 1: the first line has numbers", names)
        wide = self.side("wide", {})
        with open(os.path.join(wide, "gpu.csv"), "w", encoding="utf-16") as file:
            file.write("time,gpu0\n10:00:00,1\n")
        self.assertIn("iconv -f UTF-16", self.compare(good, wide, code=70))
        claims = os.path.join(self.folder, "claims.yaml")
        with open(claims, "w", encoding="utf-8") as file:
            file.write("claims:\n  - {side: C}\n")
        self.assertIn("claims.yaml:2: ", self.compare(good, good, "--claims", claims, code=70))
        self.assertEqual(harness.run("compare", good)[0], 64)

    def test_charts_have_one_panel_a_file_and_the_same_bytes_each_time(self):
        a, b = two_runs.make(self.folder)
        pages = []
        for _ in range(2):
            self.compare(a, b, "-o", self.out, code=1)
            with open(os.path.join(self.out, "compare.html"), encoding="utf-8") as file:
                pages.append(file.read())
        self.assertEqual(pages[0], pages[1])
        self.assertEqual(sorted(os.listdir(self.out)), ["compare.html", "compare.json", "compare.md"])
        charts = [xml.etree.ElementTree.fromstring("<svg" + part.split("</svg>")[0] + "</svg>") for part in pages[0].split("<svg")[1:]]
        user = next(chart for chart in charts if "CPU %user" in chart.find("title").text)
        labels = [text.text for text in user.findall("text") if ".csv" in (text.text or "")]
        self.assertEqual(labels, ["A: cpu.csv (%user)", "B: cpu.csv (%user)", "B: cpu_loaded.csv (%user)"])
        self.assertIn("1250 readings over 104.1 min", user.find("desc").text)

    @unittest.skipUnless(chromium.program(), "needs chromium (tools/install-deps.sh extras)")
    def test_the_page_fits_phones_screens_and_paper_in_a_browser(self):
        self.two_runs("--claims", os.path.join(self.folder, "REPORT.md"), "--cost", os.path.join(self.folder, "cost.yaml"))
        with chromium.Page(os.path.join(self.out, "compare.html")) as page:
            self.assertEqual(page.evaluate("document.title"), "Autopilot comparison")
            for dark in (False, True):
                for width in (320, 768, 1280):
                    page.show(width, dark)
                    self.assertEqual(page.overflow(), 0, f"{width} pixels")
                for selector in ("h1", "h2", "th", "td", "p", "figcaption"):
                    self.assertGreater(page.contrast(selector), 4.5, f"{selector}, dark: {dark}")
            charts = "[...document.querySelectorAll('svg')]"
            self.assertGreater(page.evaluate(f"{charts}.length"), 3)
            self.assertTrue(page.evaluate(f"{charts}.every(one => one.getAttribute('role') == 'img' && one.getAttribute("
                                          "'aria-labelledby').split(' ').every(id => document.getElementById(id).textContent))"))
            self.assertTrue(page.evaluate(f"{charts}.every(one => one.getBoundingClientRect().height > 60)"))
            page.show(794, dark=True, media="print")  # A4
            self.assertEqual(page.overflow(), 0)
            self.assertGreater(page.contrast("td"), 7, "dark text on white paper")
            self.assertTrue(page.pdf().startswith(b"%PDF-"))
            self.assertEqual(page.problems, [])


if __name__ == "__main__":
    unittest.main()

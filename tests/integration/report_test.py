# SPDX-License-Identifier: Apache-2.0
"""`autopilot report` and `autopilot nodes lemons` on records that this file imports."""
import datetime
import json
import os
import tempfile
import unittest
from html.parser import HTMLParser

import chromium
import harness

NOW = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)


def hours_ago(hours):
    return (NOW - datetime.timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")


def node_versions(node):
    return {"type": "versions", "id": f"versions-{node}", "node": node, "time": hours_ago(24 * 100), "agent": "1"}


def fault(name, node, begin, end, **members):
    return {"type": "fault", "id": name, "node": node, "begin": hours_ago(begin), "end": hours_ago(end), "class": "hardware",
            "check": "gpu.xid", "health": "failed", "confidence": 0.9, **members}


def lemon_records():
    """Ten faults of gpu-7, 12 h each, of ten jobs; the last return is 36 h ago."""
    return [node_versions("gpu-7")] + [
        fault(f"f{i}", "gpu-7", 48 * i, 48 * i - 12, job=f"job-{i}", detected=hours_ago(48 * i - 1)) for i in range(1, 11)]


class Page(HTMLParser):
    """Elements of a page, and whether each one that is opened is closed."""

    EMPTY = {"meta"}

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.attributes, self.mismatches = [], [], set(), []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.mismatches.append(tag)


class ReportTest(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="autopilot-test-"))

    def history(self, name, records):
        lines = os.path.join(self.folder, name + ".jsonl")
        with open(lines, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)
        path = os.path.join(self.folder, name + ".db")
        code, _, errors = harness.run("history", "import", lines, "--history", path)
        self.assertEqual(code, 0, errors)
        return path

    def run_verb(self, *arguments, code=0):
        done = harness.run(*arguments)
        self.assertEqual(done[0], code, done)
        return done[1] if code == 0 else done[2]

    def report(self, *arguments):
        return json.loads(self.run_verb("report", *arguments, "-o", "json"))

    def fleet(self):
        others = [node_versions(f"node-{i}") for i in range(99)]
        job = {"type": "job", "id": "train@gpu-7", "node": "gpu-7", "job": "train", "start": hours_ago(100), "end": hours_ago(90),
               "outcome": "failed", "failure": "hardware", "job_gpus": 64}
        label = {"type": "label", "id": "rma", "node": "gpu-7", "time": hours_ago(1), "fault": "f3", "answer": "faulty",
                 "source": "rma"}
        return [self.history("gpu-7", lemon_records() + [job, label]), self.history("others", others)]

    def test_histories_of_several_nodes_are_one_report(self):
        files = self.fleet()
        found = self.report("--history", *files, "--gpu-hour-price", "2.5")
        self.assertEqual(found["availability"]["nodes"], 100)
        self.assertAlmostEqual(found["availability"]["unusableHours"], 120)
        self.assertAlmostEqual(found["availability"]["share"], 1 - 120 / (100 * 720), places=6)
        hardware = next(one for one in found["faultClasses"] if one["class"] == "hardware")
        self.assertEqual((hardware["faults"], hardware["mttrHours"]), (10, 12))
        self.assertEqual(found["detectionDelay"], {"faults": 10, "unknown": 0, "medianSeconds": 3600, "p90Seconds": 3600})
        self.assertEqual((found["findings"]["right"], found["findings"]["unlabelled"]), (1, 9))
        self.assertEqual((found["lostGpuHours"]["upperBound"], found["lostGpuHours"]["upperBoundOfCost"]), (640, 1600))
        self.assertEqual(found["worstNodes"][0]["node"], "gpu-7")
        again = self.report("--history", *reversed(files), files[0])
        for key in ("faultClasses", "findings", "checks", "worstNodes"):
            if key == "faultClasses":
                self.assertEqual([one["faults"] for one in again[key]], [one["faults"] for one in found[key]])
            else:
                self.assertEqual(again[key], found[key])

    def test_a_part_of_the_history_is_reported(self):
        files = self.fleet()
        found = self.report("--history", *files, "--since", hours_ago(100), "--until", hours_ago(50))
        self.assertEqual(found["faultClasses"][0]["faults"], 1)  # 96 h ago
        self.assertEqual(found["jobs"]["ended"], 1)

    def test_the_text_fits_80_columns_and_names_the_basis(self):
        text = self.run_verb("report", "--history", *self.fleet())
        self.assertIn("Report of 100 nodes", text)
        self.assertIn("upper bound", text)
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines()), text)

    def test_the_page_stands_alone_and_shows_texts_as_texts(self):
        file = self.history("evil", [fault("1", "<script>alert(1)</script>", 30, 20)])
        text = self.run_verb("report", "--history", file, "-o", "html")
        page = Page(text)
        self.assertEqual((page.mismatches, page.open), ([], []))
        self.assertIn("table", page.elements)
        self.assertFalse({"script", "link", "img", "iframe"} & set(page.elements))
        self.assertFalse({"src", "href", "onload"} & page.attributes)
        self.assertIn("&lt;script&gt;alert(1)&lt;/script&gt;", text)

    @unittest.skipUnless(chromium.program(), "needs chromium (tools/install-deps.sh extras)")
    def test_the_page_fits_phones_screens_and_paper_in_a_browser(self):
        long_name = "gpu-node-with-a-long-name-" + "x" * 100
        files = self.fleet() + [self.history("long", [node_versions(long_name)] + [
            fault(f"{long_name}-{i}", long_name, 20 * i, 20 * i - 5) for i in range(1, 4)])]
        path = os.path.join(self.folder, "report.html")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.run_verb("report", "--history", *files, "-o", "html"))
        with chromium.Page(path) as page:
            self.assertEqual(page.evaluate("document.title"), "Autopilot report")
            for dark in (False, True):
                for width in (320, 768, 1280):
                    page.show(width, dark)
                    self.assertEqual(page.overflow(), 0, f"{width} pixels")
                for selector in ("h1", "h2", "th", "td", "p"):
                    self.assertGreater(page.contrast(selector), 4.5, f"{selector}, dark: {dark}")
            page.show(794, dark=True, media="print")  # A4
            self.assertEqual(page.overflow(), 0)
            self.assertGreater(page.contrast("td"), 7, "dark text on white paper")
            self.assertTrue(page.pdf().startswith(b"%PDF-"))
            self.assertEqual(page.problems, [])

    def test_an_empty_history_makes_no_figure(self):
        found = self.report("--history", self.history("empty", []))
        self.assertEqual(found["availability"]["nodes"], 0)
        self.assertIsNone(found["availability"]["share"])
        self.assertIsNone(found["findings"]["precision"])
        self.assertIsNone(found["lostGpuHours"]["upperBound"])

    def test_a_lemon_is_named_with_its_reason(self):
        files = self.fleet()
        found = json.loads(self.run_verb("nodes", "lemons", "--history", *files, "-o", "json"))
        self.assertEqual((found["knownNodes"], found["budget"]), (100, 1))
        lemon = found["nodes"][0]
        self.assertEqual((lemon["node"], lemon["isLemon"], lemon["faults90d"], lemon["largestJobGpus"]), ("gpu-7", True, 10, 0))
        self.assertGreater(lemon["probability"], 0.9)
        self.assertTrue(lemon["probationUntil"].startswith(hours_ago(-36)[:-1]))
        table = self.run_verb("nodes", "lemons", "--history", *files)
        self.assertIn("gpu-7", table)
        self.assertRegex(table, r"The node is a\s+lemon")
        self.assertTrue(all(len(line) <= 80 for line in table.splitlines()), table)

    def test_no_lemon_states_nodes_and_days(self):
        file = self.history("healthy", [node_versions("gpu-1")])
        self.assertRegex(self.run_verb("nodes", "lemons", "--history", file), r"from 1 node and 100 days")

    def test_errors_name_the_cure(self):
        missing = os.path.join(self.folder, "none.db")
        for words in (("report",), ("nodes", "lemons")):
            with self.subTest(words):
                self.assertIn("Start the agent", self.run_verb(*words, "--history", missing, code=70))
        file = self.history("empty", [])
        self.assertIn("such as 30d", self.run_verb("report", "--since", "soon", "--history", file, code=64))
        self.assertIn("--until", self.run_verb("report", "--until", "soon", "--history", file, code=64))
        self.assertIn("is not before", self.run_verb("report", "--since", "1d", "--until", "2d", "--history", file, code=64))
        self.run_verb("report", "-o", "yaml", "--history", file, code=64)


if __name__ == "__main__":
    unittest.main()

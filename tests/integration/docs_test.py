# SPDX-License-Identifier: Apache-2.0
"""The pages for operators: their commands about one machine, run beside the agent of a simulated one, and their table of checks. Commands
about a cluster: tests/cluster/docs_test.py."""

import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import harness
import pages

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
CHECKS = DOCS / "health-checks.md"
MACHINE = [DOCS / name for name in ("start/one-machine.md", "start/simulated.md", "usage.md", "health-checks.md", "baselines.md", "migrate.md")]
PAGES = [*MACHINE, DOCS / "start" / "kubernetes.md", DOCS / "start" / "slurm.md"]
ROW = re.compile(r"^\| \[`([a-z_]+\.[a-z0-9_]+)`\]\(checks/\1\.md\) \| (\w+) \| ([^|]*) \| [^|]+ \|$", re.MULTILINE)


class DocsTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="autopilot-test-")))

    def follow(self, page):
        """Runs a page in a folder that is laid out like the repository, with installed programs."""
        for program in ("curl", "jq"):
            harness.need_program(program)
        agent = harness.Agent("--simulate", "hgx-h100-8")
        self.addCleanup(agent.close)
        agent.wait_ready()
        path = f"{os.path.abspath(harness.BIN)}:{os.environ['PATH']}"
        shell = pages.Shell(self.folder, {**agent.environment, "PATH": path, "HOME": str(self.folder)})
        self.addCleanup(shell.close)
        words = {"127.0.0.1:3333": f"127.0.0.1:{agent.port}"}
        return pages.Reader("machine", shell, words).follow(page)

    def test_commands_about_one_machine_do_what_the_page_says(self):
        for page in MACHINE:
            with self.subTest(page.name):
                self.assertGreater(self.follow(page), 0)

    def test_what_is_not_run_is_told(self):
        for page in PAGES:
            for block in pages.blocks(page):
                if block.kind == "not run":
                    with self.subTest(page.name, line=block.line):
                        self.skipTest(f"{page.name}:{block.line}: {block.detail}")

    def test_the_picture_is_what_the_program_prints(self):
        done = subprocess.run([ROOT / "tools" / "docs" / "picture.py", "--check"], text=True, capture_output=True, check=False,
                              env={**os.environ, "AUTOPILOT_BIN_DIR": str(harness.BIN)})
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_index_leads_to_them(self):
        self.assertIn("](docs/README.md)", (ROOT / "README.md").read_text(encoding="utf-8"))
        text = (DOCS / "README.md").read_text(encoding="utf-8")
        for page in PAGES:
            self.assertIn(f"]({page.relative_to(DOCS)})", text)

    def test_the_program_has_the_messages_of_the_page_about_troubles(self):
        sources = "".join(re.sub(r'"\s*\n\s*"', "", path.read_text(encoding="utf-8")) for path in (ROOT / "src").rglob("*.cpp")
                          if not path.name.endswith("_test.cpp"))
        rows = re.findall(r"^\| (`.*?) \| ", (DOCS / "troubleshooting.md").read_text(encoding="utf-8"), re.MULTILINE)
        messages = [message for row in rows for message in re.findall("`([^`]+)`", row)]
        self.assertGreater(len(messages), 20)
        for message in messages:
            with self.subTest(message):
                self.assertTrue(max(message.split("..."), key=len).strip() in sources, "no source has this text")

    def test_the_table_of_checks_is_what_the_program_says(self):
        told = json.loads(harness.run("check", "--list", "-o", "json")[1])["items"]
        expected = [(one["check"], duration(one["periodSeconds"]), ", ".join(one["rights"]) or "-") for one in told]
        written = [(check, every, needs.replace("`", "")) for check, every, needs in ROW.findall(CHECKS.read_text(encoding="utf-8"))]
        self.assertEqual(written, expected)


def duration(seconds):
    """The duration in the format of the pages."""
    for length, unit in ((3600, "h"), (60, "m")):
        if seconds % length == 0:
            return f"{seconds // length:.0f}{unit}"
    return f"{seconds:.0f}s"


if __name__ == "__main__":
    unittest.main()

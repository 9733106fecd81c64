# SPDX-License-Identifier: Apache-2.0
"""The archive of `make release-binaries`: what is in it, and that all of it runs on systems with an older and with a newer glibc
than the one it was built with."""

import hashlib
import json
import os
import subprocess
import tarfile
import tempfile
import time
import unittest
from pathlib import Path

import roots

DIST = Path(os.environ.get("AUTOPILOT_DIST_DIR", roots.ROOT / "dist"))
PROGRAMS = ("autopilot", "autopilot-gpu-probe", "autopilot-net-probe", "autopilot-sim")


def newest(pattern: str) -> Path:
    found = sorted(DIST.glob(pattern), key=lambda path: path.stat().st_mtime)
    if not found:
        raise unittest.SkipTest(f"there is no {DIST / pattern}: `make release-binaries` makes it")
    return found[-1]


def archive() -> Path:
    return newest(f"autopilot-*-linux-{os.uname().machine}.tar.gz")


class Contents(unittest.TestCase):
    def setUp(self):
        with tarfile.open(archive()) as opened:
            self.members = opened.getmembers()
            self.files = {one.name.partition("/")[2]: opened.extractfile(one).read() for one in self.members if one.isfile()}
        self.folder = archive().name.removesuffix(".tar.gz")

    def test_all_of_it_is_in_one_folder_and_nobodys(self):
        self.assertEqual({one.name.partition("/")[0] for one in self.members}, {self.folder})
        self.assertEqual({(one.uid, one.gid, one.uname, one.gname) for one in self.members}, {(0, 0, "root", "root")})
        self.assertEqual(len({one.mtime for one in self.members}), 1)
        self.assertEqual({oct(one.mode) for one in self.members if not one.issym()} - {"0o755", "0o644"}, set())
        [link] = [one for one in self.members if one.issym()]
        self.assertEqual((link.name, link.linkname), (f"{self.folder}/bin/kubectl-autopilot", "autopilot"))

    def test_checksums_are_of_all_files(self):
        told = {name: digest for digest, name in (line.split(maxsplit=1) for line in self.files["SHA256SUMS"].decode().splitlines())}
        self.assertEqual(told, {name: hashlib.sha256(content).hexdigest() for name, content in self.files.items() if name != "SHA256SUMS"})
        beside = archive().with_name(f"{self.folder}.sha256").read_text(encoding="ascii")
        self.assertIn(f"{hashlib.sha256(archive().read_bytes()).hexdigest()}  {archive().name}\n", beside)

    def test_what_a_machine_needs_is_there(self):
        for name in (*(f"bin/{program}" for program in PROGRAMS), "bin/libnvidia-ml-sim.so", "systemd/autopilot.service", "LICENSE", "README.md",
                     "completions/autopilot.bash", "completions/_autopilot", "completions/autopilot.fish",
                     "man/man1/autopilot.1.gz", "man/man1/autopilot-check.1.gz", "man/man5/autopilot.yaml.5.gz", "licences/libssl-dev", "config.yaml"):
            self.assertTrue(self.files.get(name), name)
        linked = {one["name"] for one in json.loads(self.files["sbom.spdx.json"])["packages"] if one["name"].endswith("-dev")}
        self.assertEqual(linked, {name.partition("/")[2] for name in self.files if name.startswith("licences/")})


class Starts:
    """Starts of the programs on one system. Subclasses have suite, and glibc, its version."""

    @classmethod
    def setUpClass(cls):
        kept = roots.debian(cls.suite)
        folder = tempfile.TemporaryDirectory(prefix="autopilot-release-")
        cls.addClassCleanup(folder.cleanup)
        cls.root = roots.copy(kept, Path(folder.name) / "root")
        with tarfile.open(archive()) as opened:
            opened.extractall(cls.root / "opt")
        cls.bin = f"/opt/{archive().name.removesuffix('.tar.gz')}/bin"

    def run_there(self, program, *arguments, **environment):
        return roots.run(self.root, f"{self.bin}/{program}", *arguments, environment=environment)

    def test_it_is_the_glibc_that_is_meant(self):
        self.assertEqual(roots.glibc_of(self.root), self.glibc)

    def test_every_library_is_found_with_the_versions_that_are_asked_for(self):
        for file in sorted((self.root / self.bin[1:]).iterdir()):
            done = roots.run(self.root, "ldd", "-r", f"{self.bin}/{file.name}")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotRegex(done.stdout + done.stderr, "not found|undefined")

    def test_the_programs_start(self):
        for program in PROGRAMS:
            done = self.run_there(program, "--help")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(program, done.stdout)
        self.assertIn("autopilot 0", self.run_there("autopilot", "version").stdout)

    def test_a_simulated_machine_is_looked_at(self):
        done = self.run_there("autopilot", "check", "--all", "--simulate", "hgx-h100-8")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"healthy.*\n.*\b(\d+) of \1 checks ran")
        # The message of a library's exception, and the exit code of an invalid configuration.
        (self.root / "tmp/wrong.yaml").write_text("expectation: {gpus: [8\n", encoding="ascii")
        done = self.run_there("autopilot", "check", "--config", "/tmp/wrong.yaml")
        self.assertEqual(done.returncode, 78, done.stdout + done.stderr)
        self.assertIn("/tmp/wrong.yaml:", done.stderr)

    def test_the_example_of_a_configuration_is_one(self):
        done = self.run_there("autopilot", "check", "--config", f"{self.bin}/../config.yaml", "--simulate", "hgx-h100-8", "gpu.present")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def agent_says(self, words, *arguments):
        """Starts an agent, and asks it until it reports this."""
        environment = {"PATH": os.environ["PATH"], "AUTOPILOT_SOCKET": "/tmp/agent.sock", "AUTOPILOT_STATE_DIR": "/tmp/state", "AUTOPILOT_LISTEN": ""}
        with tempfile.TemporaryFile() as log:
            agent = subprocess.Popen(roots.inside(self.root, f"{self.bin}/autopilot", "agent", *arguments), env=environment, stdout=log, stderr=log)
            try:
                end = time.monotonic() + 90
                while not words(said := self.run_there("autopilot", "status", **environment).stdout):
                    log.seek(0)
                    self.assertIsNone(agent.poll(), log.read().decode())
                    self.assertLess(time.monotonic(), end, said)
                    time.sleep(0.2)
            finally:
                agent.kill()  # and with it all that runs there
                agent.wait()

    def test_the_agent_of_a_simulated_machine_answers(self):
        self.agent_says(lambda said: "verdict PASS" in said, "--simulate", "hgx-h100-8")

    def test_the_agent_of_this_machine_answers_and_keeps_a_journal(self):
        journal = self.root / "tmp/state/journal.db"
        self.agent_says(lambda said: "checks ran" in said and journal.exists() and journal.stat().st_size > 0)

    def test_the_probes_measure(self):
        done = self.run_there("autopilot-gpu-probe")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("CUDA driver is not installed", json.loads(done.stdout)["error"])
        server = subprocess.Popen(roots.inside(self.root, f"{self.bin}/autopilot-net-probe", "serve", "--bind", "127.0.0.1", "--port", "0", "--once"),
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        [port] = json.loads(server.stdout.readline())["ports"]
        done = self.run_there("autopilot-net-probe", "measure", "--to", "127.0.0.1", "--port", str(port), "--seconds", "1", "--limit", "100M")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertGreater(json.loads(done.stdout)["directions"][0]["received_bits_per_second"], 0)


class StartsOnDebian11(Starts, unittest.TestCase):
    suite, glibc = "bullseye", "2.31"


class StartsOnDebian13(Starts, unittest.TestCase):
    suite, glibc = "trixie", "2.41"


if __name__ == "__main__":
    unittest.main(verbosity=2)

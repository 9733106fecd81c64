# SPDX-License-Identifier: Apache-2.0
"""The .deb and the .rpm of `make release-binaries`: installed, upgraded and taken away on a Debian 12, and by rpm in a folder."""

import functools
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

import roots
from archive_test import DIST, archive, newest

NEXT = "99.0.0"  # greater than any that is released
STATE = "var/lib/private/autopilot"  # where systemd keeps it, behind the link /var/lib/autopilot
CONFIG = "etc/autopilot/config.yaml"
WANTED = "etc/systemd/system/multi-user.target.wants/autopilot.service"
UNIT = "usr/lib/systemd/system/autopilot.service"


def built(kind: str) -> Path:
    return newest(f"autopilot-*-linux-{os.uname().machine}.{kind}")


def make_next(folder: Path) -> Path:
    """The same programs as packages of a greater version."""
    with tarfile.open(archive()) as opened:
        opened.extractall(folder)
    programs = folder / archive().name.removesuffix(".tar.gz") / "bin"
    subprocess.run([sys.executable, "-B", roots.ROOT / "tools" / "release" / "release.py", "--version", NEXT, "--programs", programs, "--out", folder],
                   check=True, stdout=subprocess.DEVNULL)
    return folder


@functools.cache
def next_version() -> Path:
    """Made once for all tests."""
    folder = tempfile.TemporaryDirectory(prefix="autopilot-release-")
    unittest.addModuleCleanup(folder.cleanup)
    return make_next(Path(folder.name))


def files_of(root: Path) -> set[str]:
    """All but what a package manager writes down of its own."""
    found = subprocess.run(["find", ".", "-xdev"], cwd=root, capture_output=True, text=True, check=True).stdout.split("\n")
    own = ("./var/lib/dpkg", "./var/log", "./var/cache", "./var/lib/rpm", "./usr/lib/sysimage", "./proc", "./sys", "./dev", "./tmp")
    return {name for name in found if not name.startswith(own)}


class Package(unittest.TestCase):
    def put_state(self):
        """Creates a journal as the service does."""
        (self.root / STATE).mkdir(parents=True)
        (self.root / STATE / "journal.db").write_text("kept", encoding="ascii")
        (self.root / "var/lib/autopilot").symlink_to("private/autopilot")
        with (self.root / CONFIG).open("a", encoding="ascii") as file:
            file.write("log_level: warning\n")

    def expect_state(self):
        self.assertEqual((self.root / "var/lib/autopilot/journal.db").read_text(encoding="ascii"), "kept")
        self.assertIn("log_level: warning", (self.root / CONFIG).read_text(encoding="ascii"))

    def expect_installed(self):
        done = roots.run(self.root, "autopilot", "check", "--simulate", "hgx-h100-8", "gpu.present")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("autopilot 0", roots.run(self.root, "kubectl-autopilot", "version").stdout + roots.run(self.root, "autopilot", "version").stdout)
        for program in ("autopilot-gpu-probe", "autopilot-net-probe", "autopilot-sim"):
            self.assertEqual(roots.run(self.root, program, "--help").returncode, 0)
        self.assertEqual((self.root / UNIT).read_text(encoding="utf-8"), (roots.ROOT / "deploy/systemd/autopilot.service").read_text(encoding="utf-8"))


class Deb(Package):
    @classmethod
    def setUpClass(cls):
        cls.deb = built("deb")
        cls.kept = roots.debian("bookworm", "systemd", "procps")

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="autopilot-release-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.root = roots.copy(self.kept, self.folder / "root")

    def dpkg(self, *arguments):
        done = roots.run(self.root, "dpkg", *arguments, environment={"DEBIAN_FRONTEND": "noninteractive"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def install(self, package):
        (self.root / "tmp" / package.name).write_bytes(package.read_bytes())
        self.dpkg("--install", f"/tmp/{package.name}")

    def test_it_is_installed_upgraded_and_purged(self):
        before = files_of(self.root)
        self.install(self.deb)
        self.expect_installed()
        self.assertTrue((self.root / WANTED).is_symlink(), "the service starts with the machine")
        self.put_state()

        self.install(next(next_version().glob("*.deb")))
        self.assertIn(f"Version: {NEXT}", self.dpkg("--status", "autopilot"))
        self.expect_state()
        self.expect_installed()

        self.dpkg("--remove", "autopilot")
        self.expect_state()
        self.assertFalse((self.root / "usr/libexec/autopilot").exists())

        self.dpkg("--purge", "autopilot")
        self.assertEqual(sorted(files_of(self.root) - before), [])
        self.assertEqual(sorted(before - files_of(self.root)), [])

    def test_a_service_that_was_switched_off_stays_so(self):
        self.install(self.deb)
        self.assertEqual(roots.run(self.root, "systemctl", "disable", "autopilot").returncode, 0)
        self.install(next(next_version().glob("*.deb")))
        self.assertFalse((self.root / WANTED).is_symlink())

    def test_systemd_finds_no_fault_in_what_is_installed(self):
        self.install(self.deb)
        for unit in ("autopilot.service", "autopilot-kmsg.service"):
            done = roots.run(self.root, "systemd-analyze", "verify", "--man=no", f"/usr/lib/systemd/system/{unit}")
            self.assertEqual([line for line in done.stderr.splitlines() if "autopilot" in line], [])
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_another_debian_is_told_what_it_lacks(self):
        said = subprocess.run(["dpkg-deb", "--field", self.deb, "Depends", "Architecture", "Maintainer"], capture_output=True, text=True, check=True).stdout
        self.assertIn("Depends: libc6 (>= 2.28)\n", said)


class Rpm(Package):
    @classmethod
    def setUpClass(cls):
        cls.rpm = built("rpm")
        roots.need("rpm", "rpm2cpio", "cpio")
        cls.kept = roots.debian("bullseye")

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="autopilot-release-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def query(self, *arguments):
        done = subprocess.run(["rpm", *arguments], capture_output=True, text=True, check=False, env={**os.environ, "HOME": str(self.folder)})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_its_digests_are_right_and_its_files_are_those_of_the_deb(self):
        self.assertRegex(self.query("--checksig", "--verbose", self.rpm), r"Payload SHA256 digest: OK")
        listed = {line.lstrip("/") for line in self.query("--query", "--package", "--list", self.rpm).splitlines()}
        for name in (UNIT, CONFIG, "usr/bin/autopilot", "usr/bin/kubectl-autopilot", "usr/libexec/autopilot/autopilot"):
            self.assertIn(name, listed)
        self.assertEqual(self.query("--query", "--package", "--configfiles", self.rpm), f"/{CONFIG}\n")
        self.assertIn("glibc >= 2.28\n", self.query("--query", "--package", "--requires", self.rpm))
        # It exits with 1 if it wrote more than the declared size of the payload, which nfpm counts without the headers of cpio.
        payload = subprocess.run(["rpm2cpio", self.rpm], capture_output=True, check=False)
        self.assertEqual(payload.stderr, b"")
        unpacked = self.folder / "unpacked"
        unpacked.mkdir()
        subprocess.run(["cpio", "--extract", "--quiet", "--make-directories", "--no-absolute-filenames"], input=payload.stdout, cwd=unpacked,
                       capture_output=True, check=True)
        self.assertLessEqual({str(file.relative_to(unpacked)) for file in unpacked.rglob("*") if not file.is_dir()}, listed)
        with tarfile.open(archive()) as opened:
            programs = {Path(one.name).name: opened.extractfile(one).read() for one in opened.getmembers() if one.isfile() and "/bin/" in one.name}
        self.assertEqual(programs, {file.name: file.read_bytes() for file in (unpacked / "usr/libexec/autopilot").iterdir() if not file.is_symlink()})

    def test_it_is_installed_upgraded_and_erased(self):
        self.root = roots.copy(self.kept, self.folder / "root")
        for folder in ("usr/share/zsh/site-functions", "usr/share/fish/vendor_completions.d", "usr/share/man/man1", "usr/share/man/man5",
                       "usr/lib/systemd/system"):  # there with RHEL's own packages
            (self.root / folder).mkdir(parents=True, exist_ok=True)
        before = files_of(self.root)
        # The rpm database has no package for glibc, which comes from Debian.
        rpm = ("--root", self.root, "--nodeps")
        self.query(*rpm, "--install", self.rpm)
        self.expect_installed()
        self.put_state()
        self.query(*rpm, "--upgrade", next(next_version().glob("*.rpm")))
        self.assertEqual(self.query("--root", self.root, "--query", "--queryformat", "%{VERSION}", "autopilot"), NEXT)
        self.expect_state()
        self.query("--root", self.root, "--erase", "autopilot")
        # As always with rpm: the journal, and a changed configuration.
        left = {name for name in files_of(self.root) - before}
        self.assertEqual(left, {"./etc/autopilot", "./etc/autopilot/config.yaml.rpmsave", "./var/lib/autopilot", "./var/lib/private",
                                f"./{STATE}", f"./{STATE}/journal.db"})


class Service(unittest.TestCase):
    """The service under a real systemd, as the first process of a Debian 12."""

    def setUp(self):
        self.kept = roots.debian("bookworm", "systemd", "procps", "rpm")
        folder = tempfile.TemporaryDirectory(prefix="autopilot-release-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.root = roots.copy(self.kept, self.folder / "root")
        for package in (built("deb"), built("rpm"), *next_version().glob("*.[dr][ep][bm]")):
            shutil.copy(package, self.root / "opt" / (("next" if NEXT in package.name else "this") + package.suffix))
        self.system = roots.Booted(self.root)
        self.addCleanup(self.system.close)

    def does(self, *command):
        done = self.system.run(*command)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def agent(self):
        """Process id of a service that is ready."""
        self.assertEqual(self.does("systemctl", "is-active", "autopilot"), "active\n")
        self.assertEqual(self.does("systemctl", "is-enabled", "autopilot"), "enabled\n")
        self.assertRegex(self.system.run("autopilot", "status").stdout, "checks ran|verdict")
        return self.does("systemctl", "show", "--property=MainPID", "--value", "autopilot")

    def lives_on(self, upgrade):
        """Another agent, with the same journal and the same configuration."""
        journal = self.root / STATE / "journal.db"
        before, file = self.agent(), journal.stat().st_ino
        with (self.root / CONFIG).open("a", encoding="ascii") as config:
            config.write("log_level: warning\n")
        self.does(*upgrade)
        self.assertNotEqual(self.agent(), before)
        self.assertEqual(journal.stat().st_ino, file)
        self.assertIn("log_level: warning", (self.root / CONFIG).read_text(encoding="ascii"))

    def is_gone(self):
        self.assertEqual(self.system.run("systemctl", "is-active", "autopilot").stdout, "inactive\n")
        self.assertEqual(self.system.run("pgrep", "autopilot").stdout, "")
        self.assertFalse((self.root / WANTED).is_symlink())

    def test_the_deb_starts_it_restarts_it_and_takes_it_away(self):
        self.does("dpkg", "--install", "/opt/this.deb")
        self.lives_on(["dpkg", "--install", "/opt/next.deb"])
        self.does("dpkg", "--purge", "autopilot")
        self.is_gone()
        for name in (STATE, "var/lib/autopilot", "etc/autopilot", "usr/libexec/autopilot"):
            self.assertFalse(os.path.lexists(self.root / name), name)

    def test_the_rpm_starts_it_restarts_it_and_takes_it_away(self):
        self.does("rpm", "--nodeps", "--install", "/opt/this.rpm")
        self.lives_on(["rpm", "--nodeps", "--upgrade", "/opt/next.rpm"])
        self.does("rpm", "--erase", "autopilot")
        self.is_gone()
        self.assertTrue((self.root / STATE / "journal.db").exists())


class Same(unittest.TestCase):
    def test_the_same_programs_make_the_same_files(self):
        with tempfile.TemporaryDirectory() as folder:
            made = [make_next(Path(folder) / name) for name in ("one", "two") if not (Path(folder) / name).mkdir()]
            for pattern in ("autopilot-99*.tar.gz", "*.deb", "*.rpm"):
                [one, two] = [next(place.glob(pattern)) for place in made]
                self.assertEqual(one.read_bytes(), two.read_bytes(), pattern)

    def test_what_is_wrong_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-B", roots.ROOT / "tools" / "release" / "release.py", "--programs", folder, "--out", folder],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn("`make release-binaries` builds it", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)

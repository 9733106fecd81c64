# SPDX-License-Identifier: Apache-2.0
"""`make image`: what is in the image, and that the program runs in it and in nothing else."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

import harness

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "tools" / "image" / "build.py"
IS_SANITIZED = harness.is_sanitized(harness.AUTOPILOT)


def make(folder, *arguments, program=harness.AUTOPILOT):
    path = Path(folder) / "image.tar"
    done = subprocess.run([sys.executable, "-B", BUILD, "--image", "registry.example.com/gpu/autopilot", "--tag", "1.2.3", "--program",
                           program, "--out", path, *arguments], capture_output=True, text=True)
    return done, path


class ImageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.done, cls.path = make(folder.name)
        assert cls.done.returncode == 0, cls.done.stderr
        cls.root = Path(folder.name) / "root"
        with tarfile.open(cls.path) as archive:
            cls.manifest = json.load(archive.extractfile("manifest.json"))
            cls.config = json.load(archive.extractfile(cls.manifest[0]["Config"]))
            cls.layer_bytes = archive.getmember("layer.tar").size
            with tarfile.open(fileobj=archive.extractfile("layer.tar")) as layer:
                cls.members = layer.getmembers()
                layer.extractall(cls.root)

    def test_it_has_the_name_and_an_ordinary_user(self):
        self.assertEqual(self.manifest[0]["RepoTags"], ["registry.example.com/gpu/autopilot:1.2.3"])
        self.assertEqual((self.config["config"]["User"], self.config["config"]["Entrypoint"]), ("65532:65532", ["/usr/bin/autopilot"]))
        code, version, _ = harness.run("version")
        self.assertEqual(code, 0)
        self.assertIn(self.config["config"]["Labels"]["org.opencontainers.image.version"], version)

    def test_it_is_small_and_has_no_shell(self):
        if not IS_SANITIZED:  # three times as large, and never shipped
            self.assertLess(self.layer_bytes, 60_000_000)
        programs = sorted(one.name for one in self.members if one.isfile() and one.mode & 0o111 and "/lib" not in "/" + one.name)
        self.assertEqual(programs, ["usr/bin/autopilot", "usr/bin/autopilot-gpu-probe", "usr/bin/autopilot-net-probe",
                                    "usr/bin/ib_read_bw", "usr/bin/ib_send_lat", "usr/bin/ib_write_bw"])
        self.assertEqual({(one.uid, one.gid, one.mtime) for one in self.members}, {(0, 0, 0)})
        self.assertFalse([one.name for one in self.members if one.mode & 0o6000])

    def test_the_same_programs_make_the_same_image(self):
        with tempfile.TemporaryDirectory() as folder:
            done, again = make(folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(again.read_bytes(), self.path.read_bytes())

    def test_its_parts_are_told(self):
        with open(self.root / "usr/share/doc/autopilot/sbom.spdx.json", encoding="utf-8") as file:
            parts = json.load(file)
        with open(self.path.with_suffix(".spdx.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file), parts)
        packages = {one["name"]: one for one in parts["packages"]}
        self.assertLessEqual({"libc6", "autopilot", "autopilot-gpu-probe", "autopilot-net-probe", "perftest", "ibverbs-providers", "librdmacm1"}, set(packages))
        installed = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "libssl-dev"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(packages["libssl-dev"]["versionInfo"], installed)
        linked = {one["relatedSpdxElement"] for one in parts["relationships"] if one["relationshipType"] == "DYNAMIC_LINK"}
        if not IS_SANITIZED:  # for that all but the C library is linked otherwise
            self.assertEqual(linked, {"SPDXRef-libc6"})
        for name in packages:
            if name not in ("autopilot", "autopilot-gpu-probe", "autopilot-net-probe") and not name.endswith("-dev"):
                self.assertTrue((self.root / "usr/share/doc" / name / "copyright").stat().st_size, name)
        known = {one["SPDXID"] for one in parts["packages"]} | {"SPDXRef-DOCUMENT"}
        for relation in parts["relationships"]:
            self.assertLessEqual({relation["spdxElementId"], relation["relatedSpdxElement"]}, known)
        self.assertEqual(len({one["SPDXID"] for one in parts["packages"]}), len(parts["packages"]))
        # Every library that the build asks for, by the list of what is installed for it.
        listed = subprocess.run([ROOT / "tools" / "install-deps.sh", "--list", "build"], capture_output=True, text=True, check=True).stdout.split()
        linked = {name for name in listed if name.startswith("lib") and name.endswith("-dev")}
        self.assertLessEqual(linked, set(packages))

    def test_it_trusts_what_debian_trusts_and_not_what_this_machine_does(self):
        begin = b"-----BEGIN CERTIFICATE-----"
        trusted = (self.root / "etc/ssl/certs/ca-certificates.crt").read_bytes().split(begin)[1:]
        listed = subprocess.run(["dpkg-query", "-L", "ca-certificates"], capture_output=True, text=True, check=True).stdout.split()
        known = {Path(name).read_bytes().split(begin)[1] for name in listed if "/mozilla/" in name}
        self.assertEqual(set(trusted), known)
        with open(self.root / "usr/share/doc/autopilot/sbom.spdx.json", encoding="utf-8") as file:
            self.assertIn("ca-certificates", {one["name"] for one in json.load(file)["packages"]})

    def test_the_program_runs_in_it_without_anything_else(self):
        if os.geteuid() != 0:
            self.skipTest("chroot needs root")
        if IS_SANITIZED:
            self.skipTest("a program built with AddressSanitizer needs /proc, which is not there")
        done = subprocess.run([shutil.which("chroot"), "--userspec=65532:65532", self.root, "/usr/bin/autopilot", "check", "--list", "-o", "json"],
                              capture_output=True, text=True, env={})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("gpu.row_remap", {one["check"] for one in json.loads(done.stdout)["items"]})

    def test_the_gpu_probe_runs_in_it_without_anything_else(self):
        if os.geteuid() != 0:
            self.skipTest("chroot needs root")
        if IS_SANITIZED:
            self.skipTest("a program built with AddressSanitizer needs /proc, which is not there")
        done = subprocess.run([shutil.which("chroot"), "--userspec=65532:65532", self.root, "/usr/bin/autopilot-gpu-probe"],
                              capture_output=True, text=True, env={})
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("CUDA driver is not installed", json.loads(done.stdout)["error"])

    def test_the_network_probe_runs_in_it_without_anything_else(self):
        if os.geteuid() != 0:
            self.skipTest("chroot needs root")
        if IS_SANITIZED:
            self.skipTest("a program built with AddressSanitizer needs /proc, which is not there")
        # Folders that every container has.
        (self.root / "dev").mkdir(exist_ok=True)
        self.addCleanup(shutil.rmtree, self.root / "dev")
        for name, minor in (("null", 3), ("urandom", 9)):
            device = self.root / "dev" / name
            try:
                os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
            except PermissionError:
                self.skipTest("no devices can be made here")
            device.chmod(0o666)
        inside = [shutil.which("chroot"), "--userspec=65532:65532", self.root, "/usr/bin/autopilot-net-probe"]
        server = subprocess.Popen([*inside, "serve", "--bind", "127.0.0.1", "--port", "0", "--once"], stdout=subprocess.PIPE, text=True, env={})
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        [port] = json.loads(server.stdout.readline())["ports"]
        done = subprocess.run([*inside, "measure", "--to", "127.0.0.1", "--port", str(port), "--seconds", "1", "--limit", "100M"],
                              capture_output=True, text=True, env={})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertGreater(json.loads(done.stdout)["directions"][0]["received_bits_per_second"], 0)

    def test_libraries_of_drivers_find_in_it_what_they_are_linked_with(self):
        """An empty one in the place of libcuda.so.1 and libnccl.so.2, which need these."""
        if os.geteuid() != 0:
            self.skipTest("chroot needs root")
        if IS_SANITIZED:
            self.skipTest("a program built with AddressSanitizer needs /proc, which is not there")
        needed = [f"-l:{name}" for name in ("libpthread.so.0", "libm.so.6", "libdl.so.2", "librt.so.1", "libgcc_s.so.1", "libstdc++.so.6")]
        # The folder that NVIDIA's container runtime uses in an image that identifies itself as Debian.
        self.assertTrue((self.root / "etc/debian_version").exists())
        library = next((self.root / "usr/lib").glob("*-linux-gnu")) / "libcuda.so.1"
        subprocess.run([shutil.which("clang-16"), "-shared", "-o", library, "-Wl,--no-as-needed", *needed], check=True)
        self.addCleanup(library.unlink)
        done = subprocess.run([shutil.which("chroot"), "--userspec=65532:65532", self.root, "/usr/bin/autopilot-gpu-probe"],
                              capture_output=True, text=True, env={})
        self.assertIn("is not a CUDA driver", json.loads(done.stdout)["error"])

    def test_perftest_runs_in_it_with_the_parts_for_every_adapter(self):
        if os.geteuid() != 0:
            self.skipTest("chroot needs root")
        [folder] = (self.root / "usr/lib").glob("*/libibverbs")
        parts = [f"/{one.relative_to(self.root)}" for one in folder.iterdir()]
        drivers = {one.read_text(encoding="utf-8").split()[1] for one in (self.root / "etc/libibverbs.d").iterdir()}
        self.assertLessEqual({"mlx5", "bnxt_re", "irdma", "efa"}, drivers)
        self.assertEqual({Path(one).name.partition("-rdmav")[0] for one in parts}, {f"lib{driver}" for driver in drivers})
        # As libibverbs opens the driver of an adapter, with all its dependencies.
        environment = {"LD_PRELOAD": ":".join(parts), "LD_BIND_NOW": "1"}
        for name in ("ib_write_bw", "ib_read_bw", "ib_send_lat"):
            done = subprocess.run([shutil.which("chroot"), "--userspec=65532:65532", self.root, f"/usr/bin/{name}"],
                                  capture_output=True, text=True, env=environment)
            self.assertIn("Did not detect devices", done.stdout + done.stderr)
            self.assertNotIn("cannot be preloaded", done.stdout + done.stderr)

    def test_what_is_wrong_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            done, _ = make(folder, program="/nonexistent/autopilot")
            self.assertEqual(done.returncode, 2)
            self.assertIn("`make release` builds it", done.stderr)
            done, path = make(folder, "--tag", "not a tag")
            self.assertEqual(done.returncode, 2)
            self.assertIn("'not a tag' is no tag of an image", done.stderr)
            self.assertFalse(path.exists())
            for name in ("a:1", "a//b", "a/", "x:5000:y", "A/b", "a b"):
                done, path = make(folder, "--image", name)
                self.assertEqual(done.returncode, 2, name)
                self.assertIn(f"'{name}' is no name of an image", done.stderr)
                self.assertFalse(path.exists())

    def test_each_version_has_its_own_document(self):
        with tempfile.TemporaryDirectory() as folder:
            done, _ = make(folder, "--image", "registry.example.com:5000/gpu/autopilot", "--out", Path(folder) / "autopilot-1.2")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual({one.name for one in Path(folder).iterdir()}, {"autopilot-1.2", "autopilot-1.2.spdx.json"})


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""`make cluster` and `make cluster-down` after a start that was refused or interrupted. The test starts its own clusters, so no cluster
may run on this machine."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from kit import abilities, fleet, network, programs
from kit.cluster import FOLDER, ROOT, Cluster
from kit.node import CGROUPS, PARENT
from kit.processes import Processes, of_cluster
from kit.reason import CannotRun

CANNOT_RUN = 77
INTERRUPTED = 130
NOBODY = 65534
KIT = Path(__file__).with_name("cluster.py")


def kit(*arguments, script=KIT, python=sys.executable, **options):
    """Its exit code and output."""
    done = subprocess.run([python, "-B", script, *arguments], capture_output=True, text=True, check=False, timeout=300, **options)
    return done.returncode, done.stdout + done.stderr


class LifecycleTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            network.check_free()
            abilities.check_control_plane()
            programs.find_go()
        except CannotRun as reason:
            raise unittest.SkipTest(str(reason)) from reason
        # Builds the programs first, because the tests are not about that.
        programs.build(["etcd", "kubernetes"], print)

    def setUp(self):
        self.addCleanup(self.assert_nothing_is_left)
        self.addCleanup(kit, "down")

    def assert_nothing_is_left(self):
        self.assertIsNone(network.owner())
        self.assertFalse(FOLDER.exists())
        self.assertEqual(of_cluster(FOLDER), [])
        for command in (["ip", "netns"], ["ip", "link"], ["ip", "route"], ["mount"]):
            said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            for word in ("apkit", "10.214.", str(FOLDER)):
                self.assertNotIn(word, said, command)
        self.assertEqual([path for path in CGROUPS.glob(f"*/{PARENT}")] + list(CGROUPS.glob(PARENT)), [])

    def other_checkout(self):
        """The script of one, which everybody may read."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)
        for part in ("tests/cluster", "tools"):
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        return folder / "tests" / "cluster" / "cluster.py"

    def cut_off(self, number, words, *arguments):
        """A start that gets this signal as soon as it prints `words`; its exit code."""
        child = subprocess.Popen([sys.executable, "-B", KIT, "up", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                 text=True)
        with child:
            for line in child.stderr:
                if words in line:
                    child.send_signal(number)
                    break
            else:
                self.fail(f"it never said: {words}")
            child.stderr.read()
        return child.returncode

    def test_a_start_that_is_killed_is_seen_and_taken_away(self):
        real, words = ("1", "simulated nodes") if can_run_nodes() else ("0", "starting etcd")
        self.cut_off(signal.SIGKILL, words, "--real", real, "--sim", "1")
        # Killed a moment earlier, it would not have written down what it started.
        (FOLDER / "processes.json").unlink()
        (FOLDER / "cluster.json").write_text("{")
        code, said = kit("up")
        self.assertEqual((code, "there is a cluster in" in said), (CANNOT_RUN, True), said)
        others = self.other_checkout()
        code, said = kit("down", script=others, cwd="/")
        self.assertEqual((code, f"there is still the cluster of {FOLDER}" in said), (0, True), said)
        code, said = kit("up", script=others)
        self.assertEqual((code, f"that of {FOLDER} is here" in said), (CANNOT_RUN, True), said)
        self.assertNotEqual(of_cluster(FOLDER), [])
        code, said = kit("down", cwd="/")
        self.assertEqual((code, "ended the cluster" in said), (0, True), said)
        self.assert_nothing_is_left()
        self.assertEqual(kit("down"), (0, ""))

    def test_a_start_that_is_interrupted_leaves_nothing(self):
        self.assertEqual(self.cut_off(signal.SIGINT, "starting etcd", "--real", "0"), INTERRUPTED)
        self.assert_nothing_is_left()

    def test_programs_that_were_killed_are_no_hindrance(self):
        code, said = kit("up", "--real", "0")
        self.assertEqual(code, 0, said)
        self.assertIn(f"export KUBECONFIG={FOLDER}/", said)
        for name in ("etcd", "kube-apiserver"):
            os.kill(Processes(FOLDER).pid_of(name), signal.SIGKILL)
        self.assertEqual(kit("down")[0], 0)

    def test_a_cluster_whose_checkout_was_deleted_is_taken_away_by_any(self):
        with tempfile.TemporaryDirectory() as folder:
            gone = Path(folder) / "run"
            Processes(gone).start("sleeper", ["sleep", "1000"])
            network.make_bridge(gone)
            network.add_host("gone-0", 0, [])
        code, said = kit("up")
        self.assertEqual((code, "make cluster-down takes it away" in said), (CANNOT_RUN, True), said)
        self.assertIn("took away what was left", kit("down")[1])
        self.assertEqual(of_cluster(gone), [])

    def test_a_bridge_that_was_made_and_not_named_is_taken_away(self):
        network.ip("link", "add", network.BRIDGE, "type", "bridge")
        self.assertIn("took away what was left", kit("down")[1])

    def test_agents_that_were_asked_for_have_written_when_it_is_ready(self):
        code, said = kit("up", "--real", "0", "--sim", "2", "--agents", "--fault node=sim-0,fault=row_remap_failed,subject=gpu/2,at=0s")
        self.assertEqual(code, 0, said)
        labelled = Cluster().open().api.get("nodes", "-l", fleet.LABEL)["items"]
        self.assertEqual([node["metadata"]["name"] for node in labelled], ["sim-0", "sim-1"])

    def test_agents_that_end_are_said(self):
        code, said = kit("up", "--real", "0", "--sim", "2", "--agents", "--fault node=sim-0,fault=nonsense")
        self.assertEqual((code, "autopilot-fleet-sim has ended" in said, "nonsense" in said), (1, True, True), said)
        self.assertNotIn("ready", said.splitlines()[-1])

    def test_a_port_in_use_is_said(self):
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind(("0.0.0.0", network.API_PORT))
            other.listen()
            code, said = kit("up", "--real", "0")
        self.assertEqual((code, f"port {network.API_PORT} is in use" in said), (CANNOT_RUN, True), said)
        self.assert_nothing_is_left()

    def test_a_full_disk_is_said(self):
        script = self.other_checkout()
        build = script.parents[2] / "build"
        build.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=10m", "tmpfs", build], check=True)
        self.addCleanup(subprocess.run, ["umount", build], check=True)
        code, said = kit("up", "--real", "0", script=script)
        self.assertEqual((code, f"GB free in {build}" in said), (CANNOT_RUN, True), said)

    def test_a_user_without_rights_is_told(self):
        script = self.other_checkout()
        for verb in (["up", "--reduce"], ["down"]):
            with self.subTest(verb):
                # There is nothing to end, so no permissions are needed.
                code, said = kit(*verb, script=script, python="/usr/bin/python3", user=NOBODY, group=NOBODY, extra_groups=[], cwd="/")
                self.assertEqual((code, "needs root" in said), (CANNOT_RUN, True) if verb[0] == "up" else (0, False), said)

    def test_a_machine_without_go_is_told(self):
        hide = "for folder in /usr/lib/go-1.*/; do [ ! -d $folder ] || mount -t tmpfs none $folder; done; "
        done = subprocess.run(["unshare", "--mount", "bash", "-c", hide + f"exec {sys.executable} -B {KIT} up --real 0"],
                              env={**os.environ, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, "Go 1.23 or newer is not here" in done.stderr), (CANNOT_RUN, True), done.stderr)


def can_run_nodes():
    try:
        abilities.check_real_nodes()
    except CannotRun:
        return False
    return True


if __name__ == "__main__":
    unittest.main(verbosity=2)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks give the same results on a recording as on the machine: a simulated machine with every device, and this machine."""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import unittest

import harness


def check(folder, *machine):
    """The result of every check, without values that differ from run to run."""
    environment = {"AUTOPILOT_STATE_DIR": os.path.join(folder, "state")}
    code, out, err = harness.run("check", "--no-agent", "--window", "0s", "-o", "json", *machine, environment=environment)
    if not out:
        raise AssertionError(f"check {machine} ended with {code}: {err}")
    return {result["check"]: (result["health"], result["witnesses"],
                              sorted((finding["subject"]["kind"], finding["subject"]["key"], finding["reason"],
                                      finding["health"]) for finding in result["findings"]))
            for result in json.loads(out)["results"]}


class RecordTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="autopilot-record-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.tree = os.path.join(self.folder, "tree")

    def create(self, machine):
        source = os.path.join(self.folder, "source")
        subprocess.run([harness.AUTOPILOT_SIM, "create", machine, "--out", source], check=True,
                       stdout=subprocess.DEVNULL)
        return source

    def record(self, *arguments):
        code, out, err = harness.run("record", self.tree, *arguments)
        self.assertEqual(code, 0, err)
        self.assertIn(self.tree, out)

    def read_all(self):
        text = {}
        for path, _, names in os.walk(self.tree):
            for name in names:
                file = os.path.join(path, name)
                if not os.path.islink(file):
                    with open(file, encoding="utf-8", errors="replace") as opened:
                        text[os.path.relpath(file, self.tree)] = opened.read()
        return text

    def test_a_recording_is_not_shown_as_simulated(self):
        self.record()
        for verb in ("check", "snapshot", "explain", "why"):
            with self.subTest(verb):
                _, out, errors = harness.run(verb, "--root", self.tree)
                self.assertIn("RECORDED", out, errors)
                self.assertNotIn("SIMULATED", out)
        self.assertFalse(json.loads(harness.run("check", "--root", self.tree, "-o", "json")[1])["simulated"])

    def test_a_recording_of_a_simulated_machine_is_shown_as_simulated(self):
        self.record("--root", self.create("no-gpu"))
        self.assertIn("SIMULATED", harness.run("check", "--root", self.tree)[1])

    def test_a_simulated_machine_with_faults(self):
        source = self.create("hgx-h100-8")
        for fault in (["row_remap_pending", "--subject", "gpu/2"], ["ib_port_down", "--subject", "nic_port/mlx5_3/1"],
                      ["nvme_wear"], ["mount_hang", "--subject", "mount//home"],
                      ["module_light", "--subject", "nic_port/ens41f0np0"],
                      ["ethernet_down", "--subject", "nic_port/ens41f1np1", "--kind", "no_cable"]):
            subprocess.run([harness.AUTOPILOT_SIM, "inject", source, *fault], check=True)
        self.record("--root", source)
        before = check(self.folder, "--root", source)
        self.assertEqual(check(self.folder, "--root", self.tree), before)
        self.assertTrue(any(findings for _, _, findings in before.values()))

    def test_gpus_of_amd_that_nobody_uses(self):
        source = self.create("mi300x-8")
        # A virtual function without a driver: taken for a GPU, it would be a GPU without its driver.
        physical = os.path.realpath(os.path.join(source, "root/sys/bus/pci/devices/0000:05:00.0"))
        virtual = os.path.join(os.path.dirname(physical), "0000:05:02.0")
        os.mkdir(virtual)
        for name in ("vendor", "device", "class"):
            shutil.copy(os.path.join(physical, name), virtual)
        os.symlink("../0000:05:00.0", os.path.join(virtual, "physfn"))
        devices = os.path.join(source, "root/sys/bus/pci/devices")
        os.symlink(os.path.relpath(virtual, devices), os.path.join(devices, "0000:05:02.0"))
        self.assertEqual(os.listdir(os.path.join(source, "root/sys/class/kfd/kfd/proc")), [])
        self.record("--root", source)
        before = check(self.folder, "--root", source)
        again = check(self.folder, "--root", self.tree)
        for name in ("gpu.present", "gpu.driver", "gpu.processes"):
            self.assertEqual(before[name][0], "healthy")
            self.assertEqual(again[name], before[name])
        self.assertEqual(again, before)

    def test_a_gpu_of_amd_that_left_the_bus(self):
        source = self.create("mi300x-8")
        subprocess.run([harness.AUTOPILOT_SIM, "inject", source, "amd_off_bus", "--subject", "gpu/0000:46:00.0"],
                       check=True)
        self.record("--root", source)
        before = check(self.folder, "--root", source)
        self.assertIn(("gpu", "0000:46:00.0", "gpu_lost", "failed"), before["gpu.present"][2])
        self.assertEqual(check(self.folder, "--root", self.tree), before)
        configs = [path for path in self.read_all() if path.endswith("/config")]
        self.assertEqual([os.path.getsize(os.path.join(self.tree, path)) for path in configs], [4])

    def test_a_driver_library_that_cannot_be_loaded(self):
        source = self.create("l40s-4")
        subprocess.run([harness.AUTOPILOT_SIM, "inject", source, "library_broken"], check=True)
        self.record("--root", source)
        before = check(self.folder, "--root", source)
        self.assertEqual(check(self.folder, "--root", self.tree), before)
        self.assertIn(("host", "", "library_broken", "degraded"), before["gpu.driver"][2])

    def test_this_machine(self):
        self.record()
        live = check(self.folder)
        again = check(self.folder, "--root", self.tree)
        # Values that depend on the clock, the load or free space can change between the two runs.
        for name in ("host.clock", "host.memory", "storage.filesystem", "network.ethernet_link"):
            live.pop(name, None)
            again.pop(name, None)
        self.assertEqual(again, live)

    def test_scrubbing_leaves_no_name_of_this_machine(self):
        self.record("--scrub")
        name = socket.gethostname()
        text = self.read_all()
        self.assertNotIn(f'"{name}"', text["machine.yaml"])
        self.assertNotEqual(text["root/proc/sys/kernel/hostname"].strip(), name)
        for interface in os.listdir("/sys/class/net"):
            with open(f"/sys/class/net/{interface}/address", encoding="utf-8") as file:
                address = file.read().strip()
            if address.strip("0:"):
                self.assertFalse([path for path, content in text.items() if address in content], address)

    def test_scrubbing_leaves_neither_pod_nor_container(self):
        source = self.create("hgx-h100-8")
        subprocess.run([harness.AUTOPILOT_SIM, "inject", source, "busy", "--subject", "gpu/0"], check=True)
        with open(os.path.join(source, "root/proc/4200/cgroup"), encoding="utf-8") as file:
            pod, container = file.read().strip().split("/")[-2:]
        self.record("--root", source)
        self.assertIn(pod, self.read_all()["root/proc/4200/cgroup"])
        shutil.rmtree(self.tree)
        self.record("--root", source, "--scrub")
        text = self.read_all()
        self.assertIn("root/proc/4200/cgroup", text)
        for secret in (pod, pod.removeprefix("pod"), container):
            self.assertEqual([path for path, content in text.items() if secret in content], [])

    def test_scrubbing_states_what_it_replaced_and_none_of_the_values(self):
        source = self.create("hgx-h100-8")
        with open(os.path.join(source, "root/proc/cmdline"), "w", encoding="utf-8") as file:
            file.write("root=UUID=55e30905-e576-41d4-a27b-a3a892c46d43 iscsi_password=hunter2x ip=10.77.3.9\n")
        with open(os.path.join(source, "kmsg.jsonl"), "a", encoding="utf-8") as file:
            file.write(json.dumps({"prio": 6, "time": 50.0, "text": "systemd[1]: Started Session 4 of user bwayne."}) + "\n")
        code, out, err = harness.run("record", self.tree, "--root", source, "--scrub")
        self.assertEqual(code, 0, err)
        self.assertIn("Replaced: ", out)
        text = self.read_all()
        report = text["scrub-report.yaml"]
        self.assertIn("credentials: {values: 1, places: 1}", report)
        self.assertIn("user_names: {values: 1, places: 1}", report)
        for secret in ("55e30905", "hunter2x", "10.77.3.9", "bwayne", "sim-hgx-h100-8"):
            self.assertEqual([path for path, content in text.items() if secret in content], [], secret)
        before = check(self.folder, "--root", source)
        after = check(self.folder, "--root", self.tree)
        self.assertEqual({name: one[0] for name, one in after.items()}, {name: one[0] for name, one in before.items()})
        # An existing recording is scrubbed the same way, and a scrubbed one does not change.
        again = os.path.join(self.folder, "again")
        code, _, err = harness.run("record", again, "--root", self.tree, "--scrub")
        self.assertEqual(code, 0, err)
        for name in ("root/proc/cmdline", "nvml.yaml"):
            with open(os.path.join(again, name), encoding="utf-8") as file:
                self.assertEqual(file.read(), text[name])

    def test_scrubbing_leaves_no_number_of_a_gpu_of_amd(self):
        source = self.create("mi300x-8")
        with open(os.path.join(source, "root/sys/bus/pci/devices/0000:05:00.0/unique_id"), encoding="utf-8") as file:
            unique = int(file.read(), 16)
        hive = 0x3d17726e65b4610c
        with open(os.path.join(source, "root/sys/class/kfd/kfd/topology/nodes/2/properties"), "a",
                  encoding="utf-8") as file:
            file.write(f"unique_id {unique}\nhive_id {hive}\n")
        with open(os.path.join(source, "kmsg.jsonl"), "a", encoding="utf-8") as file:
            for number in (hive, unique):
                text = f"amdgpu 0000:05:00.0: amdgpu: XGMI: Add node 0, hive 0x{number:x}."
                file.write(json.dumps({"prio": 6, "time": 40.0, "text": text}) + "\n")
        self.record("--root", source, "--scrub")
        text = self.read_all()
        self.assertIn("XGMI: Add node 0, hive 0x", text["kmsg.jsonl"])
        for number in (hive, unique):
            for spelled in (f"{number}", f"{number:x}"):
                self.assertEqual([path for path, content in text.items() if spelled in content], [])

    def test_a_full_disk_leaves_no_half_of_a_machine(self):
        disk = os.path.join(self.folder, "disk")
        os.makedirs(disk)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True,
                          check=False).returncode != 0:
            self.skipTest("cannot mount: needs root")
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        code, _, err = harness.run("record", os.path.join(disk, "tree"), "--simulate", "hgx-h100-8")
        self.assertEqual(code, 70)
        self.assertIn("No space left", err)
        self.assertEqual(os.listdir(os.path.join(disk, "tree")), [])

    def test_an_existing_directory_is_left_alone(self):
        os.makedirs(os.path.join(self.tree, "mine"))
        code, _, err = harness.run("record", self.tree)
        self.assertNotEqual(code, 0)
        self.assertIn("not empty", err)


if __name__ == "__main__":
    unittest.main()

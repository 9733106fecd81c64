# SPDX-License-Identifier: Apache-2.0
"""`autopilot drift`: versions and settings against a recipe, and among siblings."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import harness

EXAMPLE = pathlib.Path(__file__).parents[2] / "deploy/examples/drift-recipe.yaml"


class DriftTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.machines = pathlib.Path(tempfile.mkdtemp(prefix="autopilot-drift-"))
        cls.addClassCleanup(shutil.rmtree, cls.machines)
        cls.tree = cls.machines / "machine"
        subprocess.run([harness.AUTOPILOT_SIM, "create", "hgx-h100-8", "--out", str(cls.tree)], check=True, capture_output=True, timeout=60)

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="autopilot-drift-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")
        return str(self.folder / name)

    def drift(self, *words, code=0):
        done = subprocess.run([harness.AUTOPILOT, "drift", *words], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def against(self, facts, *words, code=0):
        recipe = self.write("recipe.yaml", "facts:\n" + facts)
        done = self.drift("--against", recipe, *(words or ("--root", str(self.tree))), "-o", "json", code=code)
        return {row["fact"]: row for row in json.loads(done.stdout)["nodes"][0]["facts"]}

    def sibling(self, name, **changes):
        document = json.loads(self.drift("snapshot", "--root", str(self.tree), "-o", "json").stdout)
        document["node"] = name
        for key, value in changes.items():
            fact = key.replace("__", ".")
            if value is None:
                document["facts"].pop(fact)
                document["missing"][fact] = "not readable"
            else:
                document["facts"][fact] = {"value": value}
        return self.write(name + ".json", json.dumps(document))

    def test_the_facts_of_a_machine_are_those_of_its_sources(self):
        facts = json.loads(self.drift("snapshot", "--root", str(self.tree), "-o", "json").stdout)["facts"]
        self.assertEqual(facts["gpu.count"]["value"], "8")
        release = (self.tree / "root/proc/sys/kernel/osrelease").read_text(encoding="utf-8").strip()
        self.assertEqual(facts["kernel.release"], {"value": release, "source": "/proc/sys/kernel/osrelease"})
        self.assertEqual(facts["kernel.argument.iommu"]["value"], "pt")
        self.assertNotIn("kernel.argument.root", facts)
        self.assertRegex(facts["gpu.7.vbios"]["value"], r"^\d+(\.\w+)+$")
        for fact in ("driver.nvidia", "driver.cuda", "nic.mlx5_0.firmware", "mtu.ibp24s0", "os.name", "module.nvidia_peermem", "firmware.bios",
                     "sysctl.kernel.pid_max", "gpu.0.ecc"):
            self.assertIn(fact, facts)

    def test_this_machine_has_facts_too(self):
        document = json.loads(self.drift("snapshot", "-o", "json").stdout)
        self.assertEqual(document["facts"]["kernel.release"]["value"], os.uname().release)
        self.assertIn("limit.open_files", document["facts"])

    def test_a_snapshot_in_a_file_equals_the_machine(self):
        file = self.write("a.yaml", self.drift("snapshot", "--root", str(self.tree)).stdout)
        rows = self.against("  gpu.count: 8\n  kernel.argument.iommu: pt\n", file)
        self.assertEqual({row["result"] for row in rows.values()}, {"as expected"})

    def test_a_fact_that_differs_is_shown_with_both_values(self):
        rows = self.against("  gpu.count: 4\n  driver.nvidia: {min_version: '9999'}\n  kernel.argument.iommu: pt\n", code=1)
        self.assertEqual((rows["gpu.count"]["found"], rows["gpu.count"]["expected"]), ("8", "4"))
        self.assertEqual(rows["gpu.count"]["line"], 2)
        self.assertEqual(rows["driver.nvidia"]["result"], "differs")
        self.assertEqual(rows["kernel.argument.iommu"]["result"], "as expected")
        page = self.drift("--against", str(self.folder / "recipe.yaml"), "--root", str(self.tree), code=1).stdout
        self.assertIn("2 differ", page)
        self.assertIn("version 9999 or newer", page)
        for line in page.splitlines():
            self.assertLessEqual(len(line), 80)

    def test_facts_that_are_missing_are_not_differences(self):
        rows = self.against("  gpu.count: 8\n  pci.acs_bridges: 0\n", code=3)
        self.assertEqual(rows["pci.acs_bridges"]["result"], "missing")
        self.assertTrue(rows["pci.acs_bridges"]["reason"])

    def test_a_driver_that_does_not_work_makes_its_facts_missing(self):
        tree = self.folder / "machine"
        subprocess.run([harness.AUTOPILOT_SIM, "create", "hgx-h100-8", "--out", str(tree)], check=True, capture_output=True, timeout=60)
        subprocess.run([harness.AUTOPILOT_SIM, "inject", str(tree), "library_missing"], check=True, capture_output=True, timeout=60)
        rows = self.against("  driver.nvidia: 1\n  gpu.*.vbios: 1\n", "--root", str(tree), code=3)
        self.assertEqual({row["result"] for row in rows.values()}, {"missing"})

    def test_an_invalid_recipe_is_refused_with_its_lines(self):
        recipe = self.write("recipe.yaml", "facts:\n  driver.nvida: 5\n  mtu.*: {form: 3}\n")
        errors = self.drift("--against", recipe, code=78).stderr
        self.assertIn(f"{recipe}:2: `driver.nvida`: no such fact exists; did you mean `driver.nvidia`?", errors)
        self.assertIn("unknown key `form`", errors)

    def test_the_example_is_valid_and_fits_the_simulated_machine_in_its_gpus(self):
        done = subprocess.run([harness.AUTOPILOT, "drift", "--against", str(EXAMPLE), "--root", str(self.tree), "-o", "json"],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertIn(done.returncode, (0, 1, 3), done.stderr)
        rows = {row["fact"]: row for row in json.loads(done.stdout)["nodes"][0]["facts"]}
        for fact in ("gpu.count", "gpu.0.ecc", "kernel.argument.iommu", "module.nouveau", "module.nvidia_peermem"):
            self.assertEqual(rows[fact]["result"], "as expected", rows[fact])

    def test_of_three_siblings_the_one_that_differs_is_named(self):
        files = [self.sibling("a"), self.sibling("b", driver__nvidia="1.2.3"), self.sibling("c")]
        done = self.drift(*files, "-o", "json", code=1)
        found = json.loads(done.stdout)
        self.assertEqual([one["fact"] for one in found["differences"]], ["driver.nvidia"])
        self.assertEqual(found["differences"][0]["values"][1], {"value": "1.2.3", "nodes": ["b"]})
        self.assertNotEqual(found["differences"][0]["majority"], "1.2.3")
        page = self.drift(*files, code=1).stdout
        self.assertRegex(page, r"1\.2\.3 +differs +1: b")

    def test_two_siblings_and_ties_have_no_majority(self):
        two = json.loads(self.drift(self.sibling("a"), self.sibling("b", driver__cuda="1"), "-o", "json", code=1).stdout)
        self.assertNotIn("majority", two["differences"][0])
        files = [self.sibling("a", cpu__smt="x"), self.sibling("b", cpu__smt="x"), self.sibling("c", cpu__smt="y"),
                 self.sibling("d", cpu__smt="y")]
        self.assertIn("no majority", self.drift(*files, code=1).stdout)

    def test_a_fact_that_a_sibling_could_not_read_is_listed(self):
        found = json.loads(self.drift(self.sibling("a"), self.sibling("b", driver__cuda=None), self.sibling("c"), "-o", "json",
                                      code=3).stdout)
        self.assertEqual(found["unknown"], [{"fact": "driver.cuda", "nodes": ["b"]}])

    def test_equal_siblings_have_no_drift(self):
        self.assertIn("no differences", self.drift(self.sibling("a"), self.sibling("b"), self.sibling("c")).stdout)

    def test_usage(self):
        self.assertIn("--against", self.drift(code=64).stderr)
        self.drift(self.sibling("a"), code=64)
        file = self.sibling("a")
        self.assertIn("compare each node once", self.drift(file, file, code=78).stderr)
        self.assertIn("a.txt:1", self.drift(self.write("a.txt", "- no snapshot\n"), file, code=78).stderr)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""The schema of a node's report says every field that the agent writes, and describes each: an API server throws away what it does not
know of."""

import json
import os
import subprocess
import unittest

import packages

packages.use()

import yaml  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
SAMPLES = os.path.join(os.environ["AUTOPILOT_BIN_DIR"], "../fakes/report_samples")
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}


class ReportSchemaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(ROOT, "deploy/helm/autopilot/crds/nodehealthreports.yaml"), encoding="utf-8") as file:
            cls.definition = yaml.safe_load(file)
        cls.schema = cls.definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        with open(os.path.join(ROOT, "src/api/openapi.yaml"), encoding="utf-8") as file:
            cls.api = yaml.safe_load(file)["components"]["schemas"]
        text = subprocess.run([SAMPLES], capture_output=True, check=True).stdout.decode("utf-8")
        cls.samples = [json.loads(line) for line in text.splitlines()]

    def test_every_field_is_in_the_schema(self):
        for sample in self.samples:
            # What every object of the API has is not described once more.
            self.check(self.schema, {name: value for name, value in sample.items() if name != "metadata"}, "")

    def check(self, schema, value, place):
        self.assertIsInstance(value, TYPES[schema["type"]], place)
        if schema["type"] == "array":
            for item in value:
                self.check(schema["items"], item, place + "[]")
        if schema["type"] != "object" or schema.get("x-kubernetes-preserve-unknown-fields"):
            return
        self.assertEqual([name for name in schema.get("required", []) if name not in value], [], place)
        for name, member in value.items():
            self.assertIn(name, schema["properties"], place)
            self.check(schema["properties"][name], member, f"{place}.{name}")

    def test_every_field_of_the_schema_is_written(self):
        written = set()
        for sample in self.samples:
            paths_in(sample, "", written)
        missing = {path for path in paths_of(self.schema, "") if path not in written and not path.startswith(".metadata")}
        self.assertEqual(missing, set())

    def test_every_field_is_described(self):
        self.assertEqual([path for path, schema in described(self.schema, "") if not schema.get("description")], [])

    def test_incidents_are_those_of_the_api(self):
        incident = self.schema["properties"]["status"]["properties"]["incidents"]["items"]["properties"]
        promised = set(self.api["Incident"]["properties"]) - {"durable"}
        self.assertEqual(set(incident), promised)

    def test_the_columns_name_fields(self):
        for column in self.definition["spec"]["versions"][0]["additionalPrinterColumns"]:
            if not column["jsonPath"].startswith(".metadata."):
                self.assertIn(column["jsonPath"], paths_of(self.schema, ""))


def described(schema, path):
    for name, member in schema.get("properties", {}).items():
        if path or name != "metadata":
            yield f"{path}.{name}", member
            yield from described(member, f"{path}.{name}")
    if "items" in schema:
        yield from described(schema["items"], path + "[]")


def paths_of(schema, path):
    return {path for path, _ in described(schema, path)}


def paths_in(value, path, found):
    if isinstance(value, dict):
        for name, member in value.items():
            found.add(f"{path}.{name}")
            paths_in(member, f"{path}.{name}", found)
    if isinstance(value, list):
        for item in value:
            paths_in(item, path + "[]", found)


if __name__ == "__main__":
    unittest.main()

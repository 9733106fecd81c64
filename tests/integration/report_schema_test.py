# SPDX-License-Identifier: Apache-2.0
"""The schemas of reports say every field that is written, with its limits, and describe each: an API server throws away what it does
not know of, and refuses what is too long."""

import json
import os
import subprocess
import unittest

import packages

packages.use()

import yaml  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
FAKES = os.path.join(os.environ["AUTOPILOT_BIN_DIR"], "../fakes")
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}


class Schema:
    FILE = ""
    SAMPLES = ""

    @classmethod
    def setUpClass(cls):
        with open(os.path.join(ROOT, "deploy/helm/autopilot/crds", cls.FILE), encoding="utf-8") as file:
            cls.definition = yaml.safe_load(file)
        cls.schema = cls.definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        text = subprocess.run([os.path.join(FAKES, cls.SAMPLES)], capture_output=True, check=True).stdout.decode("utf-8")
        cls.samples = [json.loads(line) for line in text.splitlines()]

    def test_every_field_is_in_the_schema(self):
        for sample in self.samples:
            # The schema does not describe the members of every API object again.
            self.check(self.schema, {name: value for name, value in sample.items() if name != "metadata"}, "")

    def check(self, schema, value, place):
        self.assertIsInstance(value, TYPES[schema["type"]], place)
        if "enum" in schema:
            self.assertIn(value, schema["enum"], place)
        for limit in ("maxLength", "maxItems", "maxProperties"):
            self.assertLessEqual(len(value) if limit in schema else 0, schema.get(limit, 0), place)
        if schema["type"] == "array":
            for item in value:
                self.check(schema["items"], item, place + "[]")
        if schema["type"] != "object" or schema.get("x-kubernetes-preserve-unknown-fields"):
            return
        self.assertEqual([name for name in schema.get("required", []) if name not in value], [], place)
        for name, member in value.items():
            if "additionalProperties" in schema:
                self.check(schema["additionalProperties"], member, f"{place}.{name}")
                continue
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

    def test_the_columns_name_fields(self):
        for column in self.definition["spec"]["versions"][0]["additionalPrinterColumns"]:
            if not column["jsonPath"].startswith(".metadata."):
                self.assertIn(column["jsonPath"].replace("[0]", ""), paths_of(self.schema, ""))


class NodeHealthReportTest(Schema, unittest.TestCase):
    FILE = "nodehealthreports.yaml"
    SAMPLES = "report_samples"

    def test_incidents_are_those_of_the_api(self):
        with open(os.path.join(ROOT, "src/api/openapi.yaml"), encoding="utf-8") as file:
            api = yaml.safe_load(file)["components"]["schemas"]
        incident = self.schema["properties"]["status"]["properties"]["incidents"]["items"]["properties"]
        promised = set(api["Incident"]["properties"]) - {"durable"}
        self.assertEqual(set(incident), promised)


class HealthCheckReportTest(Schema, unittest.TestCase):
    FILE = "healthcheckreports.yaml"
    SAMPLES = "health_check_samples"

    def test_a_text_that_others_chose_has_a_limit(self):
        def unbounded(schema, path):
            if schema["type"] == "string" and not {"maxLength", "enum", "format"} & set(schema):
                yield path
            if schema["type"] == "array" and "maxItems" not in schema:
                yield path
            for name, member in schema.get("properties", {}).items():
                yield from unbounded(member, f"{path}.{name}")
            if "items" in schema:
                yield from unbounded(schema["items"], path + "[]")

        for part in ("spec", "status"):
            self.assertEqual(list(unbounded(self.schema["properties"][part], part)), [])


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

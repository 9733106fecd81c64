#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The JSON schema of job telemetry accepts every line of the sample and refuses malformed lines."""

import copy
import json
import sys
import unittest
from pathlib import Path

try:
    import jsonschema
except ImportError:
    print("SKIP: needs the Python package jsonschema")
    sys.exit(77)

HERE = Path(__file__).parent
SCHEMA = json.loads((HERE.parent.parent / "docs/reference/job-telemetry.schema.json").read_text(encoding="utf-8"))


def lines(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator({**SCHEMA, "oneOf": [{"$ref": f"#/$defs/{name}"}]})


class SchemaOfJobTelemetry(unittest.TestCase):
    def test_the_schema_is_valid(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)

    def test_every_line_of_the_sample_is_valid_in_its_file_only(self):
        files = sorted(HERE.glob("*.jsonl"))
        self.assertEqual(len(files), 5)
        for file in files:
            for line in lines(file):
                with self.subTest(file=file.name, type=line["type"]):
                    validator(file.name).validate(line)
                    for other in files:
                        self.assertEqual(validator(other.name).is_valid(line), other == file)

    def test_malformed_lines_are_refused(self):
        window = lines(HERE / "telemetry.jsonl")[0]
        changes = {
            "unknown member": lambda line: line.update(extra=1),
            "number as text": lambda line: line.update(window="10"),
            "missing member": lambda line: line.pop("node"),
            "required member is null": lambda line: line.update(node=None),
            "empty name": lambda line: line.update(node=""),
            "control character in a name": lambda line: line.update(node="a\x07"),
            "share above 1": lambda line: line["gpu"].update(tensor=[1.5, 0]),
            "unknown column": lambda line: line["gpu"].update(tensors=[1, 0]),
            "negative count": lambda line: line["nic"].update(errors=[-1]),
            "column instead of a number": lambda line: line["host"].update(cpu=[0.5]),
        }
        for name, change in changes.items():
            line = copy.deepcopy(window)
            change(line)
            with self.subTest(name):
                self.assertFalse(validator("telemetry.jsonl").is_valid(line))

    def test_missing_values_and_own_members_are_accepted(self):
        window = {**lines(HERE / "telemetry.jsonl")[0], "host": None, "x_mine": {"any": [1]}}
        validator("telemetry.jsonl").validate(window)


if __name__ == "__main__":
    unittest.main()

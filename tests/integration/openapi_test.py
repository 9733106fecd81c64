# SPDX-License-Identifier: Apache-2.0
"""openapi.yaml is a valid document, and what our code writes is what it promises."""

import json
import os
import subprocess
import unittest

import packages

packages.use()

import jsonschema  # noqa: E402
import openapi_spec_validator  # noqa: E402
import yaml  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
SAMPLES = os.path.join(os.environ["AUTOPILOT_BIN_DIR"], "../fakes/api_samples")

# Every route of the agent.
ROUTES = {
    "GET": ["/v1/node", "/v1/network", "/v1/network/plan", "/v1/checks", "/v1/checks/{id}", "/v1/incidents", "/v1/operations", "/v1/operations/{id}",
            "/v1/tests", "/v1/events", "/v1/jobs", "/v1/jobs/records", "/v1/jobs/evidence", "/v1/jobs/outcome", "/v1/validations",
            "/metrics", "/healthz", "/readyz", "/openapi.yaml"],
    "POST": ["/v1/network/servers", "/v1/network/bandwidth", "/v1/checks/{id}", "/v1/operations", "/v1/inject", "/v1/incidents/{id}/ack", "/v1/preflight",
             "/v1/jobs/feedback", "/v1/jobs/ack", "/v1/jobs/mute", "/v1/jobs/records"],
    "DELETE": ["/v1/network/servers/{id}", "/v1/operations/{id}"],
}


class OpenApiTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(ROOT, "src/api/openapi.yaml"), encoding="utf-8") as file:
            cls.document = yaml.safe_load(file)
        text = subprocess.run([SAMPLES], capture_output=True, check=True).stdout.decode("utf-8")
        lines = text.split("\n")
        cls.samples = list(zip(lines[0::2], lines[1::2]))

    def problems(self, schema, value):
        """Problems of a value; unknown members count as problems."""
        document = closed(self.document)
        root = {"$ref": f"#/components/schemas/{schema}", "components": document["components"]}
        validator = jsonschema.Draft202012Validator(root, format_checker=jsonschema.FormatChecker())
        return [f"{'/'.join(map(str, error.absolute_path))}: {error.message}" for error in validator.iter_errors(value)]

    def test_the_document_is_valid(self):
        openapi_spec_validator.validate(self.document)

    def test_every_route_is_described(self):
        described = {method: [path for path, item in self.document["paths"].items() if method.lower() in item]
                     for method in ROUTES}
        for method, paths in ROUTES.items():
            self.assertEqual(sorted(described[method]), sorted(paths))

    def test_every_object_is_what_is_promised(self):
        for schema, text in self.samples:
            with self.subTest(schema=schema):
                self.assertEqual(self.problems(schema, json.loads(text)), [])

    def test_every_object_that_is_promised_has_a_sample(self):
        promised = set()
        for item in self.document["paths"].values():
            for operation in item.values():
                if isinstance(operation, dict):
                    promised.update(schemas_of(operation))
        promised.update(schemas_of(self.document["components"]["responses"]))
        self.assertEqual(promised - {schema for schema, _ in self.samples}, set())

    def test_a_wrong_object_is_noticed(self):
        node = json.loads(dict(self.samples)["Node"])
        for change in ({"health": "ill"}, {"verdict": "FAIL"}, {"time": "soon"}, {"unheard": 1}, {"results": {}}):
            with self.subTest(change=change):
                self.assertNotEqual(self.problems("Node", {**node, **change}), [])


def closed(node):
    """The same document with objects that allow no further names, so that a misspelt one is noticed."""
    if isinstance(node, list):
        return [closed(item) for item in node]
    if not isinstance(node, dict):
        return node
    result = {name: closed(value) for name, value in node.items()}
    if result.get("type") == "object" and "properties" in result:
        result["additionalProperties"] = False
    return result


def schemas_of(node):
    """Names of the schemas that a part of the document refers to directly as a body."""
    if isinstance(node, list):
        return {name for item in node for name in schemas_of(item)}
    if not isinstance(node, dict):
        return set()
    if "application/json" in node and "schema" in node["application/json"]:
        schema = node["application/json"]["schema"]
        return {one["$ref"].rsplit("/", 1)[1] for one in schema.get("oneOf", [schema])}
    return {name for value in node.values() for name in schemas_of(value)}


if __name__ == "__main__":
    unittest.main()

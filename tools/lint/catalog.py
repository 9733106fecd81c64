#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every entry of catalog/**/*.yaml has a source, a date and a kind of evidence. An entry is a mapping in a list at the
top of a file. Duplicate keys, which YAML readers accept, are refused."""

import datetime
import sys
from pathlib import Path

import yaml

import tree

EVIDENCE = ("vendor", "peer", "own", "measured")


class StrictLoader(yaml.SafeLoader):
    """Keeps dates as text, refuses duplicate keys, and records the line of each mapping."""

    def construct_mapping(self, node, deep=False):
        names = [key.value for key, _ in node.value]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise yaml.constructor.ConstructorError(None, None, f"the key {twice} stands twice", node.start_mark)
        mapping = super().construct_mapping(node, deep)
        mapping["__line__"] = node.start_mark.line + 1
        return mapping


StrictLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}


def _problems_of(entry: dict) -> list[str]:
    problems = []
    source = entry.get("source")
    if not isinstance(source, str) or not source.strip():
        problems.append("has no source")
    try:
        date = datetime.date.fromisoformat(str(entry.get("date", "")))
        if date > datetime.date.today() + datetime.timedelta(days=1):
            problems.append(f"has a date in the future: {date}")
    except ValueError:
        problems.append("has no date (YYYY-MM-DD: when the source was read)")
    if entry.get("evidence") not in EVIDENCE:
        problems.append(f"has no evidence ({', '.join(EVIDENCE)})")
    return problems


def check(path: Path, text: str) -> list[str]:
    try:
        document = yaml.load(text, StrictLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        return [f"{path}:{mark.line + 1 if mark else 1}: {getattr(error, 'problem', error)}"]
    if not isinstance(document, dict):
        return [f"{path}:1: a catalog file is a mapping of lists"]
    problems = []
    for name, entries in document.items():
        if name == "__line__":
            continue
        if not isinstance(entries, list) or not entries:
            problems.append(f"{path}:1: {name} is no list of entries")
            continue
        for number, entry in enumerate(entries, 1):
            if not isinstance(entry, dict):
                problems.append(f"{path}:1: entry {number} of {name} is no mapping")
                continue
            title = entry.get("id", entry.get("code", f"entry {number}"))
            problems += [f"{path}:{entry['__line__']}: {name} {title} {problem}" for problem in _problems_of(entry)]
    return problems


def run(root: Path) -> list[str]:
    return [problem for path in tree.files(root) if path.parts[0] == "catalog" and path.suffix in (".yaml", ".yml")
            for problem in check(path, tree.read(root, path))]


if __name__ == "__main__":
    sys.exit(tree.report(run(tree.ROOT)))

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses the words of docs/glossary.md's last table in messages, comments, documents and the catalog.

  tools/lint/wording.py            what is refused, and in which files more than tools/lint/wording_left.txt allows
  tools/lint/wording.py PATH...    every place in these files
  tools/lint/wording.py --update   writes down how many are left, after a file was rewritten
"""

import re
import sys
from pathlib import Path

import tree

LEFT = Path("tools/lint/wording_left.txt")

_PERSONS = ("user", "users", "person", "people", "operator", "operators", "engineer", "engineers", "administrator", "tenant", "tenants")
_OF_A_THING = "".join(rf"(?<!\b{person} )" for person in _PERSONS)
RULES = [
    (r"\b(?:nobody|whoever|somebody|anybody)\b", "name the user, the program or the state: `not checked`, `the caller`"),
    (r"\blooked\b|\blooks\b(?! like)|\b(?:a|one|each|every|last|first|next|second) look\b", "ran, was checked, read"),
    (r"\b(?:told|untold|tells?|telling)\b", "reports, prints, suppressed"),
    (r"(?<!there )\b(?:is|are|was|were) no (?!longer|more|less|greater|later|earlier)", "not a valid X, missing X"),
    (r"\bin vain\b", "failed, without effect"),
    (_OF_A_THING + r"\bwho\b", "a noun: the caller, the program"),
    (r"\b(?:stands?|stood)\b(?! for| alone)", "is, remains, holds"),
    (r"\b(?:the )?ones? (?:that|which|whose)\b|\bthose (?:that|which|whose)\b|\bwhat (?:that|which)\b", "a noun: the node that ..."),
    (r"(?<!either )(?<!in the same )\bways?\b", "path; or how it is done"),
    (r"\b(?:says|said)\b", "reports, states, prints"),
]
PATTERNS = [(re.compile(pattern, re.IGNORECASE), cure) for pattern, cure in RULES]

DOCUMENTS = {".md", ".yaml", ".yml", ".tpl", ".txt"}
# What these words are about, what others wrote, what was measured once, and what was true then.
EXCLUDED = ("docs/glossary.md", "docs/benchmarks/", "docs/detection-trials.md", "STYLE.md", "CHANGELOG.md", "tests/", "tools/", "build/")
_PROSE = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"')


def is_wanted(path: Path) -> bool:
    name = str(path)
    if name.startswith(EXCLUDED) or path.name == "CMakeLists.txt":
        return False
    return path.suffix in DOCUMENTS or (path.suffix in tree.CPP and not tree.is_test(path))


def places(path: Path, text: str) -> list[str]:
    if path.suffix in tree.CPP:  # lines stay where they are
        kept = [" " if sign != "\n" else sign for sign in text]
        for prose in _PROSE.finditer(text):
            kept[prose.start():prose.end()] = prose.group()
        text = "".join(kept)
    found = [(match.start(), match.group(), cure) for pattern, cure in PATTERNS for match in pattern.finditer(text)]
    return [f"{path}:{tree.line_of(text, start)}: {word!r}: {cure}" for start, word, cure in sorted(found)]


def allowed(root: Path) -> dict[str, int]:
    if not (root / LEFT).exists():
        return {}
    rows = [line.split() for line in tree.read(root, LEFT).splitlines() if line and not line.startswith("#")]
    return {name: int(count) for count, name in rows}


def found_in(root: Path) -> dict[str, list[str]]:
    return {str(path): here for path in tree.files(root) if is_wanted(path) and (here := places(path, tree.read(root, path)))}


def run(root: Path) -> list[str]:
    left, found = allowed(root), found_in(root)
    problems = [place for name, here in found.items() if len(here) > left.get(name, 0) for place in here]
    return problems + [f"{LEFT}: {name} has fewer than {count} by now; run tools/lint/wording.py --update"
                       for name, count in left.items() if len(found.get(name, [])) < count]


def update(root: Path) -> None:
    found = found_in(root)
    rows = [f"{len(here)} {name}\n" for name, here in sorted(found.items())]
    (root / LEFT).write_text("# Words to be rewritten, by file. Numbers only fall; tools/lint/wording.py --update writes them.\n" + "".join(rows))
    print(f"{sum(len(here) for here in found.values())} left in {len(found)} files")


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        update(tree.ROOT)
    elif len(sys.argv) > 1:
        for name in sys.argv[1:]:
            print("\n".join(places(Path(name), (tree.ROOT / name).read_text(encoding="utf-8"))))
    else:
        sys.exit(tree.report(run(tree.ROOT)))

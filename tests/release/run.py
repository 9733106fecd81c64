#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All tests of the result of `make release-binaries`. Exits with 77 and the reason if none could run.

  run.py [archive_test packages_test symbol_versions_test]
"""

import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))


def main() -> int:
    names = sys.argv[1:] or sorted(path.stem for path in HERE.glob("*_test.py"))
    result = unittest.TextTestRunner(verbosity=2).run(unittest.defaultTestLoader.loadTestsFromNames(names))
    for _, reason in result.skipped:
        print(f"SKIP: {reason}")
    if not result.wasSuccessful():
        return 1
    return 77 if result.skipped and len(result.skipped) >= result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())

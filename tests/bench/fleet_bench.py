#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what many nodes cost: one question to a thousand agents, over plain HTTP and inside TLS, and a round of pings of a thousand
addresses. BENCH_RECORD=1: writes the table into docs/benchmarks as well."""

import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../integration"))
from programs import add_fan_out_rows, add_ping_rows, write_node  # noqa: E402
from table import Table, record  # noqa: E402

TITLE = "A thousand nodes"
COMMAND = "make bench-fleet"


def main():
    table = Table()
    with tempfile.TemporaryDirectory() as folder:
        add_fan_out_rows(table, folder, write_node(folder))
        add_ping_rows(table)
    print()
    print(table.text(COMMAND))
    if os.environ.get("BENCH_RECORD", "") not in ("", "0"):
        print(f"written: {record(table, TITLE, COMMAND, '-fleet')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

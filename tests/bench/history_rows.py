#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Fills a history with many records of 1000 nodes in two years, for history_bench (AUTOPILOT_HISTORY): by statements of the
database itself, without the checks of an import. The history must exist: import one record before.

    history_rows.py PLACE ROWS      PLACE: a file, or a connection string of PostgreSQL
"""

import sqlite3
import subprocess
import sys

BEGIN = 1_764_000_000  # as tests/support/learning/record_samples.hpp
FILLER = "x" * 300

# `i` counts the rows. Begins are scattered over the rows, so that neighbours in time are on different pages: the slowest case.
ROWS = f"""
INSERT INTO records(type, id, cluster, node, gpu, job, outcome, begin_ns, end_ns, body)
SELECT type, 'r' || CAST(i AS TEXT), 'prod', node, gpu, job, outcome, begin_ns, begin_ns + (i * 13 % 360000) * 1000000000,
  '{{"id":"r' || CAST(i AS TEXT) || '","node":"' || node || '","gpu":"' || gpu || '","job":"' || job || '","text":"{FILLER}"}}'
FROM (SELECT i, CASE i % 7 WHEN 0 THEN 'fault' WHEN 1 THEN 'validation' WHEN 2 THEN 'job' WHEN 3 THEN 'label' WHEN 4 THEN 'repair'
    WHEN 5 THEN 'measurement' ELSE 'versions' END AS type,
  CASE i % 7 WHEN 0 THEN CASE i / 7 % 3 WHEN 0 THEN 'hardware' WHEN 1 THEN 'network' ELSE 'software' END
    WHEN 1 THEN CASE i / 7 % 3 WHEN 0 THEN 'failed' WHEN 1 THEN 'passed' ELSE 'unknown' END
    WHEN 2 THEN 'completed' WHEN 3 THEN 'faulty' ELSE '' END AS outcome,
  'gpu-' || CAST(i * 7919 % 1000 AS TEXT) AS node,
  CASE WHEN i % 7 IN (0, 3, 4) THEN 'S' || CAST(i * 7919 % 1000 * 8 + i / 7 % 8 AS TEXT) ELSE '' END AS gpu,
  CASE WHEN i % 7 IN (0, 1, 2) THEN 'j' || CAST(i / 100 AS TEXT) ELSE '' END AS job,
  ({BEGIN} + i * 104729 % 17520 * 3600 + i % 3600) * 1000000000 AS begin_ns
FROM SOURCE) AS rows
"""


def fill_file(path, rows):
    database = sqlite3.connect(path, isolation_level=None)
    database.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-1000000; PRAGMA temp_store=FILE")
    indexes = database.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL").fetchall()
    database.execute("BEGIN")
    for name, _ in indexes:
        database.execute(f"DROP INDEX {name}")
    database.execute(ROWS.replace("SOURCE", f"(WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < {rows}) SELECT i FROM s)"))
    for _, sql in indexes:
        database.execute(sql)
    database.execute("COMMIT")
    database.execute("PRAGMA journal_mode=WAL")


def fill_postgres(place, rows):
    def run(sql):
        return subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", place], input="SET search_path = autopilot_history;\n" + sql, check=True,
                              stdout=subprocess.PIPE, text=True).stdout

    indexes = run("SELECT indexdef FROM pg_indexes WHERE schemaname = 'autopilot_history' AND indexname LIKE 'records%' "
                  "AND indexname <> 'records_pkey';").splitlines()
    drops = "".join(f"DROP INDEX {definition.split()[2]};\n" for definition in indexes)
    source = f"(SELECT i FROM generate_series(1, {rows}::bigint) AS s(i)) AS numbers"
    run("BEGIN;\n" + drops + ROWS.replace("SOURCE", source) + ";\nSET maintenance_work_mem = '512MB';\n" + ";\n".join(indexes) + ";\nCOMMIT;")
    # What autovacuum does in time.
    run("VACUUM ANALYZE records;")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    (fill_postgres if "=" in sys.argv[1] or "://" in sys.argv[1] else fill_file)(sys.argv[1], int(sys.argv[2]))

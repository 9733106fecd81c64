# SPDX-License-Identifier: Apache-2.0
"""How a file of tests that need the cluster is run."""

import subprocess
import sys
import tempfile
import unittest

from kit.cluster import Cluster
from kit.reason import CannotRun

SKIPPED = 77


def cluster_with_nodes() -> Cluster:
    """Skips the test if the cluster has no node with a kubelet."""
    cluster = Cluster().open()
    if not cluster.nodes:
        raise unittest.SkipTest(cluster.why_no_nodes)
    return cluster


def main() -> None:
    """Like unittest.main, if there is a cluster."""
    try:
        Cluster().open()
    except CannotRun as reason:
        print(f"SKIP: {reason}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)


def main_together() -> None:
    """The same with all tests at once, each in a process of its own: for tests that wait for minutes, and of which none touches what
    another one uses."""
    names = [test.id().removeprefix("__main__.") for suite in unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
             for test in suite]
    if len(sys.argv) > 1 or not names:
        main()
    running = [_start(name) for name in names]
    codes = []
    for child, output in running:
        codes.append(child.wait())
        output.seek(0)
        print(output.read(), flush=True)
    sys.exit(SKIPPED if set(codes) == {SKIPPED} else int(any(codes)))


def _start(name: str):
    output = tempfile.TemporaryFile("w+", encoding="utf-8")
    return subprocess.Popen([sys.executable, "-B", sys.argv[0], name], stdout=output, stderr=subprocess.STDOUT), output

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real Kubernetes cluster on this machine, without any image registry.

  cluster.py up --real 1 --sim 3    starts it and prints how to use it
  cluster.py down                   ends it
"""

import argparse
import sys

from kit.cluster import ROOT, Cluster, timed_say
from kit.reason import CannotRun

CANNOT_RUN = 77


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    up = verbs.add_parser("up", help="start a cluster")
    up.add_argument("--real", type=int, choices=range(3), default=1, help="nodes with a kubelet of their own (0, 1 or 2)")
    up.add_argument("--sim", type=int, default=0, help="nodes that are only objects")
    up.add_argument("--replace", action="store_true", help="end the one that is there first")
    verbs.add_parser("down", help="end it")
    arguments = parser.parse_args()
    say = timed_say(lambda text: print(text, file=sys.stderr, flush=True))
    cluster = Cluster(say=say)
    if arguments.verb == "down":
        cluster.down()
        return 0
    if arguments.replace:
        cluster.down()
    was_there = cluster.folder.exists()
    try:
        cluster.up(arguments.real, arguments.sim, ROOT / "build" / "bin")
    except CannotRun as reason:
        print(f"cannot run here: {reason}", file=sys.stderr)
        if not was_there:
            cluster.down()
        return CANNOT_RUN
    except Exception:
        say(f"failed; logs are in {cluster.folder}, and make cluster-down ends what runs")
        raise
    say("ready")
    print(f"export KUBECONFIG={cluster.kubeconfig}")
    print(f"export PATH={cluster.programs['kubectl'].parent}:$PATH")
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real Kubernetes cluster on this machine, without any image registry.

  cluster.py up --real 1 --sim 3 [--agents=""]    starts it and prints how to use it
  cluster.py down                                 ends it
  cluster.py build                                builds the programs of clusters, which `up` does too where they are missing
  cluster.py cached                               ends with 0 where they are built, else with 77
"""

import argparse
import shlex
import subprocess
import sys

from kit import abilities, network, programs
from kit.api import ApiError
from kit.cluster import MAX_REAL, ROOT, Cluster, end_left_over, timed_say
from kit.reason import CannotRun

CANNOT_RUN = 77
INTERRUPTED = 130


def count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text} is not a number of nodes")
    return int(text)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    up = verbs.add_parser("up", help="start a cluster")
    up.add_argument("--real", type=int, choices=range(MAX_REAL + 1), default=1, help="nodes with a kubelet of their own (0, 1 or 2)")
    up.add_argument("--sim", type=count, default=0, help="nodes that are only objects")
    up.add_argument("--agents", metavar="ARGUMENTS", type=shlex.split,
                    help="with an agent for each of these: an autopilot-fleet-sim with these arguments")
    up.add_argument("--replace", action="store_true", help="end the one that is there first")
    up.add_argument("--reduce", action="store_true", help="without real nodes where this machine cannot run them")
    verbs.add_parser("down", help="end it")
    verbs.add_parser("build", help="build the programs")
    verbs.add_parser("cached", help="say whether the programs are built")
    return parser.parse_args()


def up(cluster: Cluster, arguments: argparse.Namespace, say) -> int:
    if arguments.replace:
        down(cluster, say)
    try:
        cluster.up(arguments.real, arguments.sim, ROOT / "build" / "bin", arguments.reduce, arguments.agents)
    except (CannotRun, KeyboardInterrupt):
        if cluster.has_begun:
            say("ending what was begun")
            cluster.down()
        raise
    except (RuntimeError, AssertionError, ApiError, OSError, subprocess.CalledProcessError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        say(f"failed; logs are in {cluster.folder}, and make cluster-down ends what runs" if cluster.has_begun else "failed")
        return 1
    say("ready")
    print(f"export KUBECONFIG={cluster.kubeconfig}")
    print(f"export PATH={cluster.programs['kubectl'].parent}:$PATH")
    return 0


def down(cluster: Cluster, say) -> None:
    if cluster.down():
        say("ended the cluster")
    if end_left_over():
        say("took away what was left of a cluster that ended badly")
    if (owner := network.owner()) is not None:
        say(f"there is still the cluster of {owner or 'somebody'}; make cluster-down ends it, in its own checkout")


def main() -> int:
    arguments = parse()
    say = timed_say(lambda text: print(text, file=sys.stderr, flush=True))
    cluster = Cluster(say=say)
    try:
        if arguments.verb == "up":
            return up(cluster, arguments, say)
        if arguments.verb == "build":
            abilities.check_control_plane()
            programs.build(programs.PACKAGES, say)
        elif arguments.verb == "cached":
            abilities.check_control_plane()
            programs.check_built(programs.PACKAGES)
        else:
            down(cluster, say)
    except CannotRun as reason:
        print(f"cannot run here: {reason}", file=sys.stderr)
        return CANNOT_RUN
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
    except (RuntimeError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

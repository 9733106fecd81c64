#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Only exit status 1 means that this node must not run jobs: a missing program or a mistake here must drain no node.
line=$(/usr/bin/autopilot slurm prolog --timeout 60s 2>&1)
status=$?
/usr/bin/logger -t autopilot-slurm -- "$line"
[ "$status" -ne 1 ]

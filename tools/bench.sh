#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench.sh [JOBS] [node|cluster|webhook|fleet|pairs|jobs|learning]: builds the bench preset and measures the budgets of one node, of one node of a
# cluster, of the webhook, of one request to a thousand agents, or the results of pair tests, of the in-flight engine
# or of post-flight learning; see tests/bench/{node,cluster,webhook,fleet,pairs,jobs,learning}_bench.py for BENCH_LONG and BENCH_RECORD.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${1:-$(tools/ci/jobs.sh)}
what=${2:-node}

cmake --preset bench >/dev/null
# The benchmarks of jobs and of learning need nothing else.
case "$what" in
  jobs|learning) target=${what}_bench ;;
  *) target=all ;;
esac
cmake --build --preset bench --target "$target" -j"$jobs" >/dev/null
AUTOPILOT_BIN_DIR=$PWD/build/bench/bin exec python3 -B "tests/bench/${what}_bench.py"

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench.sh [JOBS] [node|cluster|webhook|fleet|pairs|jobs]: builds the bench preset and measures the budgets of one node, of one node of a
# cluster, of the webhook, of one request to a thousand agents, or the results of pair tests or of the in-flight engine; see
# tests/bench/{node,cluster,webhook,fleet,pairs,jobs}_bench.py for BENCH_LONG and BENCH_RECORD.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${1:-$(tools/ci/jobs.sh)}
what=${2:-node}

cmake --preset bench >/dev/null
# The benchmark of jobs needs nothing else.
[ "$what" = jobs ] && target=jobs_bench || target=all
cmake --build --preset bench --target "$target" -j"$jobs" >/dev/null
AUTOPILOT_BIN_DIR=$PWD/build/bench/bin exec python3 -B "tests/bench/${what}_bench.py"

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the bench preset and measures the budgets of one node; see tests/bench/node_bench.py for BENCH_LONG and BENCH_RECORD.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${1:-$(tools/ci/jobs.sh)}

cmake --preset bench >/dev/null
cmake --build --preset bench -j"$jobs" >/dev/null
AUTOPILOT_BIN_DIR=$PWD/build/bench/bin exec python3 -B tests/bench/node_bench.py

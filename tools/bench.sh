#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the bench preset and runs every benchmark program and script of tests/bench, one after another.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${1:-$(tools/ci/jobs.sh)}

cmake --preset bench >/dev/null
cmake --build --preset bench -j"$jobs" >/dev/null
shopt -s nullglob
ran=0
for program in build/bench/bin/*_bench tests/bench/*_bench.sh tests/bench/*_bench.py; do
  echo "== $(basename "$program")"
  AUTOPILOT_BIN_DIR=$PWD/build/bench/bin "$program"
  ran=$((ran + 1))
done
echo "bench: $ran programs"

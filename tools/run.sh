#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Starts the agent on this machine and shows the node: a live page in a terminal; without a terminal, one page while the agent
# runs. Ctrl-C stops the agent. Arguments go to `autopilot agent`, for example: --simulate hgx-h100-8
#
#   tools/run.sh [agent arguments]          AUTOPILOT=<program>, default build/bin/autopilot
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
autopilot=${AUTOPILOT:-$root/build/bin/autopilot}
[ -x "$autopilot" ] || {
  echo "run: $autopilot does not exist; build it first: make" >&2
  exit 1
}

address=127.0.0.1:3333
previous=
for argument in "$@"; do
  case "$argument" in --listen=*) address=${argument#--listen=} ;; esac
  [ "$previous" = --listen ] && address=$argument
  previous=$argument
done

live=
[ -t 1 ] && live=yes
log=$(mktemp "${TMPDIR:-/tmp}/autopilot-agent.XXXXXX.log")
agent=
stopped=

# After TERM the agent finishes acknowledged requests, within its own deadline.
stop() {
  [ -n "$stopped" ] && return
  stopped=yes
  # From here on the reader of the output can be gone, and a second signal must not leave the agent behind.
  trap '' INT TERM HUP PIPE
  [ -n "$agent" ] || return 0
  kill -TERM "$agent" 2>/dev/null || true
  local status=0
  wait "$agent" || status=$?
  if [ "$status" -eq 0 ] || [ "$status" -eq 143 ]; then
    rm -f "$log"
    echo "run: the agent has stopped" || true
  else
    echo "run: the agent ended with status $status; its log: $log" >&2
    exit "$status"
  fi
}

# In the agent's format: [::1]:3333 with brackets, and :3333 for this machine only.
host=${address%:*}
port=${address##*:}
case "$host" in
  \[*\]) host=${host#[} host=${host%]} ;;
  "") host=127.0.0.1 address=127.0.0.1:$port ;;
esac
answers() { (exec 3<>"/dev/tcp/$host/$port") 2>/dev/null; }

trap 'stop; exit 0' INT TERM HUP PIPE
trap stop EXIT # also if a program loses the reader of its output
if answers; then
  echo "run: something already serves on $address. Another agent? Choose another: make run ARGS='--listen 127.0.0.1:3334'" >&2
  exit 1
fi
if [ -n "$live" ]; then
  "$autopilot" agent "$@" >"$log" 2>&1 &
else
  "$autopilot" agent "$@" > >(tee "$log") 2>&1 &
fi
agent=$!

for _ in $(seq 150); do
  answers && break
  kill -0 "$agent" 2>/dev/null || break
  sleep 0.1
done
if ! answers; then
  echo "run: the agent does not answer on $address:" >&2
  tail -n 20 "$log" >&2
  stop
  exit 1
fi

cat <<END
Autopilot watches this machine (process $agent).
  node     http://$address/v1/node
  metrics  http://$address/metrics
  command  $autopilot status | check | events | explain
  log      $log
END
if [ -n "$live" ]; then
  "$autopilot" status --watch || true
else
  "$autopilot" status || true
  echo "run: serving until a signal (TERM or Ctrl-C)"
  wait "$agent" || true
fi
stop

# SPDX-License-Identifier: Apache-2.0
"""What single parts cost: the Google Benchmark programs beside autopilot, each with its figures as rows."""

import json
import os
import subprocess

import harness

SCALE = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}


def figures(program, environment=None):
    """Name of the benchmark to its figures, the middle one of three runs."""
    env = dict(os.environ)
    env.update(environment or {})
    done = subprocess.run([os.path.join(harness.BIN, program), "--benchmark_format=json", "--benchmark_repetitions=3",
                           "--benchmark_report_aggregates_only=true"], env=env, capture_output=True, text=True, check=True)
    return {one["run_name"]: one for one in json.loads(done.stdout)["benchmarks"] if one["aggregate_name"] == "median"}


def microseconds(figure, which="cpu_time"):
    return figure[which] * SCALE[figure["time_unit"]]


def add_program_rows(table, folder):
    decoder = figures("decoder_bench")
    for run, what in (("decode_mixed_log", "decoder: lines of a mixed log"),
                      ("parse_and_decode_mixed_log", "decoder: the same from the bytes of /dev/kmsg"),
                      ("collect_storm", "decoder: records of a storm of Xids")):
        table.add(what, decoder[run]["items_per_second"] / 1000, "thousand/s", note="one core")
    journal = figures("journal_bench")
    table.add("journal: one event made durable", microseconds(journal["commit_events/1/real_time"], "real_time") / 1000, "ms",
              note="the disk under the temporary folder")
    table.add("journal: 200 events made durable", microseconds(journal["commit_events/200/real_time"], "real_time") / 1000,
              "ms")
    node = os.path.join(folder, "node.json")
    with harness.Agent("--simulate", "hgx-h100-8") as agent:
        agent.wait_ready()
        with open(node, "w", encoding="utf-8") as file:
            file.write(agent.get("/v1/node"))
    rendering = figures("rendering_bench", {"AUTOPILOT_BENCH_NODE": node})
    for run, what in (("render_node_json", "rendering: /v1/node"), ("render_metrics", "rendering: /metrics")):
        table.add(what, microseconds(rendering[run]) / 1000, "ms", note=f"{rendering[run]['bytes'] / 1000:.0f} kB")
    fan_out = figures("fan_out_bench", {"AUTOPILOT_BENCH_NODE": node})["status_of_a_thousand_agents/real_time"]
    table.add("/status?check=remapped over 1,000 agents", microseconds(fan_out, "real_time") / 1000, "ms", 1500,
              f"agents and asker in one process, plain HTTP, {fan_out['bytes'] / 1000:.0f} kB of transcript")

# SPDX-License-Identifier: Apache-2.0
"""Cost of single parts: the Google Benchmark programs beside autopilot, each with its figures as rows."""

import json
import os
import subprocess

import harness
from certificates import Certificates

SCALE = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}


def aggregates(program, environment=None, repetitions=3):
    """Name of the benchmark and of the aggregate ("median") to its figures."""
    env = dict(os.environ)
    env.update(environment or {})
    done = subprocess.run([os.path.join(harness.BIN, program), "--benchmark_format=json", f"--benchmark_repetitions={repetitions}",
                           "--benchmark_report_aggregates_only=true"], env=env, capture_output=True, text=True, check=True)
    return {(one["run_name"], one["aggregate_name"]): one for one in json.loads(done.stdout)["benchmarks"]}


def figures(program, environment=None):
    """Name of the benchmark to its figures, the middle one of three runs."""
    return {name: one for (name, which), one in aggregates(program, environment).items() if which == "median"}


def microseconds(figure, which="cpu_time"):
    return figure[which] * SCALE[figure["time_unit"]]


def write_node(folder):
    """A file with what GET /v1/node of a simulated machine answers."""
    path = os.path.join(folder, "node.json")
    with harness.Agent("--simulate", "hgx-h100-8") as agent:
        agent.wait_ready()
        with open(path, "w", encoding="utf-8") as file:
            file.write(agent.get("/v1/node"))
    return path


def add_fan_out_rows(table, folder, node):
    """The fastest of several runs, each with a new request to every agent; on a busy machine it is more reliable than the median."""
    keys = Certificates(folder)
    keys.make_authority("ca")
    keys.make("nodes", "ca", "DNS:*.nodes.example")
    runs = 9
    made = aggregates("fan_out_bench", {"AUTOPILOT_BENCH_NODE": node, "AUTOPILOT_BENCH_KEYS": folder}, runs)
    for which, what, most in (("", "plain HTTP", 1500), ("_inside_tls", "TLS 1.3, both certificates verified for each", None)):
        middle, fastest = (made[f"status_of_a_thousand_agents{which}/real_time", of] for of in ("median", "min"))
        table.add("/status?check=remapped over 1,000 agents" + (", TLS" if which else ""), microseconds(middle, "real_time") / 1000, "ms",
                  most, f"{what}; fastest of {runs} runs {microseconds(fastest, 'real_time') / 1000:,.0f} ms, of which the thread that asks "
                  f"worked {microseconds(fastest) / 1000:,.0f} ms; agents and asker in one process, {middle['bytes'] / 1000:.0f} kB of transcript")


def add_ping_rows(table):
    figure = figures("ping_bench")["ping_a_thousand_addresses/iterations:3/real_time"]
    note = f"five echoes to each, answered by the kernel of this machine; not in full: {figure['unanswered']:.0f}"
    table.add("ping: a round of 1,000 addresses", microseconds(figure, "real_time") / 1e6, "s", 2, note)
    table.add("ping: processor time of that round", microseconds(figure) / 1e6, "s", 0.2)


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
    node = write_node(folder)
    rendering = figures("rendering_bench", {"AUTOPILOT_BENCH_NODE": node})
    for run, what in (("render_node_json", "rendering: /v1/node"), ("render_metrics", "rendering: /metrics")):
        table.add(what, microseconds(rendering[run]) / 1000, "ms", note=f"{rendering[run]['bytes'] / 1000:.0f} kB")
    add_fan_out_rows(table, folder, node)
    add_ping_rows(table)

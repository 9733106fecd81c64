#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a page of docs/benchmarks of a folder that `tests/hardware/run` wrote: every figure, what it is compared with, and how it
was obtained.

  tests/hardware/page.py figures            prints it
  tests/hardware/page.py figures --record   writes docs/benchmarks/<date>-<gpu>.md
"""

import argparse
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
# Compared results: the test of the probe, and the share of the best reference that an H200 must reach. For other models the share
# is only printed.
COMPARED = {"copy": ("hbm", 0.98), "host_to_device": ("pcie", 0.98), "device_to_host": ("pcie", 0.98), "bf16": ("gemm", 0.55), "f64": ("gemm", 0.80)}
MOST_QUICK_SECONDS = 3.0
MOST_QUICK_GIB = 2
GIB = 1 << 30
CATALOG = ROOT / "catalog" / "gpu_models.yaml"
# Test and name in the probe's report, and what the catalog calls it.
PROMISED = {"memory copy": ("hbm", "copy", ("memory_gigabytes_per_second",)),
            "f64 product": ("gemm", "f64", ("fp64_tensor_teraflops", "fp64_teraflops")),
            "bf16 product": ("gemm", "bf16", ("bf16_teraflops",))}
MOST_CALLS = 1500
MOST_PSS = 20.0


@dataclass
class Row:
    what: str
    measured: str
    wanted: str = ""
    kept: str = ""  # "yes", "NO"; empty: only printed
    how: str = ""


class Figures:
    """Content of the folder. A file that is missing, or is not JSON, is None."""

    def __init__(self, folder: Path):
        self._folder = folder

    def text(self, name: str) -> str:
        path = self._folder / name
        return path.read_text(encoding="utf-8", errors="replace").strip() if path.exists() else ""

    def json(self, name: str):
        try:
            return json.loads(self.text(f"{name}.json"))
        except ValueError:
            return None

    def why_not(self, name: str) -> str:
        """The last line of what a program complained of."""
        lines = self.text(f"{name}.err").splitlines() or ["it said nothing"]
        return f"exit code {self.text(f'{name}.exit') or 'unknown'}: {lines[-1]}"


def spoken(value: float, unit: str) -> str:
    return f"{value:,.{0 if value >= 1000 else 1 if value >= 10 else 2}f} {unit}"


def judged(kept: bool) -> str:
    return "yes" if kept else "NO"


def is_h200(report: dict) -> bool:
    """GH200 is another model."""
    return any(re.search(r"\bH200\b", gpu["name"]) for gpu in report["gpus"])


def best_of(report: dict, test: str, name: str) -> dict | None:
    """Best result of the first GPU when it was tested alone."""
    for one in report["gpus"][0]["tests"] if report["gpus"] else []:
        for series in one.get("measured", []):
            if one["test"] == test and series["name"] == name and series["samples"]:
                return series
    return None


def rows_of_series(report: dict) -> list[Row]:
    rows = []
    for gpu in report["gpus"]:
        whose = f"GPU {gpu['index']}" + (f", {gpu['kernels']}" if gpu["kernels"] else "")
        for test in gpu["tests"]:
            what = f"{whose}: {test['test']}, {test['scope']}"
            for series in test.get("measured", []):
                if not series["samples"]:
                    rows.append(Row(f"{what}: {series['name']}", "not measured"))
                    continue
                rows.append(Row(f"{what}: {series['name']}", spoken(series["best"], series["unit"]),
                                how=f"best of {len(series['samples'])}, median {spoken(series['median'], series['unit'])}"))
            if "skipped" in test:
                rows.append(Row(what, "not measured", how=test["skipped"]))
            for wrong in test.get("wrong", []):
                rows.append(Row(what, "wrong", "right", "NO", json.dumps(wrong)))
            for disputed in test.get("disputed", []):
                rows.append(Row(what, "kernels disagree", "right", "NO", json.dumps(disputed)))
        if "error" in gpu:
            rows.append(Row(whose, "ended early", "", "NO", gpu["error"]))
    return rows


def rows_of_second_kernel(figures: Figures, report: dict) -> list[Row]:
    """Rows of the product by mma.sync, if the GPU also has another kernel."""
    if not any(gpu["kernels"] == "sm_90a" for gpu in report["gpus"]):
        return []
    second = figures.json("mma_sync")
    if second is None:
        return [Row("kernels sm_90", "not measured", how=figures.why_not("mma_sync"))]
    return rows_of_series(second)


def rows_of_references(figures: Figures, report: dict) -> list[Row]:
    said = figures.json("references")
    if said is None:
        return [Row("references", "not measured", how=figures.why_not("references"))]
    rows = [Row(what, "not measured", how=why) for what, why in said["missing"].items()]
    for name, reference in said["measured"].items():
        test, least = COMPARED[name]
        own = best_of(report, test, name)
        if own is None:
            rows.append(Row(f"{name}, reference", spoken(reference["best"], reference["unit"]), how=reference["how"]))
            continue
        share = own["best"] / reference["best"]
        wanted, kept = (f">= {100 * least:.0f} %", judged(share >= least)) if is_h200(report) else ("", "")
        rows.append(Row(f"{name}, of the best reference", f"{100 * share:.1f} %", wanted, kept,
                        f"{spoken(own['best'], own['unit'])}; {reference['how']}: {spoken(reference['best'], reference['unit'])}"))
    rows += [Row(f"{slower['name']}, a slower reference", spoken(slower["best"], slower["unit"]), how=slower["how"]) for slower in said.get("slower", [])]
    return rows


def rows_of_quick(figures: Figures) -> list[Row]:
    report = figures.json("quick")
    if report is None:
        return [Row("quick tests", "not measured", how=figures.why_not("quick"))]
    seconds = float(figures.text("quick.seconds"))
    memory = max((gpu["most_used_bytes"] for gpu in report["gpus"]), default=0) / GIB
    return [Row("quick tests, all GPUs", f"{seconds:.1f} s", f"<= {MOST_QUICK_SECONDS:.0f} s", judged(seconds <= MOST_QUICK_SECONDS),
                "autopilot-gpu-probe from its start to its end"),
            Row("quick tests, memory of a GPU", spoken(memory, "GiB"), f"<= {MOST_QUICK_GIB} GiB", judged(memory <= MOST_QUICK_GIB),
                "all buffers at one time, without the driver's context")]


def peaks_of(model: str) -> dict:
    """Vendor's peak values of the model, from the catalog; empty if it does not list the model."""
    with open(CATALOG, encoding="utf-8") as file:
        known = yaml.safe_load(file)["gpu_models"]
    return next((one.get("peaks", {}) for one in known if model in one["names"]), {})


def rows_of_shares(report: dict) -> list[Row]:
    """Value of the data sheet: printed, without a limit."""
    peaks = peaks_of(report["gpus"][0]["name"])
    rows = []
    for what, (test, name, words) in PROMISED.items():
        own = best_of(report, test, name)
        peak = next((peaks[word] for word in words if word in peaks), None)
        if own is not None and peak is not None:
            rows.append(Row(f"{what}, of the data sheet", f"{100 * own['best'] / peak:.1f} %",
                            how=f"{spoken(own['best'], own['unit'])} of {peak:,}; {peaks['source']}"))
    return rows


class Process:
    """A line of agent_*.used."""

    def __init__(self, line: str):
        self.pid, pss, user, kernel, self.words = line.split(" ", 4)
        self.pss_mib, self.ticks = int(pss) / 1024, int(user) + int(kernel)

    @property
    def is_player(self) -> bool:
        """True for the driver process of a simulated machine."""
        return "/autopilot-sim play" in self.words

    @property
    def is_nvml(self) -> bool:
        return " helper nvml" in self.words


def processes_of(text: str) -> list[Process]:
    return [one for one in map(Process, text.splitlines()) if not one.is_player]


def rows_of_agent(figures: Figures) -> list[Row]:
    before, after = figures.json("agent_before"), figures.json("agent_after")
    if before is None or after is None:
        return [Row("agent", "not measured", how=(figures.text("agent.err").splitlines() or ["it said nothing"])[-1])]
    seconds = float(figures.text("agent_after.time")) - float(figures.text("agent_before.time"))
    first, last = (processes_of(figures.text(f"agent_{name}.used")) for name in ("before", "after"))
    calls = after["self"]["driverCalls"] - before["self"]["driverCalls"]
    per_minute, pss = calls / seconds * 60, sum(one.pss_mib for one in last)
    rows = [Row("agent and helpers at rest: PSS", spoken(pss, "MiB"), f"<= {MOST_PSS:.0f} MiB", judged(pss <= MOST_PSS),
                f"smaps_rollup of {len(last)} processes after {seconds:.0f} s"),
            Row("calls of NVML", spoken(per_minute, "/min"), f"<= {MOST_CALLS:,} /min", judged(per_minute <= MOST_CALLS),
                "the agent's own count")]
    rows += [Row("helper nvml: PSS", spoken(one.pss_mib, "MiB"), how="with the driver's library") for one in last if one.is_nvml]
    return rows + [row_of_a_call(*({one.pid: one.ticks for one in some if one.is_nvml} for some in (first, last)), calls, int(figures.text("ticks")))]


def row_of_a_call(first: dict, last: dict, calls: int, ticks: int) -> Row:
    """Row computed from the ticks of each helper that calls NVML."""
    what = "a call of NVML"
    if not calls or not last:
        return Row(what, "not measured", how="nobody asked")
    if first.keys() != last.keys():
        return Row(what, "not measured", how="a helper was replaced meanwhile, and its processor time is not known")
    cost = 1000 * (sum(last.values()) - sum(first.values())) / ticks / calls
    return Row(what, spoken(cost, "ms"), how=f"processor time of {len(last)} helper{'' if len(last) == 1 else 's'} over {calls} calls")


def rows_of_checks(figures: Figures) -> list[Row]:
    node = figures.json("check")
    if node is None:
        return [Row("passive checks", "not looked", how=figures.why_not("check"))]
    rows = []
    for result in node["results"]:
        why = "; ".join(finding["message"] for finding in result["findings"]) or result.get("detail", "")
        rows.append(Row(result["check"], result["health"], how=why))
    return rows


def table(rows: list[Row]) -> str:
    lines = ["| what | measured | wanted | kept | how |", "|---|---|---|---|---|"]
    cells = ([row.what, row.measured, row.wanted, row.kept, row.how] for row in rows)
    lines += ["| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in cells]
    return "\n".join(lines)


def page(figures: Figures) -> str:
    report = figures.json("all")
    if report is None or not report["gpus"]:
        raise ValueError(f"no GPU was measured: {figures.why_not('all')}")
    names = sorted({gpu["name"] for gpu in report["gpus"]})
    title = f"{len(report['gpus'])} x {', '.join(names)}" if len(report["gpus"]) > 1 else names[0]
    if report.get("simulated"):
        title += " (SIMULATED: no figure is of a GPU)"
    facts = [("date", report["began"][:10]), ("CUDA of the driver", report["cuda_version"]), ("kernel", figures.text("kernel")),
             ("program", figures.text("version.json").splitlines()[0]), ("command", "tests/hardware/run")]
    parts = [f"# {title}", "\n".join(f"- {name}: {value}" for name, value in facts),
             "## Compared in the same run", table(rows_of_references(figures, report) + rows_of_shares(report) + rows_of_quick(figures) + rows_of_agent(figures)),
             "## Measured by the GPU probe", table(rows_of_series(report) + rows_of_second_kernel(figures, report)),
             "## Passive checks", table(rows_of_checks(figures))]
    return "\n\n".join(parts) + "\n"


def path_of(report: dict) -> Path:
    word = re.sub(r"[^a-z0-9]+", "-", report["gpus"][0]["name"].lower()).strip("-")
    return ROOT / "docs" / "benchmarks" / f"{report['began'][:10]}-{word}.md"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    figures = Figures(options.folder)
    try:
        text = page(figures)
    except ValueError as problem:
        print(f"page.py: {options.folder}: {problem}", file=sys.stderr)
        return 1
    if not options.record:
        print(text, end="")
        return 0
    report = figures.json("all")
    if report.get("simulated"):
        print("page.py: figures of a simulated machine are not recorded", file=sys.stderr)
        return 1
    path = path_of(report)
    path.write_text(text, encoding="utf-8")
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())

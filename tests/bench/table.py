# SPDX-License-Identifier: Apache-2.0
"""The table of the budgets: what, what was measured, the budget, whether it was kept; and what answered."""

import os
import platform
import re
import subprocess
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
HEAD = ("what", "measured", "budget", "kept")


def cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        found = re.search(r"^model name\s*:\s*(.+)$", file.read(), re.M)
    return re.sub(r"\s+", " ", found.group(1)).strip() if found else platform.machine()


def machine_line():
    with open("/proc/meminfo", encoding="ascii") as file:
        kib = int(file.readline().split()[1])
    return f"{cpu_model()}, {os.cpu_count()} cores, {kib / 2**20:.0f} GiB, Linux {platform.release()}"


def load_line():
    return ", ".join(f"{load:.2f}" for load in os.getloadavg())


def commit():
    def git(*words):
        return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no")
    return (git("rev-parse", "--short=12", "HEAD") or "unknown") + (" with changes" if changed else "")


def spoken(value, unit):
    if value is None:
        return "not measured"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}" + (f" {unit}" if unit else "")


class Table:
    """`most`, `least`: the budget, at most or at least; None: the figure has no budget. A value of None: it could not be measured, see
    the note."""

    def __init__(self):
        self.rows = []
        self.begin_load = load_line()

    def add(self, what, value, unit, most=None, note="", least=None):
        bound = most if least is None else least
        is_kept = value is not None and (most is None or value <= most) and (least is None or value >= least)
        kept = "" if bound is None else "yes" if is_kept else "NO"
        sign = "<=" if least is None else ">="
        budget = "" if bound is None else f"{sign} " + (f"{bound:,.4g}" if bound < 1000 else f"{bound:,}") + f" {unit}"
        self.rows.append((what, spoken(value, unit), budget.rstrip(), kept, note))
        print(f"   {what}: {spoken(value, unit)}  {note}".rstrip(), flush=True)

    def add_truth(self, what, is_true, note=""):
        """A budget that is not a number."""
        self.rows.append((what, "true" if is_true else "false", "true", "yes" if is_true else "NO", note))
        print(f"   {what}: {'true' if is_true else 'false'}  {note}".rstrip(), flush=True)

    def summary(self):
        judged = [row for row in self.rows if row[3]]
        kept = sum(1 for row in judged if row[3] == "yes")
        return f"{kept} of {len(judged)} budgets kept"

    def facts(self, command):
        return [("date", time.strftime("%Y-%m-%d")), ("machine", machine_line()),
                ("load before, now", f"{self.begin_load}; {load_line()}"), ("commit", commit()), ("command", command)]

    def text(self, command):
        widths = [max(len(row[i]) for row in [HEAD, *self.rows]) for i in range(4)]
        lines = [f"{name}: {value}" for name, value in self.facts(command)] + [""]
        for row in [HEAD, tuple("-" * width for width in widths), *self.rows]:
            lines.append("  ".join((row[0].ljust(widths[0]), row[1].rjust(widths[1]), row[2].rjust(widths[2]), row[3]))
                         .rstrip())
        notes = [f"{row[0]}: {row[4]}" for row in self.rows if row[4]]
        return "\n".join(lines + ([""] + notes if notes else []) + ["", self.summary()])

    def markdown(self, title, command):
        lines = [f"# {title}", ""] + [f"- {name}: {value}" for name, value in self.facts(command)] + ["", self.summary() + ".", ""]
        head = (*HEAD, "note")
        lines += ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
        lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in self.rows]
        return "\n".join(lines) + "\n"


def record(table, title, command, suffix=""):
    """Writes docs/benchmarks/<date>-<cpu><suffix>.md and gives its name."""
    cpu = re.sub(r"[^a-z0-9]+", "-", re.sub(r"\((r|tm)\)|cpu|processor|@.*", "", cpu_model().lower())).strip("-")
    folder = os.path.join(ROOT, "docs/benchmarks")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{time.strftime('%Y-%m-%d')}-{cpu}{suffix}.md")
    with open(path, "w", encoding="utf-8") as file:
        file.write(table.markdown(title, command))
    return os.path.relpath(path, ROOT)

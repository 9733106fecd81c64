# SPDX-License-Identifier: Apache-2.0
"""A client of IBM Autopilot's REST interface, written from its description and not from our code: how people read its text."""

import ast
import re

# The first keyword of a line with FAIL or ABORT decides.
KEYWORDS = [("PCIE", "PCIE Failed"), ("REMAPPED ROWS", "REMAPPED ROWS Failed"), ("DCGM", "DCGM Failed"),
            ("GPU POWER", "GPU POWER Failed"), ("PING", "PING Failed"), ("GPU-MEM", "GPU MEM Test Failed"),
            ("PVC", "PVC Create-Delete Test Failed"), ("Disconnected", "Connection to Server Failed")]


def statuses(reply):
    found = []
    for line in reply.split("\n"):
        if "FAIL" in line or "ABORT" in line:
            found += [status for keyword, status in KEYWORDS if keyword in line][:1]
    return found or ["OK"]


def throughput(reply):
    """Results of the network test in Gb/s: by interface, source and destination; and the mean of each interface. None: N/A."""
    tables = {}
    for interface, table in re.findall(r"^Network Throughput (.*):\n((?:.+\n)+)\n", reply, re.MULTILINE):
        head, *rows = [line.split() for line in table.splitlines()]
        if head[0] != "src/dst":
            raise ValueError(table)
        tables[interface] = {row[0]: {name: None if cell == "N/A" else float(cell) for name, cell in zip(head[1:], row[1:], strict=True)}
                             for row in rows}
    means = re.search(r"^Overall Network Interface Average Bandwidth:\n((?:.* Average Bandwidth Gb/s: .*\n)+)", reply, re.MULTILINE)
    return tables, {name: float(number) for name, number in re.findall(r"^(.*) Average Bandwidth Gb/s: (\d+\.\d\d)$", means.group(1), re.MULTILINE)}


def page_row(labels):
    """Row of a node in the web page for users, from its labels."""
    row = {"present": labels.get("nvidia.com/gpu.present"), "is_green": labels.get("autopilot.ibm.com/gpuhealth") == "PASS",
           "health": "Pass" if labels.get("autopilot.ibm.com/gpuhealth") == "PASS" else "Not Pass"}
    if (dcgm := labels.get("autopilot.ibm.com/dcgm.level.3")) is not None:
        status, date, time, *details = dcgm.split("_", 3)
        row["dcgm"] = {"status": status, "date": date, "time": time.removesuffix("UTC"),
                       "details": [part.split(".") for part in details[0].split(",")] if details else []}
    return row


class Transcript:
    """The answer to a question to several nodes. ValueError where it has another layout."""

    HEAD = re.compile(r"\AAsking to run on remote node\(s\) (.*) or with node label (.*)\n\n")
    INITIATED = re.compile(r"Initiated connection to \['(http://[^']*)'\]\.\n")
    BLOCK = re.compile(r"\nAutopilot Endpoint: (.*)\nNode: (.*)\nurl\(s\): (.*)\nResponse:\n((?:.*\n)*?)Node Status: (.*)\n"
                       r"-{37}\n\n")
    TAIL = re.compile(r"Node Summary:\n\n(\{(?:.|\n)*\})\n\nruntime: (\d+\.\d+) sec\n\Z")

    def __init__(self, text):
        place = self._take(text, self.HEAD, 0)
        self.hosts, self.node_label = place.groups()
        at = place.end()
        self.urls = []
        while (match := self.INITIATED.match(text, at)):
            self.urls.append(match.group(1))
            at = match.end()
        self.nodes = {}
        while (match := self.BLOCK.match(text, at)):
            _, node, url, reply, status = match.groups()
            if url not in self.urls:
                raise ValueError(f"{url} was not announced")
            self.nodes[node] = (reply, status.split(", "))
            at = match.end()
        tail = self._take(text, self.TAIL, at)
        self.summary_text = tail.group(1)
        self.summary = ast.literal_eval(self.summary_text)
        self.runtime = float(tail.group(2))

    @staticmethod
    def _take(text, pattern, at):
        match = pattern.match(text, at)
        if not match:
            raise ValueError(f"expected {pattern.pattern} at {text[at:at + 200]!r}")
        return match

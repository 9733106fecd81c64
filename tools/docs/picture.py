#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws what `autopilot status` prints in a terminal when a GPU of a simulated machine is dead.

  tools/docs/picture.py            writes docs/pictures/dead-gpu.svg
  tools/docs/picture.py --check    fails if that file shows other text than the program prints
"""

import argparse
import fcntl
import html
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "pictures" / "dead-gpu.svg"
AUTOPILOT = Path(os.environ.get("AUTOPILOT_BIN_DIR", ROOT / "build" / "bin")) / "autopilot"
COLUMNS, LINES = 80, 24
FAULT = ("inject", "xid", "--subject", "gpu/2", "--magnitude", "79")
PATIENCE = 60.0

STYLE = re.compile(r"\x1b\[([0-9;]*)m")
COLOURS = {"31": "#ff6b6b", "32": "#69db7c", "33": "#ffd43b", "34": "#74c0fc", "35": "#da77f2", "36": "#66d9e8"}
# What differs from one time to the next.
MOMENTS = [(re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "2026-01-15T08:00:00Z"),
           (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?"), "2026-01-15 08:00"),
           (re.compile(r"\b\d+(\.\d+)?m?s\b(?= ago|\.)"), "1s"), (re.compile(r"\b[0-9a-f]{8}-(\d+)\b"), r"5f2c41d9-\1"),
           (re.compile(r"\b\d\d C\b"), "40 C")]


def in_terminal(command: list[str], environment: dict[str, str]) -> str:
    """What the command prints in a terminal of 80 columns and 24 lines."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    child = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env={**environment, "TERM": "xterm-256color"})
    os.close(theirs)
    printed = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        printed += piece
    os.close(ours)
    child.wait()
    return printed.decode().replace("\r\n", "\n")


def print_of_a_dead_gpu() -> str:
    with tempfile.TemporaryDirectory(prefix="autopilot-picture-") as folder:
        environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR" and not name.startswith("AUTOPILOT_")}
        environment |= {"AUTOPILOT_STATE_DIR": f"{folder}/state", "AUTOPILOT_SOCKET": f"{folder}/run/agent.sock"}

        def status_of(*arguments: str) -> int:
            return subprocess.run([AUTOPILOT, *arguments], env=environment, capture_output=True, check=False).returncode

        agent = subprocess.Popen([AUTOPILOT, "agent", "--simulate", "hgx-h100-8", "--listen", "127.0.0.1:0"], env=environment,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: status_of("status", "--probe", "ready") == 0)
            wait_for(lambda: status_of(*FAULT) == 0)
            wait_for(lambda: status_of("status") == 2)
            return in_terminal([str(AUTOPILOT), "status"], environment)
        finally:
            agent.terminate()
            agent.wait()


def wait_for(condition) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > until:
            raise SystemExit("picture: the agent did not report the fault in a minute")
        time.sleep(0.1)


def still(text: str) -> str:
    for moment, always in MOMENTS:
        text = moment.sub(always, text)
    return text


def drawn(line: str) -> str:
    """A line as spans of one style each."""
    spans, attributes, at = [], set(), 0
    for style in [*STYLE.finditer(line), None]:
        end = style.start() if style else len(line)
        if text := line[at:end]:
            spans.append(span(text, attributes))
        if style:
            codes = style[1].split(";") if style[1] else ["0"]
            attributes = set() if "0" in codes else attributes | set(codes)
            attributes -= {"0"}
            at = style.end()
    return "".join(spans)


def span(text: str, attributes: set[str]) -> str:
    words = "".join(f' fill="{COLOURS[code]}"' for code in sorted(attributes) if code in COLOURS)
    words += ' font-weight="bold"' if "1" in attributes else ""
    words += ' opacity="0.65"' if "2" in attributes else ""
    return f"<tspan{words}>{html.escape(text)}</tspan>" if words else html.escape(text)


def picture(text: str) -> str:
    lines = ["$ autopilot status", *text.rstrip("\n").split("\n")]
    width, height = COLUMNS * 8 + 32, len(lines) * 18 + 32
    rows = "\n".join(f'<text x="16" y="{28 + 18 * number}" xml:space="preserve">{drawn(line)}</text>' for number, line in enumerate(lines))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">\n'
            "<title>autopilot status: a dead GPU, the reason, and what to do</title>\n"
            f'<rect width="{width}" height="{height}" rx="8" fill="#1b1e24"/>\n'
            '<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="13" fill="#e9ecef">\n'
            f"{rows}\n</g>\n</svg>\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    drawing = picture(still(print_of_a_dead_gpu()))
    if not options.check:
        PICTURE.write_text(drawing, encoding="utf-8")
        return 0
    if PICTURE.read_text(encoding="utf-8") == drawing:
        return 0
    print(f"{PICTURE.relative_to(ROOT)} is not what the program prints. Cure: tools/docs/picture.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())

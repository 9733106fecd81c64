# SPDX-License-Identifier: Apache-2.0
"""Commands of a page of docs/, run as a reader would type them.

The commands are in ```console blocks: a line that begins with `$ ` is a command, and a backslash at its end continues it. The following
lines are its output: `...` matches any text in a line, and any lines if it is alone; several blanks count as one. If the page shows no
output, the command can print anything. It must exit with 0, or with the code that a following `$ echo $?` shows.

A hidden comment precedes each block:
  <!-- run: machine -->             where to run it: machine or cluster
  <!-- run: cluster, until so -->   run it again until it prints the output of the page
  <!-- not run: why -->             do not run it
  <!-- file: NAME -->               write the block into this file
"""

import dataclasses
import os
import re
import select
import shlex
import signal
import subprocess
import tempfile
import time
from pathlib import Path

PLACES = ("machine", "cluster")
UNTIL_SO = ", until so"
COMMENT = re.compile(r"<!-- (run|not run|file): (.+) -->")
PATIENCE = 60.0
DEADLINE = 180.0


@dataclasses.dataclass(frozen=True)
class Command:
    line: int
    text: str
    output: tuple[str, ...]
    code: str = "0"


@dataclasses.dataclass(frozen=True)
class Block:
    line: int
    kind: str  # the word of the comment: run, not run, file
    detail: str
    lines: tuple[str, ...]

    @property
    def place(self) -> str:
        return self.detail.removesuffix(UNTIL_SO)

    @property
    def is_repeated(self) -> bool:
        return self.detail.endswith(UNTIL_SO)

    @property
    def commands(self) -> list[Command]:
        """The commands in order; a following `echo $?` gives the exit code of a command."""
        found = []
        lines = list(enumerate(self.lines, self.line + 1))
        while lines:
            number, text = lines.pop(0)
            while text.endswith("\\") and lines:
                text += "\n" + lines.pop(0)[1]
            output = []
            while lines and not lines[0][1].startswith("$ "):
                output.append(lines.pop(0)[1])
            command = Command(number, text.removeprefix("$ "), tuple(output))
            if command.text == "echo $?" and found and output:
                found[-1] = dataclasses.replace(found[-1], code=output[0])
            found.append(command)
        return found


class PageError(Exception):
    pass


def blocks(page: Path) -> list[Block]:
    """The blocks of the page that are run, not run, or a file. PageError: commands without a comment."""
    found = []
    lines = page.read_text(encoding="utf-8").splitlines()
    begin = None
    for number, line in enumerate(lines, 1):
        if not line.startswith("```"):
            continue
        if begin is None:
            begin = number
            continue
        above, inside = lines[begin - 2] if begin > 1 else "", tuple(lines[begin:number - 1])
        if block := _block(f"{page.name}:{begin}", begin, lines[begin - 1], above, inside):
            found.append(block)
        begin = None
    return found


def _block(where: str, line: int, fence: str, above: str, inside: tuple[str, ...]) -> Block | None:
    comment = COMMENT.fullmatch(above)
    is_console = fence == "```console"
    if fence == "```" or (not is_console and any(text.startswith("$ ") for text in inside)):
        raise PageError(f"{where}: commands stand in ```console, and other blocks have the name of their language")
    if is_console and (not comment or comment[1] == "file" or not inside or not inside[0].startswith("$ ")):
        raise PageError(f"{where}: above it stands where it is run, or why not, and its first line is a command")
    if not comment:
        return None
    block = Block(line, comment[1], comment[2], inside)
    if block.kind == "run" and block.place not in PLACES:
        raise PageError(f"{where}: there is no place {block.place}; there are {', '.join(PLACES)}")
    return block


def fits(shown: tuple[str, ...], printed: str) -> bool:
    """True if a command printed what the page shows."""
    pattern = "".join(r"(?:.*\n)*" if line.strip() == "..." else _line(line) for line in shown)
    return re.fullmatch(pattern, printed if printed.endswith("\n") or not printed else printed + "\n") is not None


def _line(shown: str) -> str:
    pieces = (r"[ \t]+".join(re.escape(word) for word in re.split(r"[ \t]+", piece)) for piece in shown.rstrip().split("..."))
    return ".*".join(pieces) + r"[ \t]*\n"


class Shell:
    """One for all commands of a page, so that variables and what runs in the background stay. Its end is theirs."""

    def __init__(self, folder: Path, environment: dict[str, str]):
        self.folder = folder
        self._output = tempfile.NamedTemporaryFile("r", prefix="autopilot-page-", errors="replace")
        self._child = subprocess.Popen(["bash", "--noprofile", "--norc"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder,
                                       env=environment, start_new_session=True)

    def run(self, text: str) -> tuple[str, str]:
        """Its exit code and what it printed; the next command sees the code as $?."""
        # Later output of an earlier background command goes to a deleted file.
        self._output.close()
        self._output = tempfile.NamedTemporaryFile("r", prefix="autopilot-page-", errors="replace")
        line = f"eval {shlex.quote(text)} </dev/null >{shlex.quote(self._output.name)} 2>&1; _code=$?; echo $_code; (exit $_code)\n"
        self._child.stdin.write(line.encode())
        self._child.stdin.flush()
        if not select.select([self._child.stdout], [], [], DEADLINE)[0]:
            raise AssertionError(f"not over after {DEADLINE:.0f} s; so far: {self._output.read()}")
        code = self._child.stdout.readline().decode().strip()
        return code, self._output.read()

    def close(self) -> None:
        os.killpg(self._child.pid, signal.SIGKILL)
        self._child.communicate()
        self._output.close()


class Reader:
    """A reader of a page at one place. `words`: replacements of words of pages, in commands, files and outputs."""

    def __init__(self, place: str, shell: Shell, words: dict[str, str] | None = None):
        self._place = place
        self._shell = shell
        self._words = words or {}

    def follow(self, page: Path) -> int:
        """Number of commands that ran. AssertionError, with page and line: the output of a command differs from the page."""
        count = 0
        for block in blocks(page):
            if block.kind == "file":
                (self._shell.folder / block.detail).write_text(self._here("\n".join(block.lines) + "\n"), encoding="utf-8")
            elif block.kind == "run" and block.place == self._place:
                for command in block.commands:
                    self._run(page, command, PATIENCE if block.is_repeated else 0.0)
                    count += 1
        return count

    def _run(self, page: Path, command: Command, patience: float) -> None:
        until = time.monotonic() + patience
        shown = tuple(self._here(line) for line in command.output)
        expected = "..." if command.text == "echo $?" else command.code
        while True:
            code, printed = self._shell.run(self._here(command.text))
            is_so = (not shown or fits(shown, printed)) and fits((expected,), code)
            if is_so:
                return
            if time.monotonic() > until:
                raise AssertionError(f"{page.name}:{command.line}: $ {command.text}\nended with {code} and printed\n{printed}\n"
                                     f"The page says {command.code} and\n" + "\n".join(command.output))
            time.sleep(0.1)

    def _here(self, text: str) -> str:
        for word, here in self._words.items():
            text = text.replace(word, here)
        return text

# SPDX-License-Identifier: Apache-2.0
"""A terminal of a chosen size around a program: what a person sees of it, and the keys that a person presses."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

# Escape sequences that the programs write: the screen understands H, K and J, and skips the others.
SEQUENCE = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])")


class Screen:
    """Rows and columns as a terminal shows them. Lines that are longer than the screen are cut."""

    def __init__(self, rows, columns):
        self.resize(rows, columns)
        self.modes = {}  # "?1049": "h"

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.lines = [""] * rows
        self.row = self.column = 0
        self.scrolled = 0  # lines that left the screen at its top

    def write(self, text):
        while text:
            sequence = SEQUENCE.match(text)
            if sequence:
                self._obey(*sequence.groups())
                text = text[sequence.end():]
            else:
                self._put(text[0])
                text = text[1:]

    def _obey(self, words, letter):
        if letter == "H":
            self.row = self.column = 0
        elif letter in "KJ":
            self.lines[self.row] = self.lines[self.row][:self.column]
            if letter == "J":
                self.lines[self.row + 1:] = [""] * (self.rows - self.row - 1)
        elif letter in "hl":
            self.modes[words] = letter

    def _put(self, sign):
        if sign == "\r":
            self.column = 0
        elif sign == "\n":
            self.row += 1
            if self.row == self.rows:
                self.lines = self.lines[1:] + [""]
                self.row -= 1
                self.scrolled += 1
        elif self.column < self.columns:
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[:self.column] + sign + line[self.column + 1:]
            self.column += 1

    @property
    def text(self):
        return "\n".join(line.rstrip() for line in self.lines)


class Terminal:
    """A program in the foreground of a terminal of its own."""

    def __init__(self, arguments, environment=None, rows=24, columns=80):
        self.screen = Screen(rows, columns)
        self._main, self._other = pty.openpty()
        self._set_size()
        self.before = termios.tcgetattr(self._other)
        self.child = subprocess.Popen(arguments, stdin=self._other, stdout=self._other, stderr=self._other, start_new_session=True,
                                      preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
                                      env={**(environment or os.environ), "TERM": "xterm"})

    def _set_size(self):
        fcntl.ioctl(self._main, termios.TIOCSWINSZ, struct.pack("HHHH", self.screen.rows, self.screen.columns, 0, 0))

    def resize(self, rows, columns):
        self.screen.resize(rows, columns)
        self._set_size()

    def press(self, keys):
        os.write(self._main, keys.encode())

    def read(self, seconds=0.0):
        """Takes what the program wrote; waits at most so long for something."""
        while select.select([self._main], [], [], seconds)[0]:
            self.screen.write(os.read(self._main, 65536).decode(errors="replace"))
            seconds = 0.0

    def wait_shows(self, pattern, deadline=30.0):
        end = time.monotonic() + deadline
        while not re.search(pattern, self.screen.text, re.MULTILINE):
            if time.monotonic() > end:
                raise AssertionError(f"{pattern!r} is not on the screen:\n{self.screen.text}")
            self.read(0.1)
        return self.screen.text

    def wait_end(self, deadline=30.0):
        """The exit code, after everything that the program wrote."""
        end = time.monotonic() + deadline
        while self.child.poll() is None:
            if time.monotonic() > end:
                raise AssertionError(f"does not end; on the screen:\n{self.screen.text}")
            self.read(0.05)
        self.read()
        return self.child.returncode

    @property
    def settings(self):
        return termios.tcgetattr(self._other)

    def close(self):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGKILL)
            self.child.wait()
        os.close(self._main)
        os.close(self._other)

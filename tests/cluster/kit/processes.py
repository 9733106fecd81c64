# SPDX-License-Identifier: Apache-2.0
"""The long-running programs of a cluster: started in the background, recorded, and marked, so that a started program without a record
is ended too."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path


def _started_at(pid: int) -> str | None:
    """Distinguishes a process from a later one with the same id; None: it does not exist, or has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    except (OSError, IndexError):
        return None
    return None if fields[0] == "Z" else fields[19]


# Environment variable of each process: the folder of its cluster.
MARK = "AUTOPILOT_TEST_CLUSTER"


def of_cluster(folder: Path) -> list[int]:
    """Process ids of all that were started for the cluster in `folder`, but for those in its containers."""
    mark = f"{MARK}={folder}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:  # it has ended, or belongs to another user
            pass
    return found


class Processes:
    """The processes of one cluster, recorded in a file of its folder."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._file = folder / "processes.json"
        self._logs = folder / "logs"

    def _read(self) -> list[dict]:
        return json.loads(self._file.read_text()) if self._file.exists() else []

    def _write(self, entries: list[dict]) -> None:
        fresh = self._file.with_suffix(".new")
        fresh.write_text(json.dumps(entries, indent=1))
        fresh.rename(self._file)

    def log_of(self, name: str) -> Path:
        return self._logs / f"{name}.log"

    def start(self, name: str, arguments) -> int:
        self._logs.mkdir(parents=True, exist_ok=True)
        with open(self.log_of(name), "ab") as log:
            child = subprocess.Popen([str(word) for word in arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                     start_new_session=True, cwd="/", env=dict(os.environ, **{MARK: str(self._folder)}))
        self._write([entry for entry in self._read() if entry["name"] != name] +
                    [{"name": name, "pid": child.pid, "startedAt": _started_at(child.pid)}])
        return child.pid

    def names(self) -> list[str]:
        return [entry["name"] for entry in self._read()]

    def pid_of(self, name: str) -> int | None:
        """None: it was not started, or it has ended."""
        for entry in self._read():
            if entry["name"] == name:
                return entry["pid"] if _runs(entry) else None
        return None

    def last_words(self, name: str, lines: int = 15) -> str:
        log = self.log_of(name)
        text = log.read_text(errors="replace") if log.exists() else ""
        return "\n".join(text.splitlines()[-lines:]) or "(nothing)"

    def stop(self, name: str, number: int = signal.SIGTERM, patience: float = 10.0) -> None:
        entries = self._read()
        for entry in [one for one in entries if one["name"] == name]:
            _end(entry, number, patience)
        self._write([entry for entry in entries if entry["name"] != name])

    def kill_all(self, patience: float = 30.0) -> None:
        """Kills all at once, because their last writes are not needed. A node's containers end with its first process."""
        until = time.monotonic() + patience
        while pids := of_cluster(self._folder):
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            if time.monotonic() > until:
                raise RuntimeError(f"processes {pids} are still there {patience:.0f} s after they were killed")
            time.sleep(0.02)
        for name in self.names():
            self.stop(name, signal.SIGKILL)


def _runs(entry: dict) -> bool:
    return entry["startedAt"] is not None and _started_at(entry["pid"]) == entry["startedAt"]


def _end(entry: dict, number: int, patience: float) -> None:
    for signal_number, deadline in ((number, patience), (signal.SIGKILL, 10.0)):
        if not _runs(entry):
            break
        os.kill(entry["pid"], signal_number)
        until = time.monotonic() + deadline
        while _runs(entry) and time.monotonic() < until:
            time.sleep(0.02)
    try:
        os.waitpid(entry["pid"], os.WNOHANG)
    except ChildProcessError:
        pass

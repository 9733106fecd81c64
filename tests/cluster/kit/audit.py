# SPDX-License-Identifier: Apache-2.0
"""Requests to the API server, with user and time, from its audit log."""

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

# User and request, without bodies.
POLICY = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived", "ResponseStarted"],
          "rules": [{"level": "Metadata"}]}
WRITES = ("create", "update", "patch", "delete", "deletecollection")


@dataclass
class Request:
    time: float  # when it arrived, seconds since 1970
    user: str
    verb: str  # "get", "list", "watch", "create", ...
    path: str
    about: str  # name of the object that is asked for or written; empty: of none
    code: int


def write_policy(path: Path) -> Path:
    path.write_text(json.dumps(POLICY))
    return path


def requests(log: Path, user: str) -> list[Request]:
    """Answered requests, in the order of their arrival. A watch is answered when it ends."""
    found = []
    # The last line can be incomplete, because it is being written.
    for line in log.read_text(errors="replace").rpartition("\n")[0].splitlines():
        entry = json.loads(line)
        if entry["user"]["username"] == user:
            arrived = datetime.fromisoformat(entry["requestReceivedTimestamp"].replace("Z", "+00:00")).timestamp()
            found.append(Request(arrived, user, entry["verb"], entry["requestURI"],
                                 entry.get("objectRef", {}).get("name", ""), entry.get("responseStatus", {}).get("code", 0)))
    return sorted(found, key=lambda request: request.time)


def most_in_a_minute(asked: list[Request]) -> int:
    times = [request.time for request in asked]
    return max((sum(1 for other in times if time <= other < time + 60) for time in times), default=0)

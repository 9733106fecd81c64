# SPDX-License-Identifier: Apache-2.0
"""Load that untrusted clients can cause: many requests to an agent, and endless requests to a controller."""

import contextlib
import multiprocessing
import os
import socket
import ssl
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../integration"))
import harness  # noqa: E402
from api_store import ApiStore  # noqa: E402
from controller_test import CONFIG_MAP, SERVICE, Controller  # noqa: E402
from fake_api_server import write_kubeconfig  # noqa: E402
from probes import Client  # noqa: E402
from processes import Others, cpu_seconds, pss_mib  # noqa: E402

CLIENTS = 2
RATE_SECONDS = 5
STRANGERS = 207
BODY_BYTES = 3_000_000
# A review that makes no sense is answered all the same.
REVIEW = "{}"


def _ask(port, path, seconds, found):
    client = Client(port)
    client.get(path)
    count, begin = 0, time.monotonic()
    while time.monotonic() - begin < seconds:
        client.get(path)
        count += 1
    found.put(count / (time.monotonic() - begin))
    client.close()


def add_rate_row(table):
    with harness.Agent("--simulate", "hgx-h100-8") as agent:
        agent.wait_ready()
        found = multiprocessing.Queue()
        clients = [multiprocessing.Process(target=_ask, args=(agent.port, "/v1/node", RATE_SECONDS, found), daemon=True)
                   for _ in range(CLIENTS)]
        others, before = Others([agent.pid]), cpu_seconds(agent.pid)
        for client in clients:
            client.start()
        rate = sum(found.get(timeout=60) for _ in clients)
        used = cpu_seconds(agent.pid) - before
        for client in clients:
            client.join()
        size = len(agent.get("/v1/node"))
        table.add("/v1/node: one of as many as can be asked", 1000 / rate, "ms", 0.5,
                  f"{rate:,.0f} answers of {size / 1000:.0f} kB each second by {CLIENTS} clients for {RATE_SECONDS} s, "
                  f"of which the agent worked {used * 1000 / (rate * RATE_SECONDS):.2f} ms for each; {others.note()}")


class Watch:
    """The most memory that a process has while the block runs."""

    def __init__(self, pid):
        self._pid = pid
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.most = 0.0

    def _look(self):
        while not self._over.wait(0.05):
            self.most = max(self.most, pss_mib([self._pid]))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()


def begin_review(port, context, opened):
    """A connection with most of a review, whose end never comes. It may be refused at any moment."""
    tls = context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=10), server_hostname=SERVICE)
    opened.callback(tls.close)
    head = f"POST /mutate-pod HTTP/1.1\r\nHost: {SERVICE}\r\nContent-Length: {2 * BODY_BYTES}\r\n\r\n"
    with contextlib.suppress(OSError):
        tls.sendall(head.encode() + b"x" * BODY_BYTES)


def add_hostile_row(table):
    with tempfile.TemporaryDirectory(prefix="autopilot-bench-") as folder, contextlib.ExitStack() as opened:
        api = ApiStore()
        opened.callback(api.close)
        kubeconfig = write_kubeconfig(os.path.join(folder, "kubeconfig"), {"bench": api.url}, "bench", user={"token": "controller"})
        controller = Controller(kubeconfig, folder)
        opened.callback(controller.stop)
        harness.wait_until(lambda: api.get(CONFIG_MAP), "the controller has an authority", 60)
        authority = api.get(CONFIG_MAP)["data"]["ca.crt"]
        harness.wait_until(lambda: controller.get("/readyz")[0] == 200, "the controller is ready", 60)
        pid = controller.process.child.pid
        before = pss_mib([pid])
        context = ssl.create_default_context(cadata=authority)
        with Watch(pid) as watch:
            for _ in range(STRANGERS):
                begin_review(controller.tls_port, context, opened)
            status, _ = controller.post("/mutate-pod", REVIEW, authority)
        table.add("controller: PSS under unfinished requests", watch.most, "MiB", 160,
                  f"{STRANGERS} TLS connections with {BODY_BYTES / 1e6:.0f} MB each; {before:.0f} MiB before")
        table.add_truth("controller: a review is answered meanwhile", status == 200)


def add_stranger_rows(table):
    add_rate_row(table)
    add_hostile_row(table)

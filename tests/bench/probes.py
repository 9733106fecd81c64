# SPDX-License-Identifier: Apache-2.0
"""How long the agent takes to answer, and to show something new."""

import http.client
import multiprocessing
import time


class Client:
    """One connection that stays open."""

    def __init__(self, port):
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def get(self, path):
        self._connection.request("GET", path)
        response = self._connection.getresponse()
        body = response.read()
        assert response.status == 200, f"GET {path}: {response.status}"
        return body

    def close(self):
        self._connection.close()


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def answer_times(port, path, rate, seconds):
    """Milliseconds of `rate` questions per second."""
    client = Client(port)
    client.get(path)
    times = []
    begin = time.monotonic()
    while time.monotonic() - begin < seconds:
        asked = time.monotonic()
        client.get(path)
        times.append((time.monotonic() - asked) * 1000)
        time.sleep(max(0.0, begin + len(times) / rate - time.monotonic()))
    client.close()
    return times


def time_until_seen(client, path, what, deadline=10.0):
    """Milliseconds until the answer holds the bytes `what`."""
    begin = time.monotonic()
    while what not in client.get(path):
        if time.monotonic() - begin > deadline:
            raise AssertionError(f"GET {path} does not show {what!r} after {deadline:.0f} s")
    return (time.monotonic() - begin) * 1000


def _watch(port, paths, over, found):
    times = {path: [] for path in paths}
    clients = {path: Client(port) for path in paths}
    while not over.is_set():
        for path in paths:
            asked = time.monotonic()
            clients[path].get(path)
            times[path].append((time.monotonic() - asked) * 1000)
        time.sleep(0.02)
    found.put(times)


class AnswersMeanwhile:
    """Asks from a process of its own while the block runs; `times`: path to milliseconds, afterwards."""

    def __init__(self, port, *paths):
        self._over = multiprocessing.Event()
        self._found = multiprocessing.Queue()
        self._process = multiprocessing.Process(target=_watch, args=(port, paths, self._over, self._found), daemon=True)
        self.times = {}

    def __enter__(self):
        self._process.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self.times = self._found.get(timeout=60)
        self._process.join()

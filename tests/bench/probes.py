# SPDX-License-Identifier: Apache-2.0
"""How long the agent takes to answer, and to show something new."""

import multiprocessing
import socket
import time


class Client:
    """One connection that stays open, and no work of its own in what is measured: http.client needs half a millisecond."""

    def __init__(self, port):
        self._port = port
        self._answer = bytearray(8 << 20)
        self._connect()

    def get(self, path):
        """The body; it is good until the next question."""
        self._socket.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        got, head = 0, -1
        while head < 0:
            got += self._receive(got)
            head = self._answer.find(b"\r\n\r\n", 0, got)
        lines = bytes(self._answer[:head]).lower().split(b"\r\n")
        assert lines[0].split()[1] == b"200", f"GET {path}: {lines[0].decode()}"
        end = head + 4 + next(int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:"))
        while got < end:
            got += self._receive(got)
        if b"connection: close" in lines:  # a connection takes a number of questions
            self.close()
            self._connect()
        return memoryview(self._answer)[head + 4:end]

    def _connect(self):
        self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def _receive(self, begin):
        size = self._socket.recv_into(memoryview(self._answer)[begin:])
        assert size > 0, "the agent closed the connection, or answers too much"
        return size

    def close(self):
        self._socket.close()


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
    while what not in bytes(client.get(path)):
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
    """Sends requests from a separate process while the block runs; `times`: path to milliseconds, afterwards."""

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

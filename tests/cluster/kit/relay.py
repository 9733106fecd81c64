# SPDX-License-Identifier: Apache-2.0
"""A door between one client and the API server, without TLS on the client's side: it knows what was asked, and ends at a write."""

import http.client
import json
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from kit import audit, network
from kit.control_plane import ControlPlane

COLLECTIONS = ("nodes", "pods", "jobs", "persistentvolumeclaims", "events")
VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
PATIENCE = 30  # for one answer; watches wait longer


def admin_context(control_plane: ControlPlane) -> ssl.SSLContext:
    keys = control_plane.keys
    context = ssl.create_default_context(cafile=keys.authority)
    context.load_cert_chain(keys.folder / "admin.crt", keys.folder / "admin.key")
    return context


def ask(context: ssl.SSLContext, method: str, path: str, body=None, kind="application/json") -> dict:
    """Answer of the API server to the administrator; raises if the answer is an error."""
    connection = http.client.HTTPSConnection(network.API_ADDRESS, 6443, context=context, timeout=PATIENCE)
    try:
        connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": kind})
        answer = connection.getresponse()
        text = answer.read()
    finally:
        connection.close()
    if answer.status >= 300:
        raise RuntimeError(f"{method} {path}: {answer.status} {text[:300]!r}")
    return json.loads(text)


class Relay:
    """`status` and `delay`, which a test may set: everything is answered with this status of HTTP instead of being passed on; every answer
    waits so many seconds, after the server has done what was asked. `name_of(verb, path, body)`: what a write is called. `stop` = (name, "before" or "after"): the first write of that name does not
    reach the server, or its answer does not reach the client; `on_stop` is called then, and nothing goes through any more."""

    def __init__(self, control_plane: ControlPlane, name_of=lambda *_: None, stop=None, on_stop=lambda: None):
        self._context = admin_context(control_plane)
        self._name_of = name_of
        self._stop = stop
        self._on_stop = on_stop
        self._lock = threading.Lock()
        self.status = None
        self.delay = 0.0
        self.asked: list[audit.Request] = []
        self.names: list[str] = []  # of the writes that the server answered with success
        self.stopped = threading.Event()
        relay = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def handle_one_request(self):
                try:
                    super().handle_one_request()
                except (OSError, http.client.HTTPException):
                    self.close_connection = True

        for method in VERBS:
            setattr(Handler, f"do_{method}", lambda handler: relay._handle(handler))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()

    def _handle(self, handler) -> None:
        arrived = time.time()
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        verb = self._verb(handler)
        name = self._name_of(verb, urlsplit(handler.path).path, body) if verb in audit.WRITES else None
        if self.stopped.is_set() or self._is_end(name, "before"):
            handler.close_connection = True
            return
        if self.status is not None:
            self._refuse(handler, audit.Request(arrived, "", verb, handler.path, "", self.status))
            return
        connection = http.client.HTTPSConnection(network.API_ADDRESS, 6443, context=self._context,
                                                 timeout=600 if verb == "watch" else PATIENCE)
        try:
            headers = {key: handler.headers[key] for key in ("Content-Type", "Accept", "User-Agent") if key in handler.headers}
            connection.request(handler.command, handler.path, body or None, headers)
            answer = connection.getresponse()
            with self._lock:
                self.asked.append(audit.Request(arrived, "", verb, handler.path, "", answer.status))
                if name and answer.status < 300:
                    self.names.append(name)
            self.stopped.wait(self.delay)
            if verb == "watch":
                self._pass_stream(handler, answer)
                return
            text = answer.read()
            if answer.status < 300 and self._is_end(name, "after"):
                handler.close_connection = True
                return
            handler.send_response(answer.status)
            handler.send_header("Content-Type", answer.headers.get("Content-Type", "application/json"))
            handler.send_header("Content-Length", str(len(text)))
            handler.end_headers()
            handler.wfile.write(text)
        finally:
            connection.close()

    def _refuse(self, handler, request) -> None:
        with self._lock:
            self.asked.append(request)
        text = json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": request.code, "message": "sick"}).encode()
        handler.send_response(request.code)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)

    @staticmethod
    def _verb(handler) -> str:
        parts = urlsplit(handler.path)
        if handler.command != "GET":
            return VERBS[handler.command]
        if parse_qs(parts.query).get("watch") == ["true"]:
            return "watch"
        return "list" if parts.path.rsplit("/", 1)[1] in COLLECTIONS else "get"

    def _is_end(self, name, when) -> bool:
        with self._lock:
            if self._stop is None or self._stop != (name, when) or self.stopped.is_set():
                return False
            self.stopped.set()
        self._on_stop()
        return True

    def _pass_stream(self, handler, answer) -> None:
        handler.send_response(answer.status)
        handler.send_header("Content-Type", answer.headers.get("Content-Type", "application/json"))
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        while not self.stopped.is_set():
            piece = answer.read1(65536)
            handler.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            handler.wfile.flush()
            if not piece:
                return
        handler.close_connection = True

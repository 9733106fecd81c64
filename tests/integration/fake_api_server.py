# SPDX-License-Identifier: Apache-2.0
"""Something in the place of a cluster's API server: objects that a test puts there, and errors on demand."""

import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

REPORTS = "/apis/autopilot.ibm.com/v1alpha1/namespaces/autopilot/nodehealthreports"
NODES = "/api/v1/nodes"
EVENTS = "/api/v1/namespaces/default/events"


class FakeApiServer:
    """`objects`: by the path of their list. `refusals`: status of HTTP by path, instead of an answer. `raw`: a text by path,
    instead of JSON. `tls`: files of its certificate and key, and of who signs those of its clients. `silent`: accepts requests and says
    nothing until it is closed. `pages`: at most so many objects in one."""

    def __init__(self, tls=None):
        self.objects = {REPORTS: [], NODES: [], EVENTS: []}
        self.refusals = {}
        self.raw = {}
        self.silent = False
        self.pages = 500
        self.asked = []  # path, query, headers
        self.clients = []  # their certificates
        self._closed = threading.Event()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def handle_one_request(self):
                try:
                    super().handle_one_request()
                except OSError:  # the client went away, or trusts somebody else
                    self.close_connection = True

            def do_GET(self):
                fake._answer(self)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls[:2])
            context.load_verify_locations(tls[2])
            context.verify_mode = ssl.CERT_OPTIONAL
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._closed.set()
        self._server.shutdown()
        self._server.server_close()

    def asked_for(self, path):
        return [query for asked, query, _ in self.asked if asked == path]

    def _answer(self, handler):
        parts = urlsplit(handler.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.asked.append((parts.path, query, dict(handler.headers)))
        if isinstance(handler.connection, ssl.SSLSocket):
            self.clients.append(handler.connection.getpeercert())
        if self.silent:
            self._closed.wait(60)
            handler.close_connection = True
        elif parts.path in self.raw:
            self._say(handler, 200, self.raw[parts.path])
        elif parts.path in self.refusals:
            code = self.refusals[parts.path]
            self._refuse(handler, code, {403: "Forbidden", 401: "Unauthorized"}.get(code, ""), "no\x1b[2J way")
        elif parts.path in self.objects:
            self._say(handler, 200, json.dumps(self._page(parts.path, query)))
        else:
            self._find(handler, parts.path)

    def _page(self, path, query):
        start = int(query.get("continue", "0"))
        end = start + min(self.pages, int(query.get("limit", "500")))
        items = self.objects[path]
        return {"metadata": {"continue": str(end) if end < len(items) else ""}, "items": items[start:end]}

    def _find(self, handler, path):
        folder, _, name = path.rpartition("/")
        if folder not in self.objects:
            self._say(handler, 404, "404 page not found\n")
            return
        for one in self.objects[folder]:
            if one["metadata"]["name"] == name:
                self._say(handler, 200, json.dumps(one))
                return
        self._refuse(handler, 404, "NotFound", f"{name} not found")

    def _refuse(self, handler, code, reason, message):
        self._say(handler, code, json.dumps({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message}))

    @staticmethod
    def _say(handler, code, text):
        body = text.encode()
        handler.send_response(code)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)


def write_kubeconfig(path, contexts, current, user=None, **cluster):
    """`contexts`: address by name."""
    config = {"apiVersion": "v1", "kind": "Config", "current-context": current,
              "clusters": [{"name": name, "cluster": {"server": url, **cluster}} for name, url in contexts.items()],
              "users": [{"name": "u", "user": user or {}}],
              "contexts": [{"name": name, "context": {"cluster": name, "user": "u"}} for name in contexts]}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)
    return str(path)

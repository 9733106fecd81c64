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
CHECKS = "/apis/autopilot.ibm.com/v1alpha1/namespaces/autopilot/healthcheckreports"
TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"


class FakeApiServer:
    """`objects`: by the path of their list. `refusals`: status of HTTP by path, instead of an answer. `raw`: a text by path,
    instead of JSON. `tokens`: the user by token, with the audience that it is for. `tls`: files of its certificate and key, and of who signs those of its clients. `silent`: accepts requests and says
    nothing until it is closed. `pages`: at most so many objects in one. Objects of known lists can be made and replaced; other writes
    are taken and change nothing, and in a watch nothing happens."""

    def __init__(self, tls=None):
        self.objects = {REPORTS: [], NODES: [], EVENTS: [], CHECKS: []}
        self.tokens = {}  # (user, audience)
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
                except OSError:  # the client went away, or trusts another CA
                    self.close_connection = True

            def do_GET(self):
                fake._answer(self)

            def do_POST(self):
                fake._answer(self)

            do_PUT = do_PATCH = do_DELETE = do_POST

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
        elif handler.command != "GET":
            self._write(handler, parts.path, handler.rfile.read(int(handler.headers.get("Content-Length", "0"))))
        elif query.get("watch"):
            self._watch(handler)
        elif parts.path in self.objects:
            self._say(handler, 200, json.dumps(self._page(parts.path, query)))
        else:
            self._find(handler, parts.path)

    def _write(self, handler, path, body):
        folder, _, name = path.rpartition("/")
        if path == TOKEN_REVIEWS:
            spec = json.loads(body)["spec"]
            user, audience = self.tokens.get(spec["token"], (None, None))
            is_known = user is not None and audience in spec["audiences"]
            status = {"authenticated": True, "audiences": [audience], "user": user} if is_known else {"error": "nobody's"}
            self._say(handler, 201, json.dumps({"kind": "TokenReview", "status": status}))
        elif handler.command == "POST" and path in self.objects:
            made = json.loads(body)
            known = [one["metadata"]["name"] for one in self.objects[path]]
            if made["metadata"]["name"] in known:
                self._refuse(handler, 409, "AlreadyExists", "it is there")
            else:
                made["metadata"]["resourceVersion"] = "1"
                self.objects[path].append(made)
                self._say(handler, 201, json.dumps(made))
        elif handler.command == "PUT" and folder in self.objects:
            self.objects[folder] = [json.loads(body) if one["metadata"]["name"] == name else one for one in self.objects[folder]]
            self._say(handler, 200, body.decode())
        else:
            self._say(handler, 200, json.dumps(self._known(path.removesuffix("/status")) or {}))

    def _known(self, path):
        folder, _, name = path.rpartition("/")
        return next((one for one in self.objects.get(folder, []) if one["metadata"]["name"] == name), None)

    def _watch(self, handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.wfile.flush()
        self._closed.wait(600)
        handler.close_connection = True

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
        known = self._known(path)
        if known:
            self._say(handler, 200, json.dumps(known))
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

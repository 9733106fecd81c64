# SPDX-License-Identifier: Apache-2.0
"""Something in the place of a cluster's API server that keeps what is written there: objects with versions, as a server changes them, and
whose tokens are whose."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"


class Refused(Exception):
    def __init__(self, code, reason, message):
        super().__init__(message)
        self.code = code
        self.reason = reason


class ApiStore:
    """`objects`: by their path. `refusals`: HTTP status by the prefix of a path, instead of an answer. `users`: the user of a
    TokenReview by token. `writes`: method and path of each completed write. `port`: the port of a server that was closed."""

    def __init__(self, port=0, objects=None):
        self.objects = objects or {}
        self.refusals = {}
        self.users = {}
        self.writes = []
        self._version = 0
        self._lock = threading.Lock()
        store = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def handle_one_request(self):
                try:
                    super().handle_one_request()
                except OSError:  # the client went away
                    self.close_connection = True

            def _serve(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                code, answer = store._answer(self.command, urlsplit(self.path).path, self.headers.get("Content-Type", ""), body)
                text = json.dumps(answer).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PATCH = _serve

        class Server(ThreadingHTTPServer):
            allow_reuse_address = True

        self._server = Server(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def put(self, path, value):
        """Changes an object as another client would."""
        with self._lock:
            self._keep(path, value)

    def get(self, path):
        with self._lock:
            return json.loads(json.dumps(self.objects.get(path)))

    def _answer(self, method, path, kind, body):
        with self._lock:
            try:
                for beginning, code in self.refusals.items():
                    if path.startswith(beginning):
                        raise Refused(code, "Forbidden", f"{path} is forbidden")
                if path == REVIEWS:
                    return 201, self._review(json.loads(body)["spec"])
                return self._act(method, path, kind, body)
            except Refused as why:
                return why.code, {"kind": "Status", "status": "Failure", "code": why.code, "reason": why.reason, "message": str(why)}

    def _act(self, method, path, kind, body):
        if method == "GET":
            return 200, self._find(path)
        if method == "POST":
            new = json.loads(body)
            path = f"{path}/{new['metadata']['name']}"
            if path in self.objects:
                raise Refused(409, "AlreadyExists", f"{path} already exists")
            self.writes.append((method, path))
            return 201, self._keep(path, new)
        changed = json.loads(json.dumps(self._find(path)))
        version = changed["metadata"]["resourceVersion"]
        changed = _merged(changed, json.loads(body)) if "merge" in kind else _patched(changed, json.loads(body))
        if changed["metadata"]["resourceVersion"] != version:
            raise Refused(409, "Conflict", f"{path} has been modified")
        self.writes.append((method, path))
        return 200, self._keep(path, changed)

    def _find(self, path):
        if path not in self.objects:
            raise Refused(404, "NotFound", f"{path} not found")
        return self.objects[path]

    def _keep(self, path, value):
        self._version += 1
        value["metadata"] = {**value["metadata"], "resourceVersion": str(self._version)}
        self.objects[path] = value
        return value

    def _review(self, spec):
        user = self.users.get(spec["token"])
        if user is None:
            return {"kind": "TokenReview", "status": {"authenticated": False, "error": "nobody's"}}
        return {"kind": "TokenReview", "status": {"authenticated": True, "audiences": spec["audiences"], "user": user}}


def _merged(old, patch):
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    new = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            new.pop(key, None)
        else:
            new[key] = _merged(new.get(key), value)
    return new


def _patched(old, steps):
    """Applies the operations add and replace of RFC 6902."""
    for step in steps:
        *way, last = [part.replace("~1", "/").replace("~0", "~") for part in step["path"].split("/")[1:]]
        here = old
        for part in way:
            here = here[int(part)] if isinstance(here, list) else here[part]
        here[int(last) if isinstance(here, list) else last] = step["value"]
    return old

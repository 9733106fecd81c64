# SPDX-License-Identifier: Apache-2.0
"""An API server that is too busy for one of its users: an admission webhook that answers 429 to that user's writes."""

import base64
import http.server
import json
import ssl
import threading
from pathlib import Path

from kit import network
from kit.keys import Keys

WRITTEN = [("", ["nodes", "nodes/status", "events"]), ("autopilot.ibm.com", ["nodehealthreports"])]


class Refuser:
    """Lets everything through until `is_busy`; `asked` and `refused` say how many requests it saw. With an authority of its own."""

    def __init__(self, folder: Path, user: str, retry_after: int):
        self.is_busy = False
        self.asked = 0
        self.refused = 0
        self._user = user
        self._retry_after = retry_after
        keys = Keys(folder / "refuser-keys")
        keys.make_authority()
        self._authority = keys.authority
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*keys.make("refuser", "/CN=refuser", [network.API_ADDRESS]))
        self._server = http.server.ThreadingHTTPServer((network.API_ADDRESS, 0), _handler_of(self))
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def configuration(self, name: str) -> dict:
        """The object that makes the API server ask."""
        return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": name},
                "webhooks": [{
                    "name": f"{name}.example.org", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
                    "timeoutSeconds": 10,
                    "clientConfig": {"url": f"https://{network.API_ADDRESS}:{self._server.server_port}/",
                                     "caBundle": base64.b64encode(self._authority.read_bytes()).decode()},
                    "rules": [{"apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": resources}
                              for group, resources in WRITTEN],
                    "matchConditions": [{"name": "user", "expression": f"request.userInfo.username == '{self._user}'"}]}]}

    def answer(self, review: dict) -> dict:
        self.asked += 1
        response = {"uid": review["request"]["uid"], "allowed": not self.is_busy}
        if self.is_busy:
            self.refused += 1
            response["status"] = {"code": 429, "reason": "TooManyRequests", "message": "busy",
                                  "details": {"retryAfterSeconds": self._retry_after}}
        return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}


def _handler_of(refuser: Refuser):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(refuser.answer(review)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    return Handler

# SPDX-License-Identifier: Apache-2.0
"""A webhook of another project, which changes created objects."""

import base64
import http.server
import json
import ssl
import threading
from pathlib import Path

ADDRESS = "127.0.0.1"  # the API server is on this machine


class Mutator:
    """Active while the context lasts. `patch_of` returns the steps of a JSON patch for an object; `rules` and `more` are members of the
    configuration; `keys` have the certificate "server" for ADDRESS, of "authority"."""

    def __init__(self, api, name: str, keys, patch_of, rules: list[dict], **more):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
                patch = base64.b64encode(json.dumps(patch_of(request["object"])).encode()).decode()
                answer = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {
                    "uid": request["uid"], "allowed": True, "patchType": "JSONPatch", "patch": patch}}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self._api = api
        self._name = name
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(keys.path("server.crt"), keys.path("server.key"))
        self._server = http.server.ThreadingHTTPServer((ADDRESS, 0), Handler)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever)
        authority = base64.b64encode(Path(keys.path("authority.crt")).read_bytes()).decode()
        self._webhook = {"name": f"{name}.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail",
                         "timeoutSeconds": 5, "rules": rules, **more,
                         "clientConfig": {"url": f"https://{ADDRESS}:{self._server.server_port}/", "caBundle": authority}}

    def __enter__(self) -> "Mutator":
        self._thread.start()
        self._api.apply({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
                         "metadata": {"name": self._name}, "webhooks": [self._webhook]})
        return self

    def __exit__(self, *_) -> None:
        self._api.run("delete", "--ignore-not-found", "mutatingwebhookconfiguration", self._name)
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

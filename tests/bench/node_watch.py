# SPDX-License-Identifier: Apache-2.0
"""The states of one Node object from a watch, each with its time of arrival."""

import base64
import http.client
import json
import ssl
import tempfile
import time
from urllib.parse import urlsplit


def _context(kubeconfig):
    """TLS with the certificates of a kubeconfig that carries them, and the address of its server."""
    cluster, user = kubeconfig["clusters"][0]["cluster"], kubeconfig["users"][0]["user"]

    def text(name, owner):
        return base64.b64decode(owner[name]).decode()

    context = ssl.create_default_context(cadata=text("certificate-authority-data", cluster))
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(text("client-certificate-data", user) + text("client-key-data", user))
        file.flush()
        context.load_cert_chain(file.name)
    return context, urlsplit(cluster["server"])


class NodeWatch:
    """All states of the node from now on. A state that does not come in `patience` seconds raises TimeoutError."""

    def __init__(self, cluster, node, patience=60.0):
        with open(cluster.kubeconfig, encoding="utf-8") as file:
            context, server = _context(json.load(file))
        self._connection = http.client.HTTPSConnection(server.hostname, server.port, context=context, timeout=patience)
        self._connection.request("GET", f"/api/v1/nodes?watch=1&fieldSelector=metadata.name={node}")
        self._lines = self._connection.getresponse()

    @staticmethod
    def now():
        return time.monotonic()

    def next(self):
        line = self._lines.readline()
        at = self.now()
        if not line:
            raise ConnectionError("the API server ended the watch")
        return at, json.loads(line)["object"]

    def until(self, is_so, what):
        begin = self.now()
        while True:
            at, state = self.next()
            if is_so(state):
                return
            if at - begin > 120:
                raise TimeoutError(what)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._connection.close()

# SPDX-License-Identifier: Apache-2.0
"""An agent, asked inside TLS by this machine."""

import contextlib
import socket
import ssl
from http.client import HTTPResponse

PORT = 3334
PATIENCE = 90  # a test that is asked for may take that long


class Agent:
    """Server at `address` with the name `name`; `any_name`: accepts any name in its certificate. `trust`: trusted certificates, as
    arguments of ssl.create_default_context."""

    def __init__(self, address: str, name: str, any_name: bool = False, **trust):
        self._address = address
        self._name = name
        self._any_name = any_name
        self._trust = trust

    @contextlib.contextmanager
    def connect(self, client=None):
        """`client`: the files of a certificate and its key."""
        context = ssl.create_default_context(**self._trust)
        context.check_hostname = not self._any_name
        if client:
            context.load_cert_chain(*client)
        with socket.create_connection((self._address, PORT), timeout=PATIENCE) as plain, \
                context.wrap_socket(plain, server_hostname=self._name) as tls:
            yield tls

    def certificate(self) -> dict | None:
        """Certificate of the server, in the format of the module ssl and as "der"; None: the handshake fails."""
        with contextlib.suppress(OSError), self.connect() as tls:
            return tls.getpeercert() | {"der": tls.getpeercert(binary_form=True)}
        return None

    def ask(self, method: str, path: str, headers=None, client=None) -> tuple[int, str]:
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self._name}:{PORT}", "Connection: close", "Content-Length: 0",
                 *(f"{name}: {value}" for name, value in (headers or {}).items())]
        with self.connect(client) as tls:
            tls.sendall("\r\n".join((*lines, "", "")).encode())
            answer = HTTPResponse(tls, method=method)
            answer.begin()
            return answer.status, answer.read().decode()

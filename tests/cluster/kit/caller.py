# SPDX-License-Identifier: Apache-2.0
"""The API server, asked by HTTP with a token: the request that is wanted and no other, as kubectl would not."""

import json
import ssl
import urllib.error
import urllib.request
from pathlib import Path

from kit.control_plane import SERVER


class Caller:
    def __init__(self, authority: Path, token: str):
        self._context = ssl.create_default_context(cafile=authority)
        self._token = token

    def ask(self, method: str, path: str, body: dict, kind: str = "application/json") -> tuple[int, dict]:
        """Status code and the returned object, which contains the reason if the code is not 2xx."""
        request = urllib.request.Request(SERVER + path, method=method, data=json.dumps(body).encode(), headers={
            "Authorization": f"Bearer {self._token}", "Content-Type": kind, "Accept": "application/json"})
        try:
            with urllib.request.urlopen(request, context=self._context, timeout=20) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

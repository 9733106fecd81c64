# SPDX-License-Identifier: Apache-2.0
"""Keys and certificates for tests, made by openssl in a folder: NAME.key and NAME.crt."""

import os
import subprocess

import harness


class Certificates:
    def __init__(self, folder):
        self.folder = folder
        self._openssl = harness.need_program("openssl")

    def path(self, name):
        return os.path.join(self.folder, name)

    def make_authority(self, name):
        self._make(name, ["-addext", "basicConstraints=critical,CA:TRUE"])

    def make(self, name, authority, *names, days=1):
        """`names`: of the certificate, as openssl writes them: DNS:node-1, IP:127.0.0.1."""
        self._make(name, ["-CA", self.path(authority + ".crt"), "-CAkey", self.path(authority + ".key"),
                          "-addext", "subjectAltName=" + ",".join(names)], days)

    def _make(self, name, further, days=1):
        subprocess.run([self._openssl, "req", "-x509", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                        "-nodes", "-subj", "/CN=" + name, "-days", str(days), "-out", self.path(name + ".crt"),
                        "-keyout", self.path(name + ".key"), *further], check=True, capture_output=True)

# SPDX-License-Identifier: Apache-2.0
"""A certificate authority of the cluster, the certificates that it signs, and kubeconfigs that carry them."""

import base64
import json
import subprocess
from pathlib import Path

DAYS = "30"


class Keys:
    """Certificates in one folder: NAME.crt and NAME.key, signed by ca.crt."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    @property
    def authority(self) -> Path:
        return self.folder / "ca.crt"

    def make_authority(self) -> None:
        self._new("ca", "/CN=autopilot-test-cluster", [], ["basicConstraints=critical,CA:TRUE",
                                                           "keyUsage=critical,keyCertSign,cRLSign"])

    def make(self, name: str, subject: str, addresses=()) -> tuple[Path, Path]:
        """A certificate for a client, and for a server at `addresses` (names and IP addresses) where there are some."""
        names = ",".join(f"{'IP' if address[0].isdigit() else 'DNS'}:{address}" for address in addresses)
        extensions = ["basicConstraints=critical,CA:FALSE", "keyUsage=critical,digitalSignature,keyEncipherment",
                      "extendedKeyUsage=clientAuth" + (",serverAuth" if names else "")]
        if names:
            extensions.append(f"subjectAltName={names}")
        signer = ["-CA", self.authority, "-CAkey", self.folder / "ca.key"]
        return self._new(name, subject, signer, extensions)

    def make_signer(self, name: str) -> Path:
        """A key pair for tokens; the public half is NAME.pub."""
        key = self.folder / f"{name}.key"
        _openssl("genrsa", "-out", key, "2048")
        _openssl("rsa", "-in", key, "-pubout", "-out", self.folder / f"{name}.pub")
        return key

    def _new(self, name, subject, signer, extensions):
        certificate, key = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        added = [word for extension in extensions for word in ("-addext", extension)]
        _openssl("req", "-x509", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", subject,
                 "-days", DAYS, "-out", certificate, "-keyout", key, *signer, *added)
        return certificate, key

    def write_kubeconfig(self, path: Path, server: str, certificate: Path, key: Path) -> None:
        """Kubeconfig of a user with a certificate."""
        self._write_kubeconfig(path, server, {"client-certificate-data": _data(certificate), "client-key-data": _data(key)})

    def write_token_kubeconfig(self, path: Path, server: str, token: str) -> None:
        """Kubeconfig of a user with a token."""
        self._write_kubeconfig(path, server, {"token": token})

    def _write_kubeconfig(self, path: Path, server: str, user: dict) -> None:
        # JSON is YAML.
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "autopilot",
            "clusters": [{"name": "autopilot", "cluster": {"server": server,
                                                            "certificate-authority-data": _data(self.authority)}}],
            "users": [{"name": "user", "user": user}],
            "contexts": [{"name": "autopilot", "context": {"cluster": "autopilot", "user": "user"}}],
        }, indent=1) + "\n")
        path.chmod(0o600)


def _data(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()


def _openssl(*arguments) -> None:
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"openssl {arguments[0]}: {done.stderr.strip()}")

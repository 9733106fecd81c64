# SPDX-License-Identifier: Apache-2.0
"""Builds container images as tars from files of this machine, without a registry or a daemon."""

import hashlib
import io
import json
import os
import platform
import subprocess
import tarfile
from pathlib import Path

# Docker's and OCI's names of the kernel's architectures.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


class Image:
    """One layer of files. Root owns everything and all dates are 1970, so that the same files give the same image.

    name: with its tag, as it will be loaded. variables: environment variables besides PATH.
    """

    def __init__(self, name: str, entrypoint: list[str], user: str = "0:0", labels: dict[str, str] | None = None,
                 variables: dict[str, str] | None = None):
        self.name = name
        self._config = {"Entrypoint": entrypoint, "User": user, "WorkingDir": "/",
                        "Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", *(f"{name}={value}" for name, value in (variables or {}).items())],
                        **({"Labels": labels} if labels else {})}
        self._bytes = io.BytesIO()
        self._layer = tarfile.open(fileobj=self._bytes, mode="w", format=tarfile.PAX_FORMAT)
        self._known = set()

    def add_file(self, source: Path, target: str, mode: int = 0o755) -> None:
        self.add_text(source.read_bytes(), target, mode)

    def add_text(self, content: bytes, target: str, mode: int = 0o644) -> None:
        self._add_parents(target)
        entry = tarfile.TarInfo(target.lstrip("/"))
        entry.size, entry.mode = len(content), mode
        self._layer.addfile(entry, io.BytesIO(content))

    def add_link(self, target: str, to: str) -> None:
        self._add_parents(target)
        entry = tarfile.TarInfo(target.lstrip("/"))
        entry.type, entry.linkname = tarfile.SYMTYPE, to
        self._layer.addfile(entry)

    def add_folder(self, target: str, mode: int = 0o755) -> None:
        self._add_parents(target)
        if target in self._known:
            return
        self._known.add(target)
        entry = tarfile.TarInfo(target.lstrip("/"))
        entry.type, entry.mode = tarfile.DIRTYPE, mode
        self._layer.addfile(entry)

    def _add_parents(self, target: str) -> None:
        parent = os.path.dirname(target)
        if parent not in ("", "/"):
            self.add_folder(parent)

    def layer_bytes(self) -> int:
        return len(self._bytes.getbuffer())

    def write(self, path: Path) -> Path:
        """In the format of `docker save`, which Docker, containerd, Podman and skopeo load."""
        self._layer.close()
        layer = self._bytes.getvalue()
        config = json.dumps({
            "architecture": ARCHITECTURES[platform.machine()], "os": "linux", "config": self._config,
            "created": "1970-01-01T00:00:00Z",
            "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}}).encode()
        config_name = hashlib.sha256(config).hexdigest() + ".json"
        manifest = json.dumps([{"Config": config_name, "RepoTags": [self.name], "Layers": ["layer.tar"]}]).encode()
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(path.name + ".new")
        with tarfile.open(unfinished, "w") as archive:
            for name, content in (("manifest.json", manifest), (config_name, config), ("layer.tar", layer)):
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
        return unfinished.rename(path)


def libraries_of(program: Path) -> list[Path]:
    """The libraries from Debian packages that the program is linked with, and its loader."""
    said = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    if said.returncode != 0:  # a static program
        return []
    words = [word for line in said.stdout.splitlines() for word in line.split() if word.startswith("/")]
    return [Path(word) for word in words]


def add_program(image: Image, program: Path, target: str) -> None:
    image.add_file(program, target)
    for library in libraries_of(program):
        image.add_file(library.resolve(), str(library))

# SPDX-License-Identifier: Apache-2.0
"""Images as tars, made of files of this machine and of Debian packages: no registry is asked."""

import hashlib
import io
import json
import os
import subprocess
import tarfile
from pathlib import Path

from kit.reason import CannotRun

REPOSITORY = "localhost/autopilot-test"
PAUSE_SOURCE = Path(__file__).resolve().parents[1] / "pause" / "pause.c"
BUSYBOX = Path("/bin/busybox")


def name_of(image: str) -> str:
    return f"{REPOSITORY}/{image}:1"


class Image:
    """One layer of files, everything owned by root and dated 1970, so that the same files make the same image."""

    def __init__(self, image: str, entrypoint: list[str], user: str = "0:0"):
        self.name = name_of(image)
        self._config = {"Entrypoint": entrypoint, "User": user, "WorkingDir": "/",
                        "Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"]}
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

    def write(self, path: Path) -> Path:
        """As `docker save` writes them: what containerd loads."""
        self._layer.close()
        layer = self._bytes.getvalue()
        config = json.dumps({
            "architecture": "amd64", "os": "linux", "config": self._config, "created": "1970-01-01T00:00:00Z",
            "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}}).encode()
        config_name = hashlib.sha256(config).hexdigest() + ".json"
        manifest = json.dumps([{"Config": config_name, "RepoTags": [self.name], "Layers": ["layer.tar"]}]).encode()
        path.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(path, "w") as archive:
            for name, content in (("manifest.json", manifest), (config_name, config), ("layer.tar", layer)):
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
        return path


def libraries_of(program: Path) -> list[Path]:
    """The libraries of Debian packages that the program is linked with, and its loader."""
    said = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    if said.returncode != 0:  # a static program
        return []
    words = [word for line in said.stdout.splitlines() for word in line.split() if word.startswith("/")]
    return [Path(word) for word in words]


def add_program(image: Image, program: Path, target: str) -> None:
    image.add_file(program, target)
    for library in libraries_of(program):
        image.add_file(library.resolve(), str(library))


def make_pause(folder: Path) -> Path:
    program = folder / "pause"
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["gcc", "-static", "-Os", "-s", "-Wall", "-Wextra", "-Werror", "-o", program, PAUSE_SOURCE], check=True)
    image = Image("pause", ["/pause"], user="65535:65535")
    image.add_file(program, "/pause")
    return image.write(folder / "pause.tar")


def make_busybox(folder: Path) -> Path:
    if not BUSYBOX.exists():
        raise CannotRun(f"the image busybox: {BUSYBOX} is not here; tools/install-deps.sh cluster installs busybox-static")
    image = Image("busybox", ["/bin/busybox", "sh"])
    image.add_file(BUSYBOX, "/bin/busybox")
    applets = subprocess.run([BUSYBOX, "--list"], capture_output=True, text=True, check=True).stdout.split()
    for applet in applets:
        if applet != "busybox":
            image.add_link(f"/bin/{applet}", "busybox")
    image.add_folder("/tmp", 0o1777)
    return image.write(folder / "busybox.tar")


def make_coredns(folder: Path, program: Path) -> Path:
    image = Image("coredns", ["/coredns"])
    image.add_file(program, "/coredns")
    return image.write(folder / "coredns.tar")


def make_device_plugin(folder: Path, program: Path) -> Path:
    image = Image("device_plugin", ["/device_plugin"])
    image.add_file(program, "/device_plugin")
    return image.write(folder / "device_plugin.tar")


def make_autopilot(folder: Path, programs: Path) -> Path:
    """The product and the simulator, as they are built in the folder `programs`."""
    image = Image("autopilot", ["/usr/bin/autopilot"], user="65532:65532")
    for name in ("autopilot", "autopilot-sim"):
        add_program(image, programs / name, f"/usr/bin/{name}")
    image.add_file(programs / "libnvidia-ml-sim.so", "/usr/bin/libnvidia-ml-sim.so")
    image.add_folder("/tmp", 0o1777)
    image.add_text(b"root:x:0:0::/:/bin/false\nautopilot:x:65532:65532::/:/bin/false\n", "/etc/passwd")
    return image.write(folder / "autopilot.tar")

# SPDX-License-Identifier: Apache-2.0
"""The images of the cluster, made of files of this machine and of Debian packages."""

import subprocess
import sys
from pathlib import Path

from kit.reason import CannotRun

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools" / "image"))
import build  # noqa: E402
from archive import Image, add_program  # noqa: E402

REPOSITORY = "localhost/autopilot-test"
PAUSE_SOURCE = Path(__file__).resolve().parents[1] / "pause" / "pause.c"
BUSYBOX = Path("/bin/busybox")


def name_of(image: str) -> str:
    return f"{REPOSITORY}/{image}:1"


def make_pause(folder: Path) -> Path:
    program = folder / "pause"
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["gcc", "-static", "-Os", "-s", "-Wall", "-Wextra", "-Werror", "-o", program, PAUSE_SOURCE], check=True)
    image = Image(name_of("pause"), ["/pause"], user="65535:65535")
    image.add_file(program, "/pause")
    return image.write(folder / "pause.tar")


def make_busybox(folder: Path) -> Path:
    if not BUSYBOX.exists():
        raise CannotRun(f"the image busybox: {BUSYBOX} is not here; tools/install-deps.sh cluster installs busybox-static")
    image = Image(name_of("busybox"), ["/bin/busybox", "sh"])
    image.add_file(BUSYBOX, "/bin/busybox")
    applets = subprocess.run([BUSYBOX, "--list"], capture_output=True, text=True, check=True).stdout.split()
    for applet in applets:
        if applet != "busybox":
            image.add_link(f"/bin/{applet}", "busybox")
    image.add_folder("/tmp", 0o1777)
    return image.write(folder / "busybox.tar")


def make_coredns(folder: Path, program: Path) -> Path:
    image = Image(name_of("coredns"), ["/coredns"])
    image.add_file(program, "/coredns")
    return image.write(folder / "coredns.tar")


def make_device_plugin(folder: Path, program: Path) -> Path:
    image = Image(name_of("device_plugin"), ["/device_plugin"])
    image.add_file(program, "/device_plugin")
    return image.write(folder / "device_plugin.tar")


def make_autopilot(folder: Path, programs: Path) -> Path:
    """The product with its network probe, and the simulator, as they are built in the folder `programs`."""
    image = Image(name_of("autopilot"), ["/usr/bin/autopilot"], user="65532:65532")
    for name in ("autopilot", "autopilot-net-probe", "autopilot-sim"):
        add_program(image, programs / name, f"/usr/bin/{name}")
    image.add_file(programs / "libnvidia-ml-sim.so", "/usr/bin/libnvidia-ml-sim.so")
    image.add_folder("/tmp", 0o1777)
    image.add_text(b"root:x:0:0::/:/bin/false\nautopilot:x:65532:65532::/:/bin/false\n", "/etc/passwd")
    return image.write(folder / "autopilot.tar")


def make_product(folder: Path, programs: Path) -> Path:
    """What `make image` makes."""
    name, tag = name_of("product").rsplit(":", 1)
    path = folder / "product.tar"
    build.build(name, tag, programs / "autopilot", path)
    return path

# SPDX-License-Identifier: Apache-2.0
"""The images of the cluster, made of files of this machine and of Debian packages."""

import json
import subprocess
import sys
import tempfile
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


GPUS = ("0000:4a:00.0", "0000:61:00.0", "0000:ca:00.0", "0000:e1:00.0")  # of the machine l40s-4
SOUND_GPU = {"host_to_device_gb_per_s": 25, "device_to_host_gb_per_s": 25, "memory_gb_per_s": 780, "f64_tflops": 1.3, "bf16_tflops": 240,
             "peer_gb_per_s": 24, "memory_mib": 48}


def make_gpus(folder: Path, programs: Path, name: str, *changes: dict) -> Path:
    """The product with its GPU probe and NVIDIA's drivers, which play the machine l40s-4; changes: of what its first GPUs are, each in turn."""
    image = Image(name_of(name), ["/usr/bin/autopilot"], user="65532:65532",
                  variables={"AUTOPILOT_SIM_MACHINE": "/machine", "AUTOPILOT_SIM_CUDA": "/machine/cuda.yaml"})
    for program in ("autopilot", "autopilot-gpu-probe"):
        add_program(image, programs / program, f"/usr/bin/{program}")
    for library, played_by in (("libnvidia-ml.so.1", "libnvidia-ml-sim.so"), ("libcuda.so.1", "libcuda-sim.so")):
        add_program(image, programs / played_by, f"/usr/lib/{library}")
    with tempfile.TemporaryDirectory() as tree:
        subprocess.run([programs / "autopilot-sim", "create", "l40s-4", "--out", f"{tree}/machine"], check=True, stdout=subprocess.DEVNULL)
        image.add_file(Path(tree) / "machine" / "nvml.yaml", "/machine/nvml.yaml", 0o644)
    changed = [*changes, *({} for _ in GPUS[len(changes):])]
    gpus = [{"uuid": f"GPU-{number:08x}-0000-0000-0000-000000000000", "pci_address": address} | SOUND_GPU | changed[number]
            for number, address in enumerate(GPUS)]
    image.add_text(json.dumps({"gpus": gpus}).encode(), "/machine/cuda.yaml")
    image.add_folder("/tmp", 0o1777)
    return image.write(folder / f"{name}.tar")


def make_product(folder: Path, programs: Path) -> Path:
    """Builds the image as `make image` does."""
    name, tag = name_of("product").rsplit(":", 1)
    path = folder / "product.tar"
    build.build(name, tag, programs / "autopilot", path)
    return path

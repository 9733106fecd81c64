#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the container image from the built programs, Debian's C library and its perftest, without a registry or a daemon.

  build.py --image registry.example.com/autopilot --tag 1.2.3
  docker load -i build/image/autopilot-1.2.3.tar        ctr -n k8s.io images import build/image/autopilot-1.2.3.tar

The user is 65532, and there is no shell. The bill of materials, an SPDX document, is beside the tar and in the image.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import rdma
import sbom
from archive import Image, libraries_of

ROOT = Path(__file__).resolve().parents[2]
MOST_BYTES = 60_000_000  # all layers, uncompressed
AUTHORITIES = "ca-certificates"  # Debian's package
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
# The reference before its tag: a registry with its port, and folders.
NAME = r"(([a-zA-Z0-9-]+(\.[a-zA-Z0-9-]+)+(:[0-9]{1,5})?|[a-zA-Z0-9-]+:[0-9]{1,5}|localhost)/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*"
PROBES = ("autopilot-gpu-probe", "autopilot-net-probe")  # beside the program, here and in the image
# Dependencies of libraries that the programs open at run time and that the image does not contain: NVIDIA's driver, which the
# container runtime adds (libnvidia-ml.so.1 and libcuda.so.1 of 535.261.03), and NCCL (libnccl.so.2 of 2.32.3). Read with objdump,
# 2026-11-27.
FOR_OPENED = ("libdl.so.2", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", "librt.so.1", "libstdc++.so.6")
# If this file exists, NVIDIA's container runtime puts these libraries into the folder that Debian's loader searches
# (libnvidia-container).
DEBIAN = Path("/etc/debian_version")
PASSWD = b"root:x:0:0::/:/bin/false\nautopilot:x:65532:65532::/:/bin/false\n"
SBOM = "/usr/share/doc/autopilot/sbom.spdx.json"


def stripped(program: Path) -> bytes:
    with tempfile.TemporaryDirectory(prefix="autopilot-image-") as folder:
        copy = Path(folder) / program.name
        subprocess.run(["llvm-strip-16", "-o", copy, program], check=True)
        return copy.read_bytes()


def authorities() -> list[Path]:
    """The authorities of Debian's package, because the building machine can trust further ones."""
    files = [file for file in sbom.files_of(AUTHORITIES) if file.match("/usr/share/ca-certificates/mozilla/*.crt")]
    if not files:
        raise LookupError(f"the package {AUTHORITIES} has no certificates")
    return sorted(files)


def version_of(program: Path) -> str:
    """"0.1.0" of "autopilot 0.1.0 (...)"."""
    said = subprocess.run([program, "version"], capture_output=True, text=True, check=True).stdout
    return said.split()[1]


def revision_of(program: Path) -> str:
    said = subprocess.run([program, "version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"\(([0-9a-f]+(?:-dirty)?),", said)
    return found.group(1) if found else "unknown"


def parts_of(path: Path) -> Path:
    """"autopilot-1.2.spdx.json" of "autopilot-1.2.tar"."""
    return path.with_name(path.name.removesuffix(".tar") + ".spdx.json")


def build(name: str, tag: str, program: Path, path: Path) -> Image:
    version = version_of(program)
    probes = [program.with_name(name) for name in PROBES]
    content = stripped(program)
    programs = {"autopilot": content} | {probe.name: stripped(probe) for probe in probes}
    linked = {library for one in (program, *probes) for library in libraries_of(one)}
    [folder] = {library.parent for library in linked if library.name == "libc.so.6"}
    libraries = sorted(linked)
    for_opened = sorted({folder / name for name in FOR_OPENED} - linked)
    image = Image(f"{name}:{tag}", ["/usr/bin/autopilot"], user="65532:65532", labels={
        "org.opencontainers.image.title": "Autopilot", "org.opencontainers.image.version": version,
        "org.opencontainers.image.revision": revision_of(program)})
    for one, text in programs.items():
        image.add_text(text, f"/usr/bin/{one}", 0o755)
    for library in (*libraries, *for_opened):
        image.add_file(library.resolve(), str(library))
    beside = {AUTHORITIES, sbom.package_of(DEBIAN), *(sbom.package_of(library.resolve()) for library in for_opened)}
    beside |= rdma.add_to(image, [*libraries, *for_opened])
    image.add_text(b"".join(one.read_bytes() for one in authorities()), CERTIFICATES)
    image.add_file(DEBIAN, str(DEBIAN), 0o644)
    image.add_folder("/tmp", 0o1777)
    image.add_text(PASSWD, "/etc/passwd")
    parts = json.dumps(sbom.document(f"{name}:{tag}", version, programs, libraries, sorted(beside)), indent=2).encode() + b"\n"
    image.add_text(parts, SBOM)
    for package in sorted(beside | {sbom.package_of(library.resolve()) for library in libraries}):
        image.add_file(sbom.copyright_of(package), f"/usr/share/doc/{package}/copyright", 0o644)
    # A program with a sanitizer is three times as large, and is never released.
    if image.layer_bytes() > MOST_BYTES and b"__asan_init" not in content:
        raise RuntimeError(f"the image has {image.layer_bytes():,} bytes, and may have {MOST_BYTES:,}")
    image.write(path)
    parts_of(path).write_bytes(parts)
    return image


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--image", default="autopilot", help="its name, with the registry it is meant for (%(default)s)")
    parser.add_argument("--tag", help="the version of the program where it is left out")
    parser.add_argument("--program", type=Path, default=ROOT / "build" / "bin" / "autopilot")
    parser.add_argument("--out", type=Path, help="build/image/autopilot-TAG.tar")
    options = parser.parse_args()
    for needed in (options.program, *map(options.program.with_name, PROBES)):
        if not needed.exists():
            parser.error(f"{needed} is not there: `make release` builds it")
    tag = options.tag or version_of(options.program)
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}", tag):
        parser.error(f"--tag: {tag!r} is no tag of an image")
    if not re.fullmatch(NAME, options.image):
        parser.error(f"--image: {options.image!r} is no name of an image")
    path = options.out or ROOT / "build" / "image" / f"autopilot-{tag}.tar"
    try:
        image = build(options.image, tag, options.program, path)
    except (OSError, RuntimeError, LookupError, subprocess.CalledProcessError) as problem:
        print(f"build.py: {problem}", file=sys.stderr)
        return 1
    print(f"{image.name}: {path} ({image.layer_bytes() / 1e6:.1f} MB uncompressed)")
    print(f"its parts: {parts_of(path)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""Adds the files for tests over RDMA to an image: the programs of perftest that the network probe runs, and the drivers of libibverbs for
the adapters of each vendor, which libibverbs opens by the names in its configuration."""

from pathlib import Path

import sbom
from archive import Image, libraries_of

PERFTEST, PROVIDERS = "perftest", "ibverbs-providers"  # packages of Debian
PROGRAMS = ("ib_write_bw", "ib_read_bw", "ib_send_lat")


def add_to(image: Image, known: list[Path]) -> set[str]:
    """Skips libraries that the image already has. Returns the packages of the added files."""
    programs = [_program(name) for name in PROGRAMS]
    files = sbom.files_of(PROVIDERS)
    parts = sorted(one for one in files if one.match("libibverbs/*-rdmav*.so"))
    libraries = sorted({library for one in (*programs, *parts) for library in libraries_of(one)} - set(known))
    for one in (*programs, *libraries):
        image.add_file(one.resolve(), str(one))
    names = {library.resolve(): str(library) for library in libraries}
    for part in parts:
        # Some are another name of a library that programs are linked with. They must be the same file, or it would be loaded twice.
        if part.resolve() in names:
            image.add_link(str(part), names[part.resolve()])
        else:
            image.add_file(part.resolve(), str(part))
    for one in sorted(file for file in files if file.match("/etc/libibverbs.d/*.driver")):
        image.add_file(one, str(one), 0o644)
    return {PERFTEST, PROVIDERS, *(sbom.package_of(library.resolve()) for library in libraries)}


def _program(name: str) -> Path:
    """The file of Debian, whatever else is installed."""
    for file in sbom.files_of(PERFTEST):
        if file == Path("/usr/bin") / name:
            return file
    raise LookupError(f"the package {PERFTEST} has no {name}")

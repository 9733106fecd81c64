# SPDX-License-Identifier: Apache-2.0
"""Bill of materials of an image, as an SPDX 2.3 document: the programs, the code linked into them, and the libraries beside them."""

import hashlib
import subprocess
from pathlib import Path

# Code that is linked into the programs, by its Debian package (docs/dependencies.md).
LINKED = {"libboost1.81-dev": "BSL-1.0", "libboost-json1.81-dev": "BSL-1.0", "libexpected-dev": "CC0-1.0", "libyaml-cpp-dev": "MIT",
          "libcli11-dev": "BSD-3-Clause", "libspdlog-dev": "MIT", "libfmt-dev": "MIT", "libsqlite3-dev": "blessing",
          "libre2-dev": "BSD-3-Clause", "libnl-3-dev": "LGPL-2.1-only", "libnl-route-3-dev": "LGPL-2.1-only",
          "libnl-genl-3-dev": "LGPL-2.1-only", "libnghttp2-dev": "MIT", "libssl-dev": "Apache-2.0",
          "libiperf-dev": "BSD-3-Clause", "libsctp-dev": "LGPL-2.1-or-later",
          "libstdc++-12-dev": "GPL-3.0-or-later WITH GCC-exception-3.1"}

# Of these, the packages linked into each further program, with the packages that only such programs have.
_EVERY_PROBE = ["libboost-json1.81-dev", "libexpected-dev", "libyaml-cpp-dev", "libcli11-dev", "libstdc++-12-dev"]
_LIBIPERF = ["libiperf-dev", "libsctp-dev"]
_SIMULATED = ["libboost-json1.81-dev", "libexpected-dev", "libyaml-cpp-dev", "libstdc++-12-dev"]
LINKED_BESIDE = {"autopilot-gpu-probe": _EVERY_PROBE, "autopilot-net-probe": [*_EVERY_PROBE, *_LIBIPERF, "libssl-dev"],
                 "autopilot-sim": _EVERY_PROBE, "libcuda-sim.so": _SIMULATED, "libnccl-sim.so": _SIMULATED, "libnvidia-ml-sim.so": _SIMULATED}


def _asked(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def version_of(package: str) -> str:
    return _asked("dpkg-query", "-W", "-f", "${Version}", package)


def package_of(file: Path) -> str:
    """The package of a file. In Debian 12 /lib is a link, and dpkg knows some files by one name and some by the other."""
    names = [str(file)]
    if str(file).startswith("/usr/lib"):
        names.append(str(file).removeprefix("/usr"))
    for name in names:
        done = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.split(":")[0]
    raise LookupError(f"{file} belongs to no package")


def files_of(package: str) -> list[Path]:
    done = subprocess.run(["dpkg-query", "-L", package], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LookupError(f"the package {package} is not installed (tools/install-deps.sh build)")
    return [Path(line) for line in done.stdout.splitlines()]


def copyright_of(package: str) -> Path:
    """The copyright file. Some packages have a link to that of another package."""
    return Path(f"/usr/share/doc/{package}/copyright").resolve(strict=True)


def _entry(name: str, version: str, licence: str, purl: str = "") -> dict:
    entry = {"SPDXID": "SPDXRef-" + "".join(letter if letter.isalnum() else "-" for letter in name), "name": name,
             "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
             "licenseDeclared": licence, "copyrightText": "NOASSERTION"}
    if purl:
        entry["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]
    return entry


def _debian(package: str, licence: str) -> dict:
    version = version_of(package)
    return _entry(package, version, licence, f"pkg:deb/debian/{package}@{version}?distro=debian-12")


def _program(name: str, version: str, content: bytes) -> dict:
    digest = hashlib.sha256(content).hexdigest()
    return {**_entry(name, version, "Apache-2.0"), "checksums": [{"algorithm": "SHA256", "checksumValue": digest}]}


def document(image: str, version: str, programs: dict[str, bytes], libraries: list[Path], beside: list[str]) -> dict:
    """programs: ours; the first has everything in LINKED except packages of other programs only. libraries: files of Debian packages that
    they are linked to. beside: other packages with files in the image."""
    own, *others = [_program(name, version, content) for name, content in programs.items()]
    digest = own["checksums"][0]["checksumValue"]
    linked = [_debian(package, licence) for package, licence in LINKED.items()]
    names = sorted({package_of(file.resolve()) for file in libraries})
    shared = [_debian(package, "NOASSERTION") for package in names]
    contained = [_debian(package, "NOASSERTION") for package in beside if package not in names]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])]
    relations += [("SPDXRef-DOCUMENT", "DESCRIBES", one["SPDXID"]) for one in others]
    relations += [(own["SPDXID"], "STATIC_LINK", one["SPDXID"]) for one in linked if one["name"] not in _LIBIPERF]
    relations += [(other["SPDXID"], "STATIC_LINK", one["SPDXID"]) for other in others for one in linked
                  if one["name"] in LINKED_BESIDE[other["name"]]]
    relations += [(own["SPDXID"], "DYNAMIC_LINK", one["SPDXID"]) for one in shared]
    relations += [("SPDXRef-DOCUMENT", "DESCRIBES", one["SPDXID"]) for one in contained]
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": image,
            "documentNamespace": f"https://spdx.org/spdxdocs/autopilot-{digest}",
            "creationInfo": {"created": "1970-01-01T00:00:00Z", "creators": ["Tool: autopilot-image"]},
            "packages": [own, *others, *linked, *shared, *contained],
            "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
                              for one, kind, other in relations]}

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fetches the files for compiling for arm64 on amd64, and for running the result: Debian's arm64 libraries of the group `build` with
# their dependencies, and an emulator. They come from this machine's Debian mirror and are unpacked into
# ~/.cache/autopilot/sysroot-arm64. Nothing is installed, and the machine's dpkg and apt get no further architecture. Does nothing if
# all files exist; remove the folder to fetch newer versions.
#
#   tools/sysroot.sh      exits with 77 if the libraries are not available
set -euo pipefail

cache=${XDG_CACHE_HOME:-$HOME/.cache}/autopilot
sysroot=$cache/sysroot-arm64

say() { echo "sysroot: $*"; }
cannot() {
  echo "SKIP: $*" >&2
  exit 77
}

# Sources, keys and proxies are those of this machine. The root is empty, so that apt fetches all dependencies.
fetch_libraries() {
  mkdir -p "$work"/state/lists/partial "$work"/cache/archives/partial "$work/root"
  : >"$work/status"
  cat >"$work/apt.conf" <<END
Dir::State "$work/state";
Dir::State::status "$work/status";
Dir::Cache "$work/cache";
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "root";
Acquire::Retries "3";
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
END
  local apt=(apt-get -qq "-c=$work/apt.conf")
  "${apt[@]}" update || say "apt-get update failed; trying with the lists that came"
  "${apt[@]}" install -y --no-install-recommends --download-only "$@" || cannot "apt-get cannot fetch the packages of arm64"
  for package in "$work"/cache/archives/*.deb; do
    dpkg -x "$package" "$work/root"
  done
  # Some links of libc6-dev begin with /, and would point outside of this folder.
  find "$work/root" -type l -lname '/*' -printf '%p %l\n' | while read -r link target; do
    ln -sfr "$work/root$target" "$link"
  done
  echo "$*" >"$work/root/packages"
  rm -rf "$sysroot"
  mv "$work/root" "$sysroot"
}

# From Debian's backports: the qemu of Debian 12 (7.2) lacks openat2.
fetch_emulator() {
  local folder=$work/emulator archive
  # shellcheck disable=SC2016  # apt-get fills the names in
  archive=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^bookworm //p' | sort -u | head -n 1)
  mkdir -p "$folder/lists/partial"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive bookworm-backports main" >"$folder/sources.list"
  local apt=(apt-get -qq "-o=Dir::Etc::SourceList=$folder/sources.list" -o=Dir::Etc::SourceParts=- "-o=Dir::State::Lists=$folder/lists"
    "-o=Dir::Cache=$folder" -o=APT::Sandbox::User=root -o=Acquire::Retries=3)
  "${apt[@]}" update && (cd "$folder" && "${apt[@]}" -t bookworm-backports download qemu-user) || return
  dpkg -x "$folder"/qemu-user_*.deb "$folder"
  mv "$folder/usr/bin/qemu-aarch64" "$sysroot/"
}

for program in apt-get dpkg; do
  command -v "$program" >/dev/null || cannot "$program is missing: this is no Debian system"
done
here=$(dpkg --print-architecture)
[ "$here" = amd64 ] || cannot "this machine is $here; on amd64 there is a build for arm64"

mapfile -t packages < <("$(dirname "$0")/install-deps.sh" --list build | grep '^lib.*-dev$')
mkdir -p "$cache"
work=$(mktemp -d "$cache/sysroot.XXXXXX")
trap 'rm -rf "$work"' EXIT
[ "$(cat "$sysroot/packages" 2>/dev/null)" = "${packages[*]}" ] || fetch_libraries "${packages[@]}"
[ -x "$sysroot/qemu-aarch64" ] || fetch_emulator || say "no emulator: what is built for arm64 will not be run"
say "$sysroot is there"

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Debian's libraries for another architecture, to compile against: the arm64 packages of the group `build` and what they
# depend on, fetched from where this machine gets Debian and unpacked into ~/.cache/autopilot/sysroot-arm64. Nothing is
# installed, and dpkg and apt of this machine learn of no further architecture. Does nothing where they are already there;
# remove the folder to fetch newer ones.
#
#   tools/sysroot.sh      ends with 77 where they cannot be had
set -euo pipefail

architecture=arm64
cache=${XDG_CACHE_HOME:-$HOME/.cache}/autopilot
sysroot=$cache/sysroot-$architecture

cannot() {
  echo "SKIP: $*" >&2
  exit 77
}

for program in apt-get dpkg; do
  command -v "$program" >/dev/null || cannot "$program is missing: this is no Debian system"
done
[ "$(dpkg --print-architecture)" = amd64 ] || cannot "this machine is $(dpkg --print-architecture), and the cross build is made for amd64"

mapfile -t packages < <("$(dirname "$0")/install-deps.sh" --list build | grep '^lib.*-dev$')
if [ "$(cat "$sysroot/packages" 2>/dev/null)" = "${packages[*]}" ]; then
  echo "sysroot: $sysroot is there"
  exit 0
fi

mkdir -p "$cache"
work=$(mktemp -d "$cache/sysroot.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/state/lists/partial "$work"/cache/archives/partial "$work/root"
: >"$work/status" # nothing is installed there: dependencies are fetched too
# Sources, keys and proxies stay those of this machine.
cat >"$work/apt.conf" <<END
Dir::State "$work/state";
Dir::State::status "$work/status";
Dir::Cache "$work/cache";
APT::Architecture "$architecture";
APT::Architectures { "$architecture"; };
APT::Sandbox::User "root";
Acquire::Retries "3";
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
END
apt() { apt-get -qq "-c=$work/apt.conf" "$@"; }

apt update || echo "sysroot: apt-get update failed; trying with the lists that came"
apt install -y --no-install-recommends --download-only "${packages[@]}" || cannot "apt-get cannot fetch the $architecture packages"
for package in "$work"/cache/archives/*.deb; do
  dpkg -x "$package" "$work/root"
done
# Some links of libc6-dev begin with /, and would lead out of here.
find "$work/root" -type l -lname '/*' -printf '%p %l\n' | while read -r link target; do
  ln -sfr "$work/root$target" "$link"
done
echo "${packages[*]}" >"$work/root/packages"
rm -rf "$sysroot"
mv "$work/root" "$sysroot"
echo "sysroot: $sysroot is made"

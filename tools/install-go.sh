#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs a Go that can build Kubernetes from Debian's backports, without adding them to the machine's sources. Does nothing if
# a Go is new enough.
#
#   tools/install-go.sh [--force]     --force: even if one is installed
#
# Needs root or sudo only if a package is missing.
set -euo pipefail

oldest=1.23

say() { echo "install-go: $*"; }
die() {
  echo "install-go: $*" >&2
  exit 1
}
as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

is_new() {
  local version
  version=$(GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null) || return 1
  [ "$(printf '%s\n' "go$oldest" "$version" | sort -V | head -n 1)" = "go$oldest" ]
}

for go in go /usr/lib/go-1.2[3-9]/bin/go; do
  if [ "${1:-}" != --force ] && is_new "$go"; then
    say "nothing missing ($go is $(GOTOOLCHAIN=local "$go" env GOVERSION))"
    exit 0
  fi
done

# The machine's Debian mirror also has the backports.
# shellcheck disable=SC2016  # apt-get fills the names in
archive=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^bookworm //p' | sort -u | head -n 1)
[ -n "$archive" ] || die "no source of Debian 12 is known to apt; install Go $oldest or newer by hand"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 0755 "$folder"
signed='[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]'
printf 'deb %s %s %s main\n' "$signed" "$archive" bookworm "$signed" "$archive" bookworm-backports >"$folder/sources.list"
mkdir -p "$folder/lists/partial"
options=(-qq "-o=Dir::Etc::SourceList=$folder/sources.list" -o=Dir::Etc::SourceParts=- "-o=Dir::State::Lists=$folder/lists"
  -o=Dpkg::Use-Pty=0 -o=Acquire::Retries=3 -o=DPkg::Lock::Timeout=300)
as_root apt-get "${options[@]}" update || die "the backports of $archive cannot be read"
package=$(apt-cache "${options[@]}" --names-only search '^golang-1\.2[3-9]-go$' | cut -d ' ' -f 1 | sort -V | tail -n 1)
[ -n "$package" ] || die "the backports of $archive have no Go $oldest or newer"
say "installing $package from bookworm-backports"
as_root env DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" -t bookworm-backports install -y --no-install-recommends \
  "$package" >/dev/null || die "$package cannot be installed"
say "done"

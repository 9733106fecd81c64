#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian 12 packages for building and testing Autopilot. Does nothing if no package is missing.
#
#   tools/install-deps.sh [--list] [build] [test] [lint] [extras] [cluster] [release] [jobs]     without a group: the first four
#   extras: programs that some tests use; without them these tests are skipped
#   cluster: packages that `make cluster` needs besides Go
#   jobs: PyTorch and Slurm, for `make test-jobs`
#   release: packages that `make release-binaries` and its tests need besides Go
#
# Needs root or sudo only if a package is missing.
set -euo pipefail

build=(
  clang-16 lld-16 llvm-16 g++-12 libstdc++-12-dev cmake ninja-build ccache pkg-config git make python3 python3-yaml
  libboost1.81-dev libboost-json1.81-dev libexpected-dev libyaml-cpp-dev libcli11-dev libspdlog-dev libfmt-dev
  libsqlite3-dev libre2-dev libnl-3-dev libnl-route-3-dev libnl-genl-3-dev libnghttp2-dev libssl-dev ca-certificates
  libiperf-dev libsctp-dev perftest ibverbs-providers
)
test=(libgtest-dev libgmock-dev libbenchmark-dev libclang-rt-16-dev libfuzzer-16-dev)
extras=(curl jq prometheus prometheus-alertmanager postgresql systemd e2fsprogs xfsprogs iproute2 util-linux mount procps python3-venv zsh fish groff mandoc dnsmasq-base iperf3 nftables chromium)
lint=(clang-format-16 clang-tidy-16 clang-19 shellcheck)
cluster=(containerd runc containernetworking-plugins busybox-static nftables conntrack iproute2 util-linux mount openssl)
jobs=(python3-torch python3-yaml slurmctld slurmd slurm-client munge iproute2 e2fsprogs util-linux mount nftables openssl)
release=(python3-venv mmdebstrap rpm rpm2cpio cpio)

# Services that a test starts as plain programs, and that must not start with the machine.
services=(prometheus prometheus-alertmanager postgresql containerd slurmctld slurmd munge)

say() { echo "install-deps: $*"; }
die() {
  echo "install-deps: $*" >&2
  exit 1
}

is_installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

packages_of() {
  case "$1" in
    build) printf '%s\n' "${build[@]}" ;;
    test) printf '%s\n' "${test[@]}" ;;
    lint) printf '%s\n' "${lint[@]}" ;;
    extras) printf '%s\n' "${extras[@]}" ;;
    cluster) printf '%s\n' "${cluster[@]}" ;;
    release) printf '%s\n' "${release[@]}" ;;
    jobs) printf '%s\n' "${jobs[@]}" ;;
    *) die "unknown group '$1': build, test, lint, extras, cluster, release and jobs exist" ;;
  esac
}

cure="Cure: nothing has to be built or installed to use Autopilot. \`make release-binaries\` on any Debian 12, or in a container of
  debian:12, makes dist/autopilot-VERSION-linux-$HOSTTYPE.tar.gz: \`tar xf\` it here, and run bin/autopilot in it (docs/start/one-machine.md,
  \"Get the files\"). To build here, use a container of debian:12."

# "debian 12"
system() {
  # shellcheck disable=SC1091
  [ ! -r /etc/os-release ] || (. /etc/os-release && echo "${ID:-unknown} ${VERSION_ID:-}")
}

check_system() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    die "this is no Debian system ($(system)); the packages to provide by hand are: $*
  $cure"
  fi
  [ "$(system)" = "debian 12" ] || say "warning: made for Debian 12, this is '$(system)'; names may differ"
}

# On another system some packages have other names, or do not exist.
refuse_unknown() {
  local unknown=()
  for package in "$@"; do
    apt-cache policy "$package" 2>/dev/null | grep -q 'Candidate: [^(]' || unknown+=("$package")
  done
  [ ${#unknown[@]} -eq 0 ] || die "$(system) has no ${unknown[*]}: Autopilot is built on Debian 12.
  $cure"
}

# Two versions of Boost cannot be installed side by side; apt would silently remove the other version and everything that needs it.
refuse_conflicts() {
  local found=()
  for other in libboost1.74-dev libboost-dev; do
    if is_installed "$other"; then found+=("$other"); fi
  done
  [ ${#found[@]} -eq 0 ] && return
  die "${found[*]} conflicts with libboost1.81-dev, which Autopilot needs.
  Cure: apt-get remove ${found[*]}   (look at what apt would remove with it), then run this again;
  or build in a container of debian:12."
}

# Keeps packages from starting services during the installation; an existing policy of the machine remains in force.
policy=/usr/sbin/policy-rc.d
forbid_service_starts() {
  [ -e "$policy" ] && return
  trap 'as_root rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
  as_root chmod 0755 "$policy"
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

apt() {
  as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
    apt-get -qq -o=Dpkg::Use-Pty=0 -o=Acquire::Retries=3 -o=DPkg::Lock::Timeout=300 "$@"
}

groups=()
list_only=
for argument in "$@"; do
  case "$argument" in
    --list) list_only=yes ;;
    -h | --help)
      sed -n '3,11s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    *) groups+=("$argument") ;;
  esac
done
[ ${#groups[@]} -gt 0 ] || groups=(build test lint extras)

wanted=()
for group in "${groups[@]}"; do
  names=$(packages_of "$group")
  mapfile -t -O "${#wanted[@]}" wanted <<<"$names"
done
if [ -n "$list_only" ]; then
  printf '%s\n' "${wanted[@]}"
  exit 0
fi

check_system "${wanted[@]}"
missing=()
for package in "${wanted[@]}"; do
  is_installed "$package" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  say "nothing missing (${groups[*]}: ${#wanted[@]} packages)"
  exit 0
fi
case " ${missing[*]} " in *" libboost1.81-dev "*) refuse_conflicts ;; esac

if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
  die "${#missing[@]} packages are missing, and this is neither root nor is there sudo. Run as root on Debian 12:
  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}
  $cure"
fi

say "installing ${#missing[@]} missing packages (${groups[*]}): ${missing[*]}"
new_services=()
for service in "${services[@]}"; do
  case " ${missing[*]} " in *" $service "*) new_services+=("$service") ;; esac
done
forbid_service_starts
apt update || say "warning: apt-get update failed; trying with the lists that are here"
[ "$(system)" = "debian 12" ] || refuse_unknown "${missing[@]}"
apt install -y --no-install-recommends "${missing[@]}" >/dev/null ||
  die "apt-get could not install: ${missing[*]}
  The lines above say why. The same by hand: apt-get install --no-install-recommends ${missing[*]}"
for service in "${new_services[@]}"; do
  if command -v systemctl >/dev/null && as_root systemctl --quiet disable "$service" 2>/dev/null; then
    say "$service is installed for tests only: its service is disabled"
  fi
done
say "done"

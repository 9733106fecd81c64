#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs a program of the preset arm64, and its child processes, on another processor: in a separate user namespace, this machine
# runs arm64 programs with qemu. Needs Linux 6.7, where such a namespace has its own binfmt_misc.
#
#   tools/run-arm64.sh PROGRAM [ARGUMENT...]      exits with 77 if this machine cannot do it
set -euo pipefail

cannot() {
  echo "SKIP: $*" >&2
  exit 77
}

if [ "${1:-}" != --inside ]; then
  export QEMU_LD_PREFIX=${XDG_CACHE_HOME:-$HOME/.cache}/autopilot/sysroot-arm64
  [ -x "$QEMU_LD_PREFIX/qemu-aarch64" ] || cannot "there is no emulator; tools/sysroot.sh fetches it"
  unshare -Urm true 2>/dev/null || cannot "this machine allows no user namespace"
  exec unshare -Urm "$0" --inside "$@"
fi

shift
misc=/proc/sys/fs/binfmt_misc
mount -t binfmt_misc none $misc 2>/dev/null || cannot "the kernel has no binfmt_misc for a user namespace (Linux 6.7)"
# The first 20 bytes of a 64-bit little-endian executable for machine 183, of type 2 or 3.
magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
echo ":arm64:M::$magic:$mask:$QEMU_LD_PREFIX/qemu-aarch64:" >$misc/register
exec "$@"

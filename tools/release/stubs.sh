#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What programs are linked against that are to start on systems with an older glibc (docs/adr/0029): stubs of its libraries,
# which hold names and versions and no code, its static part and its Scrt1.o. They come from ziglang, which is installed
# from the package index of this machine into a folder that is removed again (440 MB), and are put into
# ~/.cache/autopilot/glibc-VERSION-ARCHITECTURE (1 MB). Does nothing where all is there.
#
#   tools/release/stubs.sh [x86_64|aarch64]      ends with 77 where it cannot be had
set -euo pipefail

oldest=2.28
architecture=${1:-$(uname -m)}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/autopilot
stubs=$cache/glibc-$oldest-$architecture
wanted=$(grep -v '^#' "$here/requirements.txt" && sha256sum <"${BASH_SOURCE[0]}")

cannot() {
  echo "SKIP: $*" >&2
  exit 77
}

case "$architecture" in
  x86_64) format=elf64-x86-64 loader=ld-linux-x86-64.so.2 ;;
  aarch64) format=elf64-littleaarch64 loader=ld-linux-aarch64.so.1 ;;
  *) cannot "there are stubs for x86_64 and aarch64, not for $architecture" ;;
esac
if [ "$(cat "$stubs/made-of" 2>/dev/null)" = "$wanted" ]; then
  echo "stubs: $stubs is there"
  exit 0
fi

mkdir -p "$cache"
work=$(mktemp -d "$cache/stubs.XXXXXX")
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv" >&2 || cannot "python3-venv is missing (tools/install-deps.sh release)"
"$work/venv/bin/pip" --disable-pip-version-check --quiet install --no-deps --only-binary :all: --require-hashes \
  --requirement "$here/requirements.txt" >&2 || cannot "ziglang cannot be installed from the package index of this machine"

# It makes them when it links.
echo 'int main(void) { return 0; }' >"$work/main.c"
ZIG_GLOBAL_CACHE_DIR=$work/made ZIG_LOCAL_CACHE_DIR=$work/local "$work/venv/bin/python" -m ziglang cc \
  -target "$architecture-linux-gnu.$oldest" -pie -fPIE -o "$work/main" "$work/main.c"

mkdir "$work/stubs"
for name in Scrt1.o libc_nonshared.a libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1 libresolv.so.2; do
  mapfile -t found < <(find "$work/made" -name "$name")
  [ ${#found[@]} -eq 1 ] || {
    echo "stubs: ziglang made ${#found[@]} files $name, and one is expected" >&2
    exit 1
  }
  cp "${found[0]}" "$work/stubs/"
done
# What only the linker of zig understands.
llvm-objcopy-16 --strip-debug --remove-section=.llvm_addrsig "$work/stubs/Scrt1.o"
cp "$(dirname "$(find "$work/made" -name libc.so.6)")/libld.so.2" "$work/stubs/$loader"
for name in libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1 libresolv.so.2; do
  ln -s "$name" "$work/stubs/${name%.so.*}.so"
done
# Until 2.34 threads and the loader were libraries of their own; objects compiled for a newer one do not ask for them.
cat >"$work/stubs/libc.so" <<END
OUTPUT_FORMAT($format)
GROUP ( libc.so.6 libc_nonshared.a AS_NEEDED ( libpthread.so.0 libdl.so.2 librt.so.1 $loader ) )
END
echo "$wanted" >"$work/stubs/made-of"
rm -rf "$stubs"
mv "$work/stubs" "$stubs"
echo "stubs: $stubs is there"

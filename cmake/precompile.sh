#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compiler launcher of the precompiled headers (Precompiled.cmake): runs the compiler, and writes a checksum of the text
# that went into X.pch or X.gch to X.pch.sum or X.gch.sum. That is what ccache compares (CCACHE_PCH_EXTSUM): the
# precompiled header itself holds paths of this clone and differs in each.
set -euo pipefail

# CMake compiles an empty X.hxx.cxx that includes X.hxx. Where clang preprocesses with the result, for ccache, it puts the
# text of the compiled file in its place; this has to be the text of X.hxx.
case "$1" in *clang*) set -- "${@/%.hxx.cxx/.hxx}" ;; esac
"$@"

preprocess=()
output=
while [ $# -gt 0 ]; do
  case "$1" in
    -o)
      output=$2
      shift
      ;;
    -MF | -MT) shift ;;
    -c | -MD) ;;
    *) preprocess+=("$1") ;;
  esac
  shift
done
case "$output" in
  *.[gp]ch) "${preprocess[@]}" -E -P -dD | sha256sum >"$output.sum" ;;
esac

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Number of compilers that run at once: one per core, with 2 GiB of memory each (a Beast file with a sanitizer needs 1.5).
cores=$(nproc)
memory=$(awk '/^MemAvailable:/ { print int($2 / 2097152) }' /proc/meminfo)
jobs=$((memory < cores ? memory : cores))
echo $((jobs > 0 ? jobs : 1))

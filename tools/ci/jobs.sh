#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How many compilers run at once: one per core, but 2 GiB of memory for each (a Beast file under a sanitizer needs 1.5).
cores=$(nproc)
memory=$(awk '/^MemAvailable:/ { print int($2 / 2097152) }' /proc/meminfo)
jobs=$((memory < cores ? memory : cores))
echo $((jobs > 0 ? jobs : 1))

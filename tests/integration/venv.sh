#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes the virtual environment of the Python tests in ~/.cache/autopilot, once for each requirements.txt and Python
# version, and prints the path of its Python. Safe to run by many at once. Needs python3-venv, and a package index the
# first time.
#
#   tests/integration/venv.sh [PYTHON]
set -euo pipefail

python=${1:-python3}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
requirements=$here/requirements.txt
key=$({ "$python" --version && cat "$requirements"; } | sha256sum | cut -c 1-16)
folder=${XDG_CACHE_HOME:-$HOME/.cache}/autopilot/venv-$key

mkdir -p "${folder%/*}"
exec 9>"$folder.lock"
flock 9
if [ ! -e "$folder/complete" ]; then
  rm -rf "$folder"
  "$python" -m venv "$folder" >&2
  "$folder/bin/python" -m pip --disable-pip-version-check --quiet install --requirement "$requirements" >&2
  touch "$folder/complete"
fi
echo "$folder/bin/python"

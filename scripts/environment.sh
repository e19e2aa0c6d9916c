#!/bin/sh
# Make a hash-locked virtual environment with this checkout in it: environment.sh FOLDER LOCK. $PYTHON is the Python to use.
# With uv if there is one or it can be fetched, else with pip, which knows mirrors and certificates that uv doesn't.
set -eu
folder=$1 lock=$2

"${PYTHON:-python3}" -m venv "$folder" || {
  echo "This Python can't make virtual environments. On Debian and Ubuntu: apt install python3-venv." >&2
  exit 1
}
pip() { "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; }

with_uv() { "$uv" pip install --quiet --system-certs --python "$folder/bin/python" "$@"; }

uv=$(command -v uv) || { pip --require-hashes -r requirements/uv.lock && uv=$folder/bin/uv; } || uv=false
with_uv --require-hashes --no-build -r "$lock" || pip --require-hashes --only-binary :all: -r "$lock"
with_uv --no-deps --no-build-isolation --editable . || pip --no-deps --no-build-isolation --editable .
touch "$folder/.ready"

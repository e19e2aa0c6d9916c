#!/bin/sh
# Make a hash-locked virtual environment: environment.sh FOLDER LOCK [bare]. This checkout is installed in it, unless it is bare.
# With uv if there is one or it can be fetched, else with pip, which knows mirrors and certificates that uv doesn't.
# $PYTHON is the Python to use. $COMPILE is not empty where bytecode is to be written now rather than at the first import.
set -eu
folder=$1 lock=$2 bare=${3:-}

"${PYTHON:-python3}" -m venv "$folder" || {
  echo "This Python can't make virtual environments. On Debian and Ubuntu: apt install python3-venv." >&2
  exit 1
}
pip() { "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; }
with_uv() { "$uv" pip install --quiet --system-certs --python "$folder/bin/python" ${COMPILE:+--compile-bytecode} "$@"; }

uv=$(command -v uv || ls "$PWD/.venv/bin/uv" 2>/dev/null) || { pip --require-hashes -r requirements/uv.lock && uv=$folder/bin/uv; } || uv=false
with_uv --require-hashes --no-build -r "$lock" || pip --require-hashes --only-binary :all: -r "$lock"
[ -n "$bare" ] || with_uv --no-deps --no-build-isolation --editable . || pip --no-deps --no-build-isolation --editable .
touch "$folder/.ready"

#!/bin/sh
# Start `make run` in this checkout, wait until its page is served, say how long that took, and stop it.
set -eu
began=$(date +%s)
make run </dev/null &
trap 'kill $! 2>/dev/null || true; pkill -f "[t]readle serve --demo" || true' EXIT
until python3 -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/login', timeout=5)" 2>/dev/null; do
  [ $(($(date +%s) - began)) -lt 180 ] || { echo "make run: no page after 180 s" >&2; exit 1; }
  sleep 0.5
done
echo "make run: the page was there after $(($(date +%s) - began)) s"

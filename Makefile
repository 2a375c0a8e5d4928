# Every target installs what it needs first; stamps in .stamps/ remember what was installed.
PYTHON ?= python3
VENV := .venv/bin
MANAGE := $(VENV)/python manage.py
STAMPS := .stamps
.DEFAULT_GOAL := help

.PHONY: help venv node requirements services stop secrets

help:
	@echo "make demo     a panel with a lab host under load (AUTO=1 adds the caches, PORT= chooses the port)"
	@echo "make up       the panel on this machine, production settings, loopback"
	@echo "make test     gates and every test        make lint, make format"
	@echo "make lab      boot a lab host             make lab-ssh  a shell on it"
	@echo "make services start PostgreSQL and Redis  make stop     stop them"
	@echo "make clean    remove everything that was installed or written"

venv: $(STAMPS)/venv

$(STAMPS)/venv: requirements-test.txt
	@mkdir -p $(STAMPS)
	test -x $(VENV)/python || $(PYTHON) -m venv .venv
	$(VENV)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-test.txt
	@touch $@

node: $(STAMPS)/node

$(STAMPS)/node: package-lock.json $(STAMPS)/venv
	npm ci --no-progress
	@touch $@

# Compiles the pinned and hashed requirement files (UPGRADE=--upgrade takes new versions).
requirements: venv
	for name in requirements requirements-embedded requirements-test; do \
	  $(VENV)/uv pip compile --quiet --no-config --universal --generate-hashes --python-version 3.11 \
	    --custom-compile-command "make requirements" $(UPGRADE) $$name.in -o $$name.txt || exit 1; \
	done

secrets: venv
	@$(MANAGE) secrets

services: secrets
	@$(MANAGE) services start
	@$(MANAGE) migrate --verbosity 0

stop: venv
	@$(MANAGE) services stop

# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Entry point of a checkout. Everything that it sets up is inside the checkout: .venv, .venv-*, .ansible, .cache.

SHELL := /bin/sh
.DEFAULT_GOAL := help

# The lowest Python first, so that the default environment has the oldest supported ansible-core.
PYTHONS := 3.11 3.12 3.13 3.14
LINK := .ansible/collections/ansible_collections/gpuhost/tuning
# The slow tests are together in few files: a worker that has none left takes half of those that wait for another one.
WORKERS := -n auto --maxprocesses 8 --dist worksteal
PYTEST = TMPDIR=$$(tools/fast-temp.sh) .venv/bin/python -m pytest

export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg
export HOSTS HOST ARGS PYTHON REPORT

help: ## this list
	@echo "make TARGET, where TARGET is one of:"
	@sed -n 's/^\([a-z-]*\):.* ## /  \1\t/p' Makefile | expand -t 14
	@echo "Variables: ARGS='words for ansible-playbook or pytest', HOSTS=inventory, PYTHON=/path/to/python3.11"

audit: run-environment ## audit this machine, HOSTS=inventory, or a report: REPORT=nvidia-bug-report.log.gz
	@tools/audit.sh

fleet-report: run-environment ## rewrite reports/index.html, and show the table of a rollout that was killed
	@.venv/bin/ansible-playbook playbooks/fleet_report.yml $(ARGS)

setup: run-environment ## only set up .venv, to call .venv/bin/ansible-playbook yourself

test: dev-environment ## run all tests
	@tools/test-steps.sh

unit: test-environment ## run the unit and property tests
	$(PYTEST) tests/unit $(WORKERS) $(ARGS)

pytest: dev-environment ## run everything that pytest runs: unit, property, playbook and trace tests
	$(PYTEST) $(WORKERS) $(ARGS)

newest: link ## run unit and playbook tests on the newest ansible-core, where a Python for it is found
	@tools/newest.sh

core-tests: link ## run unit and playbook tests on one ansible-core: CORE=2.20, or CORE=pre for the newest pre-release
	@tools/core-tests.sh $(CORE)

release-check: link ## run the checks of Galaxy, reviewers and the documentation site
	@tools/setup-venv.sh .venv-release release $(PYTHONS)
	@tools/release-check.sh

molecule: dev-environment ## run the playbooks in a molecule scenario: on a planted host, or ARGS='-s guests'
	PATH="$(CURDIR)/.venv/bin:$$PATH" molecule test --no-command-borders $(or $(ARGS),-s planted)

vm: dev-environment ## run the tests on real kernels if guests can be booted, else say what is needed
	@tools/vm-tests.sh $(ARGS)

test-vm: test-environment ## like vm, but fail instead of skipping (see docs/testing.md)
	@tools/vm-tests.sh --must $(ARGS)

lint: dev-environment ## run ruff, yamllint, shellcheck and ansible-lint
	@tools/lint.sh

docs: dev-environment ## check the documentation of plugins and roles, and the changelog
	@tools/docs.sh

gpu-check: run-environment ## on a machine with an NVIDIA GPU, as root: test what is otherwise tested on a stand-in
	@PYTHONPATH=tools .venv/bin/python -m gpu_check $(ARGS)

corpus: run-environment ## import and audit every bug report in a folder, and compare with a search: DIR=folder
	@PYTHONPATH=tools:.ansible/collections .venv/bin/python -m corpus $(DIR) $(ARGS)

check-pages: run-environment ## regenerate docs/checks/ and docs/reference/
	PYTHONPATH=tools:.ansible/collections .venv/bin/python -m pages

check-checks: run-environment ## run the examples of your own checks: FILES='my-checks.yml ...'
	@PYTHONPATH=tools:tests/support:.ansible/collections .venv/bin/python -m check_checks $(FILES)

sanity: dev-environment ## run ansible-test sanity
	@tools/sanity.sh $(ARGS)

integration: dev-environment ## run ansible-test integration: one target for each module, role, filter and lookup
	@tools/integration.sh $(ARGS)

bench: bench-environment ## measure against an empty module, a ping playbook and a loop over ansible.posix.sysctl
	.venv-bench/bin/python tests/benchmarks/bench.py $(ARGS)

fuzz: test-environment ## feed damaged input to everything that parses data of a host: make fuzz SECONDS=600
	PYTHONPATH=tests:tests/support:.ansible/collections .venv/bin/python -m fuzz --seconds $(or $(SECONDS),60) $(ARGS)

soak: dev-environment ## run the long tests, marked soak, and ansible-test sanity on every Python
	tools/sanity.sh --every-python
	$(PYTEST) -m soak $(ARGS)
	GPUHOST_VM_FULL=1 tools/vm-tests.sh --must

record-tool: ## build dist/gpuhost-record.pyz, a single file that records a host without Ansible
	@PYTHONPATH=plugins $(or $(PYTHON),python3) tools/record_tool.py dist/gpuhost-record.pyz

build: run-environment record-tool ## build the collection, including gpuhost-record.pyz, into dist/
	.venv/bin/ansible-galaxy collection build --force --output-path dist
	@cp dist/gpuhost-tuning-$$(sed -n 's/^version: //p' galaxy.yml).tar.gz dist/gpuhost-tuning.tar.gz

lock: ## regenerate requirements/*.txt from requirements/pyproject.toml (needs uv)
	@tools/lock.sh $(ARGS)

clean: ## remove everything that was set up or built here, except reports/
	rm -rf .venv .venv-newest .venv-bench .venv-release .venv-core-* .ansible .cache .pytest_cache .ruff_cache .hypothesis collections/ansible_collections dist tests/output
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

run-environment: link
	@tools/setup-venv.sh .venv run $(PYTHONS)

test-environment: link
	@tools/setup-venv.sh .venv test $(PYTHONS)

dev-environment: link
	@tools/setup-venv.sh .venv dev $(PYTHONS)

bench-environment: link
	@tools/setup-venv.sh .venv-bench bench $(PYTHONS)

# Ansible finds a collection only in a folder named ansible_collections/<namespace>/<name>.
link:
	@mkdir -p $(dir $(LINK))
	@[ -L $(LINK) ] || ln -s ../../../.. $(LINK)

.PHONY: help audit fleet-report setup test unit pytest newest core-tests release-check molecule vm test-vm lint docs \
	corpus check-pages check-checks sanity integration bench fuzz soak record-tool \
	build lock clean \
	run-environment test-environment dev-environment bench-environment link

# Two commands do everything: `make demo` and `make test`. Each sets up what is missing first, once.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
PYTHON ?= python3
LANES ?= 3
CASES ?= 200
KILLS ?= 200
SECONDS ?= 3600
MINUTES ?= 60
SEED := $(shell date +%s)
TURN ?= $(shell echo $$(( $(SEED) / 86400 )))
BIN := .venv/bin
PARALLEL := -n $(LANES) --no-loadscope-reorder
SUM := $(shell cat requirements/lock.txt requirements/uv.txt requirements/package-lock.json requirements/*.sha256 pom.xml pyproject.toml local/pyspark_zip.py local/files_jar.py $$(find spark_jobs/java -name '*.java' | sort) 2>/dev/null | cksum | cut -d' ' -f1)
READY := .local/setup/$(SUM)
PACKAGES := .local/packages/$(SUM)
JARS := .local/jars/$(SUM)
export PYTHONPATH := $(CURDIR):$(CURDIR)/plugins

PROVIDER := apache-airflow-providers-apache-spark==6.3.4
# Of the wheel beside an Airflow. Without this project's override: pip has none, and installs pyspark-client.
CONSTRAINTS := .local/uv/bin/uv pip compile -q --no-config --universal --no-header --no-annotate --python-version 3.11 pyproject.toml --extra s3 -

IMAGE := sluice:local
BUILD ?=
STACK := docker compose --profile demo

.PHONY: help setup demo test tests test-fast unit test-long properties faults check costs mutants simulate lint object-store bench operators screenshots reference up down clean lock wheel \
  need image stack stack-ready stack-secrets stack-demo stack-down

help: ## show this
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

setup: $(READY) ## fetch Python packages and jars, once; every other target does it too

demo: $(READY) ## run the main job on two months of real flights: Kafka, Spark, Delta, checks, Airflow; then show what came out
	@$(BIN)/python -m local.demo

test: ## run the tests: unit, Spark, Airflow, end to end; lint and types beside them
	@$(MAKE) --no-print-directory -j 3 lint object-store tests

tests: $(READY)
	@SLUICE_TURN=$(TURN) SLUICE_MINUTES=$(MINUTES) $(BIN)/python -u -m pytest $(PARALLEL) --ignore=tests/text --durations=20

test-fast: ## lint, types and unit tests: a minute
	@$(MAKE) --no-print-directory -j 2 lint unit

check: $(READY) ## the cheapest unit tests, by tests/costs.json: for each save
	@$(BIN)/python -m pytest -q -n 2 --no-loadscope-reorder $$($(BIN)/python -m tests.harness.costs 60)

costs: $(READY) ## run every test, and hold each file's processor seconds against tests/costs.json; KEEP=1 writes that anew, with each dear test
	@SLUICE_COSTS=$(if $(KEEP),keep,hold) $(BIN)/python -u -m pytest $(PARALLEL) --durations=20

unit: $(READY)
	@$(BIN)/python -m pytest -q $(PARALLEL) tests/unit

test-long: $(READY) ## every test in its long form where it has one: more cases, more triggers, a broker that stands still for a minute
	@echo 'the same cases again: make test-long CASES=$(CASES) SEED=$(SEED)'
	@SLUICE_LONG=1 SLUICE_ORDER=$(SEED) SLUICE_CASES=$(CASES) SLUICE_TRIGGERS=10 SLUICE_PAUSE_SECONDS=60 SLUICE_WARM_RUNS=500 $(BIN)/python -m pytest $(PARALLEL) -o faulthandler_timeout=0 --durations=20 --hypothesis-seed=$(SEED)

properties: $(READY) ## look for an input that gives a wrong table: CASES=200 for each family of operators, or FAMILY="group state"; takes hours
	@echo 'the same cases again: make properties CASES=$(CASES) SEED=$(SEED)$(if $(FAMILY), FAMILY="$(FAMILY)")'
	@$(if $(FAMILY),SLUICE_FAMILY='$(FAMILY)') SLUICE_CASES=$(CASES) $(BIN)/python -m pytest tests/spark/properties -o faulthandler_timeout=0 --hypothesis-seed=$(SEED)

faults: $(READY) ## kill real drains by a seeded schedule, and verify: KILLS=200 SEED=...; takes about an hour; WARM=1 kills warm drains, their worker and their client; REPAIRS=1 stages and swaps of repairs
	@$(BIN)/python -m tests.faults --kills $(KILLS) --seed $(SEED) $(if $(REPAIRS),--repairs) $(if $(WARM),--warm)

mutants: $(READY) ## change FILE at one place after the other and list what TESTS do not see: FILE=spark_jobs/audit/balance.py TESTS=tests/unit/test_balance.py; without them the files of a table (local/mutants); MOST=60 of each, by SEED
	@[ -x .local/mutants/bin/cosmic-ray ] || { $(PYTHON) -m venv .local/mutants; .local/mutants/bin/pip install -q --require-hashes -r requirements/mutants.txt; }
	@$(BIN)/python -m local.mutants "$(FILE)" "$(TESTS)"

simulate: $(READY) ## kill and interleave every change of a root without Spark, by seeds, against a model: SECONDS=3600 SEED=...
	@echo 'the same schedules again: make simulate SECONDS=$(SECONDS) SEED=$(SEED)'
	@$(BIN)/python -m tests.simulation $(SECONDS) $(SEED)

lint: $(PACKAGES) ## ruff, mypy, the import boundary, the measures and tests/text; beside set-up's second half where both are due
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m local.measures
	@$(BIN)/python -m pytest -q tests/text

object-store: $(PACKAGES) ## build the S3 server of the tests, where there is Go; beside set-up, with what that leaves of the cores
	@$(if $(wildcard $(READY)),,nice) $(BIN)/python -m tests.harness.object_store

bench: $(READY) .local/flink/ready ## measure against an expert's script and others; two and a half hours or more on two cores; ARGS="--records 50000 --repetitions 1" tries it
	@$(BIN)/python -m bench $(ARGS)

operators: $(READY) ## write the examples of docs/operators.md anew, from real runs
	@SLUICE_LONG=1 SLUICE_WRITE_PAGE=1 $(BIN)/python -m pytest -q tests/spark/test_operators_page.py

screenshots: $(READY) ## take the pictures of docs/seeing.md anew, in Debian's Chromium; some minutes
	@SLUICE_LONG=1 SLUICE_SCREENSHOTS=1 $(BIN)/python -m pytest -q tests/browser/test_screenshots.py tests/browser/test_backfill.py

reference: $(READY) ## write docs/reference.md and the table of docs/architecture.md anew, from the code
	@$(BIN)/python -m local.reference

up: $(READY) ## start Kafka and Airflow's UI and leave them running
	@$(BIN)/python -m local.up up

down: ## stop what `make up` started
	@$(BIN)/python -m local.up down

wheel: ## build dist/sluice-*.whl, and pip's constraints for each Airflow: Airflow's side, and `sluice install`, which makes Spark's; sets nothing else up
	@[ -x .local/wheel/bin/python ] || $(PYTHON) -m venv .local/wheel
	@sed -n '/^setuptools==/,/^ *# via/p' requirements/lock.txt | .local/wheel/bin/pip install -q --disable-pip-version-check --require-hashes -r /dev/stdin
	@.local/wheel/bin/python -m local.npm
	@.local/wheel/bin/python -m local.wheel dist

image: ## build the one image of Airflow, Spark and the command line; BUILD='--network host' and the like go to docker build
	@docker/ready image
	@docker build $(BUILD) --build-arg REVISION=$$(git rev-parse --short HEAD 2>/dev/null || echo unknown) -t $(IMAGE) .
	@docker image inspect --format '{{.Size}}' $(IMAGE) | awk '{printf "$(IMAGE): %.2f GB\n", $$1 / 1e9}'

stack-secrets: ## make the stack's secrets in .stack, once: it never overwrites
	@docker/ready secrets
	@docker image inspect $(IMAGE) >/dev/null 2>&1 || $(MAKE) --no-print-directory image
	@docker run --rm --network none --user "$$(id -u):$$(id -g)" -v "$(CURDIR):/project" $(IMAGE) python -m local.stack.secrets /project

stack-ready:
	@docker/ready secrets

stack: stack-ready image stack-secrets ## the stack in containers: Postgres, Kafka, object store, Airflow; waits until all of it is healthy
	@docker compose up --detach --wait --wait-timeout 900
	@# As Compose has it: it reads .env, and this shell does not.
	@printf 'Airflow is at http://%s, user admin; the password is in .stack/secrets/airflow_passwords\n' "$$(docker compose port airflow-api 8080)"

stack-demo: ## publish the flights in three deliveries to the stack, let its DAGs drain them, and hold the result against the ledger
	@docker/ready compose
	@for part in airflow-scheduler airflow-dag-processor; do docker compose ps $$part | grep -q '(healthy)' \
	  || { echo "error: $$part is not healthy here: the stack does not run, or not all of it; start it: make stack" >&2; exit 1; }; done
	@# Without what it depends on: Compose would take back workers that --scale has added.
	@$(STACK) run --rm --no-deps producer

stack-down: ## stop the stack; VOLUMES=1 removes its data too
	@docker/ready compose
	@# Who the containers run as, nobody needs for that: it works without .env too.
	@SLUICE_UID=0 SLUICE_GID=0 $(STACK) down $(if $(VOLUMES),--volumes)

.local/flink/ready:
	@echo 'Flink, a rival of the benchmark, into .local/flink: 0.9 GB'
	@$(PYTHON) -m venv .local/flink
	@.local/flink/bin/pip install -q --disable-pip-version-check --require-hashes -r requirements/flink.txt
	@mvn -q -B -ntp -Pflink dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/jars/flink
	@cd jars && sha256sum --check --quiet ../requirements/flink.sha256
	@touch $@

clean: ## remove everything that setup, demo and up have made
	@if [ -x $(BIN)/python ]; then $(BIN)/python -m local.up down; fi
	rm -rf .venv .local jars spark_jobs/pages/uplot

lock: $(READY) ## resolve the dependencies anew and write requirements/lock.txt
	@.local/uv/bin/uv pip compile -q --universal --generate-hashes --no-header --python-version 3.11 pyproject.toml \
	  --group airflow --extra spark --group demo --group dev -o requirements/lock.txt
	@npm --prefix requirements install --package-lock-only --omit-lockfile-registry-resolved --ignore-scripts --no-audit --no-fund
	@# The image's part of it: nothing that only tests need.
	@.local/uv/bin/uv pip compile -q --universal --generate-hashes --no-header --python-version 3.11 pyproject.toml \
	  --group airflow --extra spark --group demo -c requirements/lock.txt -o requirements/image.txt
	@# What pip takes beside the wheel: with this Airflow what is in the lock, with an older one what there was soon after it.
	@printf '%s\n' apache-airflow==3.3.2 $(PROVIDER) | $(CONSTRAINTS) -c requirements/lock.txt -o requirements/constraints-3.3.2.txt
	@printf '%s\n' apache-airflow==3.2.2 $(PROVIDER) | $(CONSTRAINTS) --exclude-newer 2026-06-15 \
	  $(foreach each,deltalake apache-airflow-providers-apache-spark apache-airflow-providers-common-compat,--exclude-newer-package $(each)=2026-11-15) \
	  -o requirements/constraints-3.2.2.txt
	@# What `sluice install` takes: Spark's side alone, and the records of which it makes the class-data archive.
	@.local/uv/bin/uv pip compile -q --universal --generate-hashes --no-header --python-version 3.11 pyproject.toml \
	  --extra spark --group demo -c requirements/lock.txt -o requirements/spark.txt

need:
	@command -v java >/dev/null || { echo 'Java 17 is missing. Debian and Ubuntu: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17' >&2; exit 1; }
	@java -version 2>&1 | grep -qE '"(17|21)\b' || { echo "Java 17 is needed (21 is allowed, and not tested), and 'java' is: $$(java -version 2>&1 | head -n 1)" >&2; exit 1; }
	@command -v mvn >/dev/null || { echo 'Maven is missing. Debian and Ubuntu: apt-get install maven; macOS: brew install maven' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' || { echo "Python 3.11 to 3.13 is needed, and '$(PYTHON)' is $$($(PYTHON) --version); name another: make PYTHON=python3.12 ..." >&2; exit 1; }

$(PACKAGES): | need
	@echo 'setting up, once: about 180 Python packages and 100 jars; some minutes'
	@[ -x .local/uv/bin/uv ] || { $(PYTHON) -m venv .local/uv; .local/uv/bin/pip install -q --require-hashes -r requirements/uv.txt; }
	@[ -x $(BIN)/python ] || .local/uv/bin/uv venv -q --python $(PYTHON) .venv
	@echo '  Python packages ...'
	@# Compiled at once: a machine that writes no .pyc files would compile half of Spark's and Airflow's Python at every start.
	@.local/uv/bin/uv pip sync -q --python $(BIN)/python --require-hashes --compile-bytecode requirements/lock.txt
	@.local/uv/bin/uv pip install -q --python $(BIN)/python --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q dags plugins spark_jobs local
	@rm -rf .local/packages && mkdir -p .local/packages && touch $@

$(JARS): | need
	@echo '  jars ...'
	@# Where it succeeds it says nothing but codes of colour.
	@for part in spark s3 kafka registry build; do rm -rf jars/$$part; \
	  said=$$(MAVEN_OPTS="-XX:TieredStopAtLevel=1 $${MAVEN_OPTS:-}" mvn -q -B -ntp -P$$part dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=$(CURDIR)/jars/$$part 2>&1) || { echo "$$said" >&2; exit 1; }; done
	@cd jars && sha256sum --check --quiet ../requirements/jars.sha256 ../requirements/registry.sha256
	@mkdir -p jars/registry/app && tar -xzf jars/registry/*.tar.gz -C jars/registry/app
	@rm -rf .local/jars && mkdir -p .local/jars && touch $@

$(READY): $(PACKAGES) $(JARS)
	@$(BIN)/python -m local.pyspark_zip
	@$(BIN)/python -m local.files_jar
	@echo '  what the pages draw charts with ...'
	@$(PYTHON) -m local.npm
	@echo '  class-data archive, by which every drain starts sooner ...'
	@$(BIN)/python -m local.archive
	@rm -rf .local/setup && mkdir -p .local/setup && touch $@

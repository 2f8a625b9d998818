# One word for each thing that a person wants to do here. Each makes what it needs first (tools/setup.py), once.
.DEFAULT_GOAL := help
.PHONY: help demo test test-all faults soak simulate planted bench lint types imports generate check-generated docs check-docs constraints cluster

# Any Python from 3.10 on starts the tools; $(setup) ends with a sentence that helps if there is none.
python = python=$$(tools/find-python) && "$$python"
setup  = @$(python) tools/setup.py

# Spark starts its Java and its Python workers from these.
spark = JAVA_HOME=$$(tools/find-java) PYSPARK_PYTHON=$(CURDIR)/.venv/bin/python SPARK_LOCAL_IP=$${SPARK_LOCAL_IP:-127.0.0.1}

code = $(foreach folder,coordinator state_backend listener_bridge replay tests tools benchmarks examples,$(if $(shell find $(folder) -name "*.py" 2>/dev/null),$(folder)))

help:  ## what there is
	@sed -n 's/^\([a-z-]*\):.*  ## \(.*\)/make \1\t\2/p' Makefile | expand -t 24

demo:  ## a real PySpark job with the plugin off and on, and what it saved (about a minute)
	$(setup) java dev
	@$(spark) .venv/bin/shufflectl demo

cluster:  ## 3 etcd members and 3 replicas on loopback to play with, until Ctrl-C
	$(setup) dev etcd
	@exec .venv/bin/python tools/cluster.py

test:  ## every check and test, on the oldest and the newest Spark; a part alone: tools/parts.py PART
	@$(python) tools/parts.py

test-all:  ## test, with the slow tests, on every supported Spark
	@$(python) tools/parts.py --all

SECONDS ?= 600
SEED ?=
faults:  ## real faults on real processes: SECONDS=3600 for an hour, SEED=7 for that schedule again
	$(setup) java dev etcd
	@$(spark) .venv/bin/python -m tests.faults.run --spark --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

soak:  ## drivers that come and go, with faults, for SECONDS=; draws memory, descriptors, store and latency: soak.html
	$(setup) dev etcd
	@.venv/bin/python -m tests.faults.soak --seconds $(SECONDS)

bench:  ## the benchmarks, as tables with ratios
	$(setup) java dev etcd
	@$(spark) .venv/bin/python -m benchmarks

# The first seed: CI runs those below it.
FROM ?= 1000000

simulate:  ## schedules of faults on a virtual clock, for SECONDS=600, or COUNT=10000 of them, from seed FROM= on
	$(setup) dev
	@.venv/bin/python -m tests.simulation.run --from $(FROM) $(if $(COUNT),--count $(COUNT),--seconds $(SECONDS))

planted:  ## every planted bug against every fast layer of the tests, as a table
	$(setup) dev
	@.venv/bin/python -m tests.planted

lint:  ## ruff
	$(setup) dev
	@.venv/bin/ruff check .

types:  ## mypy, strict, code and tests
	$(setup) dev
	@.venv/bin/mypy $(code)

imports:  ## who may import whom
	$(setup) dev
	@.venv/bin/python tools/imports.py

generate:  ## the Python of the .proto files
	@$(python) tools/generate.py

check-generated:  ## is the committed Python what the .proto files say?
	@$(python) tools/generate.py --check

docs:  ## the pages that the code knows better
	$(setup) dev
	@.venv/bin/python tools/docs.py && .venv/bin/python -m coordinator.cli.reference

check-docs:  ## do they say what the code says?
	$(setup) dev
	@.venv/bin/python tools/docs.py --check

constraints:  ## the versions that the tests run with, newest that fit
	$(setup) dev
	@tools/constraints

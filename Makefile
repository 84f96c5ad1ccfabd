# `make help` lists the targets. Each fetches what it needs by itself (scripts/bootstrap).
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup build package wheels demo test lint format docs bench clean bootstrap-build \
        bootstrap-test bootstrap-lint bootstrap-docs bootstrap-bench bootstrap-wheels

JOBS := $(shell nproc 2>/dev/null || echo 2)
PACKAGE := .venv/.stamp-package
# The package is made of what the C++ tests are made of: these are the settings of the CMake preset `default`.
# `make wheels` builds what is handed out.
PACKAGE_SETTINGS := -C build-dir=build/default -C cmake.build-type=RelWithDebInfo \
                    -C cmake.define.CMAKE_CXX_FLAGS_RELWITHDEBINFO="-O2 -g1 -DNDEBUG" \
                    -C cmake.define.POLYPATH_INSTALL_STANDIN=ON -C cmake.define.POLYPATH_KERNELS_FOR=here
# Folders are listed as well: their time changes when a file is removed.
PACKAGE_SOURCES := $(shell find CMakeLists.txt pyproject.toml cmake include machines programs python src standin \
                     -name __pycache__ -prune -o -print 2>/dev/null)

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: bootstrap-build bootstrap-test bootstrap-lint bootstrap-docs bootstrap-bench  ## fetch everything that any target needs

build: bootstrap-test  ## build the C++ side with its tests, and install the package into .venv
	cmake --preset default
	cmake --build --preset default --parallel $(JOBS)
	@$(MAKE) --no-print-directory package

wheels: bootstrap-wheels  ## build the wheels to hand out into dist/, one per kind of Python here
	@.venv/bin/python scripts/build_wheels.py

demo: $(PACKAGE)  ## show what multi-path transfers gain: on the GPUs here, else on simulated machines
	@.venv/bin/polypath demo

test: bootstrap-test  ## run every test: C++, with sanitizers, Python, MPI (SUITES="default python" for some, LONG=1)
	@.venv/bin/python scripts/run_tests.py $(if $(LONG),--long) $(SUITES)

lint: bootstrap-lint  ## check formatting, clang-tidy of what changed (ALL=1: of all), ruff, mypy, lengths, include edges
	@TIDY=$(if $(ALL),--all) scripts/lint

format: bootstrap-lint  ## format the sources
	@scripts/lint --fix

docs: bootstrap-docs  ## build the documentation as a site in build/site, links checked
	@NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build && echo "The site is build/site/index.html"

bench: bootstrap-bench  ## run the microbenchmarks of the library's own costs
	cmake --preset bench
	cmake --build --preset bench --parallel $(JOBS)
	build/bench/benchmarks/microbenchmarks

clean:  ## remove the build folder and the virtual environment
	rm -rf build .venv .venv-mpi .venv-mpich

package: $(PACKAGE)

# By the compiler's name that CMake uses by itself: ccache tells compilers apart by their names.
$(PACKAGE): $(PACKAGE_SOURCES) | bootstrap-build
	@echo "Building and installing the package (the first time takes minutes)"
	@set -o pipefail; export CC=$${CC:-cc} CXX=$${CXX:-c++}; \
	  .venv/bin/python -m pip install --verbose --disable-pip-version-check \
	  --no-build-isolation $(PACKAGE_SETTINGS) . 2>&1 | scripts/show_build
	@touch $@

bootstrap-build:
	@scripts/bootstrap build
bootstrap-test:
	@scripts/bootstrap build test
bootstrap-lint:
	@scripts/bootstrap build test lint
bootstrap-docs:
	@scripts/bootstrap docs
bootstrap-bench:
	@scripts/bootstrap build bench
bootstrap-wheels:
	@scripts/bootstrap build wheels

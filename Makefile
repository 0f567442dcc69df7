# For people: the build itself is CMakeLists.txt.
#
# `make demo` and `make test` set the machine up first (Debian packages).

PREFIX ?= /usr/local
DESTDIR ?=

all: ## build/weir, build/weir-lab, build/libweir.a, build/libweir.so
	@[ -e build/weir ] && echo "building..." || echo "building, which takes some minutes the first time..."
	@[ -e build/build.ninja ] || cmake --preset release -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null
	@if [ -t 1 ]; then cmake --build build; else cmake --build build -- --quiet; fi

setup: ## install the Debian packages that are missing
	@tools/setup

demo: setup all ## drop the duplicates of a bundled real stream and show the error made
	@tools/demo build/weir

demo-cluster: setup all ## one filter for two producers on a cluster here, a server of which is killed
	@tools/demo-cluster build/weir build/module/weir.so

demo-redis: setup all ## the same inside a Redis server, beside a plain set
	@tools/demo-redis build

test: setup ## every test, as CI runs them
	@tools/test

check: all ## the quick tests only (no sanitizers, no linters, not the whole lab)
	@tools/test quick

bench: setup all ## speed and memory, against other tools, as ratios in one run
	@bench/run build

bench-check: setup all ## each filter's share of the machine's line rate is above its floor
	@bench/levels build --check

accuracy: setup all ## error rates on reference and drawn streams, as docs/accuracy.md has them
	@build/weir-accuracy --page --cells build/accuracy-cells.csv

lab: setup all ## the papers' experiments at their quick sizes, and the page lab-results/report.html
	@build/weir-lab run && build/weir-lab report

lab-full: setup all ## the same at the papers' sizes: half an hour on two cores, and 3 GB of memory
	@build/weir-lab run --full && build/weir-lab report

lab-test: all ## the tests of the lab alone
	@tools/test lab

install: all ## into $(PREFIX), under $(DESTDIR)
	@DESTDIR=$(DESTDIR) cmake --install build --prefix $(PREFIX)
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then PATH=$$PATH:/usr/sbin:/sbin; \
		! command -v ldconfig >/dev/null || ldconfig || :; fi # so that programs find the library

format: ## lay out the source with clang-format
	@git ls-files '*.c' '*.h' '*.cpp' | xargs clang-format -i

clean: ## remove everything that was built
	@rm -rf build build-*

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

.PHONY: all setup demo demo-cluster demo-redis test check bench bench-check accuracy lab lab-full lab-test install format clean help

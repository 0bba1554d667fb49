# The words people type; meson and ninja do the work. `make` leaves the command at build/neurolens.

PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
DEMO = tests/fixtures/made_gpu_train.json.gz

.PHONY: all demo check quick test torture wholefuzz shares mutants bench bench-readers bench-overhead fuzz fuzz-fixed fuzz-forever fuzz-minimise lint format install wheel deb deb-test release roots-test arm64-test pythons container-test site asan tsan test-frameworks docs clean

# Configuring again finds new unit tests and fuzz targets.
define compile
	@test -f $(1)/build.ninja || meson setup $(1) $(2) >/dev/null
	@test $(1)/build.ninja -nt tests/unit -a $(1)/build.ninja -nt fuzz || \
	  { meson setup --reconfigure $(1) >/dev/null && touch $(1)/build.ninja; }
	@ninja -C $(1) --quiet
endef

all:
	@tools/setup.sh build
	$(call compile,build)

demo: all
	build/neurolens analyze $(DEMO)
	@build/neurolens analyze $(DEMO) --all --format md -o build/demo-report.md
	@build/neurolens analyze $(DEMO) --format json -o build/demo-report.json
	@echo "report: build/demo-report.md and build/demo-report.json"

# What answers within a minute; run it before each commit.
check:
	@tools/test.py --check

# In 15 seconds, what of it is nearest to the changed files: while you work.
quick:
	@tools/test.py --quick

test:
	@tools/test.py

# Every call of the system fails once, in every kind of command, and from each place on; trace files that lie; losses of power. Takes hours, or
# TORTURE_MINUTES for each command: the next time goes on where this one ended (build/torture.json).
TORTURE_MINUTES ?= 0
torture: all
	@python3 tests/faults.py --places --sticky --minutes $(TORTURE_MINUTES) --resume build/torture.json
	@python3 tests/faults.py --all --minutes $(TORTURE_MINUTES) --resume build/torture.json
	@python3 tests/nltfile.py 5000 $$$$
	@python3 tests/crash.py 5000 $$$$

# Whole commands over damaged files, with sanitizers: WHOLEFUZZ_RUNS of them from a seed that differs each time.
WHOLEFUZZ_RUNS ?= 3000
wholefuzz: asan
	@NEUROLENS=build-asan/neurolens KEEP=build-asan/wholefuzz python3 tests/wholefuzz.py $(WHOLEFUZZ_RUNS) $$$$

# No share over 1 in the answers about any profile of ../shared: minutes.
shares: all
	@python3 tests/shares.py --all
	@python3 tests/work.py coverage --all

# Measures how often findings are right on planted profiles, anew: minutes. Writes src/findings/sureness.def.
.PHONY: sureness
sureness: all
	@python3 tests/sureness.py --all

# Changes one line at a time and counts what no test notices; takes about half a minute each.
mutants:
	@tools/mutants.py --keep docs/mutants.md

bench: all
	@python3 bench/bench.py

bench-readers: all
	@python3 bench/bench_readers.py

bench-overhead: all
	@python3 bench/overhead.py

fuzz:
	@tools/setup.sh
	$(call compile,build-fuzz,$(FUZZ_FLAGS))
	@tools/fuzz.sh build-fuzz $(FUZZ_SECONDS)

# What CI judges by, and more of the same kind: no input is chosen by chance.
fuzz-fixed: export FUZZ_MADE ?= 5000
fuzz-fixed:
	@tools/setup.sh
	$(call compile,build-asan,$(ASAN_FLAGS))
	@tools/fuzz.sh build-asan fixed

# Round after round until Ctrl-C, or FUZZ_MINUTES; counts go to docs/fuzzing.md.
FUZZ_MINUTES ?= 0
fuzz-forever:
	@tools/setup.sh
	$(call compile,build-fuzz,$(FUZZ_FLAGS))
	@nice -n 15 tools/fuzz_counts.py build-fuzz --seconds $(FUZZ_SECONDS) --minutes $(FUZZ_MINUTES)

fuzz-minimise:
	@tools/fuzz_counts.py build-fuzz --minimise

lint:
	@python3 tools/lint.py

format:
	@clang-format -i $$(git ls-files -co --exclude-standard '*.c' '*.h')
	@tools/wrapcomments.py $$(git ls-files -co --exclude-standard '*.c' '*.h' '*.def')
	@clang-format -i $$(git ls-files -co --exclude-standard '*.c' '*.h')
	@tools/wrap.py $$(git ls-files -co --exclude-standard '*.md')

# Address and undefined-behaviour sanitizers, with the fuzz targets where clang has libFuzzer.
ASAN_FLAGS = -Doptimization=1 -Ddebug=true -Dc_args=-g1 -Db_sanitize=address,undefined -Db_lundef=false \
  $(shell tools/fuzz.sh flags)
# Guided by what runs, which takes twice the code: for what chance chooses.
FUZZ_FLAGS = $(ASAN_FLAGS) -Dguided=true
TSAN_FLAGS = -Doptimization=1 -Ddebug=true -Dc_args=-g1 -Db_sanitize=thread
asan: export CC = $(shell command -v clang || echo gcc)
fuzz fuzz-fixed fuzz-forever: export CC = clang
asan:
	$(call compile,build-asan,$(ASAN_FLAGS))
tsan:
	$(call compile,build-tsan,$(TSAN_FLAGS))

docs: all
	build/neurolens schema sql -o docs/sql.md
	build/neurolens schema metrics -o docs/metrics.md
	@build/neurolens schema analyses | tools/fill.py docs/analysis.md analyses
	@build/neurolens schema causes | tools/fill.py docs/findings.md causes
	@tools/wrap.py docs/sql.md docs/metrics.md
	@tools/rooms.py
	@tools/llms.py

test-frameworks:
	tools/test_frameworks.sh

install: all
	@meson configure build -Dprefix=$(PREFIX) >/dev/null
	DESTDIR=$(DESTDIR) meson install -C build

# One file for pip: dist/*.whl (docs/wheel.md). MACHINE=aarch64: for arm64, by a cross compiler.
wheel:
	@tools/setup.sh build
	@python3 tools/wheel.py $(if $(MACHINE),--machine $(MACHINE))
	@python3 tests/hardening.py dist/*.whl

# Packages for this Debian: dist/*.deb (docs/packages.md); deb-test installs them into a clean root.
deb:
	@tools/setup.sh build
	@tools/deb.sh
deb-test:
	@tools/deb_test.sh

# All that is handed out, with its digests: build/release/ (docs/packages.md); refuses a tree with changes.
release: all
	@python3 tools/release.py
# The steps of Containerfile in a clean root; as root.
container-test:
	@python3 tools/container.py
# The pages with search: build/site/html/index.html.
site:
	@python3 tools/website.py
# CPython 3.14 with and without the GIL in build/pythons/, for tests/wheel.py.
pythons:
	@python3 tools/pythons.py
# The wheel for arm64 by an emulator, against the one for x86-64; as root.
arm64-test:
	@python3 tools/arm64.py
# The wheel and the archive in clean roots of Debian 11, Ubuntu 20.04 and 26.04; as root.
roots-test:
	@python3 tools/roots.py

clean:
	rm -rf build build-* dist

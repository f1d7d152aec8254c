# SPDX-License-Identifier: GPL-2.0-or-later
#
# make                build everything that needs no kernel
# make demo           the main job, end to end
# make check-fast     tests without a kernel, under a minute
# make check          the tests, with kernels
# make check-full     whatever takes longer
# make fuzz           what reads foreign bytes, under random ones: FUZZ_SECONDS=5 for each target; fuzz-long: 600
# make soak           kills at random moments, SOAK_KILLS=100: nothing may be lost, wrong or left behind
# make bench          the figures, measured
# make install        DESTDIR, PREFIX
# make ARCH=arm64     cross build below build/arm64
#
# V=1 shows commands; ASAN=1 UBSAN=1 add sanitizers; CC, CFLAGS, LDFLAGS are respected. A change of flags rebuilds.

PREFIX ?= /usr/local
ARCH ?= native
PYTHON ?= /usr/bin/python3
PKG_CONFIG ?= pkg-config
ifeq ($(ARCH),native)
BUILD ?= build
else ifeq ($(ARCH),arm64)
BUILD := build/arm64
CC = aarch64-linux-gnu-gcc
PKG_CONFIG := env PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig pkg-config
else
$(error ARCH=$(ARCH) is not known: use native or arm64)
endif

VERSION := $(shell git describe --always --dirty 2>/dev/null || echo unknown)
CFLAGS ?= -O2 -g
OUR_CFLAGS := -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wshadow -MMD -MP -fPIC -I.
OUR_LDFLAGS :=
ifdef ASAN
OUR_CFLAGS += -fsanitize=address -fno-omit-frame-pointer
OUR_LDFLAGS += -fsanitize=address
endif
ifdef UBSAN
OUR_CFLAGS += -fsanitize=undefined -fno-sanitize-recover=undefined
OUR_LDFLAGS += -fsanitize=undefined
endif
ifdef FUZZ
OUR_CFLAGS += -fsanitize=fuzzer-no-link
endif
Q := $(if $(V),,@)
say = $(if $(V),@:,@printf '  %-8s %s\n' $(1) $(2))

# --- what there is, by glob ---
WORKLOADS := $(patsubst workloads/%.c,%,$(wildcard workloads/*.c))
HELPERS := $(patsubst workloads/helpers/%.c,%,$(wildcard workloads/helpers/*.c))
COMMON_SRC := $(wildcard runner/common/*.c)
HARNESS_SRC := $(wildcard runner/harness/*.c runner/probe/*.c)
# Of common, what a workload may link: it must not drag libcrypto or command code into the guest.
HARNESS_COMMON_SRC := $(addprefix runner/common/,units.c nearest.c files.c memory.c spawn.c interrupt.c paths.c leftovers.c \
	orphans.c)
RUNNER_SRC := $(wildcard runner/*.c runner/plan/*.c runner/lane/*.c runner/machine/*.c runner/store/*.c kernels/*.c) $(COMMON_SRC)
GUEST_SRC := $(wildcard runner/guest/*.c)
# The host lane collects the same facts as a guest's init.
RUNNER_SRC += runner/guest/facts.c runner/guest/text.c
EXACT_SRC := $(wildcard runner/exact/*.c)
FUZZ_TARGETS := $(patsubst tests/fuzz/fuzz-%.c,%,$(wildcard tests/fuzz/fuzz-*.c))
TREES := $(patsubst workloads/trees/%.mk,%,$(wildcard workloads/trees/*.mk))
UNIT_TESTS := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test-*.c))

object = $(patsubst %.c,$(BUILD)/object/%.o,$(1))
HARNESS_OBJ := $(call object,$(HARNESS_SRC) $(HARNESS_COMMON_SRC))
RUNNER_OBJ := $(call object,$(RUNNER_SRC))
GUEST_OBJ := $(call object,$(GUEST_SRC))
EXACT_OBJ := $(call object,$(EXACT_SRC))

HARNESS_PKG := jansson hwloc numa libpfm4
RUNNER_PKG := jansson hwloc numa yaml-0.1 libarchive libelf libcrypto
# libpfm4 and libelf ship no or a differing .pc file in some releases: named by hand where pkg-config does not know them.
pkg_libs = $(foreach p,$(1),$(shell $(PKG_CONFIG) --libs $(p) 2>/dev/null || echo $(FALLBACK_$(p))))
pkg_cflags = $(foreach p,$(1),$(shell $(PKG_CONFIG) --cflags $(p) 2>/dev/null))
FALLBACK_libpfm4 := -lpfm
FALLBACK_libelf := -lelf
FALLBACK_numa := -lnuma
FALLBACK_yaml-0.1 := -lyaml
HARNESS_LIBS := $(call pkg_libs,$(HARNESS_PKG)) -lpthread -lm
RUNNER_LIBS := $(call pkg_libs,$(RUNNER_PKG)) -lpfm -lz -lpthread -lm
# The guest has its libraries in /lib, whatever the distribution's loader searches by itself.
GUEST_LIBS := $(call pkg_libs,jansson) -lz -Wl,-rpath,/lib

PROGRAMS := $(addprefix $(BUILD)/workloads/,$(WORKLOADS)) $(addprefix $(BUILD)/workloads/helpers/,$(HELPERS)) \
	$(if $(GUEST_SRC),$(BUILD)/guest/init) $(patsubst %,$(BUILD)/workloads/trees/%/Makefile,$(TREES))
ifeq ($(ARCH),native)
PROGRAMS += $(if $(wildcard runner/main.c),$(BUILD)/shootdown) $(if $(EXACT_SRC),$(BUILD)/exact/plugin.so)
endif

.PHONY: all
all: $(PROGRAMS)

# --- flags used are recorded; a change rebuilds ---
FLAGS_NOW := $(CC) | $(CFLAGS) | $(OUR_CFLAGS) | $(LDFLAGS) | $(OUR_LDFLAGS) | $(VERSION)
$(BUILD)/flags: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' > $@
.PHONY: FORCE
FORCE:

$(BUILD)/object/%.o: %.c $(BUILD)/compile-flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(OUR_CFLAGS) $(CFLAGS) -c -o $@ $<
# The version changes with every commit: only what prints it is rebuilt for it.
$(BUILD)/compile-flags: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)printf '%s\n' '$(CC) | $(subst ','\'',$(CFLAGS) | $(OUR_CFLAGS))' | cmp -s - $@ || printf '%s\n' '$(CC) | $(subst ','\'',$(CFLAGS) | $(OUR_CFLAGS))' > $@
$(BUILD)/object/runner/common/version.o: OUR_CFLAGS += -DSHOOTDOWN_VERSION='"$(VERSION)"'
$(BUILD)/object/runner/common/version.o: $(BUILD)/flags
$(BUILD)/object/runner/common/paths.o: OUR_CFLAGS += -DSHOOTDOWN_PREFIX='"$(PREFIX)"'

# A workload names further libraries in its own file: // libs: liburing
workload_libs = $(call pkg_libs,$(shell sed -n 's|^// libs: *||p' workloads/$(1).c))
# One that is long keeps parts of itself in workloads/NAME/.
.SECONDEXPANSION:
$(BUILD)/workloads/%: $(BUILD)/object/workloads/%.o $$(call object,$$(wildcard workloads/$$*/*.c)) $(HARNESS_OBJ) $(BUILD)/compile-flags
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(OUR_LDFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(HARNESS_LIBS) $(call workload_libs,$*)
# A source tree that workloads build: copies of what the file names, beside it as their Makefile. A directory that
# changes is a file that came or went.
tree_directories = $(shell sed -n 's|^\# directories: *||p' workloads/trees/$(1).mk)
$(BUILD)/workloads/trees/%/Makefile: workloads/trees/%.mk $$(call tree_directories,$$*) \
		$$(wildcard $$(foreach d,$$(call tree_directories,$$*),$$(d)/*.c $$(d)/*.h))
	$(call say,TREE,$(@D))
	$(Q)rm -rf $(@D) && mkdir -p $(@D)
	$(Q)cp --parents $(filter %.c %.h,$^) $(@D)
	$(Q)cp $< $@
# Helpers are static: a compiler job must not become a benchmark of the dynamic linker. Sanitizers cannot be static.
$(BUILD)/workloads/helpers/%: workloads/helpers/%.c $(BUILD)/compile-flags
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -fsanitize=% -fPIC,$(OUR_CFLAGS)) $(filter-out -fsanitize=%,$(CFLAGS)) -MF $@.d -static $(LDFLAGS) -o $@ $<
$(BUILD)/guest/init: $(GUEST_OBJ) $(BUILD)/compile-flags
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(OUR_LDFLAGS) $(LDFLAGS) -o $@ $(GUEST_OBJ) $(GUEST_LIBS)
$(BUILD)/exact/plugin.so: $(EXACT_OBJ) $(BUILD)/compile-flags
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(OUR_LDFLAGS) $(LDFLAGS) -shared -o $@ $(EXACT_OBJ)
$(BUILD)/shootdown: $(RUNNER_OBJ) $(BUILD)/compile-flags
	$(call say,LINK,$@)
	$(Q)$(CC) $(OUR_LDFLAGS) $(LDFLAGS) -o $@ $(RUNNER_OBJ) $(RUNNER_LIBS)

# --- tests ---
# A unit test links every room's objects but the two main()s, so linker sections are filled as in the command.
TEST_OBJ := $(sort $(filter-out %/runner/main.o %/harness/main.o,$(RUNNER_OBJ) $(HARNESS_OBJ)))
$(BUILD)/tests/%: $(BUILD)/object/tests/unit/%.o $(TEST_OBJ) $(BUILD)/compile-flags
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(OUR_LDFLAGS) $(LDFLAGS) -o $@ $< $(TEST_EXTRA) $(TEST_OBJ) $(RUNNER_LIBS) $(HARNESS_LIBS) -lcmocka
# The plugin's core behind a front of the test's own.
$(BUILD)/tests/test-exact-plugin: TEST_EXTRA := $(filter-out %/front-api1.o,$(EXACT_OBJ))
$(BUILD)/tests/test-exact-plugin: $(filter-out %/front-api1.o,$(EXACT_OBJ))
.PHONY: unit-tests
unit-tests: $(addprefix $(BUILD)/tests/,$(UNIT_TESTS))

# A fuzz target likewise; libFuzzer brings the main().
$(BUILD)/fuzz/%: $(BUILD)/object/tests/fuzz/fuzz-%.o $(TEST_OBJ) $(BUILD)/compile-flags
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(OUR_LDFLAGS) -fsanitize=fuzzer $(LDFLAGS) -o $@ $< $(TEST_OBJ) $(RUNNER_LIBS) $(HARNESS_LIBS)
.PHONY: fuzz-programs
fuzz-programs: $(addprefix $(BUILD)/fuzz/,$(FUZZ_TARGETS))

-include $(shell find $(BUILD)/object $(BUILD)/workloads -name '*.d' 2>/dev/null)
.SECONDARY:

.PHONY: clean
clean:
	rm -rf $(BUILD)

# --- packages; PACKAGES=no leaves the machine as it is ---
.PHONY: packages-build packages-demo packages-check
packages-build packages-demo packages-check:
ifneq ($(PACKAGES),no)
	$(Q)configs/packages/install.sh build $(if $(filter %-demo,$@),demo) $(if $(filter %-check,$@),demo check arm64)
endif

# The lists are installed first, by a make of their own: pkg-config must find what they bring.
.PHONY: demo check check-fast check-full bench lint
demo: packages-demo
	$(Q)$(MAKE) --no-print-directory all
	build/shootdown reproduce unmap-inaccessible

check-fast: all unit-tests
	$(Q)$(PYTHON) tests/run.py fast

SANITIZED := build/sanitized
FUZZED := build/fuzzed
check: packages-check
	$(Q)$(MAKE) --no-print-directory all unit-tests
	$(Q)$(MAKE) --no-print-directory ARCH=arm64 all
	$(Q)$(MAKE) --no-print-directory BUILD=$(SANITIZED) ASAN=1 UBSAN=1 all unit-tests
	$(Q)$(MAKE) --no-print-directory lint
	$(Q)$(MAKE) --no-print-directory fuzzed
	$(Q)$(PYTHON) tests/run.py check --sanitized $(SANITIZED) --fuzzed $(FUZZED)

check-full: packages-check
	$(Q)$(MAKE) --no-print-directory all unit-tests
	$(Q)$(MAKE) --no-print-directory ARCH=arm64 all
	$(Q)$(MAKE) --no-print-directory BUILD=$(SANITIZED) ASAN=1 UBSAN=1 all unit-tests
	$(Q)$(MAKE) --no-print-directory lint
	$(Q)$(MAKE) --no-print-directory fuzzed
	$(Q)$(PYTHON) tests/run.py full --sanitized $(SANITIZED) --fuzzed $(FUZZED)

FUZZ_SECONDS ?= 5
.PHONY: fuzzed fuzz fuzz-long
fuzzed:
	$(Q)$(MAKE) --no-print-directory BUILD=$(FUZZED) CC=clang CFLAGS='-O1 -g' FUZZ=1 ASAN=1 UBSAN=1 fuzz-programs
fuzz: fuzzed
	$(Q)$(PYTHON) tests/fuzz/run.py $(FUZZED) --seconds $(FUZZ_SECONDS)
fuzz-long: fuzzed
	$(Q)$(PYTHON) tests/fuzz/run.py $(FUZZED) --seconds 600 --seed 0

# Random kills of runners, emulators and workloads over short campaigns; prints what was lost, wrong or left.
SOAK_KILLS ?= 100
.PHONY: soak
soak: all
	$(Q)$(PYTHON) tests/soak.py --kills $(SOAK_KILLS)

bench: packages-check
	$(Q)$(MAKE) --no-print-directory all
	$(Q)$(MAKE) --no-print-directory ARCH=arm64 all
	$(Q)$(PYTHON) -m tests.bench

OUR_C := $(wildcard workloads/*.c workloads/helpers/*.c runner/*.c runner/*/*.c kernels/*.c tests/unit/*.c tests/fuzz/*.c)
# Without the system's headers the loops of jansson are not known to be loops.
CPPCHECK_MACROS := '-Djson_array_foreach(array,index,value)=for (index = 0; (value = json_array_get(array, index)); index++)' \
	'-Djson_object_foreach(object,key,value)=for (; (key = next_key(object)) && (value = json_object_get(object, key));)'
lint:
	$(Q)$(MAKE) --no-print-directory BUILD=build/clang CC=clang CFLAGS='-O1 -Werror' all
	$(Q)cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,portability --inline-suppr \
		--suppressions-list=configs/cppcheck-suppressions.txt -D__x86_64__ $(CPPCHECK_MACROS) -I. $(OUR_C)
	$(Q)shellcheck configs/packages/install.sh .ci/run

# --- installation; a cross build installs what guests need, beside what is native ---
LIBEXEC := $(DESTDIR)$(PREFIX)/libexec/shootdown$(if $(filter-out native,$(ARCH)),/$(ARCH))
SHARE := $(DESTDIR)$(PREFIX)/share/shootdown
.PHONY: install install-guest install-command
install: install-guest $(if $(filter native,$(ARCH)),install-command)
install-guest: all
	install -d $(LIBEXEC)/workloads/helpers $(LIBEXEC)/guest
	install -m 755 $(addprefix $(BUILD)/workloads/,$(WORKLOADS)) $(LIBEXEC)/workloads
	$(if $(HELPERS),install -m 755 $(addprefix $(BUILD)/workloads/helpers/,$(HELPERS)) $(LIBEXEC)/workloads/helpers)
	install -m 755 $(BUILD)/guest/init $(LIBEXEC)/guest
	cp -R $(BUILD)/workloads/trees $(LIBEXEC)/workloads
install-command: all
	install -D -m 755 $(BUILD)/shootdown $(DESTDIR)$(PREFIX)/bin/shootdown
	install -D -m 755 -t $(LIBEXEC)/exact $(BUILD)/exact/plugin.so
	install -d $(SHARE)/kernels
	cp -R configs analysis $(SHARE)
	install -d $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions
	$(BUILD)/shootdown manual > $(DESTDIR)$(PREFIX)/share/man/man1/shootdown.1
	$(BUILD)/shootdown completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/shootdown
	$(BUILD)/shootdown completion zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_shootdown
	cp -R kernels/series $(SHARE)/kernels

# SPDX-License-Identifier: GPL-2.0-or-later
#
# A small real C project for fork-exec-make --real: those parts of shootdown
# itself that need no library but jansson and zlib. The build copies this file,
# as the Makefile, and what the next line names to build/workloads/trees/shootdown.
#
# directories: runner/common runner/exact runner/guest runner/harness/roi.h

CC := gcc
CFLAGS := -O2 -g
OUR_CFLAGS := -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -MMD -MP -fPIC -I.

ELSEWHERE := runner/common/hash.c runner/common/shape.c runner/common/version.c runner/common/yaml.c
COMMON := $(patsubst %.c,object/%.o,$(filter-out $(ELSEWHERE),$(wildcard runner/common/*.c)))
EXACT := $(patsubst %.c,object/%.o,$(wildcard runner/exact/*.c))
GUEST := $(patsubst %.c,object/%.o,$(wildcard runner/guest/*.c))

.PHONY: all clean
all: init plugin.so common.a

init: $(GUEST)
	$(CC) -o $@ $^ -ljansson -lz
plugin.so: $(EXACT)
	$(CC) -shared -o $@ $^
common.a: $(COMMON)
	ar rcs $@ $^
object/%.o: %.c | directories
	$(CC) $(OUR_CFLAGS) $(CFLAGS) -c -o $@ $<
.PHONY: directories
directories:
	mkdir -p object/runner/common object/runner/exact object/runner/guest

clean:
	rm -rf object init plugin.so common.a

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "region.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../harness/roi.h"
#include "block.h"
#include "counters.h"
#include "format.h"
#include "gather.h"
#include "places.h"

static uint32_t user_counter, user_repeat_counter;
static uint32_t regions;
static bool inside, faulted;

static size_t header_text(char *text, size_t size, const struct decoder *decoder, unsigned int cpus)
{
	size_t length = snprintf(text, size, "{\"format\": %d, \"architecture\": \"%s\", \"cpus\": %u, \"watched\": %zu, \"command_ranges\": %zu, \"kinds\": [",
				 EXACT_FORMAT, decoder->architecture, cpus, place_count(), command_range_count());

	for (size_t i = 0; decoder->kinds[i]; i++)
		length += snprintf(text + length, size - length, "%s\"%s\"", i ? ", " : "", decoder->kinds[i]);
	length += snprintf(text + length, size - length, "]}");
	return length;
}

int region_start(const char *path, const struct decoder *decoder, unsigned int cpus,
		 uint32_t user, uint32_t user_repeat)
{
	char text[8192];

	user_counter = user;
	user_repeat_counter = user_repeat;
	if (block_open(path) != 0) {
		fprintf(stderr, "shootdown-exact: cannot write %s\n", path);
		return -1;
	}
	block_write(EXACT_HEADER, text, header_text(text, sizeof(text), decoder, cpus));
	return 0;
}

static void fault(const char *what)
{
	char text[128];
	int length = snprintf(text, sizeof(text), "%s (region %" PRIu32 ")", what, regions);

	faulted = true;
	block_write(EXACT_FAULT, text, length);
}

static void write_region(void)
{
	struct exact_region region = {
		.index = regions++,
		.user_instructions = counter_since(user_counter),
		.user_rep_iterations = counter_since(user_repeat_counter),
	};
	void *payload;
	size_t size = gather_region(&region, &payload);

	block_write(EXACT_REGION, payload, size);
	free(payload);
}

void region_mark(uint32_t mark)
{
	if (faulted)
		return;
	if (mark == ROI_MARK_BEGIN && inside) {
		fault("the region of interest began again before it had ended");
	} else if (mark == ROI_MARK_BEGIN) {
		inside = true;
		counters_remember();
	} else if (mark == ROI_MARK_END && !inside) {
		fault("the region of interest ended without having begun");
	} else if (mark == ROI_MARK_END) {
		inside = false;
		write_region();
	}
}

void region_end(void)
{
	if (inside && !faulted)
		fault("the guest went away inside the region of interest");
	block_write(EXACT_END, NULL, 0);
	block_close();
}

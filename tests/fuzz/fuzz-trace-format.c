// SPDX-License-Identifier: GPL-2.0-or-later
// seeds: tests/fixtures/machines/*/format
/* A format file, and behind a NUL byte the record that it is to describe. */
#include "fuzz.h"
#include "runner/probe/trace-format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "reason", "pages", "common_pid", "x" };
	struct fuzz_parts parts = { data, size };
	char *format = fuzz_part(&parts), name[32];
	/* Of exactly its size: a byte read behind it is seen. */
	uint8_t *record = malloc(parts.size ? parts.size : 1);

	if (parts.size)
		memcpy(record, parts.data, parts.size);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct trace_field field;
		uint64_t value = i;

		if (trace_field_find(format, names[i], &field))
			continue;
		if (trace_field_read(&field, record, parts.size, &value))
			fuzz_assert(field.offset + field.size > parts.size || field.offset + field.size < field.offset);
		trace_symbol(format, names[i], value, name, sizeof(name));
		fuzz_assert(memchr(name, '\0', sizeof(name)));
	}
	free(record);
	free(format);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "exact-symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/files.h"

#define SYMBOLS_LIMIT ((size_t)64 << 20)

/*
 * Who asks for a flush, who executes it on which CPU, and who switches
 * address spaces: entries counted for each CPU. A name that a kernel does not
 * have is left out.
 */
static const char *const watched[] = {
	"flush_tlb_mm_range", "flush_tlb_kernel_range", "flush_tlb_all", "arch_tlbbatch_flush", "native_flush_tlb_multi", "flush_tlb_func",
	"do_flush_tlb_all", "do_kernel_range_flush", "smp_call_function_many_cond", "switch_mm_irqs_off", "enter_lazy_tlb",
	"__flush_tlb_range", "flush_tlb_page", "check_and_switch_context",
};

/* Functions that write the local APIC's registers: their stores to the low half of the interrupt command register send IPIs. */
static const char *const x86_senders[] = {
	"native_apic_mem_write", "native_apic_icr_write", "__default_send_IPI_*", "default_send_IPI_*", "flat_send_IPI_*",
	"_flat_send_IPI_*", "physflat_send_IPI_*", "apic_send_IPI_*", "apic_mem_*", "native_send_call_func_*", "native_smp_send_reschedule",
};
#define APIC_COMMAND 0x300

static int by_address(const void *a, const void *b)
{
	const struct exact_symbol *left = a, *right = b;

	if (left->address != right->address)
		return left->address > right->address ? 1 : -1;
	return strcmp(left->name, right->name);
}

static bool take_line(const char *line, struct exact_symbol *symbol)
{
	char kind;

	return sscanf(line, "%" SCNx64 " %c %55s", &symbol->address, &kind, symbol->name) == 3 &&
	       strchr("tTwW", kind) && symbol->address >> 63 && strncmp(symbol->name, "__pfx_", 6);
}

int exact_symbols_read(const char *path, struct exact_symbols *symbols)
{
	size_t size, room = 0;
	char *text, *rest, *line;
	int error = read_file(path, SYMBOLS_LIMIT, &text, &size);

	*symbols = (struct exact_symbols){ 0 };
	if (error)
		return error;
	for (rest = text; (line = strsep(&rest, "\n"));) {
		if (symbols->count == room) {
			struct exact_symbol *grown;

			room = room ? room * 2 : 1 << 16;
			grown = reallocarray(symbols->list, room, sizeof(*grown));
			if (!grown) {
				free(text);
				exact_symbols_free(symbols);
				return -ENOMEM;
			}
			symbols->list = grown;
		}
		symbols->count += take_line(line, &symbols->list[symbols->count]);
	}
	free(text);
	if (!symbols->count) {
		exact_symbols_free(symbols);
		return -EINVAL;
	}
	qsort(symbols->list, symbols->count, sizeof(*symbols->list), by_address);
	return 0;
}

void exact_symbols_free(struct exact_symbols *symbols)
{
	free(symbols->list);
	*symbols = (struct exact_symbols){ 0 };
}

/* Index of the first symbol at or above an address. */
static size_t lower_bound(const struct exact_symbols *symbols, uint64_t address)
{
	size_t low = 0, high = symbols->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->list[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool exact_symbols_has(const struct exact_symbols *symbols, uint64_t address)
{
	size_t at = lower_bound(symbols, address);

	return at < symbols->count && symbols->list[at].address == address;
}

static bool matches(const char *name, const char *pattern)
{
	size_t size = strlen(pattern);

	return pattern[size - 1] == '*' ? !strncmp(name, pattern, size - 1) : !strcmp(name, pattern);
}

static bool is_one_of(const char *name, const char *const *patterns, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (matches(name, patterns[i]))
			return true;
	return false;
}

int exact_places_write(const struct exact_symbols *symbols, const char *architecture, const char *path)
{
	bool x86 = !strcmp(architecture, "x86-64");
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);
	int error;

	if (!stream)
		return -ENOMEM;
	for (size_t i = 0; i < symbols->count; i++) {
		const struct exact_symbol *symbol = &symbols->list[i];
		size_t next = lower_bound(symbols, symbol->address + 1);

		if (is_one_of(symbol->name, watched, sizeof(watched) / sizeof(watched[0])))
			fprintf(stream, "watch %" PRIx64 "\n", symbol->address);
		if (x86 && next < symbols->count && is_one_of(symbol->name, x86_senders, sizeof(x86_senders) / sizeof(x86_senders[0])))
			fprintf(stream, "command %" PRIx64 " %" PRIx64 " %x\n", symbol->address, symbols->list[next].address, APIC_COMMAND);
	}
	error = fclose(stream) ? -ENOMEM : write_file(path, text, size);
	free(text);
	return error;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* The probes of a run: found by the linker section, chosen by name. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/nearest.h"
#include "probe.h"
#include "tracefs.h"

extern const struct probe *const __start_shootdown_probes[], *const __stop_shootdown_probes[];

#define PROBES 64
#define ARGUMENTS 64

struct chosen {
	const struct probe *probe;
	const char *arguments[ARGUMENTS + 1];
	unsigned int argument_count;
	void *state;
};

struct probe_set {
	struct chosen chosen[PROBES];
	unsigned int count;
};

const struct probe *const *probe_next(const struct probe *const *previous)
{
	const struct probe *const *next = previous ? previous + 1 : __start_shootdown_probes;

	return next < __stop_shootdown_probes ? next : NULL;
}

/* "NAME" or "NAME:ARGUMENT"; *argument NULL without. */
static const struct probe *find_probe(const char *text, const char **argument)
{
	size_t length = strcspn(text, ":");

	*argument = text[length] ? text + length + 1 : NULL;
	for (const struct probe *const *probe = probe_next(NULL); probe; probe = probe_next(probe))
		if (strlen((*probe)->name) == length && !memcmp((*probe)->name, text, length))
			return *probe;
	return NULL;
}

static int unknown_probe(const char *text, char *reason, size_t reason_size)
{
	const char *names[PROBES + 2];
	char word[128], hint[192];
	size_t count = 0;

	names[count++] = "default";
	for (const struct probe *const *probe = probe_next(NULL); probe && count <= PROBES; probe = probe_next(probe))
		names[count++] = (*probe)->name;
	names[count] = NULL;
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(text, ":"), text);
	snprintf(reason, reason_size, "no probe is called '%s'%s", word, nearest_hint(word, names, hint, sizeof(hint)));
	return -EINVAL;
}

static int check_one(const char *text, char *reason, size_t reason_size)
{
	const char *argument;
	const struct probe *probe = find_probe(text, &argument);

	if (!strcmp(text, "default"))
		return 0;
	if (!probe)
		return unknown_probe(text, reason, reason_size);
	if (probe->takes_argument == !argument) {
		snprintf(reason, reason_size, probe->takes_argument ? "'%s' wants an event: %s:EVENT" :
			 "'%s': %s takes no argument", text, probe->name);
		return -EINVAL;
	}
	return probe->check ? probe->check(argument, reason, reason_size) : 0;
}

int probes_check(const char *const *names, char *reason, size_t reason_size)
{
	for (; *names; names++) {
		int error = check_one(*names, reason, reason_size);

		if (error)
			return error;
	}
	return 0;
}

void probes_prepare(const char *const *names)
{
	const char *argument;

	for (; *names; names++) {
		const struct probe *probe = find_probe(*names, &argument);

		/* Found or mounted once; the children inherit both the answer and the namespace. */
		if (probe && probe->wants_tracefs)
			tracefs_root(NULL);
	}
}

static void choose(struct probe_set *set, const struct probe *probe, const char *argument)
{
	struct chosen *chosen = NULL;

	for (unsigned int i = 0; i < set->count; i++)
		if (set->chosen[i].probe == probe)
			chosen = &set->chosen[i];
	if (!chosen && set->count < PROBES) {
		chosen = &set->chosen[set->count++];
		chosen->probe = probe;
	}
	if (chosen && argument && chosen->argument_count < ARGUMENTS)
		chosen->arguments[chosen->argument_count++] = argument;
}

static void choose_default(struct probe_set *set)
{
	for (const struct probe *const *probe = probe_next(NULL); probe; probe = probe_next(probe))
		if (!(*probe)->costly && !(*probe)->takes_argument)
			choose(set, *probe, NULL);
}

/*
 * Switching a costly probe on or off makes the kernel work: it stands outside
 * the cheap ones, whose readings are the nearest to the clock.
 */
static void put_costly_first(struct probe_set *set)
{
	for (unsigned int i = 1; i < set->count; i++) {
		struct chosen moving = set->chosen[i];
		unsigned int j = i;

		for (; j && moving.probe->costly && !set->chosen[j - 1].probe->costly; j--)
			set->chosen[j] = set->chosen[j - 1];
		set->chosen[j] = moving;
	}
}

struct probe_set *probes_open(const char *const *names, const struct probe_environment *environment)
{
	struct probe_set *set = calloc(1, sizeof(*set));

	if (!set)
		return NULL;
	for (; *names; names++) {
		const char *argument;
		const struct probe *probe = find_probe(*names, &argument);

		if (!strcmp(*names, "default"))
			choose_default(set);
		else if (probe)
			choose(set, probe, argument);
	}
	put_costly_first(set);
	for (unsigned int i = 0; i < set->count; i++) {
		struct probe_environment own = *environment;
		struct chosen *chosen = &set->chosen[i];

		own.arguments = chosen->arguments;
		if (chosen->probe->open && chosen->probe->open(&chosen->state, &own)) {
			set->count = i;
			probes_close(set);
			return NULL;
		}
	}
	return set;
}

void probes_begin(struct probe_set *set)
{
	for (unsigned int i = 0; i < set->count; i++)
		if (set->chosen[i].probe->begin)
			set->chosen[i].probe->begin(set->chosen[i].state);
}

/* In the other order: what was read last before the clock is read first after it. */
void probes_end(struct probe_set *set)
{
	for (unsigned int i = set->count; i--;)
		if (set->chosen[i].probe->end)
			set->chosen[i].probe->end(set->chosen[i].state);
}

void probes_report(struct probe_set *set, struct probe_report *report)
{
	for (unsigned int i = 0; i < set->count; i++)
		if (set->chosen[i].probe->report)
			set->chosen[i].probe->report(set->chosen[i].state, report);
}

void probes_close(struct probe_set *set)
{
	for (unsigned int i = set->count; i--;)
		if (set->chosen[i].probe->close)
			set->chosen[i].probe->close(set->chosen[i].state);
	free(set);
}

void probes_facts(json_t *facts, json_t *missing)
{
	for (const struct probe *const *probe = probe_next(NULL); probe; probe = probe_next(probe))
		if ((*probe)->facts)
			(*probe)->facts(facts, missing);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Any perf event by its name: libpfm4's names, or a tracepoint as SYSTEM:EVENT. */
#include <ctype.h>
#include <errno.h>
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../common/nearest.h"
#include "perf-counter.h"
#include "tracefs.h"

/* "SYSTEM:EVENT" in the letters that tracepoints are made of. */
static bool split_tracepoint(const char *argument, char system[64], char event[64])
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	size_t first = strspn(argument, letters), second;

	if (!first || argument[first] != ':' || first >= 64)
		return false;
	second = strspn(argument + first + 1, letters);
	if (second < 2 || argument[first + 1 + second] || second >= 64)
		return false;
	snprintf(system, 64, "%.*s", (int)first, argument);
	snprintf(event, 64, "%s", argument + first + 1);
	return true;
}

static int encode(const char *argument, struct perf_event_attr *attr)
{
	pfm_perf_encode_arg_t encoding = { .attr = attr, .size = sizeof(encoding) };

	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	return pfm_get_os_event_encoding(argument, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &encoding);
}

/* The event's own name: without "pmu::" and what follows the first colon. */
static void bare_name(const char *argument, char *name, size_t size)
{
	const char *pmu = strstr(argument, "::");

	if (pmu)
		argument = pmu + 2;
	snprintf(name, size, "%.*s", (int)strcspn(argument, ":"), argument);
}

/* Calls visit for each event of each PMU that libpfm4 knows, present here or not, until it returns true. */
static bool visit_events(bool (*visit)(const char *event, const char *pmu, void *context), void *context)
{
	for (int pmu = PFM_PMU_NONE; pmu < PFM_PMU_MAX; pmu++) {
		pfm_pmu_info_t pmu_info = { .size = sizeof(pmu_info) };

		if (pfm_get_pmu_info((pfm_pmu_t)pmu, &pmu_info) != PFM_SUCCESS)
			continue;
		for (int event = pmu_info.first_event; event != -1; event = pfm_get_event_next(event)) {
			pfm_event_info_t info = { .size = sizeof(info) };

			if (pfm_get_event_info(event, PFM_OS_PERF_EVENT, &info) == PFM_SUCCESS &&
			    visit(info.name, pmu_info.desc, context))
				return true;
		}
	}
	return false;
}

struct known_event {
	const char *name;
	char pmu[128];
};

static bool is_event(const char *event, const char *pmu, void *context)
{
	struct known_event *known = context;

	if (strcasecmp(event, known->name))
		return false;
	snprintf(known->pmu, sizeof(known->pmu), "%s", pmu ? pmu : "?");
	return true;
}

struct name_list {
	char **names;
	size_t count, capacity;
};

/* libpfm4 takes any case, so the search for the nearest must not care either. */
static void lower(char *text)
{
	for (; *text; text++)
		*text = (char)tolower((unsigned char)*text);
}

static bool add_name(const char *event, const char *pmu, void *context)
{
	struct name_list *list = context;

	(void)pmu;
	if (list->count + 1 >= list->capacity) {
		size_t capacity = 2 * list->capacity + 1024;
		char **larger = realloc(list->names, capacity * sizeof(*larger));

		if (!larger)
			return true;
		list->names = larger;
		list->capacity = capacity;
	}
	list->names[list->count] = strdup(event);
	if (!list->names[list->count])
		return true;
	lower(list->names[list->count++]);
	return false;
}

static int unknown_event(const char *argument, char *reason, size_t reason_size)
{
	struct name_list list = { NULL, 0, 0 };
	char name[128], hint[256] = "", **tracepoints = NULL;

	bare_name(argument, name, sizeof(name));
	lower(name);
	if (strchr(argument, ':') && (tracepoints = tracefs_event_names()))
		nearest_hint(argument, (const char *const *)tracepoints, hint, sizeof(hint));
	visit_events(add_name, &list);
	if (!*hint && list.names) {
		list.names[list.count] = NULL;
		nearest_hint(name, (const char *const *)list.names, hint, sizeof(hint));
	}
	snprintf(reason, reason_size, "no event is called '%s'%s", argument, hint);
	tracefs_names_free(tracepoints);
	for (size_t i = 0; i < list.count; i++)
		free(list.names[i]);
	free(list.names);
	return -EINVAL;
}

static int perf_check(const char *argument, char *reason, size_t reason_size)
{
	struct known_event known = { .name = NULL };
	char system[64], event[64], name[128];
	struct perf_event_attr attr;
	unsigned long long id;
	int code;

	if (pfm_initialize() != PFM_SUCCESS) {
		snprintf(reason, reason_size, "libpfm4 cannot start");
		return -EINVAL;
	}
	code = encode(argument, &attr);
	if (code == PFM_SUCCESS)
		return 0;
	bare_name(argument, name, sizeof(name));
	known.name = name;
	if (visit_events(is_event, &known)) {
		/* The name is good; on another CPU it would count, unless what follows the colon is wrong. */
		if (code == PFM_ERR_ATTR || code == PFM_ERR_UMASK || code == PFM_ERR_ATTR_VAL || code == PFM_ERR_INVAL) {
			snprintf(reason, reason_size, "event '%s': %s", argument, pfm_strerror(code));
			return -EINVAL;
		}
		return 0;
	}
	if (!split_tracepoint(argument, system, event))
		return unknown_event(argument, reason, reason_size);
	/* Without tracefs nobody can tell: the run says so in `missing`. */
	return tracefs_event_id(system, event, &id) == -ENOENT ? unknown_event(argument, reason, reason_size) : 0;
}

static int add_argument(struct perf_counters *counters, const char *argument)
{
	struct known_event known = { .name = NULL };
	char system[64], event[64], key[128], name[128];
	struct perf_event_attr attr;
	unsigned long long id;
	int code;

	if (split_tracepoint(argument, system, event) && !tracefs_event_id(system, event, &id))
		return perf_counters_add_tracepoint(counters, system, event);
	snprintf(key, sizeof(key), "perf.%s", argument);
	code = encode(argument, &attr);
	if (code == PFM_SUCCESS)
		return perf_counters_add(counters, key, &attr);
	bare_name(argument, name, sizeof(name));
	known.name = name;
	if (visit_events(is_event, &known))
		return perf_counters_miss(counters, key, "an event of %s, which this machine does not have", known.pmu);
	if (split_tracepoint(argument, system, event))
		return perf_counters_add_tracepoint(counters, system, event);	/* says why it is missing */
	return perf_counters_miss(counters, key, "%s", pfm_strerror(code));
}

static int perf_open(void **state, const struct probe_environment *environment)
{
	struct perf_counters *counters = perf_counters_new();

	*state = counters;
	if (!counters)
		return -ENOMEM;
	pfm_initialize();
	for (const char *const *argument = environment->arguments; *argument; argument++) {
		if (add_argument(counters, *argument)) {
			perf_counters_free(counters);
			return -ENOMEM;
		}
	}
	return 0;
}

static void perf_close(void *state)
{
	perf_counters_free(state);
	pfm_terminate();
}

static const struct probe perf_probe = {
	.name = "perf",
	.summary = "one perf event: libpfm4's name or a tracepoint, as perf:cycles:k or perf:sched:sched_switch",
	.costly = true, .takes_argument = true, .wants_tracefs = true,
	.check = perf_check, .open = perf_open, .begin = perf_probe_begin, .end = perf_probe_end,
	.report = perf_probe_report, .close = perf_close,
};
PROBE_REGISTER(perf_probe);

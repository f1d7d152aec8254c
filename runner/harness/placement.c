// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "placement.h"

static int object_index(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_obj_t pu)
{
	hwloc_obj_t object = hwloc_get_ancestor_obj_by_type(topology, type, pu);

	return object ? (int)object->logical_index : -1;
}

/* The last-level cache: the outermost one above the CPU. */
static int cache_index(hwloc_topology_t topology, hwloc_obj_t pu)
{
	static const hwloc_obj_type_t levels[] = {
		HWLOC_OBJ_L5CACHE, HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE,
	};

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		int index = object_index(topology, levels[i], pu);

		if (index >= 0)
			return index;
	}
	return -1;
}

static int node_index(hwloc_obj_t pu)
{
	int node = pu->nodeset ? hwloc_bitmap_first(pu->nodeset) : -1;

	return node < 0 ? 0 : node;
}

/* An insertion sort, because the order within a rank is hwloc's and has to stay. */
static void sort_by_rank(struct place *places, unsigned int count)
{
	for (unsigned int i = 1; i < count; i++) {
		struct place moving = places[i];
		unsigned int j = i;

		for (; j && places[j - 1].rank > moving.rank; j--)
			places[j] = places[j - 1];
		places[j] = moving;
	}
}

static unsigned int rank_in_core(const struct placement *placement, int core)
{
	unsigned int rank = 0;

	for (unsigned int i = 0; core >= 0 && i < placement->count; i++)
		rank += placement->places[i].core == core;
	return rank;
}

static unsigned int count_nodes(const struct placement *placement)
{
	unsigned int nodes = 0;

	for (unsigned int i = 0; i < placement->count; i++) {
		unsigned int j = 0;

		while (j < i && placement->places[j].node != placement->places[i].node)
			j++;
		nodes += j == i;
	}
	return nodes;
}

int placement_from_topology(struct placement *placement, hwloc_topology_t topology, hwloc_const_bitmap_t allowed)
{
	int total = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);

	memset(placement, 0, sizeof(*placement));
	if (total <= 0)
		return -ENXIO;
	placement->places = calloc((size_t)total, sizeof(*placement->places));
	if (!placement->places)
		return -ENOMEM;
	for (int i = 0; i < total; i++) {
		hwloc_obj_t pu = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PU, (unsigned int)i);
		int core = object_index(topology, HWLOC_OBJ_CORE, pu);

		if (allowed && !hwloc_bitmap_isset(allowed, pu->os_index))
			continue;
		placement->places[placement->count] = (struct place){
			.cpu = (int)pu->os_index,
			.core = core,
			.cache = cache_index(topology, pu),
			.package = object_index(topology, HWLOC_OBJ_PACKAGE, pu),
			.node = node_index(pu),
			.rank = rank_in_core(placement, core),
		};
		placement->count++;
	}
	if (!placement->count) {
		placement_free(placement);
		return -ENXIO;
	}
	sort_by_rank(placement->places, placement->count);
	placement->node_count = count_nodes(placement);
	return 0;
}

static int explain(char *reason, size_t reason_size, int error, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static int explain(char *reason, size_t reason_size, int error, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(reason, reason_size, format, list);
	va_end(list);
	return error;
}

/* Narrows allowed to what the list names. */
static int apply_list(hwloc_bitmap_t allowed, const char *text, char *reason, size_t reason_size)
{
	hwloc_bitmap_t wanted = hwloc_bitmap_alloc();
	char *list = NULL;
	int error = 0;

	if (!wanted)
		return -ENOMEM;
	if (!*text || strspn(text, "0123456789,-") != strlen(text) || hwloc_bitmap_list_sscanf(wanted, text) ||
	    hwloc_bitmap_iszero(wanted) || hwloc_bitmap_weight(wanted) < 0) {
		error = explain(reason, reason_size, -EINVAL, "--cpus: '%s' is not a list of CPUs; write it like 0-3,6", text);
	} else if (!hwloc_bitmap_isincluded(wanted, allowed)) {
		hwloc_bitmap_list_asprintf(&list, allowed);
		error = explain(reason, reason_size, -EINVAL, "--cpus: %s is not within the CPUs this process may use (%s)",
				text, list ? list : "?");
		free(list);
	} else {
		hwloc_bitmap_copy(allowed, wanted);
	}
	hwloc_bitmap_free(wanted);
	return error;
}

static int allowed_cpus(hwloc_topology_t topology, hwloc_bitmap_t allowed, char *reason, size_t reason_size)
{
	if (hwloc_get_cpubind(topology, allowed, HWLOC_CPUBIND_PROCESS))
		return explain(reason, reason_size, -errno, "reading the CPU affinity: %s", strerror(errno));
	hwloc_bitmap_and(allowed, allowed, hwloc_topology_get_allowed_cpuset(topology));
	return 0;
}

int placement_load(struct placement *placement, const char *cpu_list, char *reason, size_t reason_size)
{
	hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
	hwloc_topology_t topology;
	int error;

	if (!allowed)
		return -ENOMEM;
	if (hwloc_topology_init(&topology)) {
		hwloc_bitmap_free(allowed);
		return explain(reason, reason_size, -ENOMEM, "hwloc cannot start");
	}
	/* The x86 component binds itself to every CPU in turn to ask CPUID: the kernel's own view in /sys is enough. */
	hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
	hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
	hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
	if (hwloc_topology_load(topology)) {
		error = explain(reason, reason_size, -EIO, "hwloc cannot read the topology of this machine");
		goto out;
	}
	error = allowed_cpus(topology, allowed, reason, reason_size);
	if (!error && cpu_list)
		error = apply_list(allowed, cpu_list, reason, reason_size);
	if (!error) {
		error = placement_from_topology(placement, topology, allowed);
		if (error)
			explain(reason, reason_size, error, "no CPU is left to run on");
	}
out:
	hwloc_topology_destroy(topology);
	hwloc_bitmap_free(allowed);
	return error;
}

void placement_free(struct placement *placement)
{
	free(placement->places);
	memset(placement, 0, sizeof(*placement));
}

int placement_cpus(const struct placement *placement, unsigned int count, int *cpus)
{
	if (count > placement->count)
		return -ENXIO;
	for (unsigned int i = 0; i < count; i++)
		cpus[i] = placement->places[i].cpu;
	return 0;
}

static bool related(const struct place *a, const struct place *b, enum cpu_relation relation)
{
	bool other_core = a->core != b->core || a->core < 0;

	switch (relation) {
	case RELATION_SMT_SIBLING:
		return a->core >= 0 && a->core == b->core;
	case RELATION_SAME_CACHE:
		return a->cache >= 0 && a->cache == b->cache && other_core;
	case RELATION_SAME_PACKAGE:
		return a->package >= 0 && a->package == b->package && other_core;
	case RELATION_OTHER_NODE:
		return a->node != b->node;
	case RELATION_ANY:
		return true;
	case RELATION_SAME_CPU:
		break;
	}
	return false;
}

/*
 * A partner of places[first] that is not used yet. Within a package one behind
 * another cache is taken before one behind the same: that is what the relation
 * adds to RELATION_SAME_CACHE.
 */
static int find_partner(const struct placement *placement, unsigned int first, enum cpu_relation relation,
			const bool *used)
{
	const struct place *places = placement->places;
	int found = -1;

	for (unsigned int i = first + 1; i < placement->count; i++) {
		if (used[i] || !related(&places[first], &places[i], relation))
			continue;
		if (relation != RELATION_SAME_PACKAGE || places[i].cache != places[first].cache)
			return (int)i;
		if (found < 0)
			found = (int)i;
	}
	return found;
}

int placement_pair(const struct placement *placement, enum cpu_relation relation, unsigned int pair, int cpus[2])
{
	bool *used;
	int error = -ENXIO;

	if (relation == RELATION_SAME_CPU) {
		if (pair >= placement->count)
			return -ENXIO;
		cpus[0] = cpus[1] = placement->places[pair].cpu;
		return 0;
	}
	used = calloc(placement->count, sizeof(*used));
	if (!used)
		return -ENOMEM;
	for (unsigned int i = 0; i < placement->count; i++) {
		int partner = used[i] ? -1 : find_partner(placement, i, relation, used);

		if (partner < 0)
			continue;
		used[i] = used[partner] = true;
		if (pair--)
			continue;
		cpus[0] = placement->places[i].cpu;
		cpus[1] = placement->places[partner].cpu;
		error = 0;
		break;
	}
	free(used);
	return error;
}

const struct place *placement_of_cpu(const struct placement *placement, int cpu)
{
	for (unsigned int i = 0; i < placement->count; i++)
		if (placement->places[i].cpu == cpu)
			return &placement->places[i];
	return NULL;
}

static hwloc_bitmap_t placement_bitmap(const struct placement *placement)
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();

	for (unsigned int i = 0; set && i < placement->count; i++)
		hwloc_bitmap_set(set, (unsigned int)placement->places[i].cpu);
	return set;
}

char *placement_cpu_list(const struct placement *placement)
{
	hwloc_bitmap_t set = placement_bitmap(placement);
	char *text = NULL;

	if (set)
		hwloc_bitmap_list_asprintf(&text, set);
	hwloc_bitmap_free(set);
	return text;
}

static int set_affinity(const cpu_set_t *set, size_t size)
{
	return sched_setaffinity(0, size, set) ? -errno : 0;
}

int pin_to_cpu(int cpu)
{
	cpu_set_t *set = CPU_ALLOC((size_t)cpu + 1);
	size_t size = CPU_ALLOC_SIZE((size_t)cpu + 1);
	int error;

	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	CPU_SET_S((size_t)cpu, size, set);
	error = set_affinity(set, size);
	CPU_FREE(set);
	return error;
}

int pin_to_all(const struct placement *placement)
{
	int highest = 0, error;
	cpu_set_t *set;
	size_t size;

	for (unsigned int i = 0; i < placement->count; i++)
		if (placement->places[i].cpu > highest)
			highest = placement->places[i].cpu;
	set = CPU_ALLOC((size_t)highest + 1);
	size = CPU_ALLOC_SIZE((size_t)highest + 1);
	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	for (unsigned int i = 0; i < placement->count; i++)
		CPU_SET_S((size_t)placement->places[i].cpu, size, set);
	error = set_affinity(set, size);
	CPU_FREE(set);
	return error;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CPUs this process may use, and how they are related (hwloc). Only CPUs
 * that are online, in the cpuset, and in the affinity mask the process was
 * started with.
 */
#ifndef SHOOTDOWN_HARNESS_PLACEMENT_H
#define SHOOTDOWN_HARNESS_PLACEMENT_H

#include <hwloc.h>
#include <stddef.h>

#include "../../workloads/workload.h"

/* Identities are hwloc's logical indexes; -1 where the machine has no such object. */
struct place {
	int cpu;		/* OS index */
	int core, cache, package;
	int node;		/* OS index of the NUMA node, 0 without NUMA */
	unsigned int rank;	/* 0 for the first allowed CPU of a core, 1 for its first sibling, ... */
};

struct placement {
	unsigned int count, node_count;
	struct place *places;	/* one CPU of each core first, topology order within */
};

/*
 * cpu_list ("0-3,6", Linux manner) narrows the allowed CPUs further; NULL: all
 * of them. -EINVAL and a reason when it names a CPU that is not allowed or
 * cannot be read; other -errno when the topology cannot be had.
 */
int placement_load(struct placement *placement, const char *cpu_list, char *reason, size_t reason_size);
/* The same from a topology that is loaded already; allowed NULL: all of it. */
int placement_from_topology(struct placement *placement, hwloc_topology_t topology, hwloc_const_bitmap_t allowed);
void placement_free(struct placement *placement);

int placement_cpus(const struct placement *placement, unsigned int count, int *cpus);
int placement_pair(const struct placement *placement, enum cpu_relation relation, unsigned int pair, int cpus[2]);
const struct place *placement_of_cpu(const struct placement *placement, int cpu);
/* "0-1,4": caller frees. */
char *placement_cpu_list(const struct placement *placement);

/* Binds the calling thread. -errno. */
int pin_to_cpu(int cpu);
int pin_to_all(const struct placement *placement);

#endif

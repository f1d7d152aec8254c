// SPDX-License-Identifier: GPL-2.0-or-later
#include "checks.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/files.h"
#include "../common/memory.h"
#include "../common/paths.h"
#include "../common/spawn.h"
#include "../common/units.h"
#include "remote-flush.h"

enum lane_set { HOST = 1, VM = 2, EXACT = 4, TIMED = HOST | VM, GUEST = VM | EXACT, EVERY = HOST | VM | EXACT };

struct check {
	const char *name;
	unsigned int lanes;
	/* A file whose first line, or bracketed word, should be one of `good` (words separated by '|'). */
	const char *path, *good;
	enum check_status otherwise;
	const char *harm, *mend;
	/* Or a function; it fills everything but the name. */
	void (*run)(struct check_result *result);
};

static void fact(struct check_result *result, enum check_status status, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(result->fact, sizeof(result->fact), format, arguments);
	va_end(arguments);
	result->status = status;
}

static void advice(struct check_result *result, const char *harm, const char *mend)
{
	snprintf(result->harm, sizeof(result->harm), "%s", harm);
	snprintf(result->mend, sizeof(result->mend), "%s", mend);
}

static int first_word(const char *path, char *word, size_t word_size)
{
	char *text, *open;
	int error = read_file(path, 1 << 16, &text, NULL);

	if (error)
		return error;
	text[strcspn(text, "\n")] = '\0';
	open = strchr(text, '[');
	if (open) {
		open++;
		open[strcspn(open, "]")] = '\0';
	}
	snprintf(word, word_size, "%.*s", (int)word_size - 1, open ? open : text);
	free(text);
	return 0;
}

static bool is_one_of(const char *word, const char *words)
{
	size_t length = strlen(word);

	for (const char *start = words; start; start = strchr(start, '|') ? strchr(start, '|') + 1 : NULL)
		if (strcspn(start, "|") == length && !strncmp(start, word, length))
			return true;
	return false;
}

static void check_file(const struct check *check, struct check_result *result)
{
	char word[160];
	int error = first_word(check->path, word, sizeof(word));

	if (error) {
		fact(result, CHECK_UNKNOWN, "%s: %s", check->path, strerror(-error));
	} else if (is_one_of(word, check->good)) {
		fact(result, CHECK_GOOD, "%s", *word ? word : "none");
	} else {
		fact(result, check->otherwise, "%s is %s", check->path, *word ? word : "empty");
		advice(result, check->harm, check->mend);
	}
}

static int open_event(uint32_t type, uint64_t config)
{
	struct perf_event_attr attributes = { .type = type, .size = sizeof(attributes), .config = config, .exclude_kernel = 1 };

	return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0UL);
}

static void check_pmu(struct check_result *result)
{
	int fd = open_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);

	if (fd >= 0) {
		close(fd);
		fact(result, CHECK_GOOD, "hardware events count");
		return;
	}
	fact(result, CHECK_MISSING, "no hardware event can be opened: %s", strerror(errno));
	advice(result, "cycles, instructions and TLB misses are missing in the host lane",
	       errno == EACCES ? "sysctl kernel.perf_event_paranoid=1" : "use a machine, or a virtual machine, with a PMU; the exact lane needs none");
}

/* Opens cycles-like events until they must share: from then on they are scaled, not counted. */
static void check_multiplexing(struct check_result *result)
{
	int fds[16];
	size_t count = 0;

	for (; count < 16; count++) {
		fds[count] = open_event(PERF_TYPE_HARDWARE, count % 2 ? PERF_COUNT_HW_INSTRUCTIONS : PERF_COUNT_HW_CPU_CYCLES);
		if (fds[count] < 0)
			break;
	}
	if (!count)
		fact(result, CHECK_UNKNOWN, "no hardware event can be opened");
	else
		fact(result, CHECK_GOOD, "events beyond the PMU's counters take turns; records name each share");
	while (count)
		close(fds[--count]);
}

static void check_tracefs(struct check_result *result)
{
	if (file_exists("/sys/kernel/tracing/events") || file_exists("/sys/kernel/debug/tracing/events")) {
		fact(result, CHECK_GOOD, "tracefs is mounted");
		return;
	}
	fact(result, CHECK_MISSING, "tracefs is not mounted, or not readable");
	advice(result, "the tracepoint probes (tlb-flush, csd, call-function-vectors) are missing in the host lane",
	       "mount -t tracefs tracefs /sys/kernel/tracing");
}

static void check_debugfs(struct check_result *result)
{
	if (file_exists("/sys/kernel/debug/sched")) {
		fact(result, CHECK_GOOD, "debugfs is mounted");
		return;
	}
	fact(result, CHECK_MISSING, "debugfs is not mounted, or not readable");
	advice(result, "scan periods of NUMA balancing cannot be set in the host lane", "mount -t debugfs debugfs /sys/kernel/debug");
}

static void check_turbo(struct check_result *result)
{
	char word[16] = "";

	if (!first_word("/sys/devices/system/cpu/intel_pstate/no_turbo", word, sizeof(word)))
		fact(result, strcmp(word, "1") ? CHECK_WARNING : CHECK_GOOD, strcmp(word, "1") ? "turbo is on" : "turbo is off");
	else if (!first_word("/sys/devices/system/cpu/cpufreq/boost", word, sizeof(word)))
		fact(result, strcmp(word, "0") ? CHECK_WARNING : CHECK_GOOD, strcmp(word, "0") ? "boost is on" : "boost is off");
	else
		fact(result, CHECK_UNKNOWN, "the kernel does not say");
	if (result->status == CHECK_WARNING)
		advice(result, "clock frequency follows temperature, so times drift over a campaign",
		       "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 > /sys/devices/system/cpu/cpufreq/boost");
}

static void check_idle_states(struct check_result *result)
{
	char driver[64] = "";

	if (first_word("/sys/devices/system/cpu/cpuidle/current_driver", driver, sizeof(driver)) || !strcmp(driver, "none")) {
		fact(result, CHECK_GOOD, "no idle driver: CPUs only halt");
		return;
	}
	fact(result, CHECK_WARNING, "idle driver %s chooses how deep CPUs sleep", driver);
	advice(result, "wake-up latency depends on how long a CPU was idle", "cpupower idle-set -D 10, or boot with idle=halt");
}

static void check_swap(struct check_result *result)
{
	uint64_t total = meminfo_bytes("SwapTotal"), unused = meminfo_bytes("SwapFree");
	char text[32];

	if (total == unused) {
		fact(result, CHECK_GOOD, total ? "swap is empty" : "no swap");
		return;
	}
	fact(result, CHECK_WARNING, "%s of swap is in use", format_size(total - unused, text, sizeof(text)));
	advice(result, "pages may come from a disk while a workload is timed", "swapoff -a && swapon -a");
}

static void check_load(struct check_result *result)
{
	char text[64] = "";
	double load;

	if (first_word("/proc/loadavg", text, sizeof(text))) {
		fact(result, CHECK_UNKNOWN, "/proc/loadavg cannot be read");
		return;
	}
	load = strtod(text, NULL);
	fact(result, load > 0.5 ? CHECK_WARNING : CHECK_GOOD, "load average %.2f", load);
	if (load > 0.5)
		advice(result, "other work shares the CPUs that are measured", "see what runs with 'top', and wait for it");
}

static void check_steal(struct check_result *result)
{
	unsigned long long user, nice, system, idle, wait, irq, softirq, steal, sum;
	char text[256] = "";

	if (first_word("/proc/stat", text, sizeof(text)) ||
	    sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &wait, &irq, &softirq, &steal) != 8) {
		fact(result, CHECK_UNKNOWN, "/proc/stat does not say");
		return;
	}
	sum = user + nice + system + idle + wait + irq + softirq + steal;
	fact(result, steal * 1000 > sum ? CHECK_WARNING : CHECK_GOOD, "%.2f%% of CPU time since boot went to other guests",
	     sum ? 100.0 * (double)steal / (double)sum : 0.0);
	if (result->status == CHECK_WARNING)
		advice(result, "times include waiting for the hypervisor; blocks with steal are dropped", "use a machine of your own, or the exact lane");
}

static void check_memory(struct check_result *result)
{
	uint64_t available = available_memory();
	char text[32];

	fact(result, available < (2ULL << 30) ? CHECK_WARNING : CHECK_GOOD, "%s available", format_size(available, text, sizeof(text)));
	if (result->status == CHECK_WARNING)
		advice(result, "guests of more than 1 GiB do not fit", "end what uses memory, or give --memory");
}

static void check_numa(struct check_result *result)
{
	if (file_exists("/sys/devices/system/node/node1"))
		fact(result, CHECK_GOOD, "more than one NUMA node");
	else
		fact(result, CHECK_MISSING, "one NUMA node");
	if (result->status == CHECK_MISSING)
		advice(result, "relations across nodes and NUMA migration cannot be measured on the host", "use --lane vm or exact: their guests have as many nodes as asked");
}

static void check_remote_flush(struct check_result *result)
{
	unsigned long long flushes, interrupts;
	char reason[160];

	if (remote_flush_try(&flushes, &interrupts, reason, sizeof(reason))) {
		fact(result, CHECK_UNKNOWN, "%s", reason);
		return;
	}
	fact(result, interrupts < flushes / 2 ? CHECK_MISSING : CHECK_GOOD, "%llu flushes for another CPU raised %llu TLB interrupts", flushes,
	     interrupts);
	if (result->status == CHECK_MISSING)
		advice(result, "the hypervisor flushes in the kernel's stead: shootdowns raise no interrupts here, and cost what it costs",
		       "count interrupts with --lane vm or exact, or on bare metal");
}

static bool process_exists(const char *name)
{
	char **entries = path_names("/proc", "");
	bool found = false;

	for (char **entry = entries; *entry && !found; entry++) {
		char *path, word[64] = "";

		if (strspn(*entry, "0123456789") != strlen(*entry))
			continue;
		path = text_format("/proc/%s/comm", *entry);
		found = !first_word(path, word, sizeof(word)) && !strcmp(word, name);
		free(path);
	}
	names_free(entries);
	return found;
}

static void check_irqbalance(struct check_result *result)
{
	if (!process_exists("irqbalance")) {
		fact(result, CHECK_GOOD, "not running");
		return;
	}
	fact(result, CHECK_WARNING, "irqbalance runs");
	advice(result, "device interrupts move between CPUs during a campaign", "systemctl stop irqbalance");
}

static void check_cache_disk(struct check_result *result)
{
	char *path = path_cache(""), text[32];
	struct statvfs status;

	/* The cache need not exist yet: the nearest directory above it does. */
	while (statvfs(path, &status) && strrchr(path, '/') && strrchr(path, '/') != path)
		*strrchr(path, '/') = '\0';
	if (statvfs(path, &status)) {
		fact(result, CHECK_UNKNOWN, "%s: %s", path, strerror(errno));
	} else {
		uint64_t room = (uint64_t)status.f_bavail * status.f_frsize;

		fact(result, room < (8ULL << 30) ? CHECK_BLOCKS : CHECK_GOOD, "%s free for the kernel cache", format_size(room, text, sizeof(text)));
		if (result->status == CHECK_BLOCKS)
			advice(result, "a kernel's source and build trees take 6 GiB", "free some, or set XDG_CACHE_HOME to a larger disk");
	}
	free(path);
}

/* Runs a program for its exit status; output is dropped. */
static bool program_works(const char *const *argv)
{
	char *output = NULL;
	int status = 1;
	bool works = !run_capture(argv, &(struct spawn_options){ .input = -1, .error = -1 }, 10000, 1 << 20, &output, &status) &&
		     WIFEXITED(status) && !WEXITSTATUS(status);

	free(output);
	return works;
}

static void check_toolchain(struct check_result *result)
{
	static const char *const tools[] = { "gcc", "ld", "make", "flex", "bison", "bc", "git", "xz", NULL };
	char missing[120] = "";

	for (const char *const *tool = tools; *tool; tool++) {
		const char *const argv[] = { *tool, "--version", NULL };

		if (!program_works(argv))
			snprintf(missing + strlen(missing), sizeof(missing) - strlen(missing), " %s", *tool);
	}
	if (!*missing) {
		fact(result, CHECK_GOOD, "compiler and tools for kernels are there");
		return;
	}
	fact(result, CHECK_BLOCKS, "missing:%s", missing);
	advice(result, "kernels cannot be built; image: and deb-image: kernels still boot", "make packages-demo");
}

static void check_python(struct check_result *result)
{
	const char *const argv[] = { "/usr/bin/python3", "-c", "import numpy, scipy, matplotlib, jinja2, jsonschema, yaml", NULL };

	if (program_works(argv)) {
		fact(result, CHECK_GOOD, "python3 has numpy, scipy, matplotlib, jinja2, jsonschema and yaml");
		return;
	}
	fact(result, CHECK_BLOCKS, "/usr/bin/python3 lacks a package that the analysis needs");
	advice(result, "campaigns run, but cannot be compared", "make packages-demo");
}

static const struct check checks[] = {
	{ "perf-event-paranoid", HOST, "/proc/sys/kernel/perf_event_paranoid", "-1|0", CHECK_MISSING,
	  "an ordinary user cannot count system-wide: events cover the workload's processes only", "sysctl kernel.perf_event_paranoid=0", NULL },
	{ "tracefs", HOST, .run = check_tracefs },
	{ "debugfs", HOST, .run = check_debugfs },
	{ "pmu", HOST, .run = check_pmu },
	{ "multiplexing", HOST, .run = check_multiplexing },
	{ "cpu-governor", TIMED, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance", CHECK_WARNING,
	  "clock frequency follows load, so times vary", "cpupower frequency-set -g performance", NULL },
	{ "turbo", TIMED, .run = check_turbo },
	{ "smt", TIMED, "/sys/devices/system/cpu/smt/control", "off|notsupported|notimplemented|forceoff", CHECK_WARNING,
	  "two CPUs share a core, so times depend on what the sibling does", "echo off > /sys/devices/system/cpu/smt/control", NULL },
	{ "idle-states", HOST, .run = check_idle_states },
	{ "isolated-cpus", HOST, "/sys/devices/system/cpu/isolated", "", CHECK_WARNING,
	  "workloads do not use isolated CPUs unless they are pinned there", "give the workload --cpus", NULL },
	{ "transparent-hugepages", HOST, "/sys/kernel/mm/transparent_hugepage/enabled", "never|madvise", CHECK_WARNING,
	  "whether a fault gets 4 KiB or 2 MiB depends on luck", "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled", NULL },
	{ "numa-balancing", HOST, "/proc/sys/kernel/numa_balancing", "0", CHECK_WARNING,
	  "pages migrate while a workload is timed", "sysctl kernel.numa_balancing=0", NULL },
	{ "ksm", HOST, "/sys/kernel/mm/ksm/run", "0", CHECK_WARNING, "pages are merged and copied again by a kernel thread",
	  "echo 0 > /sys/kernel/mm/ksm/run", NULL },
	{ "swap", TIMED, .run = check_swap },
	{ "address-randomisation", HOST, "/proc/sys/kernel/randomize_va_space", "0", CHECK_WARNING,
	  "layout of stacks and libraries differs from boot to boot, and with it cache conflicts", "sysctl kernel.randomize_va_space=0", NULL },
	{ "clock-source", TIMED, "/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc|arch_sys_counter|kvm-clock",
	  CHECK_WARNING, "reading the clock is slow and coarse", "boot with tsc=reliable if the TSC is known to be good", NULL },
	{ "remote-flush", HOST, .run = check_remote_flush },
	{ "irqbalance", HOST, .run = check_irqbalance },
	{ "steal", TIMED, .run = check_steal },
	{ "load", TIMED, .run = check_load },
	{ "memory", EVERY, .run = check_memory },
	{ "numa-nodes", HOST, .run = check_numa },
	{ "toolchain", GUEST, .run = check_toolchain },
	{ "cache-disk", GUEST, .run = check_cache_disk },
	{ "python", EVERY, .run = check_python },
};

const char *check_status_name(enum check_status status)
{
	static const char *const names[] = {
		[CHECK_GOOD] = "good", [CHECK_WARNING] = "warning", [CHECK_MISSING] = "missing", [CHECK_BLOCKS] = "blocks",
		[CHECK_UNKNOWN] = "unknown",
	};

	return names[status];
}

static unsigned int lane_bit(const char *lane)
{
	if (!lane)
		return EVERY;
	return !strcmp(lane, "host") ? HOST : !strcmp(lane, "vm") ? VM : EXACT;
}

size_t checks_run(const char *lane, struct check_result *results, size_t limit)
{
	size_t count = 0;

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]) && count < limit; i++) {
		struct check_result *result = &results[count];

		if (!(checks[i].lanes & lane_bit(lane)))
			continue;
		memset(result, 0, sizeof(*result));
		result->name = checks[i].name;
		if (checks[i].run)
			checks[i].run(result);
		else
			check_file(&checks[i], result);
		count++;
	}
	return count;
}

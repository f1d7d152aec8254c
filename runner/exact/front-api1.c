/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plugin interface 1: QEMU 7.2 to 8.2. No package ships its header, so what
 * is used of it is declared here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters.h"
#include "front.h"

typedef uint64_t qemu_plugin_id_t;

struct qemu_info {
	const char *target_name;
	struct {
		int min, cur;
	} version;
	bool system_emulation;
	struct {
		int smp_vcpus, max_vcpus;
	} system;
};

struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef uint32_t qemu_plugin_meminfo_t;

enum { CALLBACK_NO_REGISTERS = 0 };
enum { INLINE_ADD_U64 = 0 };
enum { MEMORY_WRITES = 2 };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, void (*callback)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*callback)(qemu_plugin_id_t, void *), void *context);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, int operation, void *counter, uint64_t amount);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, void (*callback)(unsigned int, void *), int flags, void *context);
void qemu_plugin_register_vcpu_mem_inline(struct qemu_plugin_insn *insn, int accesses, int operation, void *counter, uint64_t amount);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
				      void (*callback)(unsigned int, qemu_plugin_meminfo_t, uint64_t, void *),
				      int flags, int accesses, void *context);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

/* What a store's call-back needs; made once for each instruction translated, kept for the process's life. */
struct store_call {
	void (*function)(uint64_t address, void *context);
	void *context;
};

void front_count(void *handle, uint64_t *counter, uint64_t amount)
{
	qemu_plugin_register_vcpu_insn_exec_inline(handle, INLINE_ADD_U64, counter, amount);
}

void front_count_accesses(void *handle, enum front_accesses which, uint64_t *counter)
{
	qemu_plugin_register_vcpu_mem_inline(handle, which, INLINE_ADD_U64, counter, 1);
}

void front_call(void *handle, void (*function)(unsigned int cpu, void *context), void *context)
{
	qemu_plugin_register_vcpu_insn_exec_cb(handle, function, CALLBACK_NO_REGISTERS, context);
}

static void on_store(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t address, void *context)
{
	const struct store_call *call = context;

	(void)cpu;
	if (qemu_plugin_mem_is_store(info))	/* QEMU 7.2 calls for loads, too */
		call->function(address, call->context);
}

void front_call_on_store(void *handle, void (*function)(uint64_t address, void *context), void *context)
{
	struct store_call *call = zeroed(1, sizeof(*call));

	*call = (struct store_call){ .function = function, .context = context };
	qemu_plugin_register_vcpu_mem_cb(handle, on_store, CALLBACK_NO_REGISTERS, MEMORY_WRITES, call);
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	static struct block_instruction *instructions;
	static size_t room;
	size_t count = qemu_plugin_tb_n_insns(tb);

	(void)id;
	if (count > room)
		instructions = grow(instructions, room = count, sizeof(*instructions));
	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		instructions[i] = (struct block_instruction){
			.address = qemu_plugin_insn_vaddr(insn), .bytes = qemu_plugin_insn_data(insn),
			.size = qemu_plugin_insn_size(insn), .handle = insn,
		};
	}
	core_translate(instructions, count);
}

static void on_exit_of_qemu(qemu_plugin_id_t id, void *context)
{
	(void)id;
	(void)context;
	core_end();
}

/* "name=value" among the plugin's arguments; NULL when absent. */
static const char *argument(int count, char **arguments, const char *name)
{
	size_t length = strlen(name);

	for (int i = 0; i < count; i++)
		if (strncmp(arguments[i], name, length) == 0 && arguments[i][length] == '=')
			return arguments[i] + length + 1;
	return NULL;
}

__attribute__((visibility("default")))
int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv)
{
	const char *path = argument(argc, argv, "counts");

	if (argument(argc, argv, "probe")) {
		printf("shootdown-exact: interface %d of %d to %d\n", qemu_plugin_version, info->version.min, info->version.cur);
		fflush(stdout);
		exit(0);
	}
	if (!info->system_emulation || !path) {
		fprintf(stderr, "shootdown-exact: wants counts=FILE and a QEMU that emulates a system\n");
		return -1;
	}
	if (core_start(info->target_name, info->system.max_vcpus, path, argument(argc, argv, "options")) != 0)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
	return 0;
}

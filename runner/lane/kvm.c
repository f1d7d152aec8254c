// SPDX-License-Identifier: GPL-2.0-or-later
#include "kvm.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/files.h"
#include "../common/hash.h"
#include "../common/interrupt.h"
#include "../common/paths.h"
#include "../common/spawn.h"

#define DEVICE "/dev/kvm"
/* Under a working KVM it takes a fraction of a second; one that emulates what it cannot run takes eight. */
#define PROOF_LIMIT_MS 4000
/* isa-debug-exit ends QEMU with (value << 1) | 1. */
#define PROOF_VALUE 0x2d
#define PROOF_STATUS (PROOF_VALUE << 1 | 1)

#if defined(__x86_64__)
#define PROOF_EXISTS true
/*
 * The guest: a flat multiboot image for 0x100000. It maps its first 2 MiB (page
 * tables at 0x102000), enters long mode and writes the value to port 0xf4.
 */
__asm__(".pushsection .rodata\n"
	".balign 16\n"
	"proof_image:\n"
	".code32\n"
	"	.long 0x1badb002, 0x00010000, -(0x1badb002 + 0x00010000)\n"
	"	.long 0x100000, 0x100000, 0, 0x108000, 0x100000 + (proof_entry - proof_image)\n"
	"proof_entry:\n"
	"	movl $0x103003, 0x102000\n"
	"	movl $0, 0x102004\n"
	"	movl $0x104003, 0x103000\n"
	"	movl $0, 0x103004\n"
	"	movl $0x83, 0x104000\n"
	"	movl $0, 0x104004\n"
	"	movl $0x102000, %eax\n"
	"	movl %eax, %cr3\n"
	"	movl %cr4, %eax\n"
	"	orl $0x20, %eax\n"		/* PAE */
	"	movl %eax, %cr4\n"
	"	movl $0xc0000080, %ecx\n"	/* EFER */
	"	rdmsr\n"
	"	orl $0x100, %eax\n"		/* LME */
	"	wrmsr\n"
	"	movl %cr0, %eax\n"
	"	orl $0x80000001, %eax\n"	/* PG, PE */
	"	movl %eax, %cr0\n"
	"	lgdt 0x100000 + (proof_gdt_pointer - proof_image)\n"
	"	ljmpl $8, $(0x100000 + (proof_long - proof_image))\n"
	".code64\n"
	"proof_long:\n"
	"	movb $0x2d, %al\n"
	"	outb %al, $0xf4\n"
	"1:	hlt\n"
	"	jmp 1b\n"
	".balign 8\n"
	"proof_gdt:\n"
	"	.quad 0, 0x00209a0000000000\n"
	"proof_gdt_pointer:\n"
	"	.word proof_gdt_pointer - proof_gdt - 1\n"
	"	.long 0x100000 + (proof_gdt - proof_image)\n"
	"proof_end:\n"
	".popsection\n");
extern const char proof_image[] __attribute__((visibility("hidden")));
extern const char proof_end[] __attribute__((visibility("hidden")));
#else
/* No proof for this processor has been written: what is not proved is not used. */
#define PROOF_EXISTS false
static const char proof_image[1], *const proof_end = proof_image;
#endif

static void no(struct kvm_answer *answer, const char *reason)
{
	answer->works = false;
	answer->cpu_model[0] = '\0';
	snprintf(answer->reason, sizeof(answer->reason), "%s", reason);
}

/* Descriptor of a file in memory that QEMU can read as /proc/self/fd/N. */
static int make_image(void)
{
	size_t size = (uintptr_t)proof_end - (uintptr_t)proof_image;
	int fd = memfd_create("kvm-proof", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (write(fd, proof_image, size) != (ssize_t)size) {
		close(fd);
		return -EIO;
	}
	return fd;
}

/* First line of what QEMU printed, without its own name and "error" in front. */
static void first_line(int fd, char *line, size_t size)
{
	ssize_t got = pread(fd, line, size - 1, 0);
	static const char *const prefixes[] = { "qemu-system-", "error: " };

	line[got > 0 ? got : 0] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		char *colon = strncmp(line, prefixes[i], strlen(prefixes[i])) ? NULL : strstr(line, ": ");

		if (colon)
			memmove(line, colon + 2, strlen(colon + 2) + 1);
	}
}

static void judge(int error, int status, int output, struct kvm_answer *answer)
{
	char line[160];

	if (error == -ETIMEDOUT) {
		no(answer, "a guest of a few instructions did not run within 4 s");
	} else if (error) {
		no(answer, strerror(-error));
	} else if (WIFEXITED(status) && WEXITSTATUS(status) == PROOF_STATUS) {
		answer->works = true;
		snprintf(answer->reason, sizeof(answer->reason), "a guest ran under it");
	} else {
		first_line(output, line, sizeof(line));
		if (line[0])
			no(answer, line);
		else if (WIFSIGNALED(status))
			no(answer, "QEMU crashed when a guest of a few instructions ran");
		else
			no(answer, "QEMU ended before a guest of a few instructions had run");
	}
}

static void try_boot(const struct qemu_machine *machine, const char *cpu_model, struct kvm_answer *answer)
{
	int image = make_image(), output = memfd_create("kvm-proof-output", MFD_CLOEXEC), status = 0, error;
	char path[32];
	const char *argv[] = { machine->binary, "-nodefaults", "-no-user-config", "-machine", machine->machine, "-accel", "kvm",
			       "-cpu", cpu_model, "-m", "16M", "-display", "none", "-nic", "none", "-monitor", "none",
			       "-no-reboot", "-device", "isa-debug-exit,iobase=0xf4,iosize=4", "-kernel", path, NULL };
	const int keep[] = { image, -1 };
	struct spawn_options options = { .input = -1, .output = -1, .error = output, .keep = keep };
	struct child child = { 0 };

	if (image < 0 || output < 0) {
		no(answer, "no memory for the proof");
	} else {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", image);
		error = spawn(argv, &options, &child);
		if (!error)
			error = child_wait(&child, PROOF_LIMIT_MS, &status);
		child_end(&child, 500);
		judge(error, status, output, answer);
		if (answer->works)
			snprintf(answer->cpu_model, sizeof(answer->cpu_model), "%s", cpu_model);
	}
	if (image >= 0)
		close(image);
	if (output >= 0)
		close(output);
}

static char *cache_path(const struct qemu_machine *machine, const char *qemu_version)
{
	struct hash *hash = hash_new();
	struct utsname name = { 0 };
	char text[HASH_TEXT], *boot_id = NULL;
	char *below, *path;
	size_t size;

	uname(&name);
	if (read_file("/proc/sys/kernel/random/boot_id", 128, &boot_id, &size))
		boot_id = NULL;
	hash_add_text(hash, boot_id ? boot_id : "");
	hash_add_text(hash, name.release);
	hash_add_text(hash, name.version);
	hash_add_text(hash, machine->binary);
	hash_add_text(hash, qemu_version);
	hash_finish(hash, text);
	below = text_format("kvm/%.16s.json", text);
	path = path_cache(below);
	free(below);
	free(boot_id);
	return path;
}

static bool read_cache(const char *path, struct kvm_answer *answer)
{
	const char *model, *reason;
	json_t *value;
	char why[128];
	int works;

	if (read_json(path, &value, why, sizeof(why)))
		return false;
	if (json_unpack(value, "{s:b, s:s, s:s}", "works", &works, "cpu_model", &model, "reason", &reason)) {
		json_decref(value);
		return false;
	}
	answer->works = works;
	snprintf(answer->cpu_model, sizeof(answer->cpu_model), "%s", model);
	snprintf(answer->reason, sizeof(answer->reason), "%s", reason);
	json_decref(value);
	return true;
}

/* A cache that cannot be written costs seconds at the next start and nothing else. */
static void write_cache(const char *path, const struct kvm_answer *answer)
{
	json_t *value = json_pack("{s:b, s:s, s:s}", "works", answer->works, "cpu_model", answer->cpu_model,
				  "reason", answer->reason);
	char *directory = strdup(path), *slash = directory ? strrchr(directory, '/') : NULL;

	if (slash) {
		*slash = '\0';
		if (!make_directories(directory))
			(void)write_json(path, value);
	}
	free(directory);
	json_decref(value);
}

void kvm_prove(const struct qemu_machine *machine, const char *qemu_version, struct kvm_answer *answer)
{
	char reason[256], *path;

	*answer = (struct kvm_answer){ 0 };
	if (!PROOF_EXISTS || strcmp(machine->architecture, host_architecture())) {
		no(answer, PROOF_EXISTS ? "the guest is of another architecture than this machine"
					: "no proof exists for this architecture");
		return;
	}
	/* These may change at any time and cost nothing to ask: never cached. */
	if (access(DEVICE, R_OK | W_OK)) {
		snprintf(reason, sizeof(reason), DEVICE ": %s%s", strerror(errno),
			 errno == EACCES ? "; join group kvm" : "");
		no(answer, reason);
		return;
	}
	path = cache_path(machine, qemu_version);
	if (!read_cache(path, answer)) {
		try_boot(machine, "host", answer);
		if (!answer->works && !interrupted)
			try_boot(machine, "max", answer);
		if (!interrupted)
			write_cache(path, answer);
	}
	free(path);
}

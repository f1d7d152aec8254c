// SPDX-License-Identifier: GPL-2.0-or-later
/* shootdown kernel boot SPEC [-- COMMAND]: a kernel in QEMU, a command or a shell in it. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "../kernels/kernel.h"
#include "cmd-kernel.h"
#include "clear-leftovers.h"
#include "common/files.h"
#include "common/leftovers.h"
#include "common/message.h"
#include "common/paths.h"
#include "common/spawn.h"
#include "common/units.h"
#include "lane/accelerator.h"
#include "lane/guest-boot.h"
#include "lane/initramfs.h"
#include "lane/job.h"
#include "lane/kernel-image.h"

#define DEFAULT_CPUS 2
#define DEFAULT_NODES 1
#define DEFAULT_MEMORY ((uint64_t)1 << 30)
#define MEMORY_UNIT ((uint64_t)1 << 20)
#define DEFAULT_SECONDS 600
#define BOOT_SECONDS 120
/* A person at the console has all day. */
#define SHELL_SECONDS (7 * 24 * 3600)
#define CPUS_MAXIMUM 255
#define NODES_MAXIMUM 64

struct boot_command {
	const struct command_arguments *arguments;
	const char *spec, *architecture;
	uint64_t cpus, nodes, memory;
	unsigned int seconds;
	bool shell;
	struct kernel kernel;
	struct accelerator accelerator;
	char *directory;		/* temporary; removed at the end */
	int exit_status;		/* of the command in the guest; -1: it has not ended */
};

static int parse_limits(struct boot_command *command)
{
	const struct command_arguments *arguments = command->arguments;
	const char *cpus = argument_option(arguments, "cpus"), *nodes = argument_option(arguments, "nodes");
	const char *memory = argument_option(arguments, "memory"), *timeout = argument_option(arguments, "timeout");
	uint64_t nanoseconds = (uint64_t)DEFAULT_SECONDS * 1000000000u;

	command->cpus = DEFAULT_CPUS;
	command->nodes = DEFAULT_NODES;
	command->memory = DEFAULT_MEMORY;
	if (cpus && (parse_count(cpus, &command->cpus) || !command->cpus || command->cpus > CPUS_MAXIMUM))
		return report(EXIT_USAGE, "kernel boot: --cpus %s: give a number from 1 to %d", cpus, CPUS_MAXIMUM);
	if (nodes && (parse_count(nodes, &command->nodes) || !command->nodes || command->nodes > command->cpus ||
		      command->nodes > NODES_MAXIMUM))
		return report(EXIT_USAGE, "kernel boot: --nodes %s: give a number from 1 to the number of CPUs, at most %d", nodes,
			      NODES_MAXIMUM);
	if (memory && (parse_size(memory, &command->memory) || command->memory < GUEST_MEMORY_MINIMUM))
		return report(EXIT_USAGE, "kernel boot: --memory %s: give a size of 64 MiB or more, with a unit", memory);
	if (timeout && (parse_duration(timeout, &nanoseconds) || nanoseconds < 1000000000u))
		return report(EXIT_USAGE, "kernel boot: --timeout %s: give a duration of a second or more, with a unit", timeout);
	command->memory = command->memory / MEMORY_UNIT * MEMORY_UNIT;
	command->seconds = command->shell ? SHELL_SECONDS : (unsigned int)(nanoseconds / 1000000000u);
	return 0;
}

static int parse(const struct command_arguments *arguments, struct boot_command *command)
{
	const char *architecture = argument_option(arguments, "arch");

	command->arguments = arguments;
	command->exit_status = -1;
	command->architecture = architecture ? architecture : host_architecture();
	command->shell = !arguments->rest_count;
	if (arguments->count != 2)
		return report(EXIT_USAGE, "kernel boot: give one kernel: shootdown kernel boot SPEC [-- COMMAND]");
	command->spec = arguments->values[1];
	if (!strcmp(command->spec, "host"))
		return report(EXIT_USAGE, "kernel boot: 'host' is the kernel that runs already; give another spec");
	return parse_limits(command);
}

static void show_progress(void *context, const char *phase, const char *detail, double fraction)
{
	(void)context;
	(void)fraction;
	progress_step(0, detail && *detail ? detail : phase);
}

static int get_kernel(struct boot_command *command)
{
	struct kernel_request request = {
		.spec = command->spec,
		.kconfig = argument_options(command->arguments, "kconfig"),
		.architecture = command->architecture,
	};
	struct kernel_error error = { 0 };
	int result;

	progress_start("kernel", 1);
	result = kernel_build(&request, show_progress, NULL, &command->kernel, &error);
	progress_end();
	return result ? report(error.exit_status, "%s", error.text) : 0;
}

/* Every applet of busybox as a link, so that scripts find their commands. */
static int add_applets(struct initramfs *initramfs, const char *busybox)
{
	const char *argv[] = { busybox, "--list", NULL };
	struct spawn_options options = { .input = -1, .output = -1, .error = -1 };
	char *list, *rest = NULL;
	int status, error;

	error = run_capture(argv, &options, 10000, 65536, &list, &status);
	if (error)
		return error;
	for (char *name = strtok_r(list, "\n", &rest); name && !error; name = strtok_r(NULL, "\n", &rest)) {
		char *path = text_format("/bin/%s", name);

		if (!initramfs_has(initramfs, path))
			error = initramfs_add_link(initramfs, path, "/exec/busybox");
		free(path);
	}
	free(list);
	return error;
}

static int add_shell(const struct boot_command *command, struct initramfs *initramfs, char *reason, size_t reason_size)
{
	static const char *const places[] = { "/bin/busybox", "/usr/bin/busybox", "/usr/local/bin/busybox" };
	int error;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (access(places[i], X_OK) || strcmp(command->architecture, host_architecture()))
			continue;
		error = initramfs_add_program(initramfs, "/exec/busybox", places[i], reason, reason_size);
		return error ? error : add_applets(initramfs, places[i]);
	}
	if (!command->shell)
		return 0;	/* the command may do without */
	snprintf(reason, reason_size, "a shell in the guest needs busybox for %s; install package busybox-static, or give a command: -- COMMAND",
		 command->architecture);
	return -ENOENT;
}

static const char *const *terminal_environment(void)
{
	static char term[64], lines[32], columns[32];
	static const char *environment[4];
	struct winsize size;
	int count = 0;

	snprintf(term, sizeof(term), "TERM=%s", getenv("TERM") ? getenv("TERM") : "linux");
	environment[count++] = term;
	if (!ioctl(0, TIOCGWINSZ, &size) && size.ws_row && size.ws_col) {
		snprintf(lines, sizeof(lines), "LINES=%u", size.ws_row);
		snprintf(columns, sizeof(columns), "COLUMNS=%u", size.ws_col);
		environment[count++] = lines;
		environment[count++] = columns;
	}
	environment[count] = NULL;
	return environment;
}

static int write_initramfs(const struct boot_command *command, const char *path, char *reason, size_t reason_size)
{
	static const char *const shell[] = { "busybox", "sh", NULL };
	const struct boot_case boot_case = {
		.name = "command",
		.command = (char *const *)(command->shell ? shell : command->arguments->rest),
		.files = (char *const *)argument_options(command->arguments, "file"),
		.timeout_seconds = command->seconds,
	};
	const struct guest_job job = {
		.architecture = command->architecture,
		.kernel = &command->kernel,
		.cases = &boot_case,
		.case_count = 1,
		.forward_output = true,
		.interactive = command->shell,
		.plain_commands = true,
		.environment = command->shell ? terminal_environment() : NULL,
	};
	struct initramfs *initramfs;
	int error = guest_base_make(command->architecture, &initramfs, reason, reason_size);

	if (error)
		return error;
	error = add_shell(command, initramfs, reason, reason_size);
	if (!error)
		error = guest_job_add(initramfs, &job, reason, reason_size);
	if (!error) {
		error = initramfs_write(initramfs, NULL, path);
		if (error)
			snprintf(reason, reason_size, "%s: %s", path, strerror(-error));
	}
	initramfs_free(initramfs);
	return error;
}

static int print_output(void *context, size_t case_index, int stream, const void *data, size_t size)
{
	FILE *file = stream == 1 ? stdout : stderr;

	(void)context;
	(void)case_index;
	return fwrite(data, 1, size, file) == size && !fflush(file) ? 0 : -errno;
}

static int note_exit(void *context, size_t case_index, int status, int signal)
{
	struct boot_command *command = context;

	(void)case_index;
	command->exit_status = signal ? 128 + signal : status;
	return 0;
}

static int boot(struct boot_command *command, const char *kernel, const char *initramfs, struct boot_result *result)
{
	char *command_line = guest_command_line(command->accelerator.machine, &command->kernel, true,
						argument_option(command->arguments, "boot-parameters"));
	const struct boot_sink sink = { 0 };
	const struct guest_boot options = {
		.qemu = {
			.machine = command->accelerator.machine,
			.accelerator = command->accelerator.option,
			.cpu_model = command->accelerator.cpu_model,
			.cpus = (unsigned int)command->cpus,
			.nodes = (unsigned int)command->nodes,
			.memory_bytes = command->memory,
			.kernel = kernel,
			.initrd = initramfs,
			.append = command_line,
		},
		.virtio_channel = true,
		.second_port = true,
		.plain_commands = true,
		.case_count = 1,
		.case_seconds = &command->seconds,
		.boot_seconds = BOOT_SECONDS,
		.raw_directory = command->directory,
		.sink = &sink,
		.hooks = { .context = command, .output = print_output, .exited = note_exit },
		.terminal_input = command->shell ? 0 : -1,
		.terminal_output = command->shell ? 1 : -1,
	};
	int error = guest_boot_run(&options, result);

	free(command_line);
	return error;
}

/* The guest's terminal does echo and line editing: ours must do neither while it is shown. */
static int boot_with_terminal(struct boot_command *command, const char *kernel, const char *initramfs, struct boot_result *result)
{
	bool terminal = command->shell && isatty(0);
	struct termios before, raw;
	int error;

	if (terminal && !tcgetattr(0, &before)) {
		note("a shell in the guest; 'exit' or Ctrl-] leaves it");
		raw = before;
		cfmakeraw(&raw);
		tcsetattr(0, TCSADRAIN, &raw);
	} else {
		terminal = false;
	}
	error = boot(command, kernel, initramfs, result);
	if (terminal)
		tcsetattr(0, TCSADRAIN, &before);
	return error;
}

/* A boot that ended of the emulator's doing is repeated, unless the command has begun: it may not run twice. */
static int boot_until_told(struct boot_command *command, const char *kernel, const char *initramfs, struct boot_result *result)
{
	int error = 0;

	for (int repeats = 0; repeats <= BOOT_REPEATS; repeats++) {
		error = boot_with_terminal(command, kernel, initramfs, result);
		if (error || !result->emulator_suspect || !isnan(result->seconds_to_workload))
			break;
		if (repeats < BOOT_REPEATS)
			note("the emulator ran a breakpoint that the kernel had taken out; the boot is repeated");
	}
	return error;
}

/* The console of a boot that went wrong is kept where the next such boot puts its own. */
static char *keep_console(const struct boot_command *command)
{
	char *from = text_format("%s/console.log", command->directory), *directory = path_cache("kernel-boot"), *to;

	to = text_format("%s/console.log", directory);
	if (make_directories(directory) || copy_file(from, to)) {
		free(to);
		to = NULL;
	}
	free(directory);
	free(from);
	return to;
}

static int tell(const struct boot_command *command, const struct boot_result *result)
{
	const char *name = boot_outcome_name(result->outcome);
	int status = EXIT_REGRESSED;
	char *console;

	if (command->exit_status >= 0 && (result->outcome == BOOT_OK || result->outcome == BOOT_WORKLOAD_FAILED))
		return command->exit_status;
	if (result->outcome == BOOT_INTERRUPTED)
		return command->shell && !interrupted ? EXIT_DONE
			: report(EXIT_ENVIRONMENT, "kernel boot %s: interrupted", command->spec);
	if (result->outcome == BOOT_HOST_ERROR)
		return report(EXIT_ENVIRONMENT, "kernel boot %s: %s", command->spec, result->detail);
	console = keep_console(command);
	/* A warning is worth a word; the command has done its work all the same. */
	if (result->outcome == BOOT_WARN && command->exit_status >= 0)
		status = command->exit_status;
	report(status, "kernel boot %s: %s: %s%s%s", command->spec, name, result->detail,
	       console ? "; the console is kept in " : "", console ? console : "");
	free(console);
	return status;
}

static int run(struct boot_command *command)
{
	char *initramfs = text_format("%s/initramfs.cpio", command->directory), *kernel = NULL, reason[512] = "";
	struct boot_result result;
	int error, status;

	error = accelerator_choose(command->architecture, &command->accelerator, reason, sizeof(reason));
	if (!error)
		error = write_initramfs(command, initramfs, reason, sizeof(reason));
	if (!error) {
		error = kernel_image_for_boot(&command->kernel, command->directory, &kernel);
		if (error)
			snprintf(reason, sizeof(reason), "%s: %s", command->kernel.image, strerror(-error));
	}
	if (error) {
		status = report(EXIT_ENVIRONMENT, "kernel boot %s: %s", command->spec, reason);
	} else {
		error = boot_until_told(command, kernel, initramfs, &result);
		status = error ? report(EXIT_INTERNAL, "kernel boot %s: %s", command->spec, strerror(-error)) : tell(command, &result);
	}
	free(initramfs);
	free(kernel);
	return status;
}

int kernel_boot_command(const struct command_arguments *arguments)
{
	struct boot_command command = { 0 };
	const char *temporary = getenv("TMPDIR");
	struct leftovers leftovers = { 0 };
	int status = parse(arguments, &command);

	if (status)
		return status;
	clear_leftovers();
	status = get_kernel(&command);
	if (status)
		return status;
	command.directory = text_format("%s/shootdown-boot-XXXXXX", temporary && *temporary ? temporary : "/tmp");
	if (!mkdtemp(command.directory)) {
		status = report(EXIT_ENVIRONMENT, "kernel boot: %s could not be made: %s", command.directory, strerror(errno));
	} else {
		(void)leftovers_note(&leftovers, LEFTOVER_TREE, command.directory, NULL);
		status = run(&command);
		if (!remove_tree(command.directory))
			leftovers_end(&leftovers);
	}
	free(command.directory);
	kernel_free(&command.kernel);
	return status;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "run-reboot.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/files.h"
#include "common/json-text.h"
#include "common/message.h"
#include "machine/kexec.h"
#include "machine/resume-unit.h"

#define LINE_LIMIT (1u << 16)

int run_reboot_check(const struct run_words *words, const char *lane)
{
	char reason[256];

	if (!words->reboot)
		return words->initrd ? report(EXIT_USAGE, "--initrd goes with --reboot kexec") : EXIT_DONE;
	if (strcmp(words->reboot, "kexec"))
		return report(EXIT_USAGE, "--reboot: there is no way '%s'; name kexec", words->reboot);
	if (strcmp(lane, "host"))
		return report(EXIT_USAGE, "--reboot is for the host lane; the lane '%s' boots its guests itself", lane);
	if (words->aa)
		return report(EXIT_USAGE, "--pilot and --reboot do not go together; run the pilot on the kernel that runs");
	if (words->initrd && strcmp(words->initrd, "none") && access(words->initrd, R_OK))
		return report(EXIT_USAGE, "--initrd: %s: %s", words->initrd, strerror(errno));
	if (!words->dry_run && kexec_check(resume_unit_is_foreign(), reason, sizeof(reason)))
		return report(EXIT_ENVIRONMENT, "--reboot kexec: %s", reason);
	return EXIT_DONE;
}

static char *read_line(const char *path)
{
	char *text;

	if (read_file(path, LINE_LIMIT, &text, NULL))
		return NULL;
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/* Of the system that the user had booted, wherever its distribution keeps it. NULL: none was found. */
static char *find_initrd(const char *release)
{
	static const char *const names[] = { "/boot/initrd.img-%s", "/boot/initramfs-%s.img", "/boot/initrd-%s" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *path = text_format(names[i], release);

		if (!access(path, R_OK))
			return path;
		free(path);
	}
	return NULL;
}

static char *state_path(const struct campaign *campaign)
{
	return text_format("%s/reboot.json", campaign->directory);
}

static int write_state(const struct campaign *campaign, const struct reboot *reboot)
{
	char *path = state_path(campaign);
	int error = write_json(path, reboot->state);

	free(path);
	return error;
}

/* What the user's own system was started with: all kernels of the campaign get the same. */
static json_t *first_state(void)
{
	char *line = read_line("/proc/cmdline"), *initrd;
	struct utsname name;
	json_t *state;

	if (uname(&name))
		name.release[0] = '\0';
	initrd = find_initrd(name.release);
	state = line ? json_pack("{s:s, s:s?}", "command_line", line, "initrd", initrd) : NULL;
	free(initrd);
	free(line);
	return state;
}

int run_reboot_begin(const struct campaign *campaign, struct reboot *reboot)
{
	char *path = state_path(campaign), *boot_id = read_line("/proc/sys/kernel/random/boot_id"), reason[256] = "no command line";
	char *directory = realpath(campaign->directory, NULL);
	bool another = directory && resume_unit_is_of_another(directory);
	const char *left;

	free(directory);
	if (another) {
		free(boot_id);
		free(path);
		return report(EXIT_ENVIRONMENT, "--reboot: another campaign waits for this machine's next boot (" RESUME_UNIT "); let it "
			      "end, or give it up with 'shootdown restore'");
	}
	reboot->state = NULL;
	if (!file_exists(path))
		reboot->state = first_state();
	else if (read_json(path, &reboot->state, reason, sizeof(reason)))
		reboot->state = NULL;
	left = text_of(reboot->state, "left");
	reboot->arrived = boot_id && *left && strcmp(left, boot_id);
	free(boot_id);
	free(path);
	if (reboot->state)
		return EXIT_DONE;
	return report(EXIT_ENVIRONMENT, "--reboot: what this system was started with cannot be read: %s", reason);
}

static bool is_word_of(const char *word, const char *words)
{
	char *list = strdup(words), *rest = list, *one;
	bool found = false;

	while ((one = strsep(&rest, " ")))
		found = found || (*one && !strcmp(one, word));
	free(list);
	return found;
}

/* A boot loader's word for itself, or one that another variant was booted with. */
static bool is_dropped(const char *word, const struct kernel *kernels, size_t count)
{
	if (!*word || !strncmp(word, "BOOT_IMAGE=", 11) || !strncmp(word, "initrd=", 7))
		return true;
	for (size_t i = 0; i < count; i++)
		if (kernels[i].boot_parameters && is_word_of(word, kernels[i].boot_parameters))
			return true;
	return false;
}

/* The system's own words and the kernel's, before what is for init. Caller frees. */
static char *command_line(const struct reboot *reboot, const struct kernel *kernel, const struct kernel *kernels, size_t count)
{
	char *words = strdup(text_of(reboot->state, "command_line")), *rest = words, *word, *text = strdup(""), *whole;

	while ((word = strsep(&rest, " ")) && strcmp(word, "--")) {
		char *longer = is_dropped(word, kernels, count) ? NULL : text_format("%s%s%s", text, *text ? " " : "", word);

		if (!longer)
			continue;
		free(text);
		text = longer;
	}
	whole = text_format("%s%s%s%s%s", text, kernel->boot_parameters && *kernel->boot_parameters ? " " : "",
			    kernel->boot_parameters ? kernel->boot_parameters : "", word && rest ? " -- " : "", word && rest ? rest : "");
	free(text);
	free(words);
	return whole;
}

/* *initrd NULL: none is wanted. False: none was found. Caller frees. */
static bool choose_initrd(const struct run_words *words, const struct reboot *reboot, const struct kernel *kernel, char **initrd)
{
	const char *system = json_string_value(json_object_get(reboot->state, "initrd"));

	*initrd = NULL;
	if (words->initrd && !strcmp(words->initrd, "none"))
		return true;
	if (words->initrd)
		*initrd = realpath(words->initrd, NULL);
	else if (kernel->release)
		*initrd = find_initrd(kernel->release);
	if (!*initrd && !words->initrd && system)
		*initrd = strdup(system);
	return *initrd;
}

/* The unit repeats this command for the campaign as it stands. */
static int install_unit(const struct campaign *campaign, const struct run_words *words, char *reason, size_t reason_size)
{
	char *self = realpath("/proc/self/exe", NULL), *directory = realpath(campaign->directory, NULL), *here = getcwd(NULL, 0);
	char *initrd = words->initrd && strcmp(words->initrd, "none") ? realpath(words->initrd, NULL) : NULL, *text;
	const char *argv[] = {
		self, "run", "--resume", "-o", directory, "--reboot", words->reboot, words->initrd ? "--initrd" : NULL,
		initrd ? initrd : words->initrd, NULL,
	};
	int error = self && directory && here ? 0 : -errno;

	if (error) {
		snprintf(reason, reason_size, "the paths of the command and the campaign cannot be found: %s", strerror(-error));
	} else {
		text = resume_unit_text(argv, here, directory);
		error = resume_unit_install(text, reason, reason_size);
		free(text);
	}
	free(initrd);
	free(here);
	free(directory);
	free(self);
	return error;
}

static int mark(const struct campaign *campaign, struct reboot *reboot, const json_t *boot, char *reason, size_t reason_size)
{
	char *boot_id = read_line("/proc/sys/kernel/random/boot_id");
	int error = boot_id ? 0 : -ENODATA;

	json_object_set(reboot->state, "boot", json_object_get(boot, "index"));
	json_object_set_new(reboot->state, "left", json_string(boot_id ? boot_id : ""));
	if (!error)
		error = write_state(campaign, reboot);
	if (error)
		snprintf(reason, reason_size, "the campaign cannot remember that it left: %s", strerror(-error));
	free(boot_id);
	return error;
}

static int load(const struct run_words *words, const struct reboot *reboot, const struct kernel *kernel, const struct kernel *kernels,
		size_t count, char *reason, size_t reason_size)
{
	char *initrd, *line;
	int error;

	if (!kernel->image) {
		snprintf(reason, reason_size, "it has no image that could be loaded");
		return -ENOENT;
	}
	if (!choose_initrd(words, reboot, kernel, &initrd)) {
		snprintf(reason, reason_size, "no initrd was found in /boot; give --initrd FILE, or --initrd none");
		return -ENOENT;
	}
	line = command_line(reboot, kernel, kernels, count);
	error = kexec_load(kernel->image, initrd, line, reason, reason_size);
	free(line);
	free(initrd);
	return error;
}

int run_reboot_leave(const struct campaign *campaign, const struct run_words *words, struct reboot *reboot, const json_t *boot,
		     const struct kernel *kernels, size_t count)
{
	const struct kernel *kernel = plan_kernel(campaign->plan, boot, kernels, count);
	char reason[512] = "the plan does not know it";
	int error = kernel ? load(words, reboot, kernel, kernels, count, reason, sizeof(reason)) : -ENOENT;

	if (!error) {
		error = mark(campaign, reboot, boot, reason, sizeof(reason));
		if (!error)
			error = install_unit(campaign, words, reason, sizeof(reason));
		if (!error)
			note("booting %s with kexec; the campaign goes on by itself (" RESUME_UNIT "): %s", kernel->label, campaign->directory);
		if (!error)
			error = kexec_start(resume_unit_is_foreign(), reason, sizeof(reason));
		if (error)
			kexec_unload();
	}
	if (!error)
		return EXIT_DONE;
	run_reboot_end(campaign, reboot);
	return report(EXIT_ENVIRONMENT, "kernel %s cannot be booted from here: %s; mend that, or boot it by hand, then: "
		      "shootdown run --resume -o %s", kernel ? kernel->label : text_of(boot, "kernel"), reason, campaign->directory);
}

void run_reboot_end(const struct campaign *campaign, struct reboot *reboot)
{
	bool removed;
	int error = resume_unit_remove(&removed);

	if (error)
		note(RESUME_UNIT " could not be removed: %s; 'shootdown restore' as root tries again", strerror(-error));
	json_object_del(reboot->state, "left");
	json_object_del(reboot->state, "boot");
	error = write_state(campaign, reboot);
	if (error)
		note("%s/reboot.json could not be written: %s", campaign->directory, strerror(-error));
}

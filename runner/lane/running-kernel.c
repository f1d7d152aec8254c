// SPDX-License-Identifier: GPL-2.0-or-later
#include "running-kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "../common/build-id.h"
#include "../common/files.h"
#include "../common/json-text.h"
#include "kernel-image.h"

#define COMMAND_LINE_LIMIT (1u << 16)
#define VMLINUX_LIMIT ((size_t)1 << 30)

/* What the running kernel says of itself. */
struct self {
	struct utsname name;
	char *command_line;
	char *note;
	size_t note_size;
	int note_error;
};

/* Length of the word that text starts with. */
static size_t word_length(const char *text)
{
	return strcspn(text, " \n");
}

static const char *next_word(const char *text)
{
	return text + strspn(text, " \n");
}

static bool has_word(const char *line, const char *word, size_t length)
{
	for (line = next_word(line); *line; line = next_word(line + word_length(line)))
		if (word_length(line) == length && !memcmp(line, word, length))
			return true;
	return false;
}

bool has_parameters(const char *command_line, const char *words, size_t *count)
{
	*count = 0;
	for (words = next_word(words); *words; words = next_word(words + word_length(words))) {
		if (!has_word(command_line, words, word_length(words)))
			return false;
		++*count;
	}
	return true;
}

static int read_self(struct self *self)
{
	memset(self, 0, sizeof(*self));
	self->note_error = build_id_running(&self->note, &self->note_size);
	if (uname(&self->name))
		return -errno;
	return read_file("/proc/cmdline", COMMAND_LINE_LIMIT, &self->command_line, NULL);
}

static int holds_note(const struct self *self, const struct kernel *kernel, bool *holds)
{
	size_t size;
	char *data;
	int error = kernel->vmlinux ? read_file(kernel->vmlinux, VMLINUX_LIMIT, &data, &size)
				    : kernel_image_contents(kernel->image, &data, &size);

	if (error)
		return error;
	*holds = memmem(data, size, self->note, self->note_size);
	free(data);
	return 0;
}

/* The kernel that ran when it was asked for by the word "host". */
static bool is_host(const struct self *self, const json_t *identity)
{
	const char *build_id = text_of(identity, "build_id");
	char now[BUILD_ID_TEXT];

	if (strcmp(text_of(json_object_get(identity, "base"), "version"), self->name.version))
		return false;
	return !*build_id || (!build_id_running_text(now) && !strcmp(build_id, now));
}

/* Is it this build? Its boot parameters are looked at later. */
static int is_build(const struct self *self, const struct kernel *kernel, bool *is, char *reason, size_t reason_size)
{
	int error;

	*is = false;
	if (kernel->release && *kernel->release && strcmp(kernel->release, self->name.release))
		return 0;
	if (!strcmp(text_of(json_object_get(kernel->identity, "base"), "source"), "host")) {
		*is = is_host(self, kernel->identity);
		return 0;
	}
	if (!kernel->image && !kernel->vmlinux)
		return 0;
	error = self->note_error;
	if (error) {
		snprintf(reason, reason_size, "the running kernel shows no build ID in /sys/kernel/notes (%s), so it cannot be told from %s",
			 strerror(-error), kernel->label);
		return error;
	}
	error = holds_note(self, kernel, is);
	if (error)
		snprintf(reason, reason_size, "%s cannot be read: %s", kernel->vmlinux ? kernel->vmlinux : kernel->image,
			 error == -ENOEXEC ? "it is not whole" : strerror(-error));
	return error;
}

static const char *parameters_of(const struct kernel *kernel)
{
	return kernel->boot_parameters ? kernel->boot_parameters : "";
}

/* Among the builds that run, those with the most of their own words on the command line. */
static void judge_parameters(const struct self *self, const struct kernel *kernels, size_t count, bool *running)
{
	size_t most = 0, words;

	for (size_t i = 0; i < count; i++) {
		running[i] = running[i] && has_parameters(self->command_line, parameters_of(&kernels[i]), &words);
		if (running[i] && words > most)
			most = words;
	}
	for (size_t i = 0; i < count; i++)
		running[i] = running[i] && has_parameters(self->command_line, parameters_of(&kernels[i]), &words) && words == most;
}

int running_kernels(const struct kernel *kernels, size_t count, bool *running, char *reason, size_t reason_size)
{
	struct self self;
	int error = read_self(&self);

	if (error)
		snprintf(reason, reason_size, "what the running kernel is cannot be read: %s", strerror(-error));
	for (size_t i = 0; i < count && !error; i++)
		error = is_build(&self, &kernels[i], &running[i], reason, reason_size);
	if (!error)
		judge_parameters(&self, kernels, count, running);
	free(self.note);
	free(self.command_line);
	return error;
}

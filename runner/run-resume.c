// SPDX-License-Identifier: GPL-2.0-or-later
#include "run-resume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/files.h"
#include "common/message.h"
#include "run-words.h"
#include "store/plan-check.h"

static const char **empty_list(void)
{
	const char **list = calloc(1, sizeof(*list));

	if (!list)
		abort();
	return list;
}

/* The suite as the campaign has it: a file changed since then must not change what is resumed. */
static char *suite_copy(const char *campaign_directory)
{
	char *path = text_format("%s/suite.yaml", campaign_directory);

	if (file_exists(path))
		return path;
	free(path);
	return NULL;
}

int run_resume(const char *campaign_directory, const struct run_words *given, char **directory)
{
	struct run_words words = {
		.directory = campaign_directory, .resume = true, .reboot = given->reboot, .initrd = given->initrd, .specs = empty_list(), .kconfig = empty_list(),
		.probes = empty_list(), .exec = empty_list(), .exec_files = empty_list(), .options = empty_list(),
	};
	char *path = text_format("%s/plan.json", campaign_directory), *suite = suite_copy(campaign_directory), reason[256];
	const char **command_words;
	json_t *plan = NULL;
	int status;

	if (read_json(path, &plan, reason, sizeof(reason)) || plan_check(plan, reason, sizeof(reason))) {
		status = report(EXIT_ENVIRONMENT, "there is no campaign to resume in %s: %s", campaign_directory, reason);
	} else {
		run_words_recall(json_object_get(plan, "command"), &words);
		command_words = (const char **)words.exec;
		if (*command_words)
			words.suite = "exec";
		else
			words.exec = NULL;
		if (suite)
			words.suite = suite;
		status = words.suite ? run_campaign(&words, directory)
				     : report(EXIT_ENVIRONMENT, "%s does not say which suite it ran", path);
		free(command_words);
		words.exec = NULL;
	}
	free((void *)words.specs);
	free((void *)words.kconfig);
	free((void *)words.probes);
	free((void *)words.exec);
	free((void *)words.exec_files);
	free((void *)words.options);
	json_decref(plan);
	free(suite);
	free(path);
	return status;
}

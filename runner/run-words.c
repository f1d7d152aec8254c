// SPDX-License-Identifier: GPL-2.0-or-later
#include "run-words.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Options of `run` that shape the plan: recorded with it, and recalled from it. */
struct word_option {
	const char *name;
	size_t offset;
	bool list;
};

#define WORD(option, member, is_list) { option, offsetof(struct run_words, member), is_list }

static const struct word_option word_options[] = {
	WORD("--kernel", specs, true), WORD("--kconfig", kconfig, true), WORD("--probe", probes, true),
	WORD("--file", exec_files, true), WORD("--option", options, true), WORD("--lane", lane, false), WORD("--cpus", cpus, false),
	WORD("--blocks", blocks, false), WORD("--iterations", iterations, false), WORD("--warmup", warmup, false),
	WORD("--phases", phases, false), WORD("--memory", memory, false), WORD("--nodes", nodes, false),
	WORD("--timeout", timeout, false), WORD("--slice", slice, false), WORD("--seed", seed, false), WORD("--arch", architecture, false),
	WORD("--baseline", baseline, false), WORD("--case", only_case, false), { NULL, 0, false },
};

static void append_pair(json_t *command, const char *option, const char *value)
{
	json_array_append_new(command, json_string(option));
	json_array_append_new(command, json_string(value));
}

json_t *run_words_record(const struct run_words *words)
{
	json_t *command = json_pack("[s, s]", "shootdown", "run");

	if (words->exec)
		json_array_append_new(command, json_string("--exec"));
	else
		json_array_append_new(command, json_string(words->suite));
	for (const struct word_option *option = word_options; option->name; option++) {
		const void *member = (const char *)words + option->offset;

		if (option->list)
			for (const char *const *value = *(const char *const *const *)member; value && *value; value++)
				append_pair(command, option->name, *value);
		else if (*(const char *const *)member)
			append_pair(command, option->name, *(const char *const *)member);
	}
	if (words->exec)
		json_array_append_new(command, json_string("--"));
	for (const char *const *word = words->exec; word && *word; word++)
		json_array_append_new(command, json_string(*word));
	return command;
}

static const struct word_option *find_option(const char *word)
{
	for (const struct word_option *option = word_options; option->name; option++)
		if (!strcmp(option->name, word))
			return option;
	return NULL;
}

static void append_word(const char ***list, const char *word)
{
	size_t count = 0;

	while ((*list)[count])
		count++;
	*list = realloc(*list, (count + 2) * sizeof(**list));
	if (!*list)
		abort();
	(*list)[count] = word;
	(*list)[count + 1] = NULL;
}

void run_words_recall(const json_t *command, struct run_words *words)
{
	size_t count = json_array_size(command);

	for (size_t i = 2; i < count; i++) {
		const char *word = json_string_value(json_array_get(command, i));
		const struct word_option *option = find_option(word);

		if (!strcmp(word, "--")) {
			while (++i < count)
				append_word((const char ***)&words->exec, json_string_value(json_array_get(command, i)));
		} else if (option && i + 1 < count) {
			void *member = (char *)words + option->offset;
			const char *value = json_string_value(json_array_get(command, ++i));

			if (option->list)
				append_word(member, value);
			else
				*(const char **)member = value;
		} else if (word[0] != '-') {
			words->suite = word;
		}
	}
}


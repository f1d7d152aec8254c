// SPDX-License-Identifier: GPL-2.0-or-later
/* bisect: finds the commit that made a case worse, and shows its evidence. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bisect.h"
#include "common/command.h"
#include "common/files.h"
#include "common/interrupt.h"
#include "common/message.h"
#include "common/units.h"
#include "plan/analysis.h"
#include "run.h"
#include "store/campaign.h"

static const struct command_option options[] = {
	{ "kernel", 'k', "git:PATH", false, "the repository whose commits are tested" },
	{ "good", 0, "REF", false, "a commit that is known to be good" },
	{ "bad", 0, "REF", false, "a later commit that is known to be bad" },
	{ "case", 0, "CASE", false, "a case of the suite, or a workload" },
	{ "suite", 0, "SUITE", false, "the suite that the case belongs to" },
	{ "lane", 0, "LANE", false, "host, vm or exact" },
	{ "cpus", 0, "N", false, "CPUs of the guest" },
	{ "blocks", 0, "B", false, "blocks of the first try" },
	{ "phases", 0, "P", false, "exact lane: starting points" },
	{ "kconfig", 0, "NAME|FILE", true, "kernel configuration fragment" },
	{ "tries", 0, "N", false, "how often an undecided commit is run, with twice the blocks or phases each time (3)" },
	{ "output", 'o', "DIR", false, "directory of the campaigns" },
	{ NULL, 0, NULL, false, NULL },
};

enum answer { ANSWER_GOOD, ANSWER_BAD, ANSWER_SKIP, ANSWER_STOP };

#define MOST_BLOCKS 1000
#define MOST_PHASES 64

/* What is asked of a campaign; 0 is what the suite says. */
struct effort {
	unsigned int blocks, phases;
};

struct search {
	const struct command_arguments *arguments;
	struct bisect_state state;
	const char *path;		/* of the repository */
	char *good_spec;
	char *directory;
	char *evidence;			/* campaign of the commit that is bad so far */
	json_t *tested;			/* what was tested, in order: a line each */
	unsigned int steps, tries;
	struct effort effort;		/* of the first try */
	bool broken_is_bad;		/* the bad end itself does not boot: that is the fault to find */
	int status;			/* when the search stops */
};

static char *commit_spec(const struct search *search, const char *commit)
{
	return text_format("git:%s@%.12s", search->path, commit);
}

/* One campaign of the good end and a commit. Exit status of the run. */
static int run_pair(struct search *search, const char *spec, struct effort effort, char **directory)
{
	const struct command_arguments *arguments = search->arguments;
	const char *const specs[] = { search->good_spec, spec, NULL };
	static const char *const none[] = { NULL };
	char *blocks = text_format("%u", effort.blocks), *phases = text_format("%u", effort.phases);
	char *target = text_format("%s/%02u", search->directory, search->steps++);
	const char *suite = argument_option(arguments, "suite"), *wanted = argument_option(arguments, "case");
	const struct run_words words = {
		.suite = suite ? suite : wanted, .only_case = suite ? wanted : NULL, .specs = specs,
		.kconfig = argument_options(arguments, "kconfig"), .probes = none, .exec_files = none,
		.lane = argument_option(arguments, "lane"), .cpus = argument_option(arguments, "cpus"),
		.phases = effort.phases ? phases : NULL, .blocks = effort.blocks ? blocks : NULL,
		.baseline = search->good_spec, .directory = target,
	};
	int status = run_campaign(&words, directory);

	free(phases);
	free(blocks);
	free(target);
	return status;
}

/* Twice what a campaign was: in the exact lane one kernel gives the same counts again, and only more phases can tell more. */
static struct effort twice(const char *directory)
{
	char *path = text_format("%s/plan.json", directory), reason[128];
	struct effort effort = { 0 };
	const json_t *protocol;
	const char *lane;
	json_t *plan;

	if (!read_json(path, &plan, reason, sizeof(reason))) {
		protocol = json_object_get(plan, "protocol");
		lane = json_string_value(json_object_get(plan, "lane"));
		if (lane && !strcmp(lane, "exact"))
			effort.phases = 2 * (unsigned int)json_integer_value(json_object_get(protocol, "phases"));
		else
			effort.blocks = 2 * (unsigned int)json_integer_value(json_object_get(protocol, "blocks"));
		json_decref(plan);
	}
	effort.phases = effort.phases > MOST_PHASES ? MOST_PHASES : effort.phases;
	effort.blocks = effort.blocks > MOST_BLOCKS ? MOST_BLOCKS : effort.blocks;
	free(path);
	return effort;
}

/* What the analysis makes of it: 1 bad, 0 good, -1 undecided; "broken" is told apart. */
static int decide(struct search *search, const char *directory, const char *spec, bool *broken, char *text, size_t text_size)
{
	json_t *question = json_pack("{s:s, s:s, s:s, s:s}", "ask", "decide", "campaign", directory, "baseline", search->good_spec,
				     "candidate", spec);
	json_t *answer = NULL;
	const json_t *bad;
	const char *verdict;
	char reason[256];
	int result = -1;

	*broken = false;
	if (analysis_ask(question, &answer, reason, sizeof(reason))) {
		snprintf(text, text_size, "%s", reason);
	} else {
		bad = json_object_get(answer, "bad");
		verdict = json_string_value(json_object_get(answer, "verdict"));
		result = json_is_true(bad) ? 1 : json_is_false(bad) ? 0 : -1;
		*broken = verdict && !strcmp(verdict, "broken");
		snprintf(text, text_size, "%s", verdict ? verdict : "undecided");
	}
	json_decref(answer);
	json_decref(question);
	return result;
}

static enum answer stop(struct search *search, int status)
{
	search->status = status;
	return ANSWER_STOP;
}

/* A commit's answer: said now, and kept for the end. */
static void tell(struct search *search, const char *commit, const char *verdict, const char *answer)
{
	char *line = text_format("%.12s: %s: %s", commit, verdict, answer);

	note("%s", line);
	json_array_append_new(search->tested, json_string(line));
	free(line);
}

static enum answer answer_of(const struct search *search, int bad, bool broken)
{
	/* Whoever looks for what broke the kernel does not look for what made it slower before. */
	if (search->broken_is_bad)
		return broken ? ANSWER_BAD : ANSWER_GOOD;
	if (broken)
		return ANSWER_SKIP;
	return bad > 0 ? ANSWER_BAD : bad == 0 ? ANSWER_GOOD : ANSWER_SKIP;
}

/* One campaign. True when it decides: then *answer is what the commit is. */
static bool try_commit(struct search *search, const char *commit, const char *spec, struct effort *effort, bool bad_end,
		       enum answer *answer)
{
	static const char *const words[] = { "good", "bad", "skipped" };
	char *directory = NULL, verdict[256] = "undecided";
	int status = run_pair(search, spec, *effort, &directory), bad;
	bool broken = false, decided = true;

	if (status == EXIT_REGRESSED) {
		*answer = ANSWER_SKIP;
		tell(search, commit, "does not build", "skipped");
	} else if (status || interrupted) {
		*answer = stop(search, status ? status : EXIT_ENVIRONMENT);
	} else {
		bad = decide(search, directory, spec, &broken, verdict, sizeof(verdict));
		if (bad_end)
			search->broken_is_bad = broken;
		decided = bad >= 0 || broken || search->broken_is_bad;
		*answer = answer_of(search, bad, broken);
		tell(search, commit, verdict, decided ? words[*answer] : "undecided");
		*effort = twice(directory);
	}
	if (*answer == ANSWER_BAD) {
		free(search->evidence);
		search->evidence = strdup(directory);
	}
	free(directory);
	return decided;
}

static enum answer test_commit(struct search *search, const char *commit, bool bad_end)
{
	char *spec = commit_spec(search, commit);
	struct effort effort = search->effort;
	enum answer answer = ANSWER_SKIP;
	unsigned int tries = 0;

	while (tries++ < search->tries && !try_commit(search, commit, spec, &effort, bad_end, &answer))
		;
	free(spec);
	return answer;
}

/* The commit, how it was found, and the comparison that says so. */
static void show_commit(const struct search *search)
{
	const char *const compare[] = { search->evidence, "--format=text", NULL };
	char *description = bisect_describe(&search->state, search->state.bad);
	const json_t *line;
	size_t i;

	printf("first bad commit: %s\n%s\ntested, each against %.12s:\n", search->state.bad, description ? description : "",
	       search->state.good[0]);
	json_array_foreach(search->tested, i, line)
		printf("  %s\n", json_string_value(line));
	printf("\n");
	fflush(stdout);
	free(description);
	analysis_run("compare", compare);
}

static int search_commits(struct search *search)
{
	char commit[COMMIT_TEXT];
	size_t left = 0;
	int next;

	while (!(next = bisect_next(&search->state, commit, &left))) {
		note("%zu commits left; testing %.12s", left, commit);
		switch (test_commit(search, commit, false)) {
		case ANSWER_GOOD:
			bisect_mark_good(&search->state, commit);
			break;
		case ANSWER_BAD:
			bisect_mark_bad(&search->state, commit);
			break;
		case ANSWER_SKIP:
			bisect_mark_skipped(&search->state, commit);
			break;
		case ANSWER_STOP:
			return search->status;
		}
	}
	if (next == -ENODATA) {
		show_commit(search);
		return EXIT_DONE;
	}
	if (next == -EAGAIN)
		return report(EXIT_CANNOT_TELL, "only commits that could not be tested are left: the first bad one is among %zu, up to %.12s",
			      left, search->state.bad);
	return report(EXIT_INTERNAL, "git rev-list failed in %s: %s", search->path, strerror(-next));
}

/* A number of the command line, or what stands in *value. */
static int number_option(const struct command_arguments *arguments, const char *name, unsigned int limit, unsigned int *value)
{
	const char *text = argument_option(arguments, name);
	uint64_t number;

	if (!text)
		return EXIT_DONE;
	if (parse_count(text, &number) || number < 1 || number > limit)
		return report(EXIT_USAGE, "--%s: '%s' is not a number from 1 to %u", name, text, limit);
	*value = (unsigned int)number;
	return EXIT_DONE;
}

static int check_words(struct search *search)
{
	const struct command_arguments *arguments = search->arguments;
	const char *kernel = argument_option(arguments, "kernel");
	int status;

	if (!kernel || strncmp(kernel, "git:", 4) || strchr(kernel, '@'))
		return report(EXIT_USAGE, "bisect: name the repository: -k git:PATH");
	if (!argument_option(arguments, "good") || !argument_option(arguments, "bad") || !argument_option(arguments, "case"))
		return report(EXIT_USAGE, "bisect: --good, --bad and --case are needed; 'shootdown bisect --help' tells more");
	search->path = kernel + 4;
	search->tries = 3;
	status = number_option(arguments, "tries", 10, &search->tries);
	if (!status)
		status = number_option(arguments, "blocks", MOST_BLOCKS, &search->effort.blocks);
	if (!status)
		status = number_option(arguments, "phases", MOST_PHASES, &search->effort.phases);
	return status;
}

static int run(const struct command_arguments *arguments)
{
	struct search search = { .arguments = arguments };
	char reason[512];
	int status = check_words(&search);

	if (status)
		return status;
	if (bisect_start(&search.state, search.path, argument_option(arguments, "good"), argument_option(arguments, "bad"), reason,
			 sizeof(reason)))
		return report(EXIT_USAGE, "bisect: %s", reason);
	search.good_spec = commit_spec(&search, search.state.good[0]);
	search.directory = campaign_directory_name(argument_option(arguments, "output"), "bisect");
	search.tested = json_array();
	switch (test_commit(&search, search.state.bad, true)) {
	case ANSWER_BAD:
		status = search_commits(&search);
		break;
	case ANSWER_STOP:
		status = search.status;
		break;
	default:
		status = report(EXIT_CANNOT_TELL, "'%s' does not show as worse than '%s' in case '%s'; there is nothing to find",
				argument_option(arguments, "bad"), argument_option(arguments, "good"), argument_option(arguments, "case"));
	}
	bisect_free(&search.state);
	json_decref(search.tested);
	free(search.good_spec);
	free(search.directory);
	free(search.evidence);
	return status;
}

static const struct command command = {
	.name = "bisect",
	.usage = "-k git:PATH --good REF --bad REF --case CASE [OPTION]...",
	.summary = "Finds the commit that made a case worse, and shows the evidence",
	.help = "What does not build or boot is skipped. Exit status: 0 found, 125 cannot tell.",
	.options = options,
	.minimum = 0,
	.maximum = 0,
	.run = run,
};
COMMAND_REGISTER(command);

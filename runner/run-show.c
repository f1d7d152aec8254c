// SPDX-License-Identifier: GPL-2.0-or-later
#include "run-show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json-text.h"
#include "common/message.h"
#include "plan/analysis.h"

void run_warn_p_floor(const json_t *plan)
{
	const char *lane = text_of(plan, "lane");
	const json_t *primary = json_object_get(json_object_get(json_object_get(plan, "suite"), "primary"), lane);
	json_t *question, *answer = NULL;
	char reason[256];

	if (!strcmp(lane, "exact") || json_array_size(json_object_get(plan, "kernels")) < 2 || !json_array_size(primary))
		return;
	question = json_pack("{s:s, s:O, s:i}", "ask", "p-floor", "blocks",
			     json_object_get(json_object_get(plan, "protocol"), "blocks"), "family",
			     (int)json_array_size(primary));
	if (!analysis_ask(question, &answer, reason, sizeof(reason))) {
		if (!json_is_true(json_object_get(answer, "can_decide")))
			note("note: %s", text_of(answer, "text"));
	} else {
		note("note: whether %lld blocks can decide was not computed: %s",
		     json_integer_value(json_object_get(question, "blocks")), reason);
	}
	json_decref(answer);
	json_decref(question);
}

void run_show_left_out(const json_t *plan)
{
	const json_t *list = json_object_get(plan, "left_out");

	if (json_array_size(list) == 1)
		note("note: left out: %s", text_of(json_array_get(list, 0), "reason"));
	else if (json_array_size(list))
		note("note: %zu cases are left out: %s, and so on", json_array_size(list), text_of(json_array_get(list, 0), "reason"));
}

void run_show_plan(const json_t *plan)
{
	const json_t *boots = json_object_get(plan, "boots"), *protocol = json_object_get(plan, "protocol");
	json_t *entry;
	size_t index;

	printf("lane %s, %s, %s\n", text_of(plan, "lane"), text_of(plan, "architecture"), *text_of(plan, "accelerator")
	       ? text_of(plan, "accelerator") : "bare");
	json_array_foreach(json_object_get(plan, "kernels"), index, entry)
		printf("kernel   %s%s\n", text_of(entry, "label"),
		       !strcmp(text_of(entry, "id"), text_of(plan, "baseline")) ? "   (baseline)" : "");
	json_array_foreach(json_object_get(plan, "cases"), index, entry) {
		char *options = json_dumps(json_object_get(entry, "options"), JSON_COMPACT);

		printf("case     %s at %d CPUs: %s %s\n", text_of(entry, "name"),
		       (int)json_integer_value(json_object_get(entry, "cpus")), text_of(entry, "workload"), options);
		free(options);
	}
	printf("boots    %zu (%d %s)\n", json_array_size(boots),
	       (int)json_integer_value(json_object_get(protocol, strcmp(text_of(plan, "lane"), "exact") ? "blocks" : "phases")),
	       strcmp(text_of(plan, "lane"), "exact") ? "blocks" : "phases");
}

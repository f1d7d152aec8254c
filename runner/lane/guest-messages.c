// SPDX-License-Identifier: GPL-2.0-or-later
/* What init says, and what that means for a case. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/json-text.h"
#include "guest-state.h"

/* Beyond the guest's own limit, so that init can kill the group and say so. */
#define CASE_GRACE_SECONDS 15

static int fail(struct guest_state *state, int error, const char *what)
{
	if (error && !state->host_error) {
		state->host_error = error;
		state->host_what = what;
	}
	return error;
}

/* Text from the guest becomes one line. */
static void one_line(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = ' ';
}

/* The lane's facts stay; `missing` holds the reasons of both. */
static void merge_facts(json_t *facts, json_t *guest)
{
	json_t *missing = json_object_get(facts, "missing");

	if (missing)
		json_object_update_missing(missing, json_object_get(guest, "missing"));
	json_object_update_missing(facts, guest);
}

static int on_boot(struct guest_state *state, const json_t *message)
{
	const struct boot_sink *sink = state->options->sink;
	json_t *facts, *guest;
	int error = 0;

	if (state->booted)
		return 0;
	state->booted = true;
	facts = state->options->facts ? json_deep_copy(state->options->facts) : json_object();
	guest = json_object_get(message, "facts");
	merge_facts(facts, guest);
	if (sink->facts)
		error = sink->facts(sink->context, facts);
	json_decref(facts);
	return fail(state, error, "facts");
}

static int on_case_start(struct guest_state *state, const json_t *message)
{
	const struct boot_sink *sink = state->options->sink;
	json_int_t index = json_integer_value(json_object_get(message, "case"));

	if (state->current != NO_CASE || index != (json_int_t)state->next_case || state->next_case >= state->options->case_count)
		return -EPROTO;
	state->current = state->next_case++;
	if (isnan(state->first_case))
		state->first_case = guest_now();
	state->losses_before = guest_losses(state);
	state->frame_end = false;
	state->frame_status[0] = state->frame_error[0] = '\0';
	guest_set_deadline(state, state->options->case_seconds[state->current] + CASE_GRACE_SECONDS, "end of the case");
	return sink->case_start ? fail(state, sink->case_start(sink->context, state->current), "case start") : 0;
}

static int on_frame(struct guest_state *state, const json_t *message)
{
	const struct boot_sink *sink = state->options->sink;
	const json_t *frame = json_object_get(message, "frame");

	if (state->current == NO_CASE || !json_is_object(frame) ||
	    json_integer_value(json_object_get(message, "case")) != (json_int_t)state->current)
		return -EPROTO;
	if (!strcmp(text_of(frame, "frame"), "end")) {
		state->frame_end = true;
		guest_text(state->frame_status, sizeof(state->frame_status), "%s", text_of(frame, "status"));
		guest_text(state->frame_error, sizeof(state->frame_error), "%s", text_of(frame, "error"));
		one_line(state->frame_error);
	}
	return sink->frame ? fail(state, sink->frame(sink->context, state->current, frame), "frame") : 0;
}

/* Why the work failed, in the workload's own words: its error, else the last line it printed. */
static void reason_of(const struct guest_state *state, const json_t *message, char *reason, size_t size)
{
	const char *output = text_of(message, "output"), *end, *start;

	if (state->frame_error[0]) {
		guest_text(reason, size, ": %s", state->frame_error);
		return;
	}
	end = output + strlen(output);
	while (end > output && end[-1] == '\n')
		end--;
	start = end;
	while (start > output && start[-1] != '\n')
		start--;
	guest_text(reason, size, "%s%.*s", start < end ? ": " : "", (int)(end - start), start);
	one_line(reason);
}

/* What the case says about itself, before the console is asked. */
static enum boot_outcome own_outcome(const struct guest_state *state, const json_t *message, char *detail, size_t size)
{
	json_int_t signal = json_integer_value(json_object_get(message, "signal"));
	json_int_t status = json_integer_value(json_object_get(message, "exit"));
	char reason[DETAIL_SIZE];

	reason_of(state, message, reason, sizeof(reason));
	if (json_object_get(message, "error")) {
		guest_text(detail, size, "%s%s%s", text_of(message, "error"), *text_of(message, "why") ? ": " : "",
			   text_of(message, "why"));
		return !strncmp(text_of(message, "error"), "setting", 7) ? BOOT_UNSUPPORTED : BOOT_WORKLOAD_FAILED;
	}
	if (json_is_true(json_object_get(message, "timeout"))) {
		guest_text(detail, size, "no end within %u s", state->options->case_seconds[state->current]);
		return BOOT_HANG;
	}
	if (signal) {
		guest_text(detail, size, "killed by signal %d (%s)%s", (int)signal, strsignal((int)signal), reason);
		return BOOT_WORKLOAD_FAILED;
	}
	if (status == 125 && !state->options->plain_commands) {
		guest_text(detail, size, "%s", reason[0] ? reason + 2 : "not supported on this kernel");
		return BOOT_UNSUPPORTED;
	}
	if (status) {
		guest_text(detail, size, "exit status %d%s", (int)status, reason);
		return BOOT_WORKLOAD_FAILED;
	}
	if (!state->options->plain_commands && (!state->frame_end || strcmp(state->frame_status, "done"))) {
		if (state->frame_end)
			guest_text(detail, size, "the end frame says '%s'%s", state->frame_status, reason);
		else
			guest_text(detail, size, "exit status 0 without an end frame%s", reason);
		return BOOT_WORKLOAD_FAILED;
	}
	return BOOT_OK;
}

/* The cause before the effect: a kill for lack of memory before the failure it causes, a loss before what cannot be told. */
static enum boot_outcome judge(struct guest_state *state, const json_t *message, char *detail, size_t size)
{
	enum boot_outcome own = own_outcome(state, message, detail, size);
	uint64_t losses = guest_losses(state) - state->losses_before;
	enum boot_outcome seen = state->console.since.outcome;

	if (seen != BOOT_OK && (own == BOOT_OK || seen != BOOT_WARN)) {
		console_event_text(&state->console.since, detail, size);
		return seen;
	}
	if (losses) {
		guest_text(detail, size, "%llu frames lost or damaged on their way to the runner", (unsigned long long)losses);
		return BOOT_LOST;
	}
	return own;
}

static void note_worst(struct guest_state *state, enum boot_outcome outcome, const char *detail)
{
	if (state->worst_case != BOOT_OK || outcome == BOOT_OK)
		return;
	state->worst_case = outcome;
	guest_text(state->worst_detail, sizeof(state->worst_detail), "%s", detail);
}

static int end_case(struct guest_state *state, enum boot_outcome outcome, const char *detail)
{
	const struct boot_sink *sink = state->options->sink;
	size_t index = state->current;

	state->current = NO_CASE;
	note_worst(state, outcome, detail);
	console_mark(&state->console);
	return sink->case_end ? fail(state, sink->case_end(sink->context, index, outcome, detail), "case end") : 0;
}

static int on_case_end(struct guest_state *state, const json_t *message)
{
	const struct guest_hooks *hooks = &state->options->hooks;
	const json_t *status = json_object_get(message, "exit");
	char detail[DETAIL_SIZE] = "";
	enum boot_outcome outcome;
	int error = 0;

	if (state->current == NO_CASE || json_integer_value(json_object_get(message, "case")) != (json_int_t)state->current)
		return -EPROTO;
	guest_read_console(state);
	outcome = judge(state, message, detail, sizeof(detail));
	if (hooks->exited)
		error = hooks->exited(hooks->context, state->current, status ? (int)json_integer_value(status) : -1,
				      (int)json_integer_value(json_object_get(message, "signal")));
	guest_set_deadline(state, state->options->boot_seconds, "next case");
	return fail(state, error, "exit status") ? error : end_case(state, outcome, detail);
}

void guest_abandon_case(struct guest_state *state, enum boot_outcome outcome, const char *detail)
{
	if (state->current != NO_CASE)
		end_case(state, outcome, detail);
}

/* Value of a base64 digit, -1: none. */
static int digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes into `data`, which has room for 3/4 of the text. -EBADMSG. */
static int decode(const char *text, size_t size, char *data, size_t *data_size)
{
	size_t used = 0;

	if (size % 4)
		return -EBADMSG;
	for (size_t i = 0; i < size; i += 4) {
		int padding = i + 4 == size ? (text[i + 3] == '=') + (text[i + 2] == '=' && text[i + 3] == '=') : 0;
		int a = digit(text[i]), b = digit(text[i + 1]);
		int c = padding > 1 ? 0 : digit(text[i + 2]), d = padding > 0 ? 0 : digit(text[i + 3]);

		if (a < 0 || b < 0 || c < 0 || d < 0)
			return -EBADMSG;
		data[used++] = (char)(a << 2 | b >> 4);
		if (padding < 2)
			data[used++] = (char)(b << 4 | c >> 2);
		if (padding < 1)
			data[used++] = (char)(c << 6 | d);
	}
	*data_size = used;
	return 0;
}

static int on_output(struct guest_state *state, const json_t *message)
{
	const struct guest_hooks *hooks = &state->options->hooks;
	const json_t *text = json_object_get(message, "data");
	size_t size = json_string_length(text);
	char *data;
	int error;

	if (state->current == NO_CASE || !text)
		return -EPROTO;
	if (!hooks->output)
		return 0;
	data = malloc(size / 4 * 3 + 1);
	if (!data)
		return fail(state, -ENOMEM, "output");
	error = decode(json_string_value(text), size, data, &size);
	if (!error)
		error = fail(state, hooks->output(hooks->context, state->current,
						  (int)json_integer_value(json_object_get(message, "stream")), data, size),
			     "output");
	free(data);
	return error;
}

static void forget_file(struct guest_state *state)
{
	free(state->file_name);
	free(state->file_data);
	state->file_name = state->file_data = NULL;
	state->file_size = state->file_parts = 0;
}

/* Parts come in order and whole; a hole was counted as a loss already. */
static int on_file(struct guest_state *state, const json_t *message)
{
	const struct guest_hooks *hooks = &state->options->hooks;
	const json_t *text = json_object_get(message, "data");
	json_int_t part = json_integer_value(json_object_get(message, "part"));
	json_int_t of = json_integer_value(json_object_get(message, "of"));
	size_t size = json_string_length(text);
	char *grown;
	int error;

	if (!hooks->file || !text)
		return 0;
	if (part == 0) {
		forget_file(state);
		state->file_name = strdup(text_of(message, "name"));
	}
	if (!state->file_name || part != (json_int_t)state->file_parts || strcmp(state->file_name, text_of(message, "name")) ||
	    state->file_size + size > GUEST_FILE_LIMIT) {
		forget_file(state);
		return 0;
	}
	grown = realloc(state->file_data, state->file_size + size / 4 * 3 + 1);
	if (!grown)
		return fail(state, -ENOMEM, "file");
	state->file_data = grown;
	error = decode(json_string_value(text), size, grown + state->file_size, &size);
	if (error)
		return error;
	state->file_size += size;
	state->file_parts++;
	if (part + 1 == of) {
		error = fail(state, hooks->file(hooks->context, state->file_name, state->file_data, state->file_size), "file");
		forget_file(state);
	}
	return error;
}

static int on_error(struct guest_state *state, const json_t *message)
{
	if (!state->trouble[0]) {
		guest_text(state->trouble, sizeof(state->trouble), "init: %s: %s", text_of(message, "what"), text_of(message, "why"));
		one_line(state->trouble);
	}
	return 0;
}

static int on_done(struct guest_state *state, const json_t *message)
{
	(void)message;
	state->done = true;
	guest_set_deadline(state, state->options->power_off_seconds, "power off");
	return 0;
}

static const struct {
	const char *name;
	int (*handle)(struct guest_state *state, const json_t *message);
} kinds[] = {
	{ "boot", on_boot }, { "case-start", on_case_start }, { "frame", on_frame }, { "case-end", on_case_end },
	{ "output", on_output }, { "file", on_file }, { "error", on_error }, { "done", on_done },
};

/* A message that is whole and makes no sense (-EPROTO, -EBADMSG) is damage like any other. */
int guest_message(void *context, const json_t *message)
{
	struct guest_state *state = context;
	const char *name = text_of(message, "init");
	int error = -EPROTO;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, name))
			error = kinds[i].handle(state, message);
	if (!state->host_error && (error == -EPROTO || error == -EBADMSG)) {
		state->channels[STREAM_CHANNEL].damaged++;
		return 0;
	}
	return error;
}

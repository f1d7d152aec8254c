// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/reboot.h>
#include <unistd.h>

#include "guest.h"

#define JOB "/job.json"

static void send_trouble(const char *what, const char *why)
{
	send_message(json_pack("{s:s, s:s, s:s}", "init", "error", "what", what, "why", why));
}

static void send_files(const json_t *names)
{
	json_t *name;
	size_t i;

	json_array_foreach(names, i, name) {
		if (json_is_string(name) && !strchr(json_string_value(name), '/'))
			send_file(json_string_value(name));
	}
}

static void run_job(const json_t *job)
{
	bool terminal = json_is_true(json_object_get(job, "interactive"));
	json_t *description, *facts = collect_facts();
	size_t i;

	if (facts)
		json_object_set_new(facts, "channel", json_string(sender_kind()));
	send_files(json_object_get(job, "send"));
	send_message(json_pack("{s:s, s:o?}", "init", "boot", "facts", facts));
	json_array_foreach(json_object_get(job, "cases"), i, description) {
		run_case((unsigned int)i, description, terminal);
	}
	send_message(json_pack("{s:s}", "init", "done"));
}

/* With -no-reboot every one of these ends QEMU; the first that works does. */
static void power_off(void)
{
	sender_drain();
	sync();
	reboot(RB_POWER_OFF);
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

int main(void)
{
	const char *failed_module = "";
	json_t *job, *modules;
	json_error_t error;
	int module_error;

	if (getpid() != 1)	/* power_off() on somebody's machine would be no joke */
		return 1;
	mount_everything();
	/* So that the workload, and not what reports on it, dies when memory runs out. */
	(void)write_text("/proc/self/oom_score_adj", "-1000");
	signal(SIGPIPE, SIG_IGN);
	job = json_load_file(JOB, 0, &error);
	make_read_only(json_object_get(job, "read_only"));
	modules = json_object_get(job, "modules");
	module_error = load_modules(modules, &failed_module);
	sender_open(json_array_size(modules) > 0);
	bring_loopback_up();
	if (module_error)
		send_trouble(failed_module, strerror(-module_error));
	if (job)
		run_job(job);
	else
		send_trouble(JOB, error.text);
	power_off();
}

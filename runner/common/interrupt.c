// SPDX-License-Identifier: GPL-2.0-or-later
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include "interrupt.h"

volatile sig_atomic_t interrupted;
static volatile time_t first_interrupt;

static void on_signal(int number)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (interrupted && number == SIGINT && now.tv_sec - first_interrupt <= 1)
		_exit(128 + number);
	first_interrupt = now.tv_sec;
	interrupted = number;
}

void interrupt_handlers_install(void)
{
	/* Without SA_RESTART: a wait returns with EINTR and its loop looks at `interrupted`. */
	struct sigaction action = { .sa_handler = on_signal };
	const int numbers[] = { SIGINT, SIGTERM, SIGHUP };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaction(numbers[i], &action, NULL);
	/* A reader that goes away (head, a pager) is an error of write(), not a death. */
	signal(SIGPIPE, SIG_IGN);
}

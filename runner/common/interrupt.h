/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Set by SIGINT, SIGTERM and SIGHUP; every wait polls it. A second SIGINT within a second ends the process at once. */
#ifndef SHOOTDOWN_INTERRUPT_H
#define SHOOTDOWN_INTERRUPT_H

#include <signal.h>

extern volatile sig_atomic_t interrupted;
void interrupt_handlers_install(void);

#endif

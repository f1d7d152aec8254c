// SPDX-License-Identifier: GPL-2.0-or-later
#include "clear-leftovers.h"

#include <errno.h>

#include "common/leftovers.h"
#include "common/message.h"
#include "machine/settings.h"

void clear_leftovers(void)
{
	unsigned int files = 0, settings = 0;
	char reason[256] = "";
	int error = leftovers_clear(&files, reason, sizeof(reason));

	if (error)
		note("note: what an earlier run left cannot be cleared away: %s", reason);
	/* Settings that a living process uses are its own business, until somebody wants others. */
	error = settings_restore_journal(&settings, reason, sizeof(reason));
	if (error && error != -EBUSY)
		note("note: settings of an earlier run cannot be put back: %s", reason);
	if (files || settings)
		note("note: cleared away what a killed run had left (%u things)", files + settings);
}

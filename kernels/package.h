/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Debian packages without root: which version there is, and what stands in it. */
#ifndef SHOOTDOWN_KERNEL_PACKAGE_H
#define SHOOTDOWN_KERNEL_PACKAGE_H

#include "base.h"

/* Installed version; NULL when it is not installed (or this is no Debian). Caller frees. */
char *package_installed(const char *package);
/*
 * The version that PACKAGE means here: the installed one where that is wanted
 * and there, else what apt would install. spec is for the error, which names
 * the nearest package of the same prefix.
 */
int package_resolve(const char *package, const char *prefix, bool installed_first, const char *spec, char **version,
		    struct kernel_error *error);
/* Downloads PACKAGE=VERSION and unpacks it below directory, which is created anew. */
int package_unpack(const char *package, const char *version, const char *directory, const struct watcher *watcher,
		   struct kernel_error *error);

#endif

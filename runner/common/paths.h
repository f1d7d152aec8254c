/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where things stand: the only file that knows build tree from installation.
 * Returned strings are the caller's to free; they are made even when nothing
 * stands there, so that an error can name the path.
 */
#ifndef SHOOTDOWN_PATHS_H
#define SHOOTDOWN_PATHS_H

char *path_data(const char *below);	/* "configs/suites", "kernels/series", "analysis" */
char *path_python(void);		/* directory that holds the package analysis */
/* "workloads/ping-pong", "guest/init", "exact/plugin.so"; architecture NULL or the host's: native build */
char *path_program(const char *architecture, const char *below);
char *path_cache(const char *below);	/* $XDG_CACHE_HOME/shootdown/BELOW; not created */
char *path_state(const char *below);	/* $XDG_STATE_HOME/shootdown/BELOW */
/* A program as a person names it: a path, or a name that PATH leads to. NULL: none. */
char *path_find_program(const char *name);
const char *host_architecture(void);	/* "x86-64" or "arm64" */
/* Names, without ending, of the entries of a directory that end so ("": all), sorted, NULL-terminated; empty when the directory cannot be read; freed by names_free. */
char **path_names(const char *directory, const char *ending);
void names_free(char **names);

#endif

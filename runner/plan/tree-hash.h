/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SHOOTDOWN_TREE_HASH_H
#define SHOOTDOWN_TREE_HASH_H

#include "../common/hash.h"

/* Names, links and contents of a source tree (workload.h): one of ours, else a directory. -errno. */
int tree_hash(const char *architecture, const char *tree, char hash[HASH_TEXT]);

#endif

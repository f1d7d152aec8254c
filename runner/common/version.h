/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SHOOTDOWN_VERSION_H
#define SHOOTDOWN_VERSION_H

extern const char shootdown_version[];	/* as git describes the tree that was built */

#endif

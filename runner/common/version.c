// SPDX-License-Identifier: GPL-2.0-or-later
#include "version.h"

const char shootdown_version[] = SHOOTDOWN_VERSION;

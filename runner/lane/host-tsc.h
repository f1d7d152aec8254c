/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SHOOTDOWN_LANE_HOST_TSC_H
#define SHOOTDOWN_LANE_HOST_TSC_H

/* Rate of this machine's time stamp counter in kHz, measured once; 0: not x86, or nothing that could be one. */
unsigned int host_tsc_khz(void);

#endif

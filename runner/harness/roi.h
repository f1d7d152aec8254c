/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Markers of the region of interest. Each is one instruction that changes
 * nothing and carries its number in its own bytes, so that a QEMU plugin can
 * recognise it when it is translated, without reading a register.
 */
#ifndef SHOOTDOWN_ROI_H
#define SHOOTDOWN_ROI_H

#define ROI_MARK_BEGIN 0x5d01
#define ROI_MARK_END   0x5d02

#if defined(__x86_64__)
/* nopl disp32(%rax): 0f 1f 80 imm32, imm32 = 0x53440000 | mark ("SD") */
#define ROI_MARK_PREFIX 0x5344
#define roi_mark(mark) \
	__asm__ volatile(".byte 0x0f, 0x1f, 0x80\n\t.long %c0" :: "i"((ROI_MARK_PREFIX << 16) | (mark)) : "memory")
#elif defined(__aarch64__)
/* movz xzr, #mark: 0xd280001f | mark << 5 */
#define roi_mark(mark) __asm__ volatile(".inst %c0" :: "i"(0xd280001f | ((mark) << 5)) : "memory")
#else
#error "roi_mark: no marker instruction for this architecture"
#endif

#endif

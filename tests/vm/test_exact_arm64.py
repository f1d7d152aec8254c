# SPDX-License-Identifier: GPL-2.0-or-later
"""The plugin under qemu-system-aarch64: a program of a few lines in place of a kernel, whose counts are known."""
import shutil
import subprocess
import sys

import pytest
from guests import BUILD, ROOT

sys.path.insert(0, str(ROOT))
from analysis.exact import FunctionTable, Symbols, read_counts  # noqa: E402

TURNS = 7
HIGH = 0xffffff8000000000
# Maps the gigabyte it stands in at its own address and in the kernel's half, jumps up, and switches the machine off.
PROGRAM = f"""
	.global _start
_start:
	adrp	x0, table
	mov	x1, #0x40000000
	movk	x1, #0x701
	str	x1, [x0, #8]
	mov	x2, #0xff
	msr	mair_el1, x2
	ldr	x3, =0x80190019
	msr	tcr_el1, x3
	msr	ttbr0_el1, x0
	msr	ttbr1_el1, x0
	isb
	mrs	x4, sctlr_el1
	orr	x4, x4, #1
	msr	sctlr_el1, x4
	isb
	adr	x5, high
	movk	x5, #0xffff, lsl #48
	movk	x5, #0xff80, lsl #32
	br	x5
high:
	movz	xzr, #0x5d01
	mov	x6, #{TURNS}
again:
	tlbi	vale1is, x1
	dsb	ish
	bl	leaf
	subs	x6, x6, #1
	b.ne	again
	movz	xzr, #0x5d02
	movz	xzr, #0x5d01
	movz	xzr, #0x5d02
	ldr	w0, =0x84000008
	hvc	#0
	b	.
leaf:
	dmb	ishst
	isb
	ret
	.ltorg
	.balign	4096
table:
	.space	4096
"""
TOOLS = ("aarch64-linux-gnu-as", "aarch64-linux-gnu-ld", "aarch64-linux-gnu-nm", "qemu-system-aarch64")


def test_invalidations_barriers_and_callers(tmp_path):
    absent = [tool for tool in TOOLS if not shutil.which(tool)]
    if absent:
        pytest.skip(f"not installed: {', '.join(absent)} (binutils-aarch64-linux-gnu, qemu-system-arm)")
    source, target, program, counts = (tmp_path / name for name in ("a.s", "a.o", "a.elf", "counts"))
    source.write_text(PROGRAM)
    subprocess.run(["aarch64-linux-gnu-as", "-o", target, source], check=True)
    subprocess.run(["aarch64-linux-gnu-ld", "-Ttext=0x40080000", "-o", program, target], check=True)
    subprocess.run(["qemu-system-aarch64", "-M", "virt,gic-version=3,dtb-randomness=off", "-cpu", "neoverse-n1", "-accel", "tcg,thread=single",
                    "-icount", "shift=1,sleep=off", "-rtc", "clock=vm,base=2020-01-01", "-seed", "1", "-nodefaults", "-display", "none",
                    "-kernel", program, "-plugin", f"{BUILD / 'exact' / 'plugin.so'},counts={counts}"], check=True, timeout=120, stdin=subprocess.DEVNULL)
    names = subprocess.run(["aarch64-linux-gnu-nm", program], check=True, capture_output=True, text=True).stdout.split("\n")
    symbols = Symbols.from_text("\n".join(f"{int(a, 16) + HIGH:x} t {name}" for a, _, name in (line.split() for line in names if line)
                                          if not name.startswith("$")))
    read = read_counts(counts)
    table = FunctionTable(read, symbols)
    assert read.architecture == "arm64" and read.ended and not read.fault
    assert {k: v for k, v in table.events[0].items() if v} == {"tlbi-vale1is": TURNS, "dsb-ish": TURNS, "dmb-ishst": TURNS, "isb": TURNS}
    assert table.callers("leaf", [0]) == [("again", TURNS)] and table.calls[0][table.index["leaf"]] == TURNS
    assert table.instructions[0].sum() == 1 + 8 * TURNS and table.user_instructions[0] == 0
    assert table.instructions[1].sum() == 0, "an empty region reads nothing"
    assert "rep-iterations" not in table.events[0] and not table.missing()

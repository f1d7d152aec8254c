/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86-64. The decoder names the instructions that the suite counts by kind
 * and tells the ones that cannot fault: those with register operands only,
 * from a list. Everything that is not on the list may fault.
 */
#include "decode.h"

#include <string.h>

#include "../harness/roi.h"

enum kind {
	PLAIN = KIND_PLAIN,
	CALL, CALL_INDIRECT, JUMP, JUMP_INDIRECT, RETURN, INTERRUPT_RETURN,
	CR0_WRITE, CR3_WRITE, CR4_WRITE, INVLPG, INVPCID, HLT, PAUSE, MSR_READ, MSR_WRITE,
	LOCKED_STACK_BARRIER, LOCKED_BIT, LOCKED_OTHER, XCHG,
	REP, REP_COMPARE,
};

static const char *const kinds[] = {
	[PLAIN] = "plain",
	[CALL] = "call", [CALL_INDIRECT] = "call-indirect", [JUMP] = "jump", [JUMP_INDIRECT] = "jump-indirect",
	[RETURN] = "return", [INTERRUPT_RETURN] = "interrupt-return",
	[CR0_WRITE] = "cr0-write", [CR3_WRITE] = "cr3-write", [CR4_WRITE] = "cr4-write",
	[INVLPG] = "invlpg", [INVPCID] = "invpcid", [HLT] = "hlt", [PAUSE] = "pause",
	[MSR_READ] = "msr-read", [MSR_WRITE] = "msr-write",
	[LOCKED_STACK_BARRIER] = "locked-stack-barrier", [LOCKED_BIT] = "locked-bit",
	[LOCKED_OTHER] = "locked-other", [XCHG] = "xchg",
	[REP] = "rep", [REP_COMPARE] = "rep-compare",
	NULL
};

struct cursor {
	const uint8_t *bytes;
	size_t size, at;
	bool lock, repeat, operand16;
	uint8_t rex;
};

static bool is_prefix(uint8_t byte, struct cursor *cursor)
{
	switch (byte) {
	case 0xf0:
		cursor->lock = true;
		return true;
	case 0xf2:
	case 0xf3:
		cursor->repeat = true;
		return true;
	case 0x66:
		cursor->operand16 = true;
		return true;
	case 0x67: case 0x2e: case 0x36: case 0x3e: case 0x26: case 0x64: case 0x65:
		return true;
	default:
		return false;
	}
}

static void skip_prefixes(struct cursor *cursor)
{
	while (cursor->at < cursor->size && is_prefix(cursor->bytes[cursor->at], cursor))
		cursor->at++;
	if (cursor->at < cursor->size && (cursor->bytes[cursor->at] & 0xf0) == 0x40)
		cursor->rex = cursor->bytes[cursor->at++];
}

/* -1 beyond the end: an instruction that was cut off at a page's end. */
static int byte_at(const struct cursor *cursor, size_t offset)
{
	return cursor->at + offset < cursor->size ? cursor->bytes[cursor->at + offset] : -1;
}

static uint64_t relative(const struct cursor *cursor, uint64_t address, size_t offset, size_t width)
{
	const uint8_t *at = cursor->bytes + cursor->at + offset;

	if (cursor->at + offset + width > cursor->size)
		return 0;
	if (width == 1)
		return address + cursor->size + (int8_t)*at;
	return address + cursor->size + (int64_t)(int32_t)((uint32_t)at[0] | (uint32_t)at[1] << 8 |
							   (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
}

/* ModRM byte at `offset`: true when the operand is a register. */
static bool register_operand(const struct cursor *cursor, size_t offset)
{
	int modrm = byte_at(cursor, offset);

	return modrm >= 0 && (modrm >> 6) == 3;
}

static int opcode_extension(const struct cursor *cursor, size_t offset)
{
	int modrm = byte_at(cursor, offset);

	return modrm < 0 ? -1 : (modrm >> 3) & 7;
}

/* lock add $0 or lock or $0 on the stack pointer's own line: a full barrier, whatever the displacement. */
static bool is_stack_barrier(const struct cursor *cursor, uint8_t opcode)
{
	int modrm = byte_at(cursor, 1), base = byte_at(cursor, 2), extension = opcode_extension(cursor, 1);
	bool by_stack_pointer = modrm >= 0 && (modrm >> 6) != 3 && (modrm & 7) == 4 && (base & 7) == 4;

	if (opcode != 0x80 && opcode != 0x81 && opcode != 0x83)
		return false;
	return by_stack_pointer && (extension == 0 || extension == 1) && cursor->bytes[cursor->size - 1] == 0;
}

static enum kind locked_kind(const struct cursor *cursor, uint8_t opcode)
{
	int extension = opcode_extension(cursor, 1);

	if (opcode == 0x86 || opcode == 0x87)
		return XCHG;
	if (is_stack_barrier(cursor, opcode))
		return LOCKED_STACK_BARRIER;
	if (opcode == 0x0f) {
		int second = byte_at(cursor, 1);

		return second == 0xab || second == 0xb3 || second == 0xba || second == 0xbb ? LOCKED_BIT : LOCKED_OTHER;
	}
	/* A bit whose number the compiler knows is set, cleared or flipped with a byte-wide or, and, xor. */
	if (opcode == 0x80 && (extension == 1 || extension == 4 || extension == 6))
		return LOCKED_BIT;
	return LOCKED_OTHER;
}

static void decode_control_register(const struct cursor *cursor, struct decoded *out)
{
	if (cursor->rex & 4)
		return;		/* CR8 and above */
	switch (opcode_extension(cursor, 2)) {
	case 0:
		out->kind = CR0_WRITE;
		break;
	case 3:
		out->kind = CR3_WRITE;
		break;
	case 4:
		out->kind = CR4_WRITE;
		break;
	}
}

/* Opcodes 0f xx whose only operands are registers when ModRM says so. */
static bool two_byte_is_quiet(const struct cursor *cursor, uint8_t second)
{
	switch (second) {
	case 0x0d: case 0x18: case 0x1e: case 0x1f:	/* hints: the operand is not touched */
		return true;
	case 0x40 ... 0x4f: case 0x90 ... 0x9f:
	case 0xa3: case 0xab: case 0xb3: case 0xbb: case 0xba:
	case 0xa4: case 0xa5: case 0xac: case 0xad: case 0xaf:
	case 0xb0: case 0xb1: case 0xb6: case 0xb7: case 0xb8: case 0xbc: case 0xbd: case 0xbe: case 0xbf:
	case 0xc0: case 0xc1:
		return register_operand(cursor, 2);
	case 0x80 ... 0x8f: case 0xc8 ... 0xcf:
		return true;
	default:
		return false;
	}
}

static void decode_marker(const struct cursor *cursor, struct decoded *out)
{
	uint32_t number;

	if (cursor->at != 0 || cursor->size != 7 || cursor->bytes[2] != 0x80)
		return;
	memcpy(&number, cursor->bytes + 3, sizeof(number));
	if (number >> 16 == ROI_MARK_PREFIX)
		out->mark = number & 0xffff;
}

static void decode_two_byte(const struct cursor *cursor, struct decoded *out)
{
	int second = byte_at(cursor, 1);

	if (second < 0)
		return;
	out->ends_run = !two_byte_is_quiet(cursor, second);
	switch (second) {
	case 0x01:
		if (opcode_extension(cursor, 2) == 7 && !register_operand(cursor, 2))
			out->kind = INVLPG;
		break;
	case 0x07:
		out->kind = INTERRUPT_RETURN;
		break;
	case 0x1f:
		decode_marker(cursor, out);
		break;
	case 0x22:
		decode_control_register(cursor, out);
		break;
	case 0x30:
		out->kind = MSR_WRITE;
		break;
	case 0x32:
		out->kind = MSR_READ;
		break;
	case 0x38:
		if (byte_at(cursor, 2) == 0x82 && cursor->operand16)
			out->kind = INVPCID;
		break;
	}
}

/* One-byte opcodes that touch registers only, when ModRM (if there is one) says so. */
static bool one_byte_is_quiet(const struct cursor *cursor, uint8_t opcode)
{
	int extension = opcode_extension(cursor, 1);

	switch (opcode) {
	case 0x00 ... 0x3f:
		return (opcode & 7) < 4 ? register_operand(cursor, 1) : (opcode & 7) < 6;
	case 0x63: case 0x69: case 0x6b: case 0x80: case 0x81: case 0x83:
	case 0x84 ... 0x8b: case 0xc0: case 0xc1: case 0xd0 ... 0xd3:
		return register_operand(cursor, 1);
	case 0x8d: case 0x70 ... 0x7f: case 0x91 ... 0x99: case 0xa8: case 0xa9: case 0xb0 ... 0xbf:
	case 0xe3: case 0xe9: case 0xeb: case 0xf5: case 0xf8: case 0xf9: case 0xfc: case 0xfd:
		return true;
	case 0x90:
		return !cursor->repeat;		/* with it: pause, which gives up the slice */
	case 0xc6: case 0xc7:
		return register_operand(cursor, 1) && extension == 0;
	case 0xf6: case 0xf7:
		return register_operand(cursor, 1) && extension < 6;	/* 6 and 7 divide */
	case 0xfe: case 0xff:
		return register_operand(cursor, 1) && extension < 2;
	default:
		return false;
	}
}

static void decode_string(const struct cursor *cursor, uint8_t opcode, struct decoded *out)
{
	if (!cursor->repeat)
		return;
	switch (opcode) {
	case 0xa6: case 0xa7: case 0xae: case 0xaf:
		out->kind = REP_COMPARE;	/* ends in two ways: iterations cannot be told from ends */
		break;
	case 0xa4: case 0xa5:
		out->kind = REP;
		out->repeat = REPEAT_COPY;
		break;
	default:
		out->kind = REP;
		out->repeat = REPEAT_ONE_ACCESS;
	}
}

static void decode_group_ff(const struct cursor *cursor, struct decoded *out)
{
	int extension = opcode_extension(cursor, 1);

	if (extension == 2 || extension == 3)
		out->kind = CALL_INDIRECT;
	else if (extension == 4 || extension == 5)
		out->kind = JUMP_INDIRECT;
}

static void decode_one_byte(const struct cursor *cursor, uint8_t opcode, uint64_t address, struct decoded *out)
{
	out->ends_run = !one_byte_is_quiet(cursor, opcode);
	switch (opcode) {
	case 0x86: case 0x87:
		if (!register_operand(cursor, 1))
			out->kind = XCHG;	/* locks without the prefix */
		break;
	case 0x90:
		if (cursor->repeat)
			out->kind = PAUSE;
		break;
	case 0x6c ... 0x6f: case 0xa4 ... 0xa7: case 0xaa ... 0xaf:
		decode_string(cursor, opcode, out);
		break;
	case 0xc2: case 0xc3:
		out->kind = RETURN;
		break;
	case 0xcf:
		out->kind = INTERRUPT_RETURN;
		break;
	case 0xe8:
		out->kind = CALL;
		out->target = relative(cursor, address, 1, 4);
		break;
	case 0xe9: case 0xeb:
		out->kind = JUMP;
		out->target = relative(cursor, address, 1, opcode == 0xe9 ? 4 : 1);
		break;
	case 0xf4:
		out->kind = HLT;
		break;
	case 0xff:
		decode_group_ff(cursor, out);
		break;
	}
}

static void decode(const uint8_t *bytes, size_t size, uint64_t address, struct decoded *out)
{
	struct cursor cursor = { .bytes = bytes, .size = size };
	int opcode;

	*out = (struct decoded){ .kind = PLAIN, .ends_run = true };
	skip_prefixes(&cursor);
	opcode = byte_at(&cursor, 0);
	if (opcode < 0)
		return;
	if (opcode == 0x0f)
		decode_two_byte(&cursor, out);
	else
		decode_one_byte(&cursor, opcode, address, out);
	if (cursor.lock) {
		out->kind = locked_kind(&cursor, opcode);
		out->ends_run = true;
	}
	if (out->mark)
		out->ends_run = true;
}

static bool kernel(uint64_t address)
{
	return address >> 63;
}

const struct decoder decoder_x86 = {
	.target = "x86_64",
	.architecture = "x86-64",
	.kinds = kinds,
	.longest = 15,
	.kernel = kernel,
	.decode = decode,
};

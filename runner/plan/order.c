// SPDX-License-Identifier: GPL-2.0-or-later
#include "order.h"

/* splitmix64 (Steele, Lea, Flood 2014): a full-period mixer that needs no state beyond a counter. */
static uint64_t mix(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

void block_order(uint64_t seed, unsigned int block, size_t count, size_t *order)
{
	uint64_t state = seed * 0x2545f4914f6cdd1dULL + block / 2;

	for (size_t i = 0; i < count; i++)
		order[i] = i;
	for (size_t i = count; i > 1; i--) {
		size_t other = mix(&state) % i, kept = order[i - 1];

		order[i - 1] = order[other];
		order[other] = kept;
	}
	for (size_t i = 0; block % 2 && i < count / 2; i++) {
		size_t kept = order[i];

		order[i] = order[count - 1 - i];
		order[count - 1 - i] = kept;
	}
}

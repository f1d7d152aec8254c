/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of a kernel spec: BASE[+SERIES/VARIANT | +mbox:FILE]... */
#ifndef SHOOTDOWN_KERNEL_SPEC_H
#define SHOOTDOWN_KERNEL_SPEC_H

#include "kernel.h"

#define SPEC_LAYERS_MAXIMUM 16

struct spec_layer {
	char *series, *variant;	/* NULL for an mbox */
	char *mbox;		/* file, or NULL */
};

struct kernel_spec {
	enum kernel_source source;
	char *name;		/* "6.12", path, file or package; "" for host */
	char *version;		/* after '=' (packages) or '@' (git); NULL: none was given */
	struct spec_layer layers[SPEC_LAYERS_MAXIMUM];	/* in the order in which they are applied */
	size_t layer_count;
};

/* 0; or -errno with *error filled and nothing to free. */
int spec_parse(const char *text, struct kernel_spec *spec, struct kernel_error *error);
void spec_free(struct kernel_spec *spec);
/* "+lazy-tlb/without+mbox:FILE", or "". Caller frees. */
char *spec_layers_text(const struct kernel_spec *spec);

#endif

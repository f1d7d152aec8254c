/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernels: from a SPEC on the command line to a bootable image with an
 * identity. The builder is kernels/ (*.c); it is part of the shootdown command.
 */
#ifndef SHOOTDOWN_KERNEL_H
#define SHOOTDOWN_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <jansson.h>

enum kernel_source {
	KERNEL_DEB,		/* deb:6.12[=VERSION]: Debian's linux-source package */
	KERNEL_GIT,		/* git:PATH@REF (a range A..B is expanded by kernel_spec_expand) */
	KERNEL_TREE,		/* tree:PATH */
	KERNEL_TAR,		/* tar:FILE */
	KERNEL_IMAGE,		/* image:FILE, ready */
	KERNEL_DEB_IMAGE,	/* deb-image:PACKAGE, ready, with modules */
	KERNEL_HOST,		/* host: the running kernel */
};

struct kernel_request {
	const char *spec;		/* as the user wrote it */
	const char *const *kconfig;	/* names in configs/kconfig or files; NULL-terminated */
	const char *architecture;	/* "x86-64" or "arm64" */
	bool debug_build;		/* keep vmlinux beside the image */
};

/*
 * A kernel that stands in the cache. All strings are owned by the struct.
 * Paths of parts which do not exist are NULL (no System.map for image:).
 */
struct kernel {
	char *spec;		/* the spec, with the version resolved: deb:6.12=6.12.117-1~deb12u1+lazy-tlb/without */
	char *label;		/* the spec as the user wrote it: what reports show */
	char *id;		/* first 16 hex digits of the key: the identity */
	char *architecture;
	char *image;		/* bzImage or Image */
	char *vmlinux;
	char *system_map;
	char *config;		/* effective .config */
	char *modules;		/* directory lib/modules/RELEASE, or NULL */
	char *release;		/* uname -r */
	char *boot_parameters;	/* of the variant; "" without */
	char *series, *variant;	/* NULL without */
	json_t *identity;	/* everything of DESIGN.md "kernel": goes to campaign/kernels/ID.json */
	bool built;		/* by this call; false: it stood in the cache */
	double seconds;		/* that this call took */
};

/*
 * Why an operation failed, for the one line that the command prints.
 * `what to do` belongs into the text.
 */
struct kernel_error {
	int exit_status;	/* 129 usage, 130 environment, 1 build failed, 131 internal */
	char text[1024];
	char log[512];		/* path of the build log that was kept, or "" */
};

/*
 * Progress of long work; phase is "wait" (for a lock), "download", "unpack", "import",
 * "patch", "configure", "build", "pack", or "note" (something to tell). fraction of the phase; negative: not known. May be NULL.
 */
typedef void (*kernel_progress)(void *context, const char *phase, const char *detail, double fraction);

/* Splits git:PATH@A..B into one spec a commit; every other spec is returned as it is. Caller frees with kernel_specs_free(). */
int kernel_spec_expand(const char *spec, char ***specs, struct kernel_error *error);
void kernel_specs_free(char **specs);

/* Checks a spec without building: syntax, series, variant (nearest name suggested). */
int kernel_spec_check(const char *spec, const char *architecture, struct kernel_error *error);

/* Builds, or finds in the cache. 0, or -errno with *error filled. */
int kernel_build(const struct kernel_request *request, kernel_progress progress, void *context,
		 struct kernel *kernel, struct kernel_error *error);
void kernel_free(struct kernel *kernel);
/* The kernel that an identity (campaign/kernels/ID.json) tells of, without building or asking for it anew. -ENOENT: gone from the cache. */
int kernel_recall(const json_t *identity, struct kernel *kernel, struct kernel_error *error);

/* The series known (name -> parsed series.yaml), as JSON: {"lazy-tlb": {...}}; series in $SHOOTDOWN_SERIES_PATH (colon separated) too. */
int kernel_series_load(json_t **series, struct kernel_error *error);
/* Kernels that stand in the cache, as a JSON array of identities. */
int kernel_list(json_t **kernels, struct kernel_error *error);

#endif

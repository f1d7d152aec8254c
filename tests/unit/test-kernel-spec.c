// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/spec.h"

static void parse(const char *text, struct kernel_spec *spec)
{
	struct kernel_error error = { .text = "" };

	if (spec_parse(text, spec, &error))
		fail_msg("%s: %s", text, error.text);
}

static void assert_layer(const struct spec_layer *layer, const char *series, const char *variant, const char *mbox)
{
	if (mbox) {
		assert_string_equal(layer->mbox, mbox);
		assert_null(layer->series);
	} else {
		assert_string_equal(layer->series, series);
		assert_string_equal(layer->variant, variant);
		assert_null(layer->mbox);
	}
}

static void packages(void **state)
{
	struct kernel_spec spec;

	(void)state;
	parse("deb:6.12", &spec);
	assert_int_equal(spec.source, KERNEL_DEB);
	assert_string_equal(spec.name, "6.12");
	assert_null(spec.version);
	assert_int_equal(spec.layer_count, 0);
	spec_free(&spec);

	/* A Debian version may hold a plus, a tilde and an epoch. */
	parse("deb:6.12=1:6.12.5-1+b1~deb12u1+lazy-tlb/without", &spec);
	assert_string_equal(spec.version, "1:6.12.5-1+b1~deb12u1");
	assert_int_equal(spec.layer_count, 1);
	assert_layer(&spec.layers[0], "lazy-tlb", "without", NULL);
	spec_free(&spec);

	parse("deb-image:linux-image-cloud-amd64", &spec);
	assert_int_equal(spec.source, KERNEL_DEB_IMAGE);
	assert_string_equal(spec.name, "linux-image-cloud-amd64");
	spec_free(&spec);

	parse("host", &spec);
	assert_int_equal(spec.source, KERNEL_HOST);
	spec_free(&spec);
}

static void layers_in_order(void **state)
{
	struct kernel_spec spec;
	char *text;

	(void)state;
	parse("deb:6.12+xpfo/sync+mbox:/proc/self/maps+placebo/shifted", &spec);
	assert_int_equal(spec.layer_count, 3);
	assert_layer(&spec.layers[0], "xpfo", "sync", NULL);
	assert_layer(&spec.layers[1], NULL, NULL, "/proc/self/maps");
	assert_layer(&spec.layers[2], "placebo", "shifted", NULL);
	text = spec_layers_text(&spec);
	assert_string_equal(text, "+xpfo/sync+mbox:/proc/self/maps+placebo/shifted");
	free(text);
	spec_free(&spec);
}

static void git_references(void **state)
{
	struct kernel_spec spec;

	(void)state;
	parse("git:/src/user@host/linux@v6.12", &spec);
	assert_string_equal(spec.name, "/src/user@host/linux");
	assert_string_equal(spec.version, "v6.12");
	spec_free(&spec);
	parse("git:/src/linux", &spec);
	assert_null(spec.version);
	spec_free(&spec);
	parse("git:/src/linux@v6.11..v6.12+nop/one-more", &spec);
	assert_string_equal(spec.version, "v6.11..v6.12");
	assert_int_equal(spec.layer_count, 1);
	spec_free(&spec);
}

static void bad_specs(void **state)
{
	static const char *const bad[] = {
		"", "6.12", ":", "deb:", "deb", "deb:6.12=", "git:/src@", "dev:6.12", "host:x", "deb:6.12+nop", "deb:--config=x",
		"deb:6.12=-x", "deb:6.12 x", "deb:6/12", "host+a/b", "image:/x+a/b", "deb-image:x+a/b", "tree:", "deb:6.12+mbox:/nowhere",
		"deb:6.12+a/b+", "deb:6.12++a/b",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct kernel_error error = { .text = "" };
		struct kernel_spec spec;

		if (!spec_parse(bad[i], &spec, &error))
			fail_msg("'%s' was taken", bad[i]);
		assert_int_equal(error.exit_status, 129);
		assert_non_null(strstr(error.text, bad[i]));
		assert_null(strchr(error.text, '\n'));
	}
}

static void too_many_layers(void **state)
{
	char text[512] = "deb:6.12";
	struct kernel_error error = { .text = "" };
	struct kernel_spec spec;

	(void)state;
	for (int i = 0; i <= SPEC_LAYERS_MAXIMUM; i++)
		strcat(text, "+a/b");
	assert_int_equal(spec_parse(text, &spec, &error), -EINVAL);
	assert_non_null(strstr(error.text, "16 layers"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packages),
		cmocka_unit_test(layers_in_order),
		cmocka_unit_test(git_references),
		cmocka_unit_test(bad_specs),
		cmocka_unit_test(too_many_layers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

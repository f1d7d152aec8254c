// SPDX-License-Identifier: GPL-2.0-or-later
// options: -max_len=8192
/* Programs that are to travel into a guest, and images of kernels: files that somebody else made. */
#include "fuzz.h"
#include "kernels/ready.h"
#include "runner/lane/elf-closure.h"
#include "runner/lane/kernel-image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_closure closure;
	struct fuzz_file file;
	char reason[256], *release;
	const char *architecture;

	fuzz_file_open(&file, data, size);
	elf_architecture(file.path);
	if (!elf_closure(file.path, &closure, reason, sizeof(reason)))
		elf_closure_free(&closure);
	if (!image_inspect(file.path, &architecture, &release))
		free(release);
	kernel_image_unpack(file.path, "/dev/null");
	fuzz_file_close(&file);
	return 0;
}

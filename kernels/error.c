// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "error.h"

static int code_of(int status)
{
	switch (status) {
	case EXIT_USAGE:
		return -EINVAL;
	case EXIT_ENVIRONMENT:
		return -EOPNOTSUPP;
	case EXIT_INTERNAL:
		return -EFAULT;
	default:
		return -EBADMSG;
	}
}

int kernel_fail(struct kernel_error *error, int status, const char *format, ...)
{
	va_list arguments;

	error->exit_status = status;
	va_start(arguments, format);
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	return code_of(status);
}

static const char *remedy(int code)
{
	switch (-code) {
	case ENOSPC:
	case EDQUOT:
		return "; make room, or put the cache elsewhere with XDG_CACHE_HOME";
	case EACCES:
	case EPERM:
	case EROFS:
	case ENOENT:
		return "; check who owns it, or put the cache elsewhere with XDG_CACHE_HOME";
	default:
		return "";
	}
}

int kernel_fail_code(struct kernel_error *error, int code, const char *format, ...)
{
	char what[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	if (code == -EINTR) {
		kernel_fail(error, EXIT_ENVIRONMENT, "%s: interrupted; the next call goes on from here", what);
		return -EINTR;
	}
	kernel_fail(error, code == -EFAULT ? EXIT_INTERNAL : EXIT_ENVIRONMENT, "%s: %s%s", what, strerror(-code), remedy(code));
	return code;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/serial.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "guest.h"

#define CHANNEL_NAME "org.shootdown.channel"
#define PORTS "/sys/class/virtio-ports"
#define WAIT_STEPS 400
#define WAIT_STEP_NS 5000000L
/* Bytes of a file in one message; a multiple of 3, so that the parts' base64 needs no padding in between. */
#define FILE_PART ((size_t)98304)

static int channel = -1;
static const char *kind = "none";
static bool on_console;
static uint64_t sequence;

static int open_port(const char *name)
{
	char path[300], *label;
	bool ours;

	snprintf(path, sizeof(path), PORTS "/%s/name", name);
	label = read_text(path);
	ours = label && !strcmp(label, CHANNEL_NAME);
	free(label);
	if (!ours)
		return -1;
	snprintf(path, sizeof(path), "/dev/%s", name);
	return open(path, O_WRONLY | O_CLOEXEC);
}

static int open_virtio(void)
{
	DIR *directory = opendir(PORTS);
	struct dirent *entry;
	int fd = -1;

	while (directory && fd < 0 && (entry = readdir(directory)))
		if (entry->d_name[0] != '.')
			fd = open_port(entry->d_name);
	if (directory)
		closedir(directory);
	return fd;
}

/* The driver has a device: its ports are announced by messages that may still be on their way. */
static bool virtio_bound(void)
{
	DIR *directory = opendir("/sys/bus/virtio/drivers/virtio_console");
	struct dirent *entry;
	bool found = false;

	while (directory && !found && (entry = readdir(directory)))
		found = !strncmp(entry->d_name, "virtio", 6) && entry->d_name[6] >= '0' && entry->d_name[6] <= '9';
	if (directory)
		closedir(directory);
	return found;
}

static int open_serial(const char *path)
{
	int fd = open(path, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	struct serial_struct port = { 0 };
	struct termios settings;

	if (fd < 0)
		return -1;
	/* The device file exists for ports that the machine does not have. */
	if (ioctl(fd, TIOCGSERIAL, &port) || port.type == PORT_UNKNOWN || tcgetattr(fd, &settings)) {
		close(fd);
		return -1;
	}
	cfmakeraw(&settings);
	cfsetspeed(&settings, B115200);
	settings.c_cflag |= CLOCAL;
	tcsetattr(fd, TCSANOW, &settings);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	return fd;
}

void sender_open(bool wait)
{
	const struct timespec step = { .tv_nsec = WAIT_STEP_NS };

	channel = open_virtio();
	for (int i = 0; channel < 0 && i < WAIT_STEPS && (wait || virtio_bound()); i++) {
		nanosleep(&step, NULL);
		channel = open_virtio();
	}
	kind = "virtio-serial";
	if (channel >= 0)
		return;
	kind = "serial";
	channel = open_serial("/dev/ttyS1");
	if (channel >= 0)
		return;
	kind = "console";
	on_console = true;
	channel = open("/dev/console", O_WRONLY | O_NOCTTY | O_CLOEXEC);
}

const char *sender_kind(void)
{
	return kind;
}

static void write_parts(struct iovec *parts, int count)
{
	while (count) {
		ssize_t written = writev(channel, parts, count);

		if (written < 0 && (errno == EINTR || errno == EAGAIN)) {
			struct pollfd ready = { .fd = channel, .events = POLLOUT };

			poll(&ready, 1, 1000);
			continue;
		}
		if (written < 0)
			return;	/* the host sees the gap */
		while (count && (size_t)written >= parts->iov_len) {
			written -= (ssize_t)parts->iov_len;
			parts++;
			count--;
		}
		if (count) {
			parts->iov_base = (char *)parts->iov_base + written;
			parts->iov_len -= (size_t)written;
		}
	}
}

/* A message in up to three pieces, so that a frame is passed on without being copied. */
static void send_pieces(const char *head, const char *body, size_t body_size, const char *tail)
{
	size_t head_size = strlen(head), tail_size = strlen(tail);
	uLong checksum = crc32_z(0, (const Bytef *)head, head_size);
	char line[64];
	int size;

	checksum = crc32_z(checksum, (const Bytef *)body, body_size);
	checksum = crc32_z(checksum, (const Bytef *)tail, tail_size);
	size = snprintf(line, sizeof(line), "SD1 %" PRIu64 " %08lx %zu ", sequence++, checksum,
			head_size + body_size + tail_size);
	/* The kernel may print into the middle of a line on the console: there a second copy comes behind it. */
	for (int copies = on_console ? 2 : 1; copies > 0; copies--)
		write_parts((struct iovec[]){
			{ line, (size_t)size }, { (char *)head, head_size }, { (char *)body, body_size },
			{ (char *)tail, tail_size }, { "\n", 1 } }, 5);
}

void send_message(json_t *message)
{
	char *text = json_dumps(message, JSON_COMPACT);

	if (text)
		send_pieces("", text, strlen(text), "");
	free(text);
	json_decref(message);
}

void send_frame(unsigned int case_index, const char *line, size_t size)
{
	char head[64];

	snprintf(head, sizeof(head), "{\"init\":\"frame\",\"case\":%u,\"frame\":", case_index);
	send_pieces(head, line, size, "}");
}

static char *encode(const char *data, size_t size)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *text = malloc((size + 2) / 3 * 4 + 1), *out = text;

	for (size_t i = 0; text && i < size; i += 3) {
		uint32_t group = (uint32_t)(unsigned char)data[i] << 16;

		if (i + 1 < size)
			group |= (uint32_t)(unsigned char)data[i + 1] << 8;
		if (i + 2 < size)
			group |= (unsigned char)data[i + 2];
		*out++ = digits[group >> 18];
		*out++ = digits[group >> 12 & 63];
		*out++ = i + 1 < size ? digits[group >> 6 & 63] : '=';
		*out++ = i + 2 < size ? digits[group & 63] : '=';
	}
	if (text)
		*out = '\0';
	return text;
}

void send_output(unsigned int case_index, int stream, const char *data, size_t size)
{
	char *text = encode(data, size);

	if (text)
		send_message(json_pack("{s:s, s:i, s:i, s:s}", "init", "output", "case", (int)case_index,
				       "stream", stream, "data", text));
	free(text);
}

void send_file(const char *name)
{
	char path[256];
	size_t size, parts;
	char *data;

	/* Only names of /proc: the job asks for kallsyms, config.gz and the like. */
	snprintf(path, sizeof(path), "/proc/%s", name);
	data = read_whole(path, &size);
	if (!data) {
		send_message(json_pack("{s:s, s:s, s:s}", "init", "file", "name", name, "error", strerror(errno)));
		return;
	}
	parts = size ? (size + FILE_PART - 1) / FILE_PART : 1;
	for (size_t part = 0; part < parts; part++) {
		size_t start = part * FILE_PART;
		char *text = encode(data + start, size - start < FILE_PART ? size - start : FILE_PART);

		if (text)
			send_message(json_pack("{s:s, s:s, s:I, s:I, s:s}", "init", "file", "name", name,
					       "part", (json_int_t)part, "of", (json_int_t)parts, "data", text));
		free(text);
	}
	free(data);
}

void sender_drain(void)
{
	if (isatty(channel))
		tcdrain(channel);
}

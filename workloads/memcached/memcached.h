/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the memcached workload share. */
#ifndef SHOOTDOWN_MEMCACHED_H
#define SHOOTDOWN_MEMCACHED_H

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "workloads/workload.h"

enum { TRANSPORT_TCP, TRANSPORT_UNIX };

struct memcached_options {
	int transport;
	uint64_t connections, requests, keys, value_size, sets, server_threads, clients;
	const char *server;
};

struct memcached {
	const struct memcached_options *options;
	char *directory;		/* the server's own: socket, port number, what it says */
	pid_t server;			/* 0: not running */
	union {
		struct sockaddr any;
		struct sockaddr_in inet;
		struct sockaddr_un local;
	} address;
	socklen_t address_length;
	int *server_cpus, *client_cpus;
	uint64_t server_cpu_before;	/* nanoseconds of the server when the clock started */
};

/* server.c: starts the real memcached, pinned, and waits until it answers. */
int server_start(struct run *run, struct memcached *state);
/* CPU time of the server so far, nanoseconds; 0 when it has gone. */
uint64_t server_cpu_time(const struct memcached *state);
/* Harmless when it does not run. */
void server_stop(struct memcached *state);

/* A connection to the server; -errno. */
int server_connect(const struct memcached *state);

/* client.c: stores every key, so that no get misses. */
int client_fill(struct run *run, const struct memcached *state);
int client_open(struct worker *worker);
int client_work(struct worker *worker);
void client_close(struct worker *worker);

#endif

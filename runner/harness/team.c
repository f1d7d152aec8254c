// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <numa.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../common/interrupt.h"
#include "lifeline.h"
#include "team.h"

#define LEAVE_GRACE_MS 5000

/* Fixed, so that every run and every kernel sees the same numbers. */
#define RANDOM_SEED_BASE 0x5d5d5d5d2018abcdULL

static uint64_t splitmix(uint64_t state)
{
	state += 0x9e3779b97f4a7c15ULL;
	state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9ULL;
	state = (state ^ (state >> 27)) * 0x94d049bb133111ebULL;
	return state ^ (state >> 31);
}

static void *shared_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

struct gate *gate_new(struct run_shared *shared)
{
	struct gate *gate = shared_memory(sizeof(*gate));
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };

	if (!gate)
		return NULL;
	gate->shared = shared;
	gate->event_fd = eventfd(0, EFD_CLOEXEC);
	gate->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (gate->event_fd < 0 || gate->epoll_fd < 0 ||
	    epoll_ctl(gate->epoll_fd, EPOLL_CTL_ADD, gate->event_fd, &event)) {
		gate_free(gate);
		return NULL;
	}
	return gate;
}

void gate_free(struct gate *gate)
{
	int error = errno;

	if (gate->event_fd >= 0)
		close(gate->event_fd);
	if (gate->epoll_fd >= 0)
		close(gate->epoll_fd);
	munmap(gate, sizeof(*gate));
	errno = error;
}

/* A worker process ended although nobody had told it to: say how. */
static int name_the_dead(struct gate *gate, struct team *const *teams, unsigned int team_count)
{
	for (unsigned int t = 0; t < team_count; t++) {
		for (unsigned int i = 0; i < teams[t]->process_count; i++) {
			siginfo_t info = { 0 };

			if (waitid(P_PID, (id_t)teams[t]->processes[i].pid, &info, WEXITED | WNOHANG | WNOWAIT) ||
			    !info.si_pid)
				continue;
			if (info.si_code == CLD_EXITED)
				return shared_fail(gate->shared, -EIO, "process %u of team '%s' exited with status %d "
						   "before its work was done", i, teams[t]->name, info.si_status);
			return shared_fail(gate->shared, -EIO, "process %u of team '%s' was killed by signal %d (%s)", i,
					   teams[t]->name, info.si_status, strsignal(info.si_status));
		}
	}
	return 0;
}

int gate_wait(struct gate *gate, atomic_uint *countdown, struct team *const *teams, unsigned int team_count)
{
	struct epoll_event event;

	while (atomic_load(countdown)) {
		int ready;

		if (atomic_load(&gate->shared->error))
			return -EIO;
		if (interrupted)
			return -EINTR;
		ready = epoll_wait(gate->epoll_fd, &event, 1, -1);
		if (ready < 0 && errno != EINTR)
			return shared_fail(gate->shared, -errno, "epoll_wait: %s", strerror(errno));
		if (ready > 0 && event.data.u64 && name_the_dead(gate, teams, team_count))
			return -EIO;
	}
	return atomic_load(&gate->shared->error) ? -EIO : 0;
}

struct worker_slot *team_slot(const struct team *team, unsigned int index)
{
	return (struct worker_slot *)(team->slots + index * team->slot_size);
}

static int choose_cpus(struct team *team)
{
	const struct placement *placement = &team->run->placement;

	for (unsigned int i = 0; i < team->spec.count; i++) {
		int cpu = team->spec.cpus ? team->spec.cpus[i] : placement->places[i % placement->count].cpu;

		if (cpu >= 0 && !placement_of_cpu(placement, cpu))
			return shared_fail(team->run->shared, -EINVAL, "team '%s' wants CPU %d, which is not among the "
					   "CPUs this process may use", team->name, cpu);
		team->cpus[i] = cpu;
	}
	return 0;
}

static void prepare_slot(struct team *team, unsigned int index)
{
	struct worker_slot *slot = team_slot(team, index);
	const struct place *place = placement_of_cpu(&team->run->placement, team->cpus[index]);

	/* Before its first touch: the slot comes to the node where it is written. */
	if (place && team->run->placement.node_count > 1 && numa_available() >= 0)
		numa_tonode_memory(slot, team->slot_size, place->node);
	slot->worker.index = index;
	slot->worker.cpu = team->cpus[index];
	slot->worker.argument = team->spec.argument;
	slot->worker.random_seed = splitmix(RANDOM_SEED_BASE + index);
	slot->gate = team->run->gate;
	slot->team = team;
}

struct team *team_new(struct run *run, const struct team_spec *spec)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct team *team = calloc(1, sizeof(*team));

	if (!team)
		return NULL;
	team->run = run;
	team->spec = *spec;
	team->name = strdup(spec->name ? spec->name : "workers");
	team->cpus = calloc(spec->count, sizeof(*team->cpus));
	team->threads = calloc(spec->count, sizeof(*team->threads));
	team->processes = calloc(spec->count, sizeof(*team->processes));
	team->slot_size = sizeof(struct worker_slot) + (spec->latency ? sizeof(struct latency_histogram) : 0);
	team->slot_size = (team->slot_size + page - 1) & ~(page - 1);
	team->slots_size = team->slot_size * spec->count;
	team->slots = shared_memory(team->slots_size);
	if (!team->name || !team->cpus || !team->threads || !team->processes || !team->slots) {
		team_free(team);
		errno = ENOMEM;
		return NULL;
	}
	if (choose_cpus(team)) {
		team_free(team);
		errno = EINVAL;
		return NULL;
	}
	team->spec.cpus = team->cpus;
	for (unsigned int i = 0; i < spec->count; i++)
		prepare_slot(team, i);
	return team;
}

void team_free(struct team *team)
{
	for (unsigned int i = 0; team->processes && i < team->process_count; i++)
		if (team->processes[i].watch >= 0)
			close(team->processes[i].watch);
	if (team->slots)
		munmap(team->slots, team->slots_size);
	free(team->processes);
	free(team->threads);
	free(team->cpus);
	free(team->name);
	free(team);
}

static void *thread_main(void *slot)
{
	worker_live(slot);
	return NULL;
}

static int start_threads(struct team *team)
{
	for (unsigned int i = 0; i < team->spec.count; i++) {
		int error = pthread_create(&team->threads[i], NULL, thread_main, team_slot(team, i));

		if (error)
			return shared_fail(team->run->shared, -error, "starting thread %u of team '%s': %s", i,
					   team->name, strerror(error));
		team->thread_count = i + 1;
	}
	return 0;
}

/* In the child: nothing of the measuring process's handlers, and no life beyond it. */
static void become_worker(pid_t parent)
{
	const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(STATUS_INTERNAL);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		signal(numbers[i], SIG_DFL);
}

static void __attribute__((noreturn)) child_main(struct team *team, unsigned int first)
{
	if (team->spec.kind == TEAM_PROCESSES) {
		worker_live(team_slot(team, first));
		_exit(0);
	}
	if (start_threads(team)) {
		eventfd_write(team->run->gate->event_fd, 1);
		_exit(STATUS_FAILED);
	}
	for (unsigned int i = 0; i < team->thread_count; i++)
		pthread_join(team->threads[i], NULL);
	_exit(0);
}

static int watch_process(struct team *team, struct team_process *process)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = 1 };
	int error = process->watch < 0 ? process->watch : 0;

	if (!error && epoll_ctl(team->run->gate->epoll_fd, EPOLL_CTL_ADD, process->watch, &event))
		error = -errno;
	return error ? shared_fail(team->run->shared, error, "watching a process of team '%s': %s", team->name,
				   strerror(-error)) : 0;
}

static int start_process(struct team *team, unsigned int index)
{
	struct team_process *process = &team->processes[index];
	struct lifeline lifeline;
	pid_t parent = getpid();
	int error = lifeline_prepare(&lifeline);

	process->watch = -1;
	process->pid = error ? -1 : fork();
	if (!process->pid) {
		lifeline_hold(&lifeline);
		become_worker(parent);
		child_main(team, index);
	}
	if (process->pid < 0) {
		error = error ? error : -errno;
		lifeline_watch(&lifeline, -1);
		return shared_fail(team->run->shared, error, "starting process %u of team '%s': %s", index, team->name,
				   strerror(-error));
	}
	team->process_count = index + 1;
	process->watch = lifeline_watch(&lifeline, process->pid);
	return watch_process(team, process);
}

static int start_processes(struct team *team, unsigned int count)
{
	int error = 0;

	for (unsigned int i = 0; i < count && !error; i++)
		error = start_process(team, i);
	return error;
}

int team_start(struct team *team)
{
	if (team->spec.kind == TEAM_THREADS)
		return start_threads(team);
	return start_processes(team, team->spec.kind == TEAM_PROCESSES ? team->spec.count : 1);
}

static int reap_process(struct team *team, struct team_process *process, bool kill_now)
{
	struct pollfd waiting = { .fd = process->watch, .events = POLLIN };
	int status = 0;

	if (kill_now || process->watch < 0 || poll(&waiting, 1, LEAVE_GRACE_MS) <= 0)
		kill(process->pid, SIGKILL);
	while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (process->watch >= 0) {
		epoll_ctl(team->run->gate->epoll_fd, EPOLL_CTL_DEL, process->watch, NULL);
		close(process->watch);
		process->watch = -1;
	}
	if (kill_now || !status)
		return 0;
	return shared_fail(team->run->shared, -EIO, "a process of team '%s' did not leave in order (%s %d)", team->name,
			   WIFSIGNALED(status) ? "signal" : "exit status",
			   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static int reap_thread(pthread_t thread)
{
	struct timespec limit;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += LEAVE_GRACE_MS / 1000;
	return -pthread_timedjoin_np(thread, NULL, &limit);
}

int team_reap(struct team *team, bool kill_now)
{
	int first = 0;

	for (unsigned int i = 0; i < team->process_count; i++) {
		int error = reap_process(team, &team->processes[i], kill_now);

		first = first ? first : error;
	}
	team->process_count = 0;
	for (unsigned int i = 0; i < team->thread_count; i++)
		if (reap_thread(team->threads[i]))
			first = -ETIMEDOUT;
	team->thread_count = 0;
	return first;
}

// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/* Yawn's load balancer as a scheduler of Linux (Sharafzadeh et al., APSys 2019, section 3.6; sched_ext).
 *
 *   a task wakes up ──► the first CPU, in one fixed order, that is allowed and has room ──► that CPU's own queue
 *                       none has ──► the one that the kernel would have chosen ──► its own queue, if it is idle
 *                                                                              └─► a queue that all CPUs take from
 *
 * So work gathers on the first CPUs, and the others sleep on. A CPU has room by what it did lately, for at low load every
 * one is idle for moments: the rules are those of the twin's balancer (`wake_balancer.rs`), in integers. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "balance_kernel.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum {
	MOST_CPUS = 512,
	SHARED = 0,                 /* the queue that all CPUs take from */
	SLICE_NS = 3000000,         /* what a task runs for while others wait; or until the next tick */
	HALF_LIFE_NS = 20000000,    /* what a CPU or task did counts half after that */
	FULL_NS = 28853901,         /* what always running adds up to so: HALF_LIFE_NS over the logarithm of 2 */
	STALL_MS = 5000,            /* a task that waits for longer ends the balancer: the kernel's watchdog */
	MOST_REASON = 128,
};

/* Set before loading. */
const volatile __u32 order[MOST_CPUS] = {};     /* CPUs, the one to be filled first in front */
const volatile __u32 ordered = 0;               /* how many of them */
const volatile __u64 most_ns = FULL_NS / 2;     /* no CPU is filled beyond: of FULL_NS */
const volatile __u32 most_backlog = 2;          /* nor when as many run and wait there */

/* What a CPU or a task did lately. */
struct usage {
	__u64 busy_ns;  /* with what is longer ago counting less */
	__u64 at_ns;    /* as of when */
	__u64 since_ns; /* it has been running from then on; 0: it is not */
};

/* What one CPU did. The balancer's process reads it. */
struct cpu {
	struct usage usage;
	__u64 ran_ns;  /* in all */
	__u64 placed;  /* tasks that woke up and were placed here, for there was room */
	__u64 spilled; /* tasks that came here because no CPU had room */
};

struct cpu cpus[MOST_CPUS] = {};

/* Why the kernel ended the balancer; of `enum scx_exit_kind`. */
__u32 ended = 0;
char ended_reason[MOST_REASON] = {};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct usage);
} tasks SEC(".maps");

/* So much less it counts after a time: half for each half-life, and a straight line between. */
static __always_inline __u64 decayed(__u64 busy_ns, __u64 passed_ns)
{
	__u64 halves = passed_ns / HALF_LIFE_NS;

	if (halves > 30)
		return 0;
	busy_ns >>= halves;
	return busy_ns - busy_ns * (passed_ns % HALF_LIFE_NS) / (2 * HALF_LIFE_NS);
}

/* Another CPU's stamp may be a little later than one's own. */
static __always_inline __u64 passed(__u64 then_ns, __u64 now_ns)
{
	return now_ns > then_ns ? now_ns - then_ns : 0;
}

static __always_inline __u64 busy_of(const struct usage *usage, __u64 now_ns)
{
	__u64 since_ns = usage->since_ns;
	__u64 ran_ns = since_ns ? passed(since_ns, now_ns) : 0;
	__u64 busy_ns = decayed(usage->busy_ns, passed(usage->at_ns, now_ns)) + ran_ns;

	return busy_ns < FULL_NS ? busy_ns : FULL_NS;
}

/* Takes in what has run until now; from then on it runs on, or does not (0). */
static __always_inline void account(struct usage *usage, __u64 now_ns, __u64 since_ns)
{
	usage->busy_ns = busy_of(usage, now_ns);
	usage->at_ns = now_ns;
	usage->since_ns = since_ns;
}

static __always_inline struct cpu *cpu_of(__u32 number)
{
	return number < MOST_CPUS ? &cpus[number] : 0;
}

/* A task that looks for a CPU. */
struct search {
	struct task_struct *task;
	__u64 now_ns;
	__u64 own_ns; /* what the task did itself */
	int previous; /* where */
	int found;    /* -1: none has room */
};

static int try_cpu(__u32 place, struct search *search)
{
	__u32 number = place < MOST_CPUS ? order[place] : MOST_CPUS;
	struct cpu *cpu = cpu_of(number);
	__u64 busy_ns;
	__u32 backlog;

	if (!cpu || !bpf_cpumask_test_cpu(number, search->task->cpus_ptr))
		return 0;
	busy_ns = busy_of(&cpu->usage, search->now_ns);
	/* What it did there itself is no obstacle. */
	if ((int)number == search->previous)
		busy_ns -= busy_ns < search->own_ns ? busy_ns : search->own_ns;
	if (busy_ns + search->own_ns > most_ns)
		return 0;
	backlog = scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL_ON | number) + !!cpu->usage.since_ns;
	if (backlog >= most_backlog)
		return 0;
	search->found = number;
	return 1;
}

/* The arguments are task, the CPU that it ran on before, and flags. */
SEC("struct_ops/select_cpu")
int select_cpu(__u64 *arguments)
{
	struct task_struct *task = (void *)arguments[0];
	struct usage *own = bpf_task_storage_get(&tasks, task, 0, 0);
	struct search search = { .task = task, .now_ns = bpf_ktime_get_ns(), .previous = arguments[1], .found = -1 };
	bool is_idle = false;
	struct cpu *cpu;

	search.own_ns = own ? busy_of(own, search.now_ns) : 0;
	bpf_loop(ordered, try_cpu, &search, 0);
	cpu = search.found < 0 ? 0 : cpu_of(search.found);
	if (cpu) {
		scx_bpf_test_and_clear_cpu_idle(search.found); /* nobody else takes it for idle */
		__sync_fetch_and_add(&cpu->placed, 1);
		is_idle = true;
	} else {
		search.found = scx_bpf_select_cpu_dfl(task, search.previous, arguments[2], &is_idle);
		cpu = cpu_of(search.found);
		if (cpu)
			__sync_fetch_and_add(&cpu->spilled, 1);
	}
	if (is_idle)
		scx_bpf_dsq_insert(task, SCX_DSQ_LOCAL, SLICE_NS, 0);
	return search.found;
}

/* What found no CPU, or has used its slice. The arguments are task and flags. */
SEC("struct_ops/enqueue")
int enqueue(__u64 *arguments)
{
	struct task_struct *task = (void *)arguments[0];
	int idle;

	scx_bpf_dsq_insert(task, SHARED, SLICE_NS, arguments[1]);
	idle = scx_bpf_pick_idle_cpu(task->cpus_ptr, 0);
	if (idle >= 0)
		scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
	return 0;
}

/* A CPU has nothing in its own queue. */
SEC("struct_ops/dispatch")
int dispatch(__u64 *arguments)
{
	(void)arguments;
	scx_bpf_dsq_move_to_local(SHARED);
	return 0;
}

SEC("struct_ops/running")
int running(__u64 *arguments)
{
	struct usage *own = bpf_task_storage_get(&tasks, (struct task_struct *)arguments[0], 0, 0);
	struct cpu *cpu = cpu_of(bpf_get_smp_processor_id());
	__u64 now_ns = bpf_ktime_get_ns();

	if (own)
		own->since_ns = now_ns;
	if (cpu)
		cpu->usage.since_ns = now_ns;
	return 0;
}

/* What runs on this CPU has done so until now, and runs on or not. */
static __always_inline void ran(struct task_struct *task, bool runs_on)
{
	struct usage *own = bpf_task_storage_get(&tasks, task, 0, 0);
	struct cpu *cpu = cpu_of(bpf_get_smp_processor_id());
	__u64 now_ns = bpf_ktime_get_ns();
	__u64 since_ns = runs_on ? now_ns : 0;

	if (own)
		account(own, now_ns, since_ns);
	if (cpu) {
		cpu->ran_ns += cpu->usage.since_ns ? passed(cpu->usage.since_ns, now_ns) : 0;
		account(&cpu->usage, now_ns, since_ns);
	}
}

SEC("struct_ops/stopping")
int stopping(__u64 *arguments)
{
	ran((struct task_struct *)arguments[0], false);
	return 0;
}

/* The kernel has a task that is alone run on without a word, and gives it a slice of its own choice: who has come
 * meanwhile does not wait for that. */
SEC("struct_ops/tick")
int tick(__u64 *arguments)
{
	__u32 number = bpf_get_smp_processor_id();

	ran((struct task_struct *)arguments[0], true);
	if (scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL_ON | number))
		scx_bpf_kick_cpu(number, SCX_KICK_PREEMPT);
	return 0;
}

/* A task begins, or was there before. */
SEC("struct_ops.s/init_task")
int init_task(__u64 *arguments)
{
	struct task_struct *task = (void *)arguments[0];

	return bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE) ? 0 : -12; /* ENOMEM */
}

SEC("struct_ops.s/init")
int init(void)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SEC("struct_ops/exit")
int on_exit(__u64 *arguments)
{
	struct scx_exit_info *info = (void *)arguments[0];

	bpf_probe_read_kernel_str(ended_reason, sizeof(ended_reason), info->reason);
	ended = info->kind;
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops balancer = {
	.select_cpu = (void *)select_cpu,
	.enqueue = (void *)enqueue,
	.dispatch = (void *)dispatch,
	.running = (void *)running,
	.stopping = (void *)stopping,
	.tick = (void *)tick,
	.init_task = (void *)init_task,
	.init = (void *)init,
	.exit = (void *)on_exit,
	.timeout_ms = STALL_MS,
	.name = "bayop_balance",
};

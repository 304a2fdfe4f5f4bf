//! The operating-system half of a profile.

use serde::{Deserialize, Serialize};

use super::limits::MAX_POLL_BUDGET;

/// Which core a request is served on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dispatch {
    /// Linux: the core that takes the interrupt (chosen by the RSS hash) queues the request for
    /// an application thread, usually on another core; interrupts preempt the application.
    Steered,
    /// EbbRT and other library OSes: the interrupt handler runs the application to completion
    /// for every packet it found.
    RunToCompletion,
    /// Kernel bypass or busy polling: no interrupts; every core spins on its receive queue and
    /// runs the application to completion for every packet it finds. It never halts, so the
    /// frequency alone decides its power.
    Polling,
}

/// Who decides how deeply an idle core sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdlePolicy {
    /// Linux's menu governor, as of 5.5: what profiles were fitted with.
    Menu,
    /// Linux 4.4's, which stops the tick whatever it expects.
    #[serde(rename = "menu-4.4")]
    Menu4,
    /// Linux 6.1's.
    #[serde(rename = "menu-6.1")]
    Menu6,
    /// Linux's timer events oriented governor.
    Teo,
    /// Linux's ladder governor.
    Ladder,
    /// Linux's governor for guests: polls for a while, then sleeps in the deepest state.
    Haltpoll,
    /// Prediction with expert advice and a timer that wakes the core early (Sharafzadeh et al., APSys 2019).
    Yawn,
    /// The same without two faults of its authors' kernel.
    YawnMended,
    /// The least expected cost of energy and of latency at the price [`Os::idle_latency_price`].
    Bayop,
    /// That price follows menu, of 6.1, in its shadow.
    BayopMenu,
    /// That price follows teo in its shadow.
    BayopTeo,
    /// At most 1 % of wake-ups take longer than [`Os::idle_late_us`] by the kernel's table.
    BayopSlo,
    /// Always the deepest state, like EbbRT.
    Deepest,
    /// Always the shallowest state that halts (a PM QoS limit of a few microseconds).
    Shallowest,
    /// The right state every time: knows the future. A bound, not a policy.
    Oracle,
}

/// Where an awakened thread runs (steered dispatch).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WakeBalancer {
    /// Where it ran before: threads stay on their cores, but for what the scheduler does now and then
    /// ([`Os::stacking_us`]).
    #[default]
    None,
    /// On an operating core that has room, else on its neighbour, which is woken (Sharafzadeh et al., APSys 2019).
    Yawn,
}

/// What moderates interrupts when nobody sets rx-usecs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModerationPolicy {
    /// The adaptive moderation of Linux's ixgbe driver.
    Ixgbe,
    /// A fixed delay, [`Os::default_rx_usecs`].
    Fixed,
}

/// What sets the frequency when nobody pins it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FrequencyPolicy {
    /// Linux's ondemand governor.
    Ondemand,
    /// Always the greatest frequency.
    Performance,
    /// Always the least frequency.
    Powersave,
    /// At each arrival and completion the least frequency at which every request of the core is answered in time, to the
    /// 99th percentile of service times (Kasture et al., MICRO 2015). Needs [`Os::frequency_slo_us`].
    Rubik,
    /// The greatest frequency while a core's packets are polled rather than announced by interrupts, else ondemand (Kang
    /// et al., MICRO 2021).
    Nmap,
    /// As `rubik`, but knows how long every request takes and, where threads do not share a queue, which will arrive. No
    /// policy: what prediction could gain.
    Oracle,
}

impl FrequencyPolicy {
    /// Whether it acts when requests come and go, core by core.
    pub fn acts_at_events(self) -> bool {
        matches!(self, Self::Rubik | Self::Nmap | Self::Oracle)
    }
}

/// The operating system: dispatch, default policies, and what its code costs.
///
/// A cost in kilocycles `c` takes `c / f_GHz + memory_us_per_kcycle * c` microseconds.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Os {
    /// Name, such as "Linux 5.5".
    pub name: String,
    /// Where requests are served.
    pub dispatch: Dispatch,
    /// Whether a machine's hyperthreads are used; otherwise one thread of each core is.
    #[serde(default = "yes")]
    pub hyperthreads: bool,
    /// Idle governor.
    pub idle_governor: IdlePolicy,
    /// Wake balancer; none where a profile does not say.
    #[serde(default)]
    pub wake_balancer: WakeBalancer,
    /// Moderation while rx-usecs is auto.
    pub moderation: ModerationPolicy,
    /// The delay while rx-usecs is auto and moderation is `fixed`.
    pub default_rx_usecs: f64,
    /// Frequency policy while the frequency is auto.
    pub frequency_governor: FrequencyPolicy,
    /// How often the frequency governor looks.
    pub frequency_sampling_us: f64,
    /// Load above which ondemand goes to the greatest frequency.
    pub frequency_up_threshold_share: f64,
    /// The 99th percentile of clients' latencies that `rubik` and `oracle` aim at; 500 us where a profile does not say.
    #[serde(default = "default_slo_us")]
    pub frequency_slo_us: f64,
    /// From asking for a frequency to having it, of policies that act at events. 4 is assumed where a profile does not
    /// say: what regulators on the die allow.
    #[serde(default = "default_transition_us")]
    pub frequency_transition_us: f64,
    /// Packets in one poll from which on `nmap` counts a core as polling; NAPI itself goes on polling from
    /// [`Os::poll_budget`] on, which is the default.
    #[serde(default = "default_frequency_poll_budget")]
    pub frequency_poll_budget: usize,
    /// Frequency-independent time per kilocycle of kernel code (cache misses).
    pub memory_us_per_kcycle: f64,
    /// How many times as long all code takes on this machine, with this kernel, as where its costs were measured.
    #[serde(default = "as_measured")]
    pub cost_factor: f64,
    /// Taking one interrupt: entry, soft interrupt, poll, re-arming.
    pub interrupt_kcycles: f64,
    /// Looking at the receive queue and finding something (polling dispatch only). 0.3 is assumed where
    /// a profile does not say: a burst call of a user-space driver takes a few hundred cycles.
    #[serde(default = "default_poll_kcycles")]
    pub poll_kcycles: f64,
    /// Each received packet.
    pub packet_kcycles: f64,
    /// Extra cost of a packet that arrives alone; with `n` packets in a poll each pays
    /// `1 / (1 + packet_batching (n - 1))` of it.
    pub lone_packet_kcycles: f64,
    /// How quickly [`Os::lone_packet_kcycles`] is amortised (see there).
    pub packet_batching: f64,
    /// Cleaning up after each transmitted response.
    pub tx_clean_kcycles: f64,
    /// Most packets handled by one poll (NAPI weight).
    pub poll_budget: usize,
    /// From the end of the interrupt work to the request being visible to the other core.
    pub steer_us: f64,
    /// How long two threads share a core, on average and exponentially distributed, when the threads
    /// are fully loaded, until the scheduler balances them anew (steered dispatch); 0 is never.
    pub stacking_us: f64,
    /// That time shrinks at lower loads as the mean load of a thread (0 to 1) to this power.
    pub stacking_exponent: f64,
    /// Part of the time of interrupts and idle loops that counts as such load.
    pub stacking_interrupt_share: f64,
    /// How long it is until two threads share a core again, likewise.
    pub stacking_every_us: f64,
    /// Waking the application thread of an idle core (steered dispatch).
    pub thread_wake_kcycles: f64,
    /// Entering idle: leaving the scheduler, choosing a state, stopping the tick. Busy, but the
    /// kernel counts it as idle; cut short when work comes.
    pub idle_entry_kcycles: f64,
    /// Leaving idle, from the wake-up to the switch away from the idle thread. Contained in the
    /// costs of interrupts and thread wake-ups, but the kernel counts it as idle, which is what
    /// the frequency governor goes by.
    pub idle_exit_kcycles: f64,
    /// Going idle and coming back costs busy time (idle loop, timers, cold caches) that grows
    /// with the length `L` of the idle period to a limit: `K L / (L + idle_loop_tau_us)`.
    /// This is the part of `K` that scales with the clock.
    pub idle_loop_kcycles: f64,
    /// The frequency-independent part of `K` (see [`Os::idle_loop_kcycles`]).
    pub idle_loop_us: f64,
    /// See [`Os::idle_loop_kcycles`].
    pub idle_loop_tau_us: f64,
    /// Part of it that delays the work that ended the idle period; the rest is spent before.
    pub idle_loop_on_path_share: f64,
    /// A wake-up takes at most this part of the idle period it ends (the state had no time to
    /// settle).
    pub wake_limit_share: f64,
    /// Mean distance of the timers that idle governors see ahead.
    pub idle_timer_period_us: f64,
    /// What 1 us of wake-up latency is worth to `bayop`, in the energy that a polling core takes in 1 us; 0.1 where a
    /// profile does not say.
    #[serde(default = "default_latency_price")]
    pub idle_latency_price: f64,
    /// What `bayop-slo` counts as late; 50 us where a profile does not say.
    #[serde(default = "default_late_us")]
    pub idle_late_us: f64,
}

impl Os {
    /// Whether cores spin on their queues instead of taking interrupts.
    pub fn polls(&self) -> bool {
        self.dispatch == Dispatch::Polling
    }
}

fn default_slo_us() -> f64 {
    500.0
}

fn default_transition_us() -> f64 {
    4.0
}

fn default_latency_price() -> f64 {
    0.1
}

fn default_late_us() -> f64 {
    50.0
}

fn default_frequency_poll_budget() -> usize {
    MAX_POLL_BUDGET
}

fn as_measured() -> f64 {
    1.0
}

fn yes() -> bool {
    true
}

fn default_poll_kcycles() -> f64 {
    0.3
}

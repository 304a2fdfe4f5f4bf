//! The hardware half of a profile.

use serde::{Deserialize, Serialize};

use super::never;

/// The server hardware: cores, frequencies, network card, idle states, power.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// What people call the hardware, such as "2x Xeon E5-2690, 82599ES".
    pub name: String,
    /// Physical cores.
    pub cores: usize,
    /// Hyperthreads of a core. Each is a CPU to the operating system: it has a receive queue and serves. Together they
    /// draw the power of one core, which is busy while any of them is.
    #[serde(default = "one_thread")]
    pub threads_per_core: usize,
    /// How many times as long everything takes on a thread while all other threads of its core are busy, too. Busy a
    /// share `u` of the time, they slow it by `1 + u (this - 1)`.
    #[serde(default = "not_slower")]
    pub busy_sibling_factor: f64,
    /// Cores that share one clock and voltage. When the operating system picks frequencies
    /// per core, the hardware runs the whole domain at the greatest request of its cores.
    pub frequency_domain_cores: usize,
    /// Cores of one package, which turbo and a power cap are on; 0 stands for all of them.
    #[serde(default)]
    pub package_cores: usize,
    /// P-states in MHz, ascending. A request in between runs at the next step up
    /// (Linux's `CPUFREQ_RELATION_L`); one beyond either end is refused, where Linux would run
    /// another without a word.
    pub freq_mhz: Vec<f64>,
    /// Turbo: the greatest frequency of a package with one active core, two, and so on; with more than are listed, the
    /// last. Empty when every core may run at the greatest of [`Machine::freq_mhz`] at any time.
    #[serde(default)]
    pub turbo_mhz: Vec<f64>,
    /// The network card.
    pub nic: Nic,
    /// Idle states from the shallowest to the deepest.
    pub idle_states: Vec<IdleState>,
    /// Power coefficients.
    pub power: Power,
}

impl Machine {
    /// Cores of one package.
    pub fn package_cores(&self) -> usize {
        if self.package_cores == 0 { self.cores } else { self.package_cores }
    }

    /// Packages, the last of which may have fewer cores.
    pub fn packages(&self) -> usize {
        self.cores.div_ceil(self.package_cores())
    }

    /// How many of [`Machine::idle_states`] wake within so long, by the kernel's table: from the shallowest on.
    pub fn idle_states_within(&self, exit_latency_us: f64) -> usize {
        self.idle_states.iter().take_while(|state| state.exit_latency_us <= exit_latency_us).count()
    }
}

fn one_thread() -> usize {
    1
}

fn not_slower() -> f64 {
    1.0
}

/// The network card: one interrupt vector per core, each with its own throttle.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Nic {
    /// Smallest rx-usecs that the driver takes as a fixed delay.
    pub rx_usecs_min: f64,
    /// Greatest rx-usecs; the driver refuses more.
    pub rx_usecs_max: f64,
    /// Granularity of rx-usecs; the driver rounds down to so many steps above the smallest.
    pub rx_usecs_step: f64,
    /// Real microseconds per nominal one: the 82599 counts ticks of 2.048 us as if of 2 us.
    pub rx_usecs_tick_factor: f64,
    /// Greatest rx-frames that the driver takes; 0 when it has no such parameter.
    #[serde(default)]
    pub rx_frames_max: usize,
    /// Receive-side coalescing holds packets for a moment when rx-usecs is at least this.
    pub coalesce_from_rx_usecs: f64,
    /// How long receive-side coalescing holds a packet.
    pub coalesce_us: f64,
    /// From handing a response to the card to its transmit-completion event.
    pub tx_completion_us: f64,
    /// Below this rx-usecs the driver has each descriptor written back by itself (WTHRESH 1
    /// instead of 8), so that a response can cause a second completion event.
    pub eager_writeback_below_rx_usecs: f64,
    /// Part of responses that do then.
    pub eager_writeback_share: f64,
    /// How much later the second event comes.
    pub eager_writeback_us: f64,
    /// How far apart the vectors' interrupts are, as part of the interval: 1 is at random, 0 all
    /// at once. Under load a vector fires exactly once per interval, so vectors that started
    /// together when the load began stay together; requests then reach the application threads
    /// in bursts and wake idle cores less often.
    pub phase_spread_share: f64,
}

/// Transmissions that the card reports twice.
#[derive(Clone, Copy, Debug)]
pub struct Rewrite {
    /// Those whose 16 random bits are below this.
    pub threshold: u64,
    /// The second report comes so much later.
    pub later_us: f64,
}

impl Nic {
    /// How long the card holds a packet at rx-usecs (none: adaptive).
    pub fn coalescing_us(&self, rx_usecs: Option<f64>) -> f64 {
        if rx_usecs.is_none_or(|us| us >= self.coalesce_from_rx_usecs) { self.coalesce_us } else { 0.0 }
    }

    /// Which transmissions complete twice at rx-usecs (none: adaptive).
    pub fn eager_writeback(&self, rx_usecs: Option<f64>) -> Rewrite {
        let eager = rx_usecs.is_some_and(|us| us < self.eager_writeback_below_rx_usecs);
        let share = if eager { self.eager_writeback_share } else { 0.0 };
        Rewrite { threshold: (share * 65_536.0) as u64, later_us: self.eager_writeback_us }
    }
}

/// One idle state (C-state) of a core.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct IdleState {
    /// Name, such as "C1E".
    pub name: String,
    /// Worst-case exit latency as the kernel's table has it; what governors reckon with. Zero is a
    /// loop that polls: it draws what a busy core does, so its settling means nothing.
    pub exit_latency_us: f64,
    /// Shortest stay that saves energy, from the same table.
    pub target_residency_us: f64,
    /// What a wake-up from this state really costs in time, as seen in latencies.
    pub wake_us: f64,
    /// How long the core goes on drawing the power of a merely halted one
    /// ([`Power::halted_core_at_max_freq_w`]): until clocks, caches and voltage are off. Infinite,
    /// in a file `"never"`, when they stay on.
    #[serde(with = "never")]
    pub settle_us: f64,
    /// Power of one core once settled in this state, beyond that in the deepest one, which is part
    /// of [`Power::static_w`].
    pub settled_w: f64,
}

/// Power of the processor packages, at [`Machine::freq_mhz`]'s greatest step `f_max`:
///
/// `P = static + sum over cores of busy (a + b g) + halted h g + settled s`, with
/// `g = (f / f_max)^e` standing for `V(f)^2 f` (Eq. 3 of Dong et al. has `f^beta`).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Power {
    /// Packages with every core in its deepest idle state while serving (uncore, leakage).
    pub static_w: f64,
    /// Packages of which every core has settled in the deepest idle state: a package state, such as Intel's PC6, turns
    /// most of [`Power::static_w`] off. None: they have no such state, or it is switched off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asleep_w: Option<f64>,
    /// One busy core, the part that does not depend on frequency (`a`).
    pub busy_core_w: f64,
    /// One busy core at the greatest frequency, the part that does (`b`).
    pub busy_core_at_max_freq_w: f64,
    /// One halted but not yet settled core at the greatest frequency (`h`).
    pub halted_core_at_max_freq_w: f64,
    /// `e` in `g = (f / f_max)^e`.
    pub frequency_exponent: f64,
}

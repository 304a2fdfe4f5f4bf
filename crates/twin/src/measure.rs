//! What a simulated window of time showed.

use crate::engine::Tally;
use crate::power::Energy;
use crate::profile::Profile;
use crate::run::Applied;

/// One idle state in a window.
#[derive(Clone, Debug, PartialEq)]
pub struct IdleStateUse {
    /// Name of the state.
    pub name: String,
    /// Part of the serving cores' time spent in it (0 to 1).
    pub residency: f64,
    /// Entries per second, all cores.
    pub entries_per_s: f64,
}

/// The measurement. Latencies are what clients see (vantage: client); `None` when no request
/// completed.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Mean package power.
    pub power_w: f64,
    /// Package energy of the window, by part.
    pub energy: Energy,
    /// Latency at these quantiles (0 to 1).
    pub latency_us: Vec<(f64, Option<f64>)>,
    /// Mean latency.
    pub mean_us: Option<f64>,
    /// Share of the serving cores' time not halted (0 to 1).
    pub utilization: f64,
    /// Interrupts of all vectors.
    pub interrupts_per_s: f64,
    /// Requests answered per second.
    pub qps: f64,
    /// Length of the window.
    pub duration_s: f64,
    /// Requests answered.
    pub completed: u64,
    /// Requests dropped at full queues.
    pub dropped: u64,
    /// Use of every idle state.
    pub idle_states: Vec<IdleStateUse>,
    /// rx-usecs in effect: as rounded by the driver, or the mean of what moderation chose.
    pub rx_usecs: f64,
    /// Mean frequency while busy.
    pub freq_mhz: f64,
    /// Retired instructions (estimated).
    pub instructions: f64,
    /// Packets received per second, bare acknowledgements included.
    pub packets_per_s: f64,
    /// Wake-ups of application threads per second.
    pub thread_wakes_per_s: f64,
}

/// Quantiles reported.
pub const QUANTILES: [f64; 6] = [0.05, 0.5, 0.9, 0.95, 0.99, 0.999];

impl Measurement {
    pub(crate) fn new(profile: &Profile, run: &Applied, tally: &Tally, energy: Energy, busy_mhz_us: f64) -> Self {
        let duration_s = run.duration_us * 1e-6;
        let core_us = run.duration_us * profile.serving_cores() as f64;
        let per_s = |count: u64| count as f64 / duration_s;
        let states = &profile.machine.idle_states;
        let idle_states = states
            .iter()
            .zip(tally.idle_us.iter().zip(tally.idle_entries))
            .map(|(state, (us, entries))| IdleStateUse {
                name: state.name.clone(),
                residency: us / core_us,
                entries_per_s: per_s(entries),
            })
            .collect();
        let idle_periods: u64 = tally.idle_entries.iter().sum();
        let app = &profile.app;
        // Every round trip receives the message once and sends it once.
        let message_kib = 2.0 * tally.completed as f64 * run.message_bytes / 1024.0;
        let interval_us = tally.interval_us / tally.interrupts.max(1) as f64;
        let fastest_mhz = profile.machine.freq_mhz[profile.machine.freq_mhz.len() - 1];
        Self {
            power_w: energy.total_j() / duration_s,
            energy,
            latency_us: QUANTILES.map(|q| (q, tally.latency.quantile_us(q))).to_vec(),
            mean_us: tally.latency.mean_us(),
            utilization: tally.busy_us / core_us,
            interrupts_per_s: per_s(tally.interrupts),
            qps: per_s(tally.completed),
            duration_s,
            completed: tally.completed,
            dropped: tally.dropped,
            idle_states,
            rx_usecs: run.rx_usecs.unwrap_or(interval_us / profile.machine.nic.rx_usecs_tick_factor),
            freq_mhz: match run.freq_step {
                Some(step) => profile.machine.freq_mhz[step],
                None if tally.busy_us > 0.0 => busy_mhz_us / tally.busy_us,
                None => fastest_mhz,
            },
            instructions: 1e3
                * (tally.completed as f64 * app.request_kinstructions
                    + tally.interrupts as f64 * app.interrupt_kinstructions
                    + idle_periods as f64 * app.idle_kinstructions
                    + message_kib * profile.exchange.as_ref().map_or(0.0, |e| e.kinstructions_per_kib)),
            packets_per_s: per_s(tally.packets),
            thread_wakes_per_s: per_s(tally.thread_wakes),
        }
    }

    /// Latency at one of [`QUANTILES`].
    pub fn quantile_us(&self, quantile: f64) -> Option<f64> {
        self.latency_us.iter().find(|(q, _)| *q == quantile).and_then(|&(_, us)| us)
    }
}

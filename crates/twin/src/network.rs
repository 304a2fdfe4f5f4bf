//! The part of every latency that happens outside the server: wire, switch, client.

use crate::profile::Profile;
use crate::rng::Rng;
use crate::run::Applied;

/// Latencies tabulated; a power of two.
const TABLE: usize = 4096;

/// Client-side latencies to draw from, and timing of transmit completions.
#[derive(Clone, Debug)]
pub struct Network {
    table: Box<[f32; TABLE]>,
    /// From sending a response to its completion event.
    pub completion_us: f64,
    /// Responses whose 16 random bits are below this complete twice.
    pub extra_threshold: u64,
    /// The second completion comes so much later.
    pub extra_us: f64,
}

impl Network {
    /// The network of `profile` under the setting of `run`.
    pub fn new(profile: &Profile, run: &Applied) -> Self {
        let (app, nic) = (&profile.app, &profile.machine.nic);
        let rewrite = nic.eager_writeback(run.rx_usecs);
        let base_us = app.network_us + nic.coalescing_us(run.rx_usecs);
        let mut rng = Rng::new(99, 0); // the table is part of the model, not of the run
        let table = std::array::from_fn(|i| {
            let stratified = -(1.0 - (i as f64 + 0.5) / TABLE as f64).ln();
            (base_us + app.network_jitter_us * stratified + app.client_jitter_us * rng.exponential()) as f32
        });
        Self {
            table: Box::new(table),
            completion_us: nic.tx_completion_us,
            extra_threshold: rewrite.threshold,
            extra_us: rewrite.later_us,
        }
    }

    /// One latency from the low 12 random bits.
    #[inline(always)]
    pub fn latency_us(&self, bits: u64) -> f32 {
        self.table[bits as usize % TABLE]
    }
}

//! When packets reach a receive queue.

use std::rc::Rc;

use crate::profile::{App, Arrivals};
use crate::rng::{Rng, exponential_from_bits};

/// Packets drawn at a time: logarithms side by side cost a fraction of what they cost one by one.
const BATCH: usize = 16;

/// Size of the table of generalized-Pareto quantiles.
const TABLE: usize = 4096;

/// Gaps between packets of one receive queue.
///
/// Clients are independent and open loop: they send when their schedule says so, whether or not
/// the server has answered, so the queue of one core sees a thinned copy of the whole process.
#[derive(Clone, Debug)]
pub struct ArrivalProcess {
    mean_gap_us: f64,
    /// Gaps of mean 1 at equally likely quantiles; `None` for exponential gaps.
    pareto_gaps: Option<Rc<[f32]>>,
}

impl ArrivalProcess {
    /// Arrivals `mean_gap_us` apart on average.
    pub fn new(app: &App, mean_gap_us: f64) -> Self {
        let pareto_gaps = (app.arrivals == Arrivals::GeneralizedPareto).then(|| pareto_table(app.arrival_shape).into());
        Self { mean_gap_us, pareto_gaps }
    }

    /// The gap after each packet, from the upper 32 of its 64 random bits.
    #[inline(always)]
    fn gaps_us(&self, bits: &[u64], gaps_us: &mut [f64]) {
        let packets = gaps_us.iter_mut().zip(bits);
        match &self.pareto_gaps {
            None => packets.for_each(|(us, bits)| *us = self.mean_gap_us * exponential_from_bits((bits >> 32) as u32)),
            Some(table) => {
                packets.for_each(|(us, bits)| *us = self.mean_gap_us * f64::from(table[(bits >> 52) as usize % TABLE]))
            }
        }
    }
}

/// The packets of one receive queue that nobody has received yet, one after the other without end.
#[derive(Clone, Debug)]
pub struct Upcoming {
    process: ArrivalProcess,
    rng: Rng,
    /// The first packet, among those that are drawn.
    first: usize,
    arrived_us: [f64; BATCH],
    bits: [u64; BATCH],
    /// When the packet after those arrives.
    later_us: f64,
}

impl Upcoming {
    /// All packets of a receive queue.
    pub fn new(process: ArrivalProcess, mut rng: Rng) -> Self {
        let mut later_us = [0.0];
        process.gaps_us(&[rng.next_u64()], &mut later_us);
        let [later_us] = later_us;
        let mut packets = Self { process, rng, first: 0, arrived_us: [0.0; BATCH], bits: [0; BATCH], later_us };
        packets.draw();
        packets
    }

    /// When the first packet arrives.
    #[inline(always)]
    pub fn arrived_us(&self) -> f64 {
        self.arrived_us[self.first % BATCH]
    }

    /// Random bits of the first packet; the upper 32 are its distance from the next.
    #[inline(always)]
    pub fn bits(&self) -> u64 {
        self.bits[self.first % BATCH]
    }

    /// Goes on to the next packet.
    #[inline(always)]
    pub fn advance(&mut self) {
        self.first += 1;
        if self.first == BATCH {
            self.draw();
        }
    }

    #[inline(never)]
    fn draw(&mut self) {
        self.first = 0;
        self.bits.iter_mut().for_each(|bits| *bits = self.rng.next_u64());
        let mut gaps_us = [0.0; BATCH];
        self.process.gaps_us(&self.bits, &mut gaps_us);
        for (arrived_us, gap_us) in self.arrived_us.iter_mut().zip(gaps_us) {
            *arrived_us = self.later_us;
            self.later_us += gap_us;
        }
    }
}

/// Generalized-Pareto gaps `((1 - u)^-k - 1) (1 - k) / k` of mean 1, one per stratum of `u`.
fn pareto_table(shape: f64) -> Vec<f32> {
    let gap = |u: f64| {
        if shape.abs() < 1e-9 { -(1.0 - u).ln() } else { ((1.0 - u).powf(-shape) - 1.0) * (1.0 - shape) / shape }
    };
    let gaps: Vec<f64> = (0..TABLE).map(|i| gap((i as f64 + 0.5) / TABLE as f64)).collect();
    let mean = gaps.iter().sum::<f64>() / TABLE as f64;
    gaps.iter().map(|g| (g / mean) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    #[test]
    fn every_packet_is_as_far_from_the_next_as_its_bits_say() {
        let text = include_str!("../../../python/bayop/twin/profiles/linux_memcached.toml");
        let mut app = Profile::parse(text, "linux_memcached.toml").unwrap().app;
        for arrivals in [Arrivals::Poisson, Arrivals::GeneralizedPareto] {
            app.arrivals = arrivals;
            let (process, mut rng) = (ArrivalProcess::new(&app, 3.0), Rng::new(5, 0));
            let gap_us = |bits: u64| {
                let mut gap_us = [0.0];
                process.gaps_us(&[bits], &mut gap_us);
                gap_us[0]
            };
            let mut packets = Upcoming::new(process.clone(), rng.clone());
            let mut expected_us = gap_us(rng.next_u64());
            for _ in 0..5 * BATCH {
                let bits = rng.next_u64();
                assert_eq!((packets.arrived_us(), packets.bits()), (expected_us, bits));
                expected_us += gap_us(bits);
                packets.advance();
            }
        }
    }

    #[test]
    fn pareto_gaps_have_mean_one_and_a_heavier_tail() {
        let table = pareto_table(0.15);
        let mean = table.iter().map(|&g| f64::from(g)).sum::<f64>() / TABLE as f64;
        assert!((mean - 1.0).abs() < 1e-4);
        assert!(table[TABLE - 1] > pareto_table(0.0)[TABLE - 1]);
    }
}

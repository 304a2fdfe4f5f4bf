//! How long the coming idle period will be: a distribution, mixed by Bayes' rule from histograms of past periods.
//!
//! Four experts have a histogram each: of the last few periods, of the last few hundred, of those that followed one of
//! similar length, and of those at a similar rate of packets. Weights follow how likely each held what then came, with a
//! fixed share for all (Herbster and Warmuth 1998), so that another can take over at once.

/// Half-octave bins of lengths: 1 us to 65 ms, and more.
pub(super) const BINS: usize = 32;
const EXPERTS: usize = 4;
/// The expert of long memory, to which the others fall back for what they have not seen.
const SLOW: usize = 1;
/// Histograms: one, one, seven by the previous length, seven by the gap between packets.
const CELLS: usize = 16;
const BY_PREVIOUS: usize = 2;
const BY_GAP: usize = 9;
/// Sum of weights, and of a distribution.
const ONE: u32 = 32_700;
/// What one period adds to its bin and to either neighbour's.
const OWN: u16 = 24;
const SIDE: u16 = 4;
/// How much the fall-back counts: as one period.
const BACK_OFF: u32 = 32;
/// Sums at which a histogram forgets a quarter: after about 16, 190 and 94 periods.
const LIMITS: [u16; EXPERTS] = [512, 6_016, 3_008, 3_008];
/// Part of the weight that is shared alike after each period: 2 %.
const SHARE: u32 = ONE / 50;
/// An expert with less experience, in sums, is not judged.
const EXPERIENCED: u16 = 64;
/// Without packets for so long, their rate says nothing.
const SILENT_US: u64 = 50_000;

/// What was learned about one core.
#[derive(Clone, Debug)]
pub(super) struct Mixture {
    counts: [[u16; BINS]; CELLS],
    sums: [u16; CELLS],
    weights: [u16; EXPERTS],
    /// Which histogram each expert consulted, and 2^31 over what it counts.
    cells: [u8; EXPERTS],
    shares: [u32; EXPERTS],
    previous: u8,
    gap_us: u32,
    last_arrival_us: u64,
}

impl Default for Mixture {
    fn default() -> Self {
        Self {
            counts: [[0; BINS]; CELLS],
            sums: [0; CELLS],
            weights: [(ONE / EXPERTS as u32) as u16; EXPERTS],
            cells: [0; EXPERTS],
            shares: [0; EXPERTS],
            previous: 3,
            gap_us: 1 << 14,
            last_arrival_us: 0,
        }
    }
}

/// The bin of a length.
#[inline]
pub(super) fn bin_of(length_us: u32) -> usize {
    if length_us < 2 {
        return 0;
    }
    let octave = 31 - length_us.leading_zeros();
    let upper = length_us >> (octave - 1) & 1;
    ((2 * octave + upper) as usize).min(BINS - 1)
}

/// The least length of a bin; beyond the last, twice its own.
pub(super) fn edge_us(bin: usize) -> u32 {
    match bin {
        0 => 0,
        1 => 1,
        BINS => 2 * edge_us(BINS - 1),
        _ => {
            let octave = bin as u32 / 2;
            (1 << octave) + ((bin as u32 & 1) << (octave - 1))
        }
    }
}

/// A class, whose greatest is four times its least: 0 to 6.
#[inline]
fn class(us: u32) -> u8 {
    ((31 - (us | 1).leading_zeros()) / 2).min(6) as u8
}

impl Mixture {
    /// Polls found packets.
    #[inline]
    pub(super) fn arrivals(&mut self, at_us: u64, count: u32) {
        let since_us = at_us.saturating_sub(self.last_arrival_us).min(1 << 20) as u32;
        if let Some(gap_us) = since_us.checked_div(count) {
            self.gap_us = self.gap_us - (self.gap_us >> 2) + (gap_us >> 2);
            self.last_arrival_us = at_us;
        }
    }

    /// The distribution of the length of the period that begins now; its sum is at most [`ONE`].
    #[inline]
    pub(super) fn predict(&mut self, now_us: u64) -> [i16; BINS] {
        let silent = now_us.saturating_sub(self.last_arrival_us) > SILENT_US;
        let rate = if silent { 6 } else { class(self.gap_us).min(5) };
        self.cells = [0, 1, BY_PREVIOUS as u8 + self.previous, BY_GAP as u8 + rate];
        let mut probability = [0; BINS];
        let mut slow_weight = u32::from(self.weights[SLOW]);
        for i in 0..EXPERTS {
            let cell = usize::from(self.cells[i]);
            self.shares[i] = (1 << 31) / (u32::from(self.sums[cell]) + BACK_OFF);
            if i != SLOW {
                let weight = u32::from(self.weights[i]);
                add_scaled(&mut probability, &self.counts[cell], scale(weight, self.shares[i]));
                slow_weight += scale(weight * BACK_OFF, self.shares[i]) >> 16;
            }
        }
        add_scaled(&mut probability, &self.counts[SLOW], scale(slow_weight, self.shares[SLOW]));
        let nowhere = (scale(slow_weight * BACK_OFF, self.shares[SLOW]) >> 16) / BINS as u32;
        probability.map(|p| (p + nowhere as u16) as i16)
    }

    /// The period since the last prediction was so long.
    #[inline]
    pub(super) fn learn(&mut self, length_us: u32) {
        let bin = bin_of(length_us);
        let (below, above) = (bin.saturating_sub(1), (bin + 1).min(BINS - 1));
        let mut likely = [0_u32; EXPERTS];
        for i in 0..EXPERTS {
            let cell = usize::from(self.cells[i]);
            let counts = &mut self.counts[cell];
            let near = u32::from(counts[bin]) + (u32::from(counts[below]) + u32::from(counts[above])) / 2 + 2;
            let judged = self.sums[cell] >= EXPERIENCED;
            let weight = u32::from(self.weights[i]);
            let likelihood = ((u64::from(near) * u64::from(self.shares[i])) >> 16).min(1 << 15) as u32;
            likely[i] = 1 + if judged { (weight * likelihood) >> 15 } else { weight / 4 };
            counts[bin] += OWN;
            counts[below] += SIDE;
            counts[above] += SIDE;
            self.sums[cell] += OWN + 2 * SIDE;
            if self.sums[cell] > LIMITS[i] {
                counts.iter_mut().for_each(|count| *count -= *count >> 2);
                self.sums[cell] = counts.iter().sum();
            }
        }
        let share = (1 << 31) / likely.iter().sum::<u32>();
        for (weight, likely) in self.weights.iter_mut().zip(likely) {
            let own = (u64::from(likely) * u64::from(share) * u64::from(ONE - SHARE)) >> 31;
            *weight = own as u16 + (SHARE / EXPERTS as u32) as u16;
        }
        self.previous = class(length_us);
    }
}

/// What a count of 1 stands for, times 2^16, for a weight and 2^31 over the sum of counts.
#[inline]
fn scale(weight: u32, share: u32) -> u32 {
    ((u64::from(weight) * u64::from(share)) >> 15) as u32
}

/// Adds counts times `scale / 2^16`, in 16 bits as far as possible: eight bins at once on any x86-64.
#[inline]
fn add_scaled(sums: &mut [u16; BINS], counts: &[u16; BINS], scale: u32) {
    let excess = 16_u32.saturating_sub(scale.leading_zeros());
    let (scale, shift) = ((scale >> excess) as u16, 16 - excess);
    for (sum, &count) in sums.iter_mut().zip(counts) {
        *sum += ((u32::from(count) * u32::from(scale)) >> shift) as u16;
    }
}

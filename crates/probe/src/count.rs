//! Stays of CPUs in idle states, counted by their length, and how well experts have forecast them.

use std::array;

/// States that are told apart, as in `count.bpf.c`.
pub const STATES: usize = 10;
/// Lengths that are told apart.
pub const BINS: usize = 32;
/// Who forecasts, as in `experts.h`: the experts, and both together by their weights.
pub const EXPERTS: [&str; 3] = ["residency", "network", "together"];
/// Bytes of `struct own` of `count.bpf.c`.
pub const BYTES: usize = FIRST + 8 * STATES * BINS;

const TOGETHER: usize = EXPERTS.len() - 1;
const SCORES: usize = 40;
const WEIGHTS: usize = SCORES + EXPERTS.len() * 24;
const FIRST: usize = 160;
/// What all weights are together there.
const ONE: u64 = 1 << 16;
/// What one us is there.
const US: f64 = 1.024;

/// The shortest length of each bin, in us: two bins an octave, but one below 2 us.
pub fn bounds_us() -> [f64; BINS] {
    array::from_fn(|bin| {
        let octave = f64::from(1_u32 << (bin / 2));
        match bin {
            0 => 0.0,
            1 => octave * US, // the second half of one us, into which nothing falls
            _ if bin % 2 == 0 => octave * US,
            _ => 1.5 * octave * US,
        }
    })
}

/// So many stays of a CPU in a state, with lengths of a bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The CPU's number.
    pub cpu: usize,
    /// As the kernel numbers them.
    pub state: usize,
    /// Of [`bounds_us`].
    pub bin: usize,
    /// How many; of many only some are timed, and stand for the others.
    pub stays: u64,
}

impl Row {
    /// As a window prints it.
    pub fn numbers(&self) -> [u64; 4] {
        [self.cpu as u64, self.state as u64, self.bin as u64, self.stays]
    }
}

/// How well an expert has forecast the stays of a CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Score {
    /// Forecasts that were scored. As of stays, only some are made, and stand for the others.
    pub forecasts: u64,
    /// Those for which the same state is the deepest that pays as for the stay.
    pub hits: u64,
    /// By how much they were wrong, 999 us at most each.
    pub loss_us: u64,
    /// What the expert counts for now, in thousandths.
    pub weight: u64,
}

/// All stays since the programs were attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    of_cpu: Vec<[u64; STATES * BINS]>,
    scores: Vec<[Score; EXPERTS.len()]>,
}

impl Counts {
    /// From `struct own` of each CPU.
    ///
    /// # Panics
    /// They are not as long as the structure.
    pub fn of(cpus: &[Vec<u8>]) -> Self {
        for own in cpus {
            assert_eq!(own.len(), BYTES, "struct own of count.bpf.c");
        }
        let stays = |own: &Vec<u8>| array::from_fn(|index| word(own, FIRST + 8 * index));
        let scores = |own: &Vec<u8>| array::from_fn(|expert| Score::of(own, expert));
        Self { of_cpu: cpus.iter().map(stays).collect(), scores: cpus.iter().map(scores).collect() }
    }

    /// CPU, number in [`EXPERTS`], forecasts, hits, loss and weight of each [`Score`] that has grown since an earlier look.
    pub fn scored_since(&self, earlier: &Self) -> Vec<[u64; 6]> {
        let mut rows = Vec::new();
        for (cpu, (now, then)) in self.scores.iter().zip(&earlier.scores).enumerate() {
            for (expert, (now, then)) in now.iter().zip(then).enumerate() {
                let forecasts = now.forecasts - then.forecasts;
                if forecasts > 0 {
                    let (hits, loss_us) = (now.hits - then.hits, now.loss_us - then.loss_us);
                    rows.push([cpu as u64, expert as u64, forecasts, hits, loss_us, now.weight]);
                }
            }
        }
        rows
    }

    /// What has come since an earlier look.
    pub fn since(&self, earlier: &Self) -> Vec<Row> {
        let mut rows = Vec::new();
        for (cpu, (now, then)) in self.of_cpu.iter().zip(&earlier.of_cpu).enumerate() {
            for (index, stays) in now.iter().zip(then).map(|(now, then)| now - then).enumerate() {
                if stays > 0 {
                    rows.push(Row { cpu, state: index / BINS, bin: index % BINS, stays });
                }
            }
        }
        rows
    }
}

impl Score {
    fn of(own: &[u8], expert: usize) -> Self {
        let score = SCORES + 24 * expert;
        let weight = match expert {
            TOGETHER => ONE,
            _ => u32::from_ne_bytes(own[WEIGHTS + 4 * expert..][..4].try_into().expect("four bytes")).into(),
        };
        Self {
            forecasts: word(own, score),
            hits: word(own, score + 8),
            loss_us: word(own, score + 16),
            weight: weight * 1_000 / ONE,
        }
    }
}

fn word(own: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(own[at..][..8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(counts: &[(usize, u64)]) -> Vec<u8> {
        let mut bytes = vec![0; BYTES];
        for (index, count) in counts {
            bytes[FIRST + 8 * index..][..8].copy_from_slice(&count.to_ne_bytes());
        }
        bytes
    }

    #[test]
    fn what_has_come_since_is_told() {
        let then = Counts::of(&[own(&[(3, 7)]), own(&[])]);
        let now = Counts::of(&[own(&[(3, 7), (BINS, 1)]), own(&[(2 * BINS + 31, 5)])]);
        let row = |cpu, state, bin, stays| Row { cpu, state, bin, stays };
        assert_eq!(now.since(&then), [row(0, 1, 0, 1), row(1, 2, 31, 5)]);
    }

    #[test]
    fn scores_that_have_grown_are_told() {
        let mut own = own(&[]);
        let then = Counts::of(&[vec![0; BYTES], own.clone()]);
        for (at, number) in [(SCORES + 24, 9_u64), (SCORES + 32, 4), (SCORES + 40, 700)] {
            own[at..][..8].copy_from_slice(&number.to_ne_bytes());
        }
        own[WEIGHTS + 4..][..4].copy_from_slice(&16_384_u32.to_ne_bytes());
        assert_eq!(Counts::of(&[vec![0; BYTES], own]).scored_since(&then), [[1, 1, 9, 4, 700, 250]]);
    }

    #[test]
    fn bins_are_half_octaves() {
        let bounds_us = bounds_us();
        assert_eq!(&bounds_us[..6], [0.0, 1.0, 2.0, 3.0, 4.0, 6.0].map(|us| us * US));
        assert_eq!(bounds_us[31], 49_152.0 * US);
        assert!(bounds_us.windows(2).all(|pair| pair[0] < pair[1]));
    }
}

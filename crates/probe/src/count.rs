//! Stays of CPUs in idle states, counted by their length.

use std::array;

/// States that are told apart, as in `count.bpf.c`.
pub const STATES: usize = 10;
/// Lengths that are told apart.
pub const BINS: usize = 32;
/// Bytes of `struct own` of `count.bpf.c`.
pub const BYTES: usize = FIRST + 8 * STATES * BINS;

const FIRST: usize = 32;
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

/// All stays since the programs were attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    of_cpu: Vec<[u64; STATES * BINS]>,
}

impl Counts {
    /// From `struct own` of each CPU.
    ///
    /// # Panics
    /// They are not as long as the structure.
    pub fn of(cpus: &[Vec<u8>]) -> Self {
        let count = |own: &Vec<u8>, index: usize| {
            assert_eq!(own.len(), BYTES, "struct own of count.bpf.c");
            u64::from_ne_bytes(own[FIRST + 8 * index..][..8].try_into().expect("eight bytes"))
        };
        Self { of_cpu: cpus.iter().map(|own| array::from_fn(|index| count(own, index))).collect() }
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
    fn bins_are_half_octaves() {
        let bounds_us = bounds_us();
        assert_eq!(&bounds_us[..6], [0.0, 1.0, 2.0, 3.0, 4.0, 6.0].map(|us| us * US));
        assert_eq!(bounds_us[31], 49_152.0 * US);
        assert!(bounds_us.windows(2).all(|pair| pair[0] < pair[1]));
    }
}

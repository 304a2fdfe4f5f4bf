//! What the eBPF programs count.

use crate::histogram::BUCKETS;

/// Counters since the programs were attached: `struct counters` of `probe.bpf.c`, summed over the CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counters {
    /// Answered requests by latency; [`crate::histogram`] says which.
    pub buckets: Vec<u64>,
    /// Sum of their latencies, in ns.
    pub sum_ns: u64,
    /// Packets that arrived at the server's sockets.
    pub packets: u64,
    /// Requests not counted, because too many of their connection were waiting already.
    pub crowded: u64,
    /// Requests not counted, because nothing says when they were sent.
    pub undated: u64,
}

impl Counters {
    /// From the bytes of every CPU's `struct counters`.
    ///
    /// # Panics
    /// The bytes are not as long as the structure.
    pub fn of_cpus<'a>(cpus: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut sums = vec![0u64; BUCKETS + 4];
        for cpu in cpus {
            assert_eq!(cpu.len(), sums.len() * 8, "struct counters of probe.bpf.c");
            for (sum, bytes) in sums.iter_mut().zip(cpu.chunks_exact(8)) {
                *sum += u64::from_ne_bytes(bytes.try_into().expect("eight bytes"));
            }
        }
        let others = sums.split_off(BUCKETS);
        Self { buckets: sums, sum_ns: others[0], packets: others[1], crowded: others[2], undated: others[3] }
    }

    /// What was counted since an earlier look.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            buckets: self.buckets.iter().zip(&earlier.buckets).map(|(now, then)| now - then).collect(),
            sum_ns: self.sum_ns - earlier.sum_ns,
            packets: self.packets - earlier.packets,
            crowded: self.crowded - earlier.crowded,
            undated: self.undated - earlier.undated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(first_bucket: u64, others: [u64; 4]) -> Vec<u8> {
        let mut words = vec![0u64; BUCKETS + 4];
        words[0] = first_bucket;
        words[BUCKETS..].copy_from_slice(&others);
        words.into_iter().flat_map(u64::to_ne_bytes).collect()
    }

    #[test]
    fn cpus_are_summed_and_an_earlier_look_is_subtracted() {
        let then = Counters::of_cpus([cpu(1, [10, 2, 0, 0]).as_slice(), &cpu(2, [20, 3, 1, 0])]);
        let now = Counters::of_cpus([cpu(4, [40, 7, 0, 5]).as_slice(), &cpu(2, [20, 3, 1, 0])]);
        let window = now.since(&then);
        assert_eq!((then.buckets[0], then.sum_ns, then.packets, then.crowded, then.undated), (3, 30, 5, 1, 0));
        assert_eq!(
            (window.buckets[0], window.sum_ns, window.packets, window.crowded, window.undated),
            (3, 30, 5, 0, 5)
        );
    }
}

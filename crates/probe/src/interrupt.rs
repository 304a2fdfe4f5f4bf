//! Records of interrupts as the eBPF programs write them: where each number stands, for whoever reads them.

use serde::Serialize;

/// Bytes of `struct record` of `interrupts.bpf.c` before its amounts, of eight bytes each.
const BYTES: usize = 72;
/// Idle states that a record has room for (linux/cpuidle.h, `CPUIDLE_STATE_MAX`).
pub const MOST_STATES: usize = 10;

/// Counters that a record has room for.
pub const MOST_COUNTERS: usize = 4;

/// One number of a record, unsigned and little-endian.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Field {
    /// What it is, with its unit.
    pub name: String,
    /// Where it begins, in bytes.
    pub offset: usize,
    /// How long it is, in bytes.
    pub bytes: usize,
}

/// What this machine can tell beside packets and times.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// The device has interrupts; without, a record is a poll.
    pub interrupts: bool,
    /// Names of the CPUs' idle states by their number.
    pub idle_states: Vec<(usize, String)>,
    /// The kernel announces frequencies.
    pub frequency: bool,
    /// Names of what the CPUs count, in their order.
    pub counters: Vec<&'static str>,
}

impl Sources {
    /// How many idle states a record has room for: up to the last one that has a name.
    pub fn states(&self) -> usize {
        self.idle_states.iter().map(|(state, _)| state + 1).filter(|count| *count <= MOST_STATES).max().unwrap_or(0)
    }

    /// Bytes of a record.
    pub fn bytes(&self) -> usize {
        place(self.counters.len() + self.states())
    }

    /// The numbers of a record. What the machine has no source of is not among them.
    pub fn fields(&self) -> Vec<Field> {
        let long = |name: &str, offset| Field { name: name.to_owned(), offset, bytes: 8 };
        let short = |name: &str, offset| Field { name: name.to_owned(), offset, bytes: 4 };
        let idle =
            |(state, name): &(usize, String)| long(&format!("idle_ns_{name}"), place(self.counters.len() + state));
        let mut fields = vec![long("time_ns", 0), short("cpu", 52), short("napi_id", 48)];
        fields.extend(self.interrupts.then(|| short("irq", 60)));
        fields.extend(self.frequency.then(|| short("freq_khz", 56)));
        fields.extend([
            short("rx_packets", 32),
            long("rx_bytes", 8),
            short("tx_packets", 36),
            long("tx_bytes", 16),
            short("polls", 40),
            short("budget", 44),
            long("soft_irq_ns", 24),
        ]);
        fields.extend(self.interrupts.then(|| short("hard_irq_ns", 64)));
        let counted = |(at, name): (usize, &&str)| long(name, place(at));
        fields.extend(self.counters.iter().enumerate().map(counted));
        fields.extend(self.idle_states.iter().filter(|(state, _)| *state < MOST_STATES).map(idle));
        fields
    }
}

/// Where an amount stands.
fn place(amount: usize) -> usize {
    BYTES + 8 * amount
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(sources: &Sources) -> Vec<String> {
        sources.fields().into_iter().map(|field| field.name).collect()
    }

    #[test]
    fn no_two_numbers_overlap_and_all_lie_in_the_record() {
        let idle_states = (0..MOST_STATES + 1).map(|state| (state, format!("C{state}"))).collect();
        let counters = vec!["cycles"; MOST_COUNTERS];
        let sources = Sources { interrupts: true, idle_states, frequency: true, counters };
        let mut fields = sources.fields();
        fields.sort_by_key(|field| field.offset);
        for pair in fields.windows(2) {
            // Four bytes before the amounts are unused.
            let unused = if pair[1].offset == BYTES { 4 } else { 0 };
            assert_eq!(pair[0].offset + pair[0].bytes + unused, pair[1].offset, "{pair:?}");
        }
        assert_eq!(fields.last().map(|field| field.offset + field.bytes), Some(sources.bytes()));
    }

    #[test]
    fn what_a_machine_has_no_source_of_is_absent() {
        let bare = names(&Sources::default());
        assert!(["irq", "hard_irq_ns", "freq_khz"].iter().all(|name| !bare.iter().any(|other| other == name)));
        assert!(!bare.iter().any(|name| name.starts_with("idle_ns")));
        let halts = Sources { idle_states: vec![(1, "halt".to_owned())], ..Sources::default() };
        assert_eq!(
            halts.fields().last(),
            Some(&Field { name: "idle_ns_halt".to_owned(), offset: BYTES + 8, bytes: 8 })
        );
        assert_eq!((Sources::default().bytes(), halts.bytes()), (BYTES, BYTES + 16));
    }
}

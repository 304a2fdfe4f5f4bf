//! The table by which a NIC spreads what it receives over its queues (Documentation/networking/scaling.rst, "RSS"): the
//! hash of a packet chooses an entry, and the entry a queue.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use bayop_core::{Error, Result};

/// The most entries that a text may ask for, far more than any driver has.
const MOST_ENTRIES: usize = 1 << 20;

/// The queue of each entry; there is at least one.
///
/// As text, how many entries there are and the first of them, from where on they repeat: `128: 0 1 2`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Indirection(Vec<u32>);

impl Indirection {
    /// The table with these entries.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn new(queues: Vec<u32>) -> Result<Self> {
        if queues.is_empty() {
            return Err(Error::unsupported("the indirection table has no entries"));
        }
        Ok(Self(queues))
    }

    /// A table of as many entries that spreads equally over the queues before `count`, as `ethtool -X DEVICE equal`
    /// does.
    pub(crate) fn equally(&self, count: u32) -> Self {
        Self((0..count.max(1)).cycle().take(self.0.len()).collect())
    }

    /// The queue of each entry.
    pub(crate) fn queues(&self) -> &[u32] {
        &self.0
    }

    /// How many queues are in use.
    pub(crate) fn in_use(&self) -> usize {
        self.0.iter().collect::<BTreeSet<_>>().len()
    }

    /// The first entries, of which the others are repetitions.
    fn pattern(&self) -> &[u32] {
        let repeats = |length: &usize| self.0.iter().zip(&self.0[*length..]).all(|(one, next)| one == next);
        let length = (1..self.0.len()).find(repeats).unwrap_or(self.0.len());
        &self.0[..length]
    }

    /// The arguments with which ethtool makes the table; none when it has no way to.
    pub(crate) fn ethtool(&self) -> Option<String> {
        let pattern = self.pattern();
        let first = pattern[0];
        if pattern.iter().zip(first..).all(|(&queue, next)| queue == next) {
            let start = if first == 0 { String::new() } else { format!("start {first} ") };
            return Some(format!("{start}equal {}", pattern.len()));
        }
        // Weights that add up to the entries give each queue that many of them, one queue after another.
        let last = *self.0.last()?;
        if !self.0.is_sorted() || last as usize >= self.0.len() {
            return None;
        }
        let weight = |queue| self.0.iter().filter(|&&other| other == queue).count();
        Some((0..=last).fold("weight".to_owned(), |text, queue| format!("{text} {}", weight(queue))))
    }
}

impl fmt::Display for Indirection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.0.len())?;
        self.pattern().iter().try_for_each(|queue| write!(f, " {queue}"))
    }
}

impl FromStr for Indirection {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let rule = "an indirection table must be its number of entries and the queues of the first, such as 128: 0 1";
        let parse = || {
            let (size, pattern) = text.split_once(':')?;
            let size: usize = size.parse().ok()?;
            let queues = pattern.split_ascii_whitespace().map(|queue| queue.parse().ok());
            let pattern = queues.collect::<Option<Vec<u32>>>()?;
            let fits = (1..=size.min(MOST_ENTRIES)).contains(&pattern.len()) && size <= MOST_ENTRIES;
            fits.then(|| Self(pattern.into_iter().cycle().take(size).collect()))
        };
        parse().ok_or_else(|| Error::cannot_use(text, rule))
    }
}

impl TryFrom<String> for Indirection {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Indirection> for String {
    fn from(table: Indirection) -> Self {
        table.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(queues: &[u32]) -> Indirection {
        Indirection::new(queues.to_vec()).unwrap()
    }

    #[test]
    fn a_table_is_spread_equally_over_the_first_queues() {
        let found = table(&[3, 1, 3, 1, 0, 0, 0]);
        for (count, queues) in [
            (1, [0, 0, 0, 0, 0, 0, 0]),
            (2, [0, 1, 0, 1, 0, 1, 0]),
            (3, [0, 1, 2, 0, 1, 2, 0]),
            (7, [0, 1, 2, 3, 4, 5, 6]),
        ] {
            let equal = found.equally(count);
            assert_eq!((equal.queues(), equal.in_use()), (&queues[..], count as usize));
        }
        assert_eq!(found.in_use(), 3);
    }

    #[test]
    fn a_table_is_written_as_ethtool_makes_it() {
        for (queues, text, arguments) in [
            (&[0, 1, 0, 1][..], "4: 0 1", Some("equal 2")),
            (&[0, 0, 0, 0], "4: 0", Some("equal 1")),
            (&[0, 1, 2, 0], "4: 0 1 2", Some("equal 3")),
            (&[2, 3, 2, 3], "4: 2 3", Some("start 2 equal 2")),
            (&[0, 0, 0, 1], "4: 0 0 0 1", Some("weight 3 1")),
            (&[1, 1, 1, 3], "4: 1 1 1 3", Some("weight 0 3 0 1")),
            (&[1, 0, 1, 0], "4: 1 0", None),
            (&[0, 7, 7, 9], "4: 0 7 7 9", None),
            (&[5], "1: 5", Some("start 5 equal 1")),
        ] {
            let table = table(queues);
            assert_eq!((&*table.to_string(), table.ethtool().as_deref()), (text, arguments));
            assert_eq!(text.parse(), Ok(table));
        }
    }

    #[test]
    fn what_is_no_table_is_refused() {
        for text in ["", "4", "4:", ": 0", "0: 0", "2: 0 1 2", "4: 0,1", "4: -1", "4: 4294967296", "9999999999: 0"] {
            assert!(text.parse::<Indirection>().is_err(), "{text}");
        }
        assert!(Indirection::new(Vec::new()).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn a_table_is_read_back_entry_by_entry(
            pattern in prop::collection::vec(0_u32..4, 1..6), size in 1_usize..40, last in any::<Option<u32>>()
        ) {
            let mut queues: Vec<u32> = pattern.into_iter().cycle().take(size).collect();
            if let Some(last) = last {
                queues[size - 1] = last;
            }
            let table = table(&queues);
            let text = table.to_string();
            let again: Indirection = text.parse().unwrap();
            prop_assert_eq!(again.queues(), &queues[..]);
            // Two tables are the same if their texts are: what is written is compared with what is read.
            prop_assert_eq!(again.to_string(), text);
        }

        #[test]
        fn whatever_is_a_table_has_its_entries_and_reads_again(text in ".*", size in any::<u64>()) {
            let _ = text.parse::<Indirection>();
            if let Ok(table) = format!("{size}: {text}").parse::<Indirection>() {
                prop_assert_eq!(table.queues().len() as u64, size);
                prop_assert_eq!(table.to_string().parse(), Ok(table));
            }
        }
    }
}

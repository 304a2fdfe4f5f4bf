//! The records that a workload is about: each has a key and a value that follow from its number and the seed.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::plan::Plan;
use bayop_core::Error;

/// Longest key that memcached stores.
const MOST_KEY_BYTES: usize = 250;
/// Longest value: what memcached stores with its default item size of 1 MiB, header and key included.
const MOST_VALUE_BYTES: usize = 1_000_000;
/// Values begin at one of this many places of the content, so that neighbours differ.
const CONTENTS: usize = 256;

/// Keys and values by the number of the record.
///
/// Sizes are drawn once for each record, so that a key always names the same bytes and the size of the data set does
/// not drift while a workload updates it. Memory: 8 bytes a record.
pub struct Records {
    sizes: Vec<Size>,
    content: Vec<u8>,
}

struct Size {
    key: u8,
    value: u32,
}

impl Records {
    /// The records of a plan.
    ///
    /// # Errors
    /// No memory for them.
    pub fn new(plan: &Plan) -> Result<Self, Error> {
        let workload = &plan.workload;
        let mut rng = SmallRng::seed_from_u64(plan.stream("records", 0));
        let least_key_bytes = (workload.records - 1).max(1).ilog10() as usize + 1;
        let mut sizes = Vec::new();
        let count = workload.records as usize;
        sizes.try_reserve_exact(count).map_err(|_| {
            Error::unsupported(format!("{count} records do not fit into memory")).value(count).at("records")
        })?;
        for _ in 0..count {
            let key =
                (workload.key_size.sample(&mut rng).round() as usize).clamp(least_key_bytes, MOST_KEY_BYTES) as u8;
            let value = (workload.value_size.sample(&mut rng).round() as usize).min(MOST_VALUE_BYTES) as u32;
            sizes.push(Size { key, value });
        }
        let longest = sizes.iter().map(|size| size.value).max().unwrap_or(0) as usize;
        let content = (0..longest + CONTENTS).map(|_| rng.random_range(b'!'..=b'~')).collect();
        Ok(Self { sizes, content })
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.sizes.len() as u64
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// Bytes of the values of all records.
    pub fn value_bytes(&self) -> u64 {
        self.sizes.iter().map(|size| u64::from(size.value)).sum()
    }

    /// The key: the number in decimal with leading zeros.
    #[inline]
    pub fn key<'a>(&self, record: u64, buffer: &'a mut [u8; MOST_KEY_BYTES]) -> &'a [u8] {
        let key = &mut buffer[..usize::from(self.sizes[record as usize].key)];
        let mut rest = record;
        for byte in key.iter_mut().rev() {
            *byte = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        key
    }

    /// A place for a key.
    pub fn key_buffer() -> [u8; MOST_KEY_BYTES] {
        [0; MOST_KEY_BYTES]
    }

    /// The value.
    #[inline]
    pub fn value(&self, record: u64) -> &[u8] {
        let start = record as usize % CONTENTS;
        &self.content[start..start + self.sizes[record as usize].value as usize]
    }
}

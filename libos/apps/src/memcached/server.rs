//! The state of a memcached.

use super::stats::Stats;
use super::store::Store;

/// What is reserved at most for what was announced and has not come.
pub(super) const RESERVED_BYTES: usize = 16 << 10;
/// The version that it says it is.
pub(super) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "-bayop-libos");

/// A memcached.
#[derive(Debug)]
pub struct Memcached {
    pub(super) store: Store,
    pub(super) limit: usize,
    /// The second of 1970's count at which the service's time is zero.
    pub(super) start_s: u32,
    pub(super) stats: Stats,
    pub(super) connections: usize,
    pub(super) max_connections: usize,
    /// The cores that serve.
    pub(super) cores: usize,
    pub(super) takes_datagrams: bool,
}

impl Memcached {
    /// An empty one, for connections.
    ///
    /// # Arguments
    ///
    /// * `limit` - the bytes that items take at most, at least 2 MiB.
    /// * `start_s` - the calendar when the service's clock is zero, in seconds since 1970.
    /// * `seed` - what nobody else knows.
    /// * `cores` - how many serve.
    /// * `max_connections` - how many there are at most; those beyond are told so, and closed.
    pub fn new(limit: usize, start_s: u32, seed: u64, cores: usize, max_connections: usize) -> Memcached {
        let store = Store::new(limit, seed);
        let stats = Stats::default();
        Memcached { store, limit, start_s, stats, connections: 0, max_connections, cores, takes_datagrams: false }
    }

    /// Answers datagrams too, whoever they say they are from.
    #[must_use]
    pub fn with_datagrams(self) -> Memcached {
        Memcached { takes_datagrams: true, ..self }
    }

    #[inline]
    pub(super) fn now_s(&self, now_us: u64) -> u32 {
        self.start_s + (now_us / 1_000_000) as u32
    }
}

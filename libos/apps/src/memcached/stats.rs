//! What was asked and answered since the start, by memcached's names.

/// Counts of commands and connections.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub(super) struct Stats {
    pub total_connections: u64,
    pub rejected_connections: u64,
    pub cmd_get: u64,
    pub cmd_set: u64,
    pub cmd_flush: u64,
    pub cmd_touch: u64,
    pub get_hits: u64,
    pub get_misses: u64,
    pub delete_hits: u64,
    pub delete_misses: u64,
    pub incr_hits: u64,
    pub incr_misses: u64,
    pub decr_hits: u64,
    pub decr_misses: u64,
    pub cas_hits: u64,
    pub cas_misses: u64,
    pub cas_badval: u64,
    pub touch_hits: u64,
    pub touch_misses: u64,
    pub store_too_large: u64,
}

impl Stats {
    /// Each with its name, as `stats` says them.
    pub fn named(&self) -> [(&'static str, u64); 20] {
        [
            ("total_connections", self.total_connections),
            ("rejected_connections", self.rejected_connections),
            ("cmd_get", self.cmd_get),
            ("cmd_set", self.cmd_set),
            ("cmd_flush", self.cmd_flush),
            ("cmd_touch", self.cmd_touch),
            ("get_hits", self.get_hits),
            ("get_misses", self.get_misses),
            ("delete_hits", self.delete_hits),
            ("delete_misses", self.delete_misses),
            ("incr_hits", self.incr_hits),
            ("incr_misses", self.incr_misses),
            ("decr_hits", self.decr_hits),
            ("decr_misses", self.decr_misses),
            ("cas_hits", self.cas_hits),
            ("cas_misses", self.cas_misses),
            ("cas_badval", self.cas_badval),
            ("touch_hits", self.touch_hits),
            ("touch_misses", self.touch_misses),
            ("store_too_large", self.store_too_large),
        ]
    }
}

//! What leaves by a NIC, counted.

use alloc::sync::Arc;

use libos_net::device::{PartialChecksum, Transmit};

use crate::Counters;

/// The sending half of a NIC, and who counts what it takes.
pub(crate) struct Metered<T> {
    pub transmit: T,
    pub counters: Arc<Counters>,
}

impl<T: Transmit> Transmit for Metered<T> {
    #[inline]
    fn completes_checksums(&self) -> bool {
        self.transmit.completes_checksums()
    }

    #[inline]
    fn max_cut_len(&self) -> usize {
        self.transmit.max_cut_len()
    }

    #[inline]
    fn send(&mut self, len: usize, checksum: Option<PartialChecksum>, write: impl FnOnce(&mut [u8])) -> bool {
        let is_sent = self.transmit.send(len, checksum, write);
        if is_sent {
            self.counters.add_sent(len);
        }
        is_sent
    }

    #[inline]
    fn flush(&mut self) {
        self.transmit.flush();
    }
}

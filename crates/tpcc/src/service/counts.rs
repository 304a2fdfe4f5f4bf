//! What has been done, over all workers.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::Kind;

/// How many transactions there were.
#[derive(Debug, Default)]
pub struct Counts {
    /// Of each kind, in the order of [`Kind::ALL`].
    kinds: [AtomicU64; 5],
    rolled_back: AtomicU64,
    conflicts: AtomicU64,
}

impl Counts {
    /// A transaction is done.
    pub(crate) fn done(&self, kind: Kind, is_rolled_back: bool) {
        self.kinds[kind as usize].fetch_add(1, Ordering::Relaxed);
        self.rolled_back.fetch_add(is_rolled_back.into(), Ordering::Relaxed);
    }

    /// A transaction is to be run again.
    pub(crate) fn conflict(&self) {
        self.conflicts.fetch_add(1, Ordering::Relaxed);
    }

    /// How many of each kind are done; how many of them were rolled back, since an item did not exist; and how often
    /// one was aborted by a conflict and run again.
    pub fn rows(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let kinds = Kind::ALL.into_iter().map(name).zip(&self.kinds);
        let aborts = [("rolled_back", &self.rolled_back), ("conflicts", &self.conflicts)];
        kinds.chain(aborts).map(|(name, count)| (name, count.load(Ordering::Relaxed)))
    }
}

/// What a kind is called in answers and counts.
pub(crate) fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::NewOrder => "new_order",
        Kind::Payment => "payment",
        Kind::OrderStatus => "order_status",
        Kind::Delivery => "delivery",
        Kind::StockLevel => "stock_level",
    }
}

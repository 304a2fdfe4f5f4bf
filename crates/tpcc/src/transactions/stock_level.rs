//! Stock-Level (clause 2.8): how many of the items that were ordered of late are about to run out.

use alloc::vec::Vec;

use crate::database::{Database, Scale, pairs};
use crate::store::{Conflict, Transaction, Worker};
use crate::terminal::Terminal;

/// How many orders back it looks (clause 2.8.2.2).
const ORDERS: u32 = 20;

/// Of which district.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StockLevel {
    /// The warehouse.
    pub warehouse: u32,
    /// The district.
    pub district: u32,
    /// An item of which there are fewer is about to run out.
    pub threshold: u32,
}

impl StockLevel {
    /// A request of clause 2.8.1.
    pub fn draw(terminal: &mut Terminal) -> Self {
        Self {
            warehouse: terminal.warehouse,
            district: terminal.district(),
            threshold: terminal.random.uniform(10..=20),
        }
    }

    /// Counts the items (clause 2.8.2).
    ///
    /// # Errors
    /// [`Conflict`] if it must be run again.
    pub fn run<'db>(&self, worker: &mut Worker<'db>, database: &'db Database, now_us: u64) -> Result<u32, Conflict> {
        let mut transaction = Transaction::begin(worker, now_us);
        let at = Scale::district(self.warehouse, self.district);
        let next = transaction.read(&database.districts, at)?.next_order;
        let lines = transaction.scan(&database.order_lines, at, pairs(next - ORDERS..=next - 1))?;
        let mut items: Vec<u32> = lines.into_iter().map(|(_, line)| line.item).collect();
        items.sort_unstable();
        items.dedup();
        let mut count = 0;
        for item in items {
            let stock = transaction.read(&database.stocks, database.scale.stock(self.warehouse, item))?;
            count += u32::from(stock.quantity < self.threshold);
        }
        transaction.commit()?;
        Ok(count)
    }
}

//! Order-Status (clause 2.6): a customer asks for the last order.

use alloc::vec::Vec;

use crate::database::{Database, Scale, pairs};
use crate::schema::{Order, OrderLine};
use crate::store::{Conflict, Transaction, Worker};
use crate::terminal::{Terminal, Who};

/// Whose last order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderStatus {
    /// The warehouse.
    pub warehouse: u32,
    /// The district.
    pub district: u32,
    /// The customer of that district.
    pub who: Who,
}

/// A customer's last order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The number of the customer.
    pub customer: u32,
    /// What the customer has.
    pub balance_cents: i64,
    /// The number of the order.
    pub number: u32,
    /// The order.
    pub order: Order,
    /// Its lines.
    pub lines: Vec<OrderLine>,
}

impl OrderStatus {
    /// A request of clause 2.6.1.
    pub fn draw(terminal: &mut Terminal) -> Self {
        Self { warehouse: terminal.warehouse, district: terminal.district(), who: terminal.who() }
    }

    /// Looks the order up (clause 2.6.2).
    ///
    /// # Errors
    /// [`Conflict`] if it must be run again.
    pub fn run<'db>(&self, worker: &mut Worker<'db>, database: &'db Database, now_us: u64) -> Result<Status, Conflict> {
        let mut transaction = Transaction::begin(worker, now_us);
        let at = Scale::district(self.warehouse, self.district);
        let (number, customer) = self.who.read(&mut transaction, database, self.warehouse, self.district)?;
        let last = transaction.last(&database.customer_orders, at, pairs(number..=number))?;
        let last = last.expect("each customer has an order from the beginning").0 as u32;
        let order = transaction.get(&database.orders, at, last.into())?.expect("it is in the index");
        let lines = transaction.scan(&database.order_lines, at, pairs(last..=last))?;
        transaction.commit()?;
        Ok(Status {
            customer: number,
            balance_cents: customer.balance_cents,
            number: last,
            order,
            lines: lines.into_iter().map(|(_, line)| line).collect(),
        })
    }
}

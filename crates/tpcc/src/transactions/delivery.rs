//! Delivery (clause 2.7): the oldest order of each district goes out.

use crate::database::{DISTRICTS, Database, Scale, pairs};
use crate::store::{Conflict, Transaction, Worker};
use crate::terminal::Terminal;

/// Who carries the orders of a warehouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The warehouse.
    pub warehouse: u32,
    /// The carrier, 1 to 10.
    pub carrier: u32,
}

/// The order that was delivered in each district; none where none was left.
pub type Delivered = [Option<u32>; DISTRICTS as usize];

impl Delivery {
    /// A request of clause 2.7.1.
    pub fn draw(terminal: &mut Terminal) -> Self {
        Self { warehouse: terminal.warehouse, carrier: terminal.random.uniform(1..=10) }
    }

    /// Delivers the orders of all districts in one transaction (clause 2.7.4), at once rather than later.
    ///
    /// # Errors
    /// [`Conflict`] if it must be run again.
    pub fn run<'db>(
        &self,
        worker: &mut Worker<'db>,
        database: &'db Database,
        now_us: u64,
    ) -> Result<Delivered, Conflict> {
        let mut transaction = Transaction::begin(worker, now_us);
        let mut delivered = [None; DISTRICTS as usize];
        for (order, district) in delivered.iter_mut().zip(1..) {
            *order = self.deliver(&mut transaction, database, district, now_us)?;
        }
        transaction.commit()?;
        Ok(delivered)
    }

    fn deliver<'db>(
        &self,
        transaction: &mut Transaction<'_, 'db>,
        database: &'db Database,
        district: u32,
        now_us: u64,
    ) -> Result<Option<u32>, Conflict> {
        let at = Scale::district(self.warehouse, district);
        let Some((number, ())) = transaction.first(&database.new_orders, at, 0..=u64::MAX)? else { return Ok(None) };
        transaction.remove(&database.new_orders, at, number)?;

        let mut order = transaction.get(&database.orders, at, number)?.expect("it is in the new orders");
        order.carrier = Some(self.carrier);
        transaction.put(&database.orders, at, number, &order);

        let number = number as u32;
        let mut sum_cents = 0;
        for (key, mut line) in transaction.scan(&database.order_lines, at, pairs(number..=number))? {
            sum_cents += line.amount_cents;
            line.delivered_us = Some(now_us);
            transaction.put(&database.order_lines, at, key, &line);
        }
        let customer_at = database.scale.customer(self.warehouse, district, order.customer);
        let mut customer = transaction.read(&database.customers, customer_at)?;
        customer.balance_cents += sum_cents;
        customer.deliveries += 1;
        transaction.update(&database.customers, customer_at, &customer);
        Ok(Some(number))
    }
}

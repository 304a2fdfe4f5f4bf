//! Any of the five, and how often each comes.

use super::delivery::{Delivered, Delivery};
use super::new_order::{NewOrder, Ordered};
use super::order_status::{OrderStatus, Status};
use super::payment::{Paid, Payment};
use super::stock_level::StockLevel;
use crate::database::Database;
use crate::store::{Conflict, Worker};
use crate::terminal::Terminal;

/// Which of the five.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A customer orders.
    NewOrder,
    /// A customer pays.
    Payment,
    /// A customer asks for the last order.
    OrderStatus,
    /// Orders go out.
    Delivery,
    /// Stocks are looked at.
    StockLevel,
}

/// One of the five, with all that it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the request of its kind")]
pub enum Request {
    NewOrder(NewOrder),
    Payment(Payment),
    OrderStatus(OrderStatus),
    Delivery(Delivery),
    StockLevel(StockLevel),
}

/// What a request is answered, once it is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the reply of its kind")]
pub enum Reply {
    /// None if an item does not exist: then nothing was ordered.
    NewOrder(Option<Ordered>),
    Payment(Paid),
    OrderStatus(Status),
    Delivery(Delivered),
    /// How many items are about to run out.
    StockLevel(u32),
}

impl Kind {
    /// All five, in the order of the specification.
    pub const ALL: [Self; 5] = [Self::NewOrder, Self::Payment, Self::OrderStatus, Self::Delivery, Self::StockLevel];

    /// One of the five in the mix that clause 5.2.3 demands at least: 45, 43, 4, 4 and 4 %.
    pub fn draw(terminal: &mut Terminal) -> Self {
        match terminal.random.uniform(1..=100) {
            1..=45 => Self::NewOrder,
            46..=88 => Self::Payment,
            89..=92 => Self::OrderStatus,
            93..=96 => Self::Delivery,
            _ => Self::StockLevel,
        }
    }
}

impl Request {
    /// A request of a kind.
    pub fn draw(kind: Kind, terminal: &mut Terminal) -> Self {
        match kind {
            Kind::NewOrder => Self::NewOrder(NewOrder::draw(terminal)),
            Kind::Payment => Self::Payment(Payment::draw(terminal)),
            Kind::OrderStatus => Self::OrderStatus(OrderStatus::draw(terminal)),
            Kind::Delivery => Self::Delivery(Delivery::draw(terminal)),
            Kind::StockLevel => Self::StockLevel(StockLevel::draw(terminal)),
        }
    }

    /// Runs the transaction at a time in microseconds since 1970.
    ///
    /// # Errors
    /// [`Conflict`] if it must be run again: nothing of it was done.
    ///
    /// # Panics
    /// If it names a warehouse, district, customer or item that the database does not have, but for the item of a new order.
    pub fn run<'db>(&self, worker: &mut Worker<'db>, database: &'db Database, now_us: u64) -> Result<Reply, Conflict> {
        Ok(match self {
            Self::NewOrder(request) => Reply::NewOrder(request.run(worker, database, now_us)?),
            Self::Payment(request) => Reply::Payment(request.run(worker, database, now_us)?),
            Self::OrderStatus(request) => Reply::OrderStatus(request.run(worker, database, now_us)?),
            Self::Delivery(request) => Reply::Delivery(request.run(worker, database, now_us)?),
            Self::StockLevel(request) => Reply::StockLevel(request.run(worker, database, now_us)?),
        })
    }
}

//! The five transactions (clauses 2.4 to 2.8), each with what it is asked, what it does and what it answers.

mod delivery;
mod mix;
mod new_order;
mod order_status;
mod payment;
mod stock_level;

pub use delivery::{Delivered, Delivery};
pub use mix::{Kind, Reply, Request};
pub use new_order::{Line, NewOrder, Ordered, OrderedLine};
pub use order_status::{OrderStatus, Status};
pub use payment::{Paid, Payment};
pub use stock_level::StockLevel;

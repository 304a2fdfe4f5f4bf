//! TPC-C in memory, after the specification's revision 5.11: its tables, population and five transactions on a
//! [store](store) with optimistic concurrency control.
//!
//! ```
//! use bayop_tpcc::store::Worker;
//! use bayop_tpcc::{Constants, Database, Kind, Random, Request, Scale, Terminal, violations};
//!
//! let mut random = Random::new(1);
//! let constants = Constants::for_population(&mut random);
//! let scale = Scale { warehouses: 1, customers: 1_000, items: 1_000 };
//! let database = Database::populate(scale, constants, &mut random, 0);
//!
//! let mut worker = Worker::new(&database.epoch, 0); // one for each thread
//! let mut terminal = Terminal::new(scale, constants.for_run(&mut random), 1, random);
//! for now_us in 0..100 {
//!     let kind = Kind::draw(&mut terminal);
//!     let request = Request::draw(kind, &mut terminal);
//!     request.run(&mut worker, &database, now_us).expect("no other worker is there to conflict with");
//! }
//! assert_eq!(violations(&mut worker, &database), Ok(vec![]));
//! ```
//!
//! Without `std`, threads and a clock: time is an argument, random numbers come from a seed, and who calls decides what
//! runs on which core. A transaction that meets a [`Conflict`](store::Conflict) has done nothing and is run again by its
//! caller.
//!
//! It is a load, not a result of the benchmark: there are no terminals that think and type, nothing is written to disk,
//! and deliveries are not queued. docs/tpcc.md has all differences.
#![no_std]
#![deny(unsafe_code)]

extern crate alloc;

mod consistency;
mod database;
mod names;
mod population;
mod random;
pub mod schema;
pub mod service;
pub mod store;
mod terminal;
mod transactions;

pub use consistency::{Violation, violations};
pub use database::{DISTRICTS, Database, Scale};
pub use names::Constants;
pub use random::Random;
pub use terminal::{Terminal, Who};
pub use transactions::{
    Delivered, Delivery, Kind, Line, NewOrder, OrderStatus, Ordered, OrderedLine, Paid, Payment, Reply, Request,
    Status, StockLevel,
};

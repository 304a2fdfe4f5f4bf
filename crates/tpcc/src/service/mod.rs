//! TPC-C behind memcached's binary protocol: each GET runs one transaction of the mix, whatever its key, as in the silo
//! that [D] tunes.
//!
//! Bytes in, bytes out: who has the connections and the clock, on Linux or on none, calls [`answer`].

mod answers;
mod counts;
pub mod protocol;

use alloc::vec;
use alloc::vec::Vec;

pub use answers::{Answered, answer};
pub use counts::Counts;

use crate::store::{Conflict, Worker};
use crate::{Constants, Database, Kind, Random, Reply, Request, Scale, Terminal, Violation, violations};

/// Runs the transactions of one worker.
pub struct Service<'db> {
    database: &'db Database,
    worker: Worker<'db>,
    terminals: Vec<Terminal>,
    /// The terminal whose turn it is.
    turn: usize,
    counts: &'db Counts,
    give_way: fn(),
}

/// A transaction that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Which of the five.
    pub kind: Kind,
    /// It was a new order with an item that does not exist (clause 2.4.1.4), so nothing was ordered.
    pub is_rolled_back: bool,
}

/// A new database, and for each worker the terminals of its warehouses: every so-many-th is the same worker's.
///
/// `now_us` is the date of what is in it, in us since 1970.
///
/// # Panics
/// If a worker gets no warehouse: there must be as many of these at least.
pub fn populate(scale: Scale, workers: u8, seed: u64, now_us: u64) -> (Database, Vec<Vec<Terminal>>) {
    assert!(scale.warehouses >= u32::from(workers), "each worker must have a warehouse");
    let mut random = Random::new(seed);
    let constants = Constants::for_population(&mut random);
    let database = Database::populate(scale, constants, &mut random, now_us);
    let constants = constants.for_run(&mut random);
    let mut terminals = vec![Vec::new(); workers.into()];
    for warehouse in 1..=scale.warehouses {
        let of_worker = &mut terminals[(warehouse as usize - 1) % usize::from(workers)];
        of_worker.push(Terminal::new(scale, constants, warehouse, Random::new(random.bits())));
    }
    (database, terminals)
}

impl<'db> Service<'db> {
    /// The service of a worker, whose number no other has at that time, with one terminal at least.
    ///
    /// `give_way` lets others have the core: who is in the way of a transaction may need it to get out of that.
    pub fn new(
        database: &'db Database,
        worker: u8,
        terminals: Vec<Terminal>,
        counts: &'db Counts,
        give_way: fn(),
    ) -> Self {
        Self { database, worker: Worker::new(&database.epoch, worker), terminals, turn: 0, counts, give_way }
    }

    /// Runs the next transaction of the mix until it commits. `now_us` is in us since 1970.
    pub fn run(&mut self, now_us: u64) -> Done {
        self.turn = (self.turn + 1) % self.terminals.len();
        let terminal = &mut self.terminals[self.turn];
        let kind = Kind::draw(terminal);
        let request = Request::draw(kind, terminal);
        loop {
            match request.run(&mut self.worker, self.database, now_us) {
                Ok(reply) => {
                    let is_rolled_back = reply == Reply::NewOrder(None);
                    self.counts.done(kind, is_rolled_back);
                    return Done { kind, is_rolled_back };
                }
                Err(Conflict) => {
                    self.counts.conflict();
                    (self.give_way)();
                }
            }
        }
    }

    /// The conditions of consistency 1 to 4 that do not hold.
    ///
    /// # Errors
    /// [`Conflict`] if other workers ran transactions meanwhile.
    pub fn violations(&mut self) -> Result<Vec<Violation>, Conflict> {
        violations(&mut self.worker, self.database)
    }

    /// What all workers have done.
    pub fn counts(&self) -> &Counts {
        self.counts
    }
}

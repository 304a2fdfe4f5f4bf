//! How deeply cores sleep, where the processor has more than `hlt`: its states, and who chooses among them.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use bayop_idle::{BayOp, Plans, States, UNIT};
use libos_hal::idle::IdleState;
use libos_runtime::depth::{Depth, Level, Limit, Stays};

/// Of 1 us of latency, in 1/1024 us of a polling core: 0.3, as that of the kernel's module.
const PRICE: u32 = 307;

/// The states of all cores.
pub struct Sleeping {
    /// From the shallowest.
    states: &'static [IdleState],
    /// How long a core may take to wake up: at first, as long as its deepest state does.
    pub limit: Arc<Limit>,
    /// Each core's.
    stays: Vec<Arc<Stays>>,
    /// With the states up to each.
    tables: Vec<(States, &'static Plans)>,
}

impl Sleeping {
    /// Of a processor with these states; none where there is nothing to choose.
    pub fn new(states: &'static [IdleState], cores: usize) -> Option<Sleeping> {
        let deepest = states.last()?;
        let row =
            |state: &IdleState| (state.exit_latency_us, state.target_residency_us, state.power_permille * UNIT / 1000);
        let rows: Vec<(u32, u32, u32)> = states.iter().map(row).collect();
        let tables = (1..=rows.len()).map(|count| {
            let states = States::new(&rows[..count]).expect("the tables of hal are in order, by their test");
            (states, &*Box::leak(Box::new(Plans::new(&states, u32::MAX))))
        });
        let (limit, stays) =
            (Arc::new(Limit::new(deepest.exit_latency_us)), (0..cores).map(|_| Arc::default()).collect());
        Some(Sleeping { states, limit, stays, tables: tables.collect() })
    }

    /// The choice of a core: BayOp's governor, which needs no tick; where it may be wrong it sets a timer.
    pub fn depth(&self, core: usize) -> Depth {
        let level =
            |(states, plans): &(States, &'static Plans)| -> Level { (*states, Box::new(BayOp::new(plans, PRICE))) };
        Depth::new(self.tables.iter().map(level).collect(), self.limit.clone(), self.stays[core].clone())
    }

    /// What the shallowest state takes to wake up, and the deepest.
    pub fn latencies_us(&self) -> [u32; 2] {
        [&self.states[0], &self.states[self.states.len() - 1]].map(|state| state.exit_latency_us)
    }

    /// What a core has counted: each state's name, its stays that are over, and how long they were, in us.
    pub fn stays_of(&self, core: usize) -> Vec<(&'static str, u64, u64)> {
        let of = |(number, state): (usize, &IdleState)| {
            let [stays, slept_us] = self.stays[core].of(number);
            (state.name, stays, slept_us)
        };
        self.states.iter().enumerate().map(of).collect()
    }
}

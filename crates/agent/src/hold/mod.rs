//! What is held: applied all or nothing, watched, and put back as it was found.

mod apply;
mod restore;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bayop_knobs::{Host, Value, control::Write};

use crate::devices::Devices;
use crate::journal::{Asked, Entry, Journal, State};
use crate::undo::Target;
use bayop_core::Result;

pub use apply::{abandon, refuse_contradiction};

/// A knob to set: its instance's name, what it was, what was asked and the writes that do it.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Such as `nic.rx_usecs@eth0`.
    pub knob: String,
    /// Its value now.
    pub found: Value,
    /// Its value as requested.
    pub requested: Value,
    /// The writes, in their order.
    pub writes: Vec<Write>,
}

/// What became of the knobs that were to be restored, by instance.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// They are as they were found.
    pub restored: Vec<String>,
    /// They could not be restored, with why.
    pub latched: BTreeMap<String, String>,
    /// Somebody else changed them, so they are left as they are.
    pub stood_down: Vec<String>,
}

/// A knob that is held, or was and could not be restored.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// Its instance's name.
    pub knob: String,
    /// Its value when BayOp first came, and as requested.
    pub asked: Asked,
    /// The worst of its controls' states.
    pub state: State,
    /// Why it is not simply held.
    pub reason: Option<String>,
}

/// The knob of an instance's name: `nic.rx_usecs` of `nic.rx_usecs@eth0`.
pub fn id(name: &str) -> &str {
    name.split_once('@').map_or(name, |(id, _)| id)
}

/// The controls that BayOp changed on one machine, in the order of their first writes.
#[derive(Debug)]
pub struct Hold {
    host: Host,
    devices: Devices,
    boot_id: String,
    journal: Journal,
    entries: Vec<Entry>,
    /// The journal on disk lags behind: it could not be written. It errs on the side of restoring.
    stale: bool,
    /// When to try again to restore what is latched, and how long to wait after that.
    retry: (Duration, Duration),
}

impl Hold {
    /// Nothing held, on a machine in that boot.
    pub fn new(host: Host, devices: Devices, boot_id: String, journal: Journal) -> Self {
        Self { host, devices, boot_id, journal, entries: Vec::new(), stale: false, retry: Default::default() }
    }

    /// What is held, by knob.
    pub fn held(&self) -> Vec<Held> {
        let mut held: BTreeMap<String, Held> = BTreeMap::new();
        for entry in &self.entries {
            for (knob, asked) in entry.knobs() {
                let known = held.entry(knob.clone()).or_insert_with(|| Held {
                    knob,
                    asked,
                    state: entry.state,
                    reason: entry.reason.clone(),
                });
                if entry.state > known.state {
                    (known.state, known.reason) = (entry.state, entry.reason.clone());
                }
            }
        }
        held.into_values().collect()
    }

    /// Whether the journal on disk lags behind what is held.
    pub fn is_stale(&self) -> bool {
        self.stale
    }

    /// Why nothing may be applied, when a damaged journal waits for a person.
    pub fn damage(&self) -> Option<String> {
        self.journal.damage()
    }

    /// What the controls of the entries hold that `which` chooses, by the entries' places.
    fn read_all(&self, which: impl Fn(usize, &Entry) -> bool) -> Vec<(usize, Result<String>)> {
        let chosen = self.entries.iter().enumerate().filter(|(at, entry)| which(*at, entry));
        let (places, controls): (Vec<_>, Vec<_>) = chosen.map(|(at, entry)| (at, entry.control.clone())).unzip();
        places.into_iter().zip(self.devices.read(&self.host, controls)).collect()
    }

    /// Stores the journal, now or, when the disk does not let it, at the next tick.
    fn store_later(&mut self) {
        self.stale = self.journal.store(&self.boot_id, &self.entries).is_err();
    }
}

fn original(entry: &Entry) -> Target {
    Target { control: entry.control.clone(), text: entry.original.clone() }
}

fn names(entries: &[Entry]) -> BTreeSet<String> {
    entries.iter().flat_map(Entry::knobs).map(|(knob, _)| knob).collect()
}

fn stand_down(entry: &mut Entry, now: Option<&str>) {
    entry.state = State::StoodDown;
    let (was, now) = (entry.effective.as_deref().unwrap_or("unknown"), now.unwrap_or("unknown"));
    entry.reason = Some(format!("{} changed from {was} to {now}, which was not BayOp's doing", entry.control));
}

fn latch(entry: &mut Entry, reason: &str) {
    entry.state = State::Latched;
    entry.reason = Some(reason.to_owned());
}

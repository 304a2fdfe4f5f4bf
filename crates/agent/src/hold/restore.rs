//! Watching what is held, and putting it back.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bayop_knobs::Host;

use super::{Held, Hold, Outcome, latch, names, original, stand_down};
use crate::journal::{Entry, State};
use crate::{fault, log};
use bayop_core::{Error, Result};

/// How long to wait after the first try to restore what is latched; each wait is twice the one before.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

impl Hold {
    /// Restores what the journal says an earlier process left changed.
    ///
    /// In the same boot, everything that is still as BayOp left it, or was being written. In another boot the kernel
    /// has reset its controls, and only those are written that still read what BayOp had applied; so too when a damaged
    /// journal does not say which boot it belongs to.
    ///
    /// # Errors
    /// The journal is there but can't be read.
    pub fn recover(&mut self) -> Result<Outcome> {
        let loaded = self.journal.adopt()?;
        let same_boot = loaded.boot_id.as_ref().map(|id| *id == self.boot_id);
        self.stale = loaded.damage.is_some();
        self.entries = loaded.entries;
        let gone = self.follow(same_boot == Some(true));
        let mut texts: BTreeMap<usize, String> = BTreeMap::new();
        for (at, text) in self.read_all(|at, _| !gone.contains_key(&at)) {
            texts.extend(text.map(|text| (at, text)));
        }
        for (at, entry) in self.entries.iter_mut().enumerate() {
            let now = texts.get(&at);
            let ours = now.is_some() && now == entry.effective.as_ref().or(entry.intended.as_ref());
            let as_found = now == Some(&entry.original);
            // While a request is in work, or once a restore failed, what the control reads says nothing about who wrote.
            let settled = now.is_some() && entry.effective.is_some() && entry.state == State::Held;
            if !ours && !as_found && (settled || same_boot != Some(true)) {
                stand_down(entry, now.map(String::as_str));
            }
        }
        Ok(self.release())
    }

    /// Puts everything back that is not stood down. What can't be is latched and stays in the journal.
    pub fn release(&mut self) -> Outcome {
        if self.entries.is_empty() {
            self.store_later();
            return Outcome::default();
        }
        let (stood_down, mut held): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.entries).into_iter().partition(|entry| entry.state == State::StoodDown);
        // Before the first write: restoring one control may disturb another, which is then no stranger's doing.
        held.iter_mut().for_each(|entry| entry.effective = None);
        self.entries = held;
        self.store_later();
        fault::point("release.after_journal");
        let mut outcome = self.put_back(|_| true);
        outcome.stood_down = names(&stood_down).into_iter().collect();
        // One control of a knob may be as found, and another be somebody else's by now.
        outcome.restored.retain(|knob| !outcome.stood_down.contains(knob));
        fault::point("release.before_journal");
        self.store_later();
        outcome
    }

    /// Tries again to restore what is latched, at times that lie further and further apart, up to a minute.
    pub fn retry(&mut self, now: Duration) -> Outcome {
        let is_latched = |entry: &Entry| entry.state == State::Latched;
        if !self.entries.iter().any(is_latched) {
            self.retry = Default::default();
            return Outcome::default();
        }
        let (due, pause) = self.retry;
        if now < due {
            return Outcome::default();
        }
        let latched: BTreeSet<_> = self.entries.iter().filter(|entry| is_latched(entry)).map(device).collect();
        let outcome = self.put_back(is_latched);
        let pause = (2 * pause).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        self.retry = (now + pause, pause);
        if !outcome.restored.is_empty() {
            // What was put back may have disturbed what is held of the same device.
            let disturbed = |_, entry: &Entry| entry.state == State::Held && latched.contains(&device(entry));
            for (at, text) in self.read_all(disturbed) {
                self.entries[at].effective = text.ok();
            }
            self.store_later();
        }
        outcome
    }

    /// Puts the entries back that `which` chooses. Those that read as they were found go, the others are latched.
    fn put_back(&mut self, which: impl Fn(&Entry) -> bool) -> Outcome {
        let gone = self.follow(true);
        let chosen = self.entries.iter().enumerate().filter(|(at, entry)| which(entry) && !gone.contains_key(at));
        let targets = chosen.map(|(_, entry)| original(entry)).collect();
        let failed: BTreeMap<_, _> = self.devices.put_back(&self.host, targets).into_iter().collect();
        let mut knobs = BTreeSet::new();
        let (mut outcome, mut places) = (Outcome::default(), 0..);
        self.entries.retain_mut(|entry| {
            let at = places.next();
            if !which(entry) {
                return true;
            }
            knobs.extend(entry.knobs().map(|(knob, _)| knob));
            let error = at.and_then(|at| gone.get(&at)).or_else(|| failed.get(&entry.control));
            let Some(error) = error else { return false };
            latch(entry, &error.to_string());
            outcome.latched.extend(entry.knobs().map(|(knob, _)| (knob, error.to_string())));
            true
        });
        outcome.restored = knobs.into_iter().filter(|knob| !outcome.latched.contains_key(knob)).collect();
        outcome
    }

    /// Looks at every control that was written, stands down on those that somebody else changed, and latches those that
    /// are gone. Controls that were only reached, such as the queues of a device, are looked at when `all` are. Returns
    /// the knobs whose state changed.
    pub fn watch(&mut self, all: bool) -> Vec<Held> {
        let mut changed = BTreeSet::new();
        let gone = self.follow(true);
        let is_watched = |entry: &Entry| entry.state == State::Held && (all || entry.intended.is_some());
        let read = self.read_all(|at, entry| is_watched(entry) && !gone.contains_key(&at));
        let lost = gone.into_iter().map(|(at, error)| (at, Err(error)));
        let lost: Vec<_> = lost.filter(|(at, _)| self.entries[*at].state == State::Held).collect();
        for (at, text) in read.into_iter().chain(lost) {
            let entry = &mut self.entries[at];
            match text {
                // What could not be read back after a write is nobody else's doing.
                Ok(now) if entry.effective.as_ref().is_none_or(|effective| *effective == now) => {
                    entry.effective = Some(now);
                    continue;
                }
                // Renamed between the two looks: what was read is another's.
                Ok(_) if is_elsewhere(&self.host, entry) => continue,
                Ok(now) => stand_down(entry, Some(&now)),
                Err(error) => latch(entry, &error.to_string()),
            }
            changed.extend(entry.knobs().map(|(knob, _)| knob));
        }
        if !changed.is_empty() || self.stale {
            self.store_later();
        }
        if changed.is_empty() {
            return Vec::new();
        }
        self.held().into_iter().filter(|held| changed.contains(&held.knob)).collect()
    }

    /// Follows the network devices of the entries to the names that they have now. Returns by place the entries whose
    /// devices are gone, which nobody must touch: another device may have taken the name.
    fn follow(&mut self, same_boot: bool) -> BTreeMap<usize, Error> {
        let (mut gone, mut names) = (BTreeMap::new(), BTreeMap::new());
        for (at, entry) in self.entries.iter_mut().enumerate() {
            let (Some(identity), Some(name)) = (&mut entry.device, entry.control.device().map(str::to_owned)) else {
                continue;
            };
            let now = names.entry((identity.clone(), name.clone())).or_insert_with(|| {
                if same_boot && self.host.is_number(&name, identity) {
                    return Ok(Some((name.clone(), identity.ifindex.clone())));
                }
                let (host, identity, name) = (self.host.clone(), identity.clone(), name.clone());
                self.devices.on("the network devices", move || {
                    host.device(&identity, &name, same_boot).map(|now| (now.clone(), host.number(&now)))
                })
            });
            match now {
                Ok(Some((now, ifindex))) => {
                    // It has another one after a boot, and when it was plugged in anew.
                    identity.ifindex = ifindex.clone();
                    if *now != name {
                        log::event("renamed", &[("device", &name), ("name", now)]);
                        entry.rename(now);
                    }
                }
                Ok(None) => {
                    gone.insert(at, Error::drift(format!("the network device {name} ({identity}) is gone")));
                    // The kernel counts anew in each boot.
                    identity.ifindex = identity.ifindex.take().filter(|_| same_boot);
                }
                Err(error) => drop(gone.insert(at, error.clone())),
            }
        }
        gone
    }
}

/// Whether another network device has the name by now.
fn is_elsewhere(host: &Host, entry: &Entry) -> bool {
    let named = entry.control.device().zip(entry.device.as_ref());
    named.is_some_and(|(name, identity)| identity.ifindex.is_some() && !host.is_number(name, identity))
}

/// What answers for an entry.
fn device(entry: &Entry) -> String {
    entry.control.answers().to_owned()
}

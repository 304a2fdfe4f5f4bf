//! What is held: applied all or nothing, watched, and put back as it was found.

use std::collections::{BTreeMap, BTreeSet};

use bayop_knobs::{Host, Value, control::Control, control::Write};

use crate::fault;
use crate::journal::{Asked, Entry, Journal, State};
use crate::undo::{Target, put_back};
use bayop_core::{Error, Result};

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
    boot_id: String,
    journal: Journal,
    entries: Vec<Entry>,
    /// The journal on disk lags behind: it could not be written. It errs on the side of restoring.
    stale: bool,
}

impl Hold {
    /// Nothing held, on a machine in that boot.
    pub fn new(host: Host, boot_id: String, journal: Journal) -> Self {
        Self { host, boot_id, journal, entries: Vec::new(), stale: false }
    }

    /// Restores what the journal says an earlier process left changed.
    ///
    /// In the same boot, everything that is still as BayOp left it, or was being written. In another boot the kernel
    /// has reset its controls, and only those are written that still read what BayOp had applied; so too when a damaged
    /// journal does not say which boot it belongs to.
    ///
    /// # Errors
    /// The journal is there but can't be read.
    pub fn recover(&mut self) -> Result<Outcome> {
        let loaded = self.journal.load()?;
        let same_boot = loaded.boot_id.as_ref().map(|id| *id == self.boot_id);
        self.stale = loaded.damage.is_some();
        for mut entry in loaded.entries {
            let now = entry.control.read(&self.host).ok();
            let ours = now.is_some() && now.as_ref() == entry.effective.as_ref().or(entry.intended.as_ref());
            let as_found = now.as_ref() == Some(&entry.original);
            // While a request is in work, or once a restore failed, what the control reads says nothing about who wrote.
            let settled = now.is_some() && entry.effective.is_some() && entry.state == State::Held;
            if !ours && !as_found && (settled || same_boot != Some(true)) {
                stand_down(&mut entry, now.as_deref());
            }
            self.entries.push(entry);
        }
        Ok(self.release())
    }

    /// Hands `returned` knobs back and sets `plans`, all or nothing: when one write fails, everything that this call
    /// changed is put back, and what can't be is latched.
    ///
    /// # Errors
    /// A knob is latched or stood down, two knobs want different things of one control, the journal can't be stored
    /// (nothing was written then), or the kernel refuses a read or a write.
    pub fn apply(&mut self, returned: &BTreeSet<String>, plans: &[Plan]) -> Result<()> {
        self.refuse_blocked(returned, plans)?;
        refuse_contradiction(plans)?;
        let earlier = self.entries.clone();
        let texts = self.attach(returned, plans)?;
        if let Err(error) = self.journal.store(&self.boot_id, &self.entries) {
            self.entries = earlier;
            return Err(error);
        }
        fault::point("apply.after_journal");
        match self.write(plans, &earlier) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.roll_back(earlier, &texts, error)),
        }
    }

    /// Puts everything back that is not stood down. What can't be is latched and stays in the journal.
    pub fn release(&mut self) -> Outcome {
        if self.entries.is_empty() {
            self.store_later();
            return Outcome::default();
        }
        let (mut outcome, held) = (Outcome::default(), std::mem::take(&mut self.entries));
        let (stood_down, mut held): (Vec<_>, Vec<_>) =
            held.into_iter().partition(|entry| entry.state == State::StoodDown);
        outcome.stood_down = names(&stood_down).into_iter().collect();
        // Before the first write: restoring one control may disturb another, which is then no stranger's doing.
        held.iter_mut().for_each(|entry| entry.effective = None);
        self.entries = held;
        self.store_later();
        fault::point("release.after_journal");
        let targets: Vec<_> = self.entries.iter().map(original).collect();
        let failed = put_back(&self.host, &targets);
        let knobs = names(&self.entries);
        self.entries.retain_mut(|entry| match failed.iter().find(|(target, _)| target.control == entry.control) {
            Some((_, error)) => {
                latch(entry, &error.to_string());
                outcome.latched.extend(entry.holders.keys().map(|knob| (knob.clone(), error.to_string())));
                true
            }
            None => false,
        });
        outcome.restored = knobs.into_iter().filter(|knob| !outcome.latched.contains_key(knob)).collect();
        fault::point("release.before_journal");
        self.store_later();
        outcome
    }

    /// Looks at every control that was written, stands down on those that somebody else changed, and latches those that
    /// are gone. Controls that were only reached, such as the queues of a device, are looked at when `all` are. Returns
    /// the knobs whose state changed.
    pub fn watch(&mut self, all: bool) -> Vec<Held> {
        let mut changed = BTreeSet::new();
        let looked_at = |entry: &&mut Entry| entry.state == State::Held && (all || entry.intended.is_some());
        for entry in self.entries.iter_mut().filter(looked_at) {
            match entry.control.read(&self.host) {
                Ok(now) if Some(&now) == entry.effective.as_ref() => continue,
                Ok(now) => stand_down(entry, Some(&now)),
                Err(error) => latch(entry, &error.to_string()),
            }
            changed.extend(entry.holders.keys().cloned());
        }
        if !changed.is_empty() || self.stale {
            self.store_later();
        }
        self.held().into_iter().filter(|held| changed.contains(&held.knob)).collect()
    }

    /// What is held, by knob.
    pub fn held(&self) -> Vec<Held> {
        let mut held: BTreeMap<&String, Held> = BTreeMap::new();
        for entry in &self.entries {
            for (knob, asked) in &entry.holders {
                let known = held.entry(knob).or_insert_with(|| Held {
                    knob: knob.clone(),
                    asked: asked.clone(),
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

    /// The held knobs, with what was asked of them, that have to be set again when `returned` are handed back and `plans`
    /// applied: both have to do with one control. So are a device and its queues, or all CPUs and one policy; different
    /// knobs that share a control, such as the switch of adaptive moderation, want the same of it.
    pub fn disturbed(&self, returned: &BTreeSet<String>, plans: &[Plan]) -> BTreeMap<String, Asked> {
        let reached: Vec<(&String, Control)> = plans
            .iter()
            .flat_map(|plan| plan.writes.iter().map(move |write| (&plan.knob, write)))
            .flat_map(|(knob, write)| write.control.reaches(&self.host).into_iter().map(move |control| (knob, control)))
            .collect();
        let mut disturbed = BTreeMap::new();
        for entry in &self.entries {
            let returned = returned.iter().filter(|knob| entry.holders.contains_key(*knob));
            let written = reached.iter().filter(|(_, control)| entry.intended.is_some() && *control == entry.control);
            let by: Vec<_> = returned.chain(written.map(|(knob, _)| *knob)).collect();
            let is_disturbed = |knob: &String| by.iter().any(|other| *other != knob && id(other) == id(knob));
            let holders = entry.holders.iter().filter(|(knob, _)| is_disturbed(knob));
            disturbed.extend(holders.map(|(knob, asked)| (knob.clone(), asked.clone())));
        }
        let held = self.held();
        let is_held = |knob: &String| held.iter().any(|held| held.knob == *knob && held.state == State::Held);
        let is_asked = |knob: &String| returned.contains(knob) || plans.iter().any(|plan| plan.knob == *knob);
        disturbed.retain(|knob, _| is_held(knob) && !is_asked(knob));
        disturbed
    }

    /// Why nothing may be applied, when a damaged journal waits for a person.
    pub fn damage(&self) -> Option<String> {
        self.journal.is_damaged().then(|| {
            format!("the journal was damaged; what is left of it is in {}", self.journal.damaged_path().display())
        })
    }

    fn refuse_blocked(&self, returned: &BTreeSet<String>, plans: &[Plan]) -> Result<()> {
        if let Some(damage) = self.damage() {
            return Err(Error::conflict(damage)
                .rule("nothing must be applied while originals may be lost")
                .hint("look at the machine's settings, then run: bayop-agent restore --discard-damaged"));
        }
        for entry in self.entries.iter().filter(|entry| entry.state != State::Held) {
            let planned = plans.iter().find(|plan| {
                entry.holders.contains_key(&plan.knob) || plan.writes.iter().any(|write| write.control == entry.control)
            });
            let latched = entry.state == State::Latched;
            let returned = returned.iter().find(|knob| latched && entry.holders.contains_key(*knob));
            let Some(knob) = planned.map(|plan| &plan.knob).or(returned) else { continue };
            let reason = entry.reason.as_deref().unwrap_or_default();
            return Err(if latched {
                Error::conflict(format!("the knob could not be restored and is not written again: {reason}"))
                    .at(knob)
                    .hint("remove the cause, then POST /v1/restore")
            } else {
                Error::conflict(format!("somebody else changed the knob, so it is not written again: {reason}"))
                    .at(knob)
                    .hint("set it to auto to leave it to them, or release and apply anew to take it over")
            });
        }
        Ok(())
    }

    /// Adds the plans' controls to the entries and takes `returned` off their holders. Returns the texts before.
    fn attach(&mut self, returned: &BTreeSet<String>, plans: &[Plan]) -> Result<Vec<Target>> {
        let mut entries = self.entries.clone();
        entries.retain_mut(|entry| {
            entry.holders.retain(|knob, _| !returned.contains(knob));
            entry.state == State::Held || !entry.holders.is_empty()
        });
        for plan in plans {
            for write in &plan.writes {
                // Before the control itself, so that they are restored after it, which reaches them once more.
                for reached in write.control.reaches(&self.host) {
                    self.entry(&mut entries, &reached, plan)?;
                }
                let entry = self.entry(&mut entries, &write.control, plan)?;
                entry.intended = Some(write.text.clone());
            }
        }
        let held = entries.iter().filter(|entry| entry.state == State::Held);
        let texts = held
            .map(|entry| Ok(Target { control: entry.control.clone(), text: entry.control.read(&self.host)? }))
            .collect::<Result<_>>()?;
        // A write may disturb another control, which is then no stranger's doing: until all are read back, none is sure.
        entries.iter_mut().for_each(|entry| entry.effective = None);
        self.entries = entries;
        Ok(texts)
    }

    /// The entry of a control, held by the plan's knob from now on; a new one has what the control reads.
    fn entry<'a>(&self, entries: &'a mut Vec<Entry>, control: &Control, plan: &Plan) -> Result<&'a mut Entry> {
        let at = match entries.iter().position(|entry| entry.control == *control) {
            Some(at) => at,
            None => {
                entries.push(Entry {
                    control: control.clone(),
                    holders: BTreeMap::new(),
                    original: control.read(&self.host)?,
                    intended: None,
                    effective: None,
                    state: State::Held,
                    reason: None,
                });
                entries.len() - 1
            }
        };
        let entry = &mut entries[at];
        let asked = entry.holders.entry(plan.knob.clone());
        let asked = asked.or_insert_with(|| Asked { found: plan.found.clone(), requested: plan.requested.clone() });
        asked.requested = plan.requested.clone();
        Ok(entry)
    }

    /// Restores the entries that nobody holds any more, writes the plans that do not stand already, reads back, and
    /// journals what is in effect.
    fn write(&mut self, plans: &[Plan], earlier: &[Entry]) -> Result<()> {
        let abandoned: Vec<_> = self.entries.iter().filter(|entry| entry.holders.is_empty()).map(original).collect();
        if let Some((_, error)) = put_back(&self.host, &abandoned).into_iter().next() {
            return Err(error);
        }
        for plan in plans {
            // A write may reset a link for seconds, so it is not repeated for nothing.
            if plan.writes.iter().all(|write| self.stands(write, earlier)) && !self.lost_a_part(plan, earlier) {
                continue;
            }
            for write in &plan.writes {
                fault::point("apply.before_write");
                write.control.write(&self.host, &write.text).map_err(|error| error.at(&plan.knob))?;
                fault::point("apply.after_write");
            }
        }
        self.entries.retain(|entry| !entry.holders.is_empty());
        self.read_back()?;
        fault::point("apply.after_read_back");
        self.journal.store(&self.boot_id, &self.entries)
    }

    /// Whether BayOp wrote that very text before, and the control still reads what it read then.
    fn stands(&self, write: &Write, earlier: &[Entry]) -> bool {
        let entry = earlier.iter().find(|entry| entry.control == write.control);
        let written = entry.filter(|entry| entry.intended.as_ref() == Some(&write.text));
        let effective = written.and_then(|entry| entry.effective.as_ref());
        effective.is_some_and(|effective| write.control.read(&self.host).as_ref() == Ok(effective))
    }

    /// Whether a part of the plan's knob, such as a queue of its device, was just handed back: it has what was asked of
    /// the part, although the whole may read as it should.
    fn lost_a_part(&self, plan: &Plan, earlier: &[Entry]) -> bool {
        let shared = earlier.iter().filter(|entry| entry.holders.contains_key(&plan.knob));
        shared.flat_map(|before| before.holders.keys().map(move |knob| (&before.control, knob))).any(
            |(control, knob)| {
                let is_held = |entry: &Entry| entry.control == *control && entry.holders.contains_key(knob);
                id(knob) == id(&plan.knob) && !self.entries.iter().any(is_held)
            },
        )
    }

    fn read_back(&mut self) -> Result<()> {
        for entry in self.entries.iter_mut().filter(|entry| entry.state == State::Held) {
            entry.effective = Some(entry.control.read(&self.host)?);
        }
        Ok(())
    }

    /// Undoes a call that failed for `error`: what was held earlier is held again, what was not is as it was found.
    fn roll_back(&mut self, earlier: Vec<Entry>, texts: &[Target], error: Error) -> Error {
        let failed = put_back(&self.host, texts);
        let attempted = std::mem::replace(&mut self.entries, earlier);
        for (target, failure) in &failed {
            let at = self.entries.iter().position(|entry| entry.control == target.control).or_else(|| {
                let entry = attempted.iter().find(|entry| entry.control == target.control)?;
                self.entries.push(entry.clone());
                Some(self.entries.len() - 1)
            });
            let at = at.expect("a text was read for an entry that was held or attempted");
            latch(&mut self.entries[at], &failure.to_string());
        }
        for entry in self.entries.iter_mut().filter(|entry| entry.state == State::Held) {
            entry.effective = entry.control.read(&self.host).ok();
        }
        self.store_later();
        match failed.len() {
            0 => error,
            count => error.hint(format!("{count} controls could not be put back and are latched")),
        }
    }

    /// Stores the journal, now or, when the disk does not let it, at the next tick.
    fn store_later(&mut self) {
        self.stale = self.journal.store(&self.boot_id, &self.entries).is_err();
    }
}

fn refuse_contradiction(plans: &[Plan]) -> Result<()> {
    let mut wanted: BTreeMap<&Control, (&str, &Plan)> = BTreeMap::new();
    for plan in plans {
        for write in &plan.writes {
            match wanted.insert(&write.control, (&write.text, plan)) {
                Some((text, other)) if text != write.text && other.knob != plan.knob => {
                    let wrong = format!("{} and {} write different things to one control", other.knob, plan.knob);
                    return Err(Error::input(wrong).at(&write.control));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

fn original(entry: &Entry) -> Target {
    Target { control: entry.control.clone(), text: entry.original.clone() }
}

fn names(entries: &[Entry]) -> BTreeSet<String> {
    entries.iter().flat_map(|entry| entry.holders.keys().cloned()).collect()
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

//! Applying, all or nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bayop_knobs::{Host, control::Control, control::Write, network::identity::Identity};

use super::{Hold, Plan, id, latch, original};
use crate::fault;
use crate::journal::{Asked, Entry, State};
use crate::undo::Target;
use bayop_core::{Error, Result};

/// Whether this process has given up applying.
static ABANDONED: AtomicBool = AtomicBool::new(false);

/// Lets no request write any more: one that hung may come back after the machine was restored.
pub fn abandon() {
    ABANDONED.store(true, Ordering::SeqCst);
}

impl Hold {
    /// Hands `returned` knobs back and sets `plans`, all or nothing: when one write fails, everything that this call
    /// changed is put back, and what can't be is latched.
    ///
    /// # Errors
    /// A knob is latched or stood down, the journal can't be stored (nothing was written then), or the kernel refuses a
    /// read or a write.
    pub fn apply(&mut self, returned: &BTreeSet<String>, plans: &[Plan]) -> Result<()> {
        self.refuse_blocked(returned, plans)?;
        let earlier = self.entries.clone();
        let texts = self.attach(returned, plans)?;
        if let Err(error) = self.journal.store(&self.boot_id, &self.entries) {
            self.entries = earlier;
            return Err(error);
        }
        fault::point("apply.after_journal");
        match self.write(plans, &earlier) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.roll_back(earlier, texts, error)),
        }
    }

    /// The held knobs, with what was asked of them, that have to be set again when `returned` are handed back and `plans`
    /// applied: both have to do with one control. So are a device and its queues, or all CPUs and one policy; different
    /// knobs that share a control, such as the switch of adaptive moderation, want the same of it.
    ///
    /// # Errors
    /// The kernel fails to say what a write reaches.
    pub fn disturbed(&self, returned: &BTreeSet<String>, plans: &[Plan]) -> Result<BTreeMap<String, Asked>> {
        let mut reached: Vec<(&String, Control)> = Vec::new();
        for (knob, write) in plans.iter().flat_map(|plan| plan.writes.iter().map(move |write| (&plan.knob, write))) {
            reached.extend(write.control.reaches(&self.host)?.into_iter().map(|control| (knob, control)));
        }
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
        Ok(disturbed)
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
        let mut wanted: Vec<(Control, &Plan, Option<&String>)> = Vec::new();
        for (plan, write) in plans.iter().flat_map(|plan| plan.writes.iter().map(move |write| (plan, write))) {
            // Before the control itself, so that they are restored after it, which reaches them once more.
            wanted.extend(write.control.reaches(&self.host)?.into_iter().map(|reached| (reached, plan, None)));
            wanted.push((write.control.clone(), plan, Some(&write.text)));
        }
        let held = entries.iter().filter(|entry| entry.state == State::Held);
        let mut controls: Vec<_> = held.map(|entry| entry.control.clone()).collect();
        for (control, ..) in &wanted {
            if !controls.contains(control) && !entries.iter().any(|entry| entry.control == *control) {
                controls.push(control.clone());
            }
        }
        let identities = self.identities(&entries, &controls)?;
        let texts = self.devices.read(&self.host, controls.clone()).into_iter().zip(controls);
        let texts = texts.map(|(text, control)| Ok(Target { control, text: text? })).collect::<Result<Vec<_>>>()?;
        for (control, plan, intended) in wanted {
            let at = entries.iter().position(|entry| entry.control == control).unwrap_or_else(|| {
                let before = texts.iter().find(|before| before.control == control).expect("new controls were read");
                entries.push(Entry {
                    device: control.device().and_then(|name| identities[name].clone()),
                    control,
                    holders: BTreeMap::new(),
                    original: before.text.clone(),
                    intended: None,
                    effective: None,
                    state: State::Held,
                    reason: None,
                });
                entries.len() - 1
            });
            let asked = Asked { found: plan.found.clone(), requested: plan.requested.clone() };
            entries[at].holders.entry(plan.knob.clone()).or_insert(asked).requested = plan.requested.clone();
            if let Some(text) = intended {
                entries[at].intended = Some(text.clone());
            }
        }
        // A write may disturb another control, which is then no stranger's doing: until all are read back, none is sure.
        entries.iter_mut().for_each(|entry| entry.effective = None);
        self.entries = entries;
        Ok(texts)
    }

    /// What the network devices are that the controls belong to, by their names: as the entries know them, or asked.
    fn identities(&self, entries: &[Entry], controls: &[Control]) -> Result<BTreeMap<String, Option<Identity>>> {
        let known = entries.iter().filter_map(|entry| Some((entry.control.device()?.to_owned(), entry.device.clone())));
        let mut identities: BTreeMap<_, _> = known.collect();
        for name in controls.iter().filter_map(Control::device) {
            if !identities.contains_key(name) {
                let (host, asked) = (self.host.clone(), name.to_owned());
                identities.insert(name.to_owned(), self.devices.on(name, move || host.identity(&asked))?);
            }
        }
        Ok(identities)
    }

    /// Restores the entries that nobody holds any more, writes the plans that do not stand already, reads back, and
    /// journals what is in effect.
    fn write(&mut self, plans: &[Plan], earlier: &[Entry]) -> Result<()> {
        let returned = self.entries.iter().filter(|entry| entry.holders.is_empty()).map(original).collect();
        if let Some((_, error)) = self.devices.put_back(&self.host, returned).into_iter().next() {
            return Err(error);
        }
        // One device after the other, until one refuses: each write may take a link down for seconds.
        for plans in plans.chunk_by(|one, other| answers(one) == answers(other)) {
            let given_up = Arc::new(AtomicBool::new(false));
            let jobs = plans.iter().map(|plan| {
                let (host, writes, given_up) = (self.host.clone(), plan.writes.clone(), given_up.clone());
                let standing = self.standing(plan, earlier);
                (answers(plan).to_owned(), move || set(&host, &writes, standing.as_deref(), &given_up))
            });
            let done = self.devices.each(jobs.collect());
            given_up.store(true, Ordering::SeqCst);
            for (plan, done) in plans.iter().zip(done) {
                done.and_then(|done| done).map_err(|error| error.at(&plan.knob))?;
            }
        }
        self.entries.retain(|entry| !entry.holders.is_empty());
        self.read_back()?;
        fault::point("apply.after_read_back");
        self.journal.store(&self.boot_id, &self.entries)
    }

    /// What the plan's controls read while they are as BayOp wrote them; none when they have to be written in any case.
    fn standing(&self, plan: &Plan, earlier: &[Entry]) -> Option<Vec<String>> {
        let effective = |write: &Write| {
            let entry = earlier.iter().find(|entry| entry.control == write.control)?;
            entry.effective.clone().filter(|_| entry.intended.as_ref() == Some(&write.text))
        };
        let standing = plan.writes.iter().map(effective).collect::<Option<_>>()?;
        (!self.lost_a_part(plan, earlier)).then_some(standing)
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
        for (at, text) in self.read_all(|_, entry| entry.state == State::Held) {
            self.entries[at].effective = Some(text?);
        }
        Ok(())
    }

    /// Undoes a call that failed for `error`: what was held earlier is held again, what was not is as it was found.
    fn roll_back(&mut self, earlier: Vec<Entry>, texts: Vec<Target>, error: Error) -> Error {
        park_abandoned();
        let failed = self.devices.put_back(&self.host, texts);
        let attempted = std::mem::replace(&mut self.entries, earlier);
        for (control, failure) in &failed {
            let at = self.entries.iter().position(|entry| entry.control == *control).or_else(|| {
                let entry = attempted.iter().find(|entry| entry.control == *control)?;
                self.entries.push(entry.clone());
                Some(self.entries.len() - 1)
            });
            let at = at.expect("a text was read for an entry that was held or attempted");
            latch(&mut self.entries[at], &failure.to_string());
        }
        for (at, text) in self.read_all(|_, entry| entry.state == State::Held) {
            self.entries[at].effective = text.ok();
        }
        self.store_later();
        match failed.len() {
            0 => error,
            count => error.hint(format!("{count} controls could not be put back and are latched")),
        }
    }
}

/// Does the writes in their order, unless all the controls read what is `standing` already: a write may reset a link for
/// seconds, so it is not repeated for nothing. Nothing is written any more once the setting is `given_up`, as it is by an
/// error here.
fn set(host: &Host, writes: &[Write], standing: Option<&[String]>, given_up: &AtomicBool) -> Result<()> {
    let stands = |(write, text): (&Write, &String)| write.control.read(host).as_ref() == Ok(text);
    if standing.is_some_and(|texts| writes.iter().zip(texts).all(stands)) {
        return Ok(());
    }
    for write in writes {
        fault::point("apply.before_write");
        if given_up.load(Ordering::SeqCst) || ABANDONED.load(Ordering::SeqCst) {
            return Err(Error::failed("the setting was given up").at(&write.control));
        }
        write.control.write(host, &write.text).inspect_err(|_| given_up.store(true, Ordering::SeqCst))?;
        fault::point("apply.after_write");
    }
    Ok(())
}

/// What answers for a plan, or hangs.
fn answers(plan: &Plan) -> &str {
    plan.writes.first().map_or("the machine", |write| write.control.answers())
}

/// Keeps the thread of a request that hung from ever writing again, until the process ends.
fn park_abandoned() {
    while ABANDONED.load(Ordering::SeqCst) {
        std::thread::park();
    }
}

/// Refuses plans that contradict each other.
///
/// # Errors
/// Two knobs want different things of one control.
pub fn refuse_contradiction(plans: &[Plan]) -> Result<()> {
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

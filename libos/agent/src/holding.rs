//! What is held: values that were found, those that were asked for, and the way back.

use alloc::borrow::ToOwned as _;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use bayop_core::{Error, Kind, Result};

use crate::knob::{About, Knob, Value};
use crate::messages::{Applied, AppliedBy, Change, HeldKnob};

/// The word that hands a knob back.
const AUTO: &str = "auto";

/// The machine's knobs, and which of them are not as they were found.
pub struct Holding {
    knobs: Vec<Box<dyn Knob>>,
    held: Vec<Held>,
    /// Nobody's lease is needed for it.
    pub kept: bool,
    /// Who has applied it, and when, in us.
    by: Option<(String, u64)>,
}

struct Held {
    knob: usize,
    found: Value,
    requested: Value,
}

/// What one name of a setting asks for.
struct Wanted<'a> {
    name: &'a str,
    knob: usize,
    value: &'a Value,
}

impl Holding {
    pub fn new(knobs: Vec<Box<dyn Knob>>) -> Holding {
        Holding { knobs, held: Vec::new(), kept: false, by: None }
    }

    /// Each knob with what is in effect.
    pub fn knobs(&self) -> impl Iterator<Item = (About, Value)> + '_ {
        self.knobs.iter().map(|knob| (knob.about(), knob.value()))
    }

    /// What is held.
    pub fn held(&self) -> Vec<HeldKnob> {
        let shown = |held: &Held| HeldKnob {
            knob: self.name(held.knob),
            found: held.found.clone(),
            requested: held.requested.clone(),
            effective: self.knobs[held.knob].value(),
            state: "held",
            reason: None,
        };
        self.held.iter().map(shown).collect()
    }

    /// Who has applied what is held, at a moment.
    pub fn applied_by(&self, now_us: u64) -> Option<AppliedBy> {
        // It may have come by another core, whose clock is a little ahead.
        let age_s = |since_us: u64| now_us.saturating_sub(since_us) as f64 / 1e6;
        let by = self.by.as_ref().filter(|_| !self.held.is_empty());
        by.map(|(holder, since_us)| AppliedBy { holder: holder.clone(), age_s: age_s(*since_us) })
    }

    /// Applies a setting, all of it or nothing.
    ///
    /// # Errors
    /// It names a knob that is not here or one of them twice, or a value that its knob does not take.
    pub fn apply(&mut self, setting: &BTreeMap<String, Value>, holder: &str, now_us: u64) -> Result<Applied> {
        let wanted = self.resolve(setting)?;
        self.kept = false;
        self.by.get_or_insert_with(|| (holder.to_owned(), now_us));
        let (mut changes, mut effective) = (Vec::new(), BTreeMap::new());
        for Wanted { name, knob, value } in wanted {
            let before = self.knobs[knob].value();
            self.put(knob, value, &before);
            let after = self.knobs[knob].value();
            effective.insert(name.to_owned(), Some(after.clone()));
            changes.push(Change { knob: self.name(knob), before, requested: value.clone(), effective: Some(after) });
        }
        Ok(Applied { changes, setting: effective, advised: false })
    }

    /// What a setting would change.
    ///
    /// # Errors
    /// As of `apply`.
    pub fn preview(&self, setting: &BTreeMap<String, Value>) -> Result<Applied> {
        let wanted = self.resolve(setting)?;
        let change = |Wanted { knob, value, .. }: &Wanted| Change {
            knob: self.name(*knob),
            before: self.knobs[*knob].value(),
            requested: (*value).clone(),
            effective: None,
        };
        Ok(Applied {
            changes: wanted.iter().map(change).collect(),
            setting: setting.keys().map(|name| (name.clone(), None)).collect(),
            advised: false,
        })
    }

    /// A lease is over: what it has applied stays where it asks for that, or an earlier one did whose values it left
    /// alone.
    pub fn end(&mut self, keep: bool) -> Vec<String> {
        self.kept = (self.kept || keep) && !self.held.is_empty();
        if self.kept { Vec::new() } else { self.restore() }
    }

    /// Everything is as it was found.
    pub fn restore(&mut self) -> Vec<String> {
        (self.kept, self.by) = (false, None);
        let held = core::mem::take(&mut self.held);
        held.iter().for_each(|held| self.knobs[held.knob].set(&held.found));
        held.iter().map(|held| self.name(held.knob)).collect()
    }

    fn name(&self, knob: usize) -> String {
        self.knobs[knob].about().name()
    }

    fn resolve<'a>(&self, setting: &'a BTreeMap<String, Value>) -> Result<Vec<Wanted<'a>>> {
        let mut wanted: Vec<Wanted> = Vec::new();
        for (name, value) in setting {
            let knob = self.knobs.iter().position(|knob| knob.about().is_called(name)).ok_or_else(|| {
                Error::cannot_use(name, "a setting must name knobs of this machine")
                    .of(Kind::NotFound)
                    .hint("GET /v1/knobs lists them")
            })?;
            if wanted.iter().any(|other| other.knob == knob) {
                return Err(Error::cannot_use(name, "a setting must have each knob once"));
            }
            if *value != Value::from(AUTO) {
                self.knobs[knob].about().check(value)?;
            }
            wanted.push(Wanted { name, knob, value });
        }
        Ok(wanted)
    }

    fn put(&mut self, knob: usize, value: &Value, before: &Value) {
        let held = self.held.iter().position(|held| held.knob == knob);
        if *value == Value::from(AUTO) {
            if let Some(index) = held {
                let Held { found, .. } = self.held.remove(index);
                self.knobs[knob].set(&found);
            }
            return;
        }
        match held {
            Some(index) => self.held[index].requested = value.clone(),
            None => self.held.push(Held { knob, found: before.clone(), requested: value.clone() }),
        }
        self.knobs[knob].set(value);
    }
}

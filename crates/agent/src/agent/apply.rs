//! Applying a setting: which places it is about, whether it may, and what that changes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use bayop_knobs::knob::{Instance, Survey};
use bayop_knobs::{Value, catalogue};

use super::Agent;
use crate::allow_list::not_allowed;
use crate::config::Mode;
use crate::hold::{Plan, id, refuse_contradiction};
use crate::journal::Asked;
use crate::log;
use crate::messages::{Applied, ApplyRequest, Change};
use crate::metrics::Written;
use crate::peer::Peer;
use bayop_core::{Error, Kind, Result};

/// The value that hands a knob back.
const AUTO: &str = "auto";

/// One place of a setting and what is asked of it; without a value it is handed back.
struct Wanted<'a> {
    key: &'a str,
    instance: Instance,
    value: Option<&'a Value>,
}

impl Wanted<'_> {
    fn name(&self) -> String {
        self.instance.name()
    }
}

/// What becomes of the knobs that are held and that a setting does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    Stays,
    HandedBack,
}

/// In whose name a setting is written.
pub(super) struct Writer<'a> {
    pub(super) holder: &'a str,
    pub(super) by: &'a dyn Display,
    pub(super) reason: &'a dyn Display,
}

impl Agent {
    /// Applies a setting, or says what it would change. Nothing that is applied is under a condition any more.
    ///
    /// # Errors
    /// The mode, the lease, the allow-list, the journal or the kernel says no; the machine is then as it was.
    pub fn apply(&mut self, request: &ApplyRequest, by: &Peer) -> Result<Applied> {
        if request.dry_run {
            return self.put(&request.setting, Rest::Stays, None);
        }
        let applied = self.put_asked(request.lease.as_deref(), &request.setting, Rest::Stays, by)?;
        if !applied.advised {
            self.guarded = None;
        }
        Ok(applied)
    }

    /// Puts a setting in effect as its lease and the mode allow.
    pub(super) fn put_asked(
        &mut self,
        lease: Option<&str>,
        setting: &BTreeMap<String, Value>,
        rest: Rest,
        by: &Peer,
    ) -> Result<Applied> {
        let put = self.writer(lease).and_then(|holder| {
            let Some(holder) = holder else { return self.advise(setting, rest, by) };
            let applied = self.put(setting, rest, Some(&Writer { holder: &holder, by, reason: &"request" }))?;
            self.kept = false;
            Ok(applied)
        });
        put.inspect_err(|error| setting.keys().for_each(|key| self.tally.failed(id(key), error)))
    }

    /// Who may write by this lease; nobody where the agent only advises.
    fn writer(&self, lease: Option<&str>) -> Result<Option<String>> {
        self.refuse_observing("applies no setting")?;
        match (self.config.mode, lease) {
            (Mode::Observe | Mode::Advise, _) => Ok(None),
            (Mode::Apply, Some(lease)) => Ok(Some(self.leases.check(lease)?.to_owned())),
            (Mode::Apply, None) => Err(Error::input("the request names no lease")
                .rule("a setting must be applied under one")
                .at("lease")
                .hint("POST /v1/lease gives one; a dry run needs none")),
        }
    }

    fn advise(&mut self, setting: &BTreeMap<String, Value>, rest: Rest, by: &Peer) -> Result<Applied> {
        let advice = self.put(setting, rest, None)?;
        let advisor = Writer { holder: "", by, reason: &"request" };
        advice.changes.iter().for_each(|change| log_change("advised", change, &advisor));
        Ok(Applied { advised: true, ..advice })
    }

    /// Puts a setting in effect; without a writer, says what it would change.
    ///
    /// # Errors
    /// The allow-list, the journal or the kernel says no; the machine is then as it was.
    pub(super) fn put(
        &mut self,
        setting: &BTreeMap<String, Value>,
        rest: Rest,
        writer: Option<&Writer>,
    ) -> Result<Applied> {
        self.watch(false);
        self.retry();
        let mut wanted = self.resolve(setting)?;
        let mut returned: BTreeSet<_> =
            wanted.iter().filter(|wanted| wanted.value.is_none()).map(Wanted::name).collect();
        if rest == Rest::HandedBack {
            let named: BTreeSet<_> = wanted.iter().map(Wanted::name).collect();
            let held = self.hold.held().into_iter().map(|held| held.knob).filter(|knob| !named.contains(knob));
            for knob in held.collect::<Vec<_>>() {
                // One whose device is gone can't be shown, and is handed back all the same.
                let instance = self.instance(&knob).cloned();
                wanted.extend(instance.map(|instance| Wanted { key: "", instance, value: None }));
                returned.insert(knob);
            }
        }
        let mut changes = self.changes(&wanted)?;
        let plans = self.with_disturbed(&returned, self.plans(&wanted, &changes)?)?;
        refuse_contradiction(&plans)?;
        if let Some(writer) = writer {
            self.hold.apply(&returned, &plans)?;
            if self.applied.as_ref().is_none_or(|(holder, _)| holder != writer.holder) {
                self.applied = Some((writer.holder.to_owned(), self.now()));
            }
            let shown = self.shown_all(&instances(&wanted)).into_iter();
            for ((wanted, change), shown) in wanted.iter().zip(&mut changes).zip(shown) {
                let faithful = wanted.value.is_none_or(|value| shown.as_ref() == Ok(value));
                change.effective = shown.ok().map(|shown| self.calibrated(&wanted.instance, shown));
                let written = if faithful { Written::Ok } else { Written::Clamped };
                self.tally.written(&wanted.instance.knob.id, written);
                log_change("applied", change, writer);
            }
        }
        Ok(Applied { setting: by_key(setting, &wanted, &changes), changes, advised: false })
    }

    /// The places that a setting is about.
    fn resolve<'a>(&mut self, setting: &'a BTreeMap<String, Value>) -> Result<Vec<Wanted<'a>>> {
        let known = |survey: &Survey, key: &str| {
            survey.instances.iter().any(|instance| instance.knob.id == key || instance.name() == key)
        };
        // It may have been plugged in since; and of a CPU that is offline the kernel takes no frequency.
        if setting.keys().any(|key| !known(&self.survey, key)) || self.online_now() != self.online {
            self.survey()?;
        }
        let mut all: Vec<Wanted> = Vec::new();
        for (key, value) in setting {
            let value = Some(value).filter(|value| **value != Value::from(AUTO));
            for instance in self.places(key, value)? {
                let name = instance.name();
                if let Some(other) = all.iter().find(|other| other.instance.name() == name) {
                    return Err(Error::input(format!("{} and {key} both set {name}", other.key))
                        .rule("a setting must name each knob once in each place"));
                }
                all.push(Wanted { key, instance, value });
            }
        }
        Ok(all)
    }

    /// The places that one key of a setting is about: those allowed, and for `auto` those held. A device stands for its
    /// queues where both are allowed: a queue is set apart only by its own name.
    fn places(&self, key: &str, value: Option<&Value>) -> Result<Vec<Instance>> {
        if let Some((id, _)) = key.split_once('@') {
            known_knob(id)?;
            let instance = self.instance(key).ok_or_else(|| {
                let places = self.survey.instances.iter().filter(|instance| instance.knob.id == id);
                let places: Vec<_> = places.map(|instance| instance.at.as_str()).collect();
                Error::new(Kind::NotFound, format!("there is no {key} on this machine"))
                    .value(key)
                    .at("setting")
                    .hint(format!("places of {id}: {}", places.join(", ")))
            })?;
            return Ok(vec![instance.clone()]);
        }
        known_knob(key)?;
        if let Some(missing) = self.survey.missing.iter().find(|missing| missing.knob.id == key) {
            return Err(missing.why.clone().at(key));
        }
        let held: BTreeSet<_> = self.hold.held().into_iter().map(|held| held.knob).collect();
        let instances = self.survey.instances.iter().filter(|instance| instance.knob.id == key);
        let concerned = instances.filter(|instance| match value {
            Some(_) => self.config.allow.domain(instance).is_some(),
            None => held.contains(&instance.name()),
        });
        let mut concerned: Vec<_> = concerned.cloned().collect();
        if value.is_some() {
            let all: BTreeSet<_> = concerned.iter().map(|instance| instance.at.clone()).collect();
            concerned.retain(|instance| instance.at.rsplit_once('/').is_none_or(|(whole, _)| !all.contains(whole)));
        }
        if concerned.is_empty() && value.is_some() {
            let found = self.survey.instances.iter().find(|instance| instance.knob.id == key);
            return Err(not_allowed(key, key, found.map_or("*", |instance| &instance.at)));
        }
        Ok(concerned)
    }

    fn changes(&self, wanted: &[Wanted]) -> Result<Vec<Change>> {
        for Wanted { instance, value, .. } in wanted {
            if let Some(value) = value {
                self.config.allow.check(instance, value)?;
            }
        }
        let change = |(wanted, before): (&Wanted, Result<Value>)| {
            Ok(Change {
                knob: wanted.instance.name(),
                before: before?,
                requested: wanted.value.cloned().unwrap_or_else(|| AUTO.into()),
                effective: None,
            })
        };
        wanted.iter().zip(self.effective_all(&instances(wanted))).map(change).collect()
    }

    fn plans(&self, wanted: &[Wanted], changes: &[Change]) -> Result<Vec<Plan>> {
        let plan = |(wanted, change): (&Wanted, &Change)| {
            let value = wanted.value?;
            Some(wanted.instance.plan(&self.host, value).map(|writes| Plan {
                knob: change.knob.clone(),
                found: change.before.clone(),
                requested: value.clone(),
                writes,
            }))
        };
        wanted.iter().zip(changes).filter_map(plan).collect()
    }

    /// The plans with those that set again what they and the knobs handed back disturb: the parts after their whole, which
    /// their names sort by, so that a queue that is set apart stays so whatever becomes of its device.
    fn with_disturbed(&self, returned: &BTreeSet<String>, mut plans: Vec<Plan>) -> Result<Vec<Plan>> {
        loop {
            let disturbed = self.hold.disturbed(returned, &plans)?;
            if disturbed.is_empty() {
                plans.sort_by(|one, other| one.knob.cmp(&other.knob));
                return Ok(plans);
            }
            for (knob, Asked { found, requested }) in disturbed {
                let [instance] = &self.places(&knob, Some(&requested))?[..] else {
                    unreachable!("the name of an instance is one place")
                };
                let writes = instance.plan(&self.host, &requested)?;
                plans.push(Plan { knob, found, requested, writes });
            }
        }
    }
}

fn instances<'a>(wanted: &'a [Wanted]) -> Vec<&'a Instance> {
    wanted.iter().map(|wanted| &wanted.instance).collect()
}

fn known_knob(id: &str) -> Result<()> {
    if catalogue::entry(id).is_some() {
        return Ok(());
    }
    Err(Error::new(Kind::NotFound, format!("there is no knob {id}"))
        .value(id)
        .at("setting")
        .hint("GET /v1/knobs lists them"))
}

/// The values in effect by the names that were asked; none where the places of one name differ or there are none.
fn by_key(setting: &BTreeMap<String, Value>, wanted: &[Wanted], changes: &[Change]) -> BTreeMap<String, Option<Value>> {
    let effective = |key: &String| {
        let mut values = wanted.iter().zip(changes).filter(|(wanted, _)| wanted.key == key).map(|(_, change)| change);
        let first = values.next()?.effective.clone();
        first.filter(|first| values.all(|change| change.effective.as_ref() == Some(first)))
    };
    setting.keys().map(|key| (key.clone(), effective(key))).collect()
}

fn log_change(event: &str, change: &Change, writer: &Writer) {
    let effective = change.effective.as_ref().map(Value::to_string).unwrap_or_default();
    let Change { knob, before, requested, .. } = change;
    log::event(
        event,
        &[
            ("knob", knob),
            ("before", before),
            ("requested", requested),
            ("effective", &effective),
            ("holder", &writer.holder),
            ("by", writer.by),
            ("reason", writer.reason),
        ],
    );
}

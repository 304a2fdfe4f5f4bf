//! One machine's knobs behind the rules: mode, lease, allow-list, journal.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use bayop_knobs::knob::{Instance, Survey, survey};
use bayop_knobs::sensor::Sensors;
use bayop_knobs::{Host, Value, catalogue, doctor};

use crate::allow_list::not_allowed;
use crate::api::{
    Applied, AppliedBy, ApplyRequest, Calibrations, Change, Examination, HeldKnob, Knobs, Latched, Lease, LeaseInForce,
    LeaseRequest, Readings, ReleaseRequest, Released, RenewRequest, Renewed, Status,
};
use crate::calibration::{Calibration, Map};
use crate::config::{Config, DEFAULT_PATH, Mode};
use crate::hold::{Held, Hold, Outcome, Plan};
use crate::journal::{Asked, Journal, State};
use crate::knobs::{self, id};
use crate::lease;
use crate::log;
use crate::metrics::{self, Snapshot, Tally, Written};
use crate::own;
use bayop_core::{Error, Kind, Result};

/// The agent's version; a build that can be told to die says so.
pub const VERSION: &str = if cfg!(feature = "fault-points") {
    concat!(env!("CARGO_PKG_VERSION"), "+fault-points")
} else {
    env!("CARGO_PKG_VERSION")
};
/// The value that hands a knob back.
const AUTO: &str = "auto";
/// The knob that calibrations are about.
const CALIBRATED: &str = "nic.rx_usecs";

/// A machine and what may be done to it.
#[derive(Debug)]
pub struct Agent {
    config: Config,
    host: Host,
    boot_id: String,
    survey: Survey,
    calibration: Calibration,
    leases: lease::Slot,
    hold: Hold,
    sensors: Sensors,
    tally: Tally,
    kept: bool,
    /// Whose setting is in effect, and since when.
    applied: Option<(String, Duration)>,
    started: Instant,
}

/// One place of a setting and what is asked of it; without a value it is handed back.
struct Wanted<'a> {
    key: &'a str,
    instance: Instance,
    value: Option<&'a Value>,
}

impl Agent {
    /// The agent of a machine, after restoring what an earlier process left changed. The caller holds the lock of the
    /// state folder.
    ///
    /// # Errors
    /// The state folder can't be read.
    pub fn start(config: Config, host: Host) -> Result<Self> {
        let boot_id = boot_id(&host)?;
        let mut hold = Hold::new(host.clone(), boot_id.clone(), Journal::new(&config.state_dir));
        report(&hold.recover()?, "start");
        let calibration = Calibration::load(&config.state_dir)?;
        let started = Instant::now();
        let sensors = Sensors::open(host.clone(), &config.power, 0.0)?;
        let (survey, leases, tally) = (survey(&host), lease::Slot::default(), Tally::default());
        let (kept, applied) = (false, None);
        Ok(Self { config, host, boot_id, survey, calibration, leases, hold, sensors, tally, kept, applied, started })
    }

    /// What is to be done each second: look at counters that wrap, end a lease whose holder is silent, look after what
    /// is held.
    pub fn tick(&mut self) {
        self.sensors.tick(self.now().as_secs_f64());
        if let Some(lease) = self.leases.expire(self.now()) {
            log::event("lease_expired", &[("holder", &lease.holder)]);
            self.restore_all("lease expired");
        }
        self.watch(false);
    }

    /// The agent, its lease and what it holds.
    ///
    /// # Errors
    /// The kernel does not say what the agent costs.
    pub fn status(&mut self) -> Result<Status> {
        let now = self.now();
        Ok(Status {
            version: VERSION,
            mode: self.config.mode,
            boot_id: self.boot_id.clone(),
            uptime_s: now.as_secs_f64(),
            own: own::cost()?,
            lease: self.leases.tenure(now).map(|tenure| LeaseInForce {
                holder: tenure.holder.to_owned(),
                age_s: tenure.age_s,
                expires_in_s: tenure.expires_in_s,
            }),
            kept: self.kept,
            applied_by: self
                .applied
                .as_ref()
                .map(|(holder, since)| AppliedBy { holder: holder.clone(), age_s: (now - *since).as_secs_f64() }),
            held: self.hold.held().into_iter().map(|held| self.held_knob(held)).collect(),
            damage: self.hold.damage(),
        })
    }

    fn held_knob(&self, held: Held) -> HeldKnob {
        let effective = self.instance(&held.knob).and_then(|instance| self.effective(instance).ok());
        let Held { knob, asked, state, reason } = held;
        HeldKnob { knob, found: asked.found, requested: asked.requested, effective, state, reason }
    }

    /// The knobs of the machine, looked for anew.
    pub fn knobs(&mut self) -> Knobs {
        self.survey = survey(&self.host);
        knobs::view(&self.survey, &self.config.allow, |instance| self.effective(instance))
    }

    /// Reads every sensor.
    pub fn sensors(&mut self) -> Readings {
        let time_s = self.now().as_secs_f64();
        Readings { time_s, readings: self.sensors.sample(time_s).into_iter().map(Into::into).collect() }
    }

    /// The agent and its machine for Prometheus.
    ///
    /// # Errors
    /// The kernel does not say what the agent costs.
    pub fn metrics(&mut self) -> Result<String> {
        let readings = self.sensors.sample(self.now().as_secs_f64());
        let known = self.survey.instances.iter();
        let knobs = known.filter_map(|instance| Some((instance, self.effective(instance).ok()?))).collect();
        Ok(metrics::render(&Snapshot {
            mode: self.config.mode,
            own: own::cost()?,
            tally: &self.tally,
            readings: &readings,
            meter: self.sensors.method().ok().map(|method| method.to_string()),
            knobs,
            held: &self.hold.held(),
        }))
    }

    /// Grants the right to write.
    ///
    /// # Errors
    /// Somebody holds it, or the request is out of bounds.
    pub fn lease(&mut self, request: &LeaseRequest) -> Result<Lease> {
        let now = self.now();
        let lease = self.leases.grant(lease::token()?, &request.holder, request.ttl_s, now)?;
        log::event("lease_granted", &[("holder", &request.holder), ("ttl_s", &request.ttl_s)]);
        Ok(Lease { lease, ttl_s: request.ttl_s })
    }

    /// Lets a lease last its full length from now on.
    ///
    /// # Errors
    /// It is over or another's.
    pub fn renew(&mut self, request: &RenewRequest) -> Result<Renewed> {
        let now = self.now();
        Ok(Renewed { expires_in_s: self.leases.renew(&request.lease, now)? })
    }

    /// Applies a setting, or says what it would change.
    ///
    /// # Errors
    /// The mode, the lease, the allow-list, the journal or the kernel says no; the machine is then as it was.
    pub fn apply(&mut self, request: &ApplyRequest) -> Result<Applied> {
        let applied = self.try_apply(request);
        if let (Err(error), false) = (&applied, request.dry_run) {
            for key in request.setting.keys() {
                self.tally.failed(id(key), error);
            }
        }
        applied
    }

    fn try_apply(&mut self, request: &ApplyRequest) -> Result<Applied> {
        let advised = self.config.mode == Mode::Advise && !request.dry_run;
        let holder = match (request.dry_run, self.config.mode, &request.lease) {
            (true, ..) | (_, Mode::Advise, _) => None,
            (_, Mode::Observe, _) => {
                return Err(Error::forbidden("the agent observes and applies no setting")
                    .value(self.config.mode)
                    .at("mode")
                    .hint(format!("set mode = \"apply\" in {DEFAULT_PATH}; a dry run is allowed in any mode")));
            }
            (_, Mode::Apply, Some(lease)) => Some(self.leases.check(lease)?.to_owned()),
            (_, Mode::Apply, None) => {
                return Err(Error::input("the request names no lease")
                    .rule("a setting must be applied under one")
                    .at("lease")
                    .hint("POST /v1/lease gives one; a dry run needs none"));
            }
        };
        self.watch(false);
        let wanted = self.resolve(&request.setting)?;
        let mut changes = self.changes(&wanted)?;
        if let Some(holder) = &holder {
            let returned = wanted.iter().filter(|wanted| wanted.value.is_none());
            let returned = returned.map(|wanted| wanted.instance.name()).collect();
            let plans = self.with_disturbed(&returned, self.plans(&wanted, &changes)?)?;
            self.hold.apply(&returned, &plans)?;
            self.kept = false;
            if self.applied.as_ref().is_none_or(|(by, _)| by != holder) {
                self.applied = Some((holder.clone(), self.now()));
            }
            for (wanted, change) in wanted.iter().zip(&mut changes) {
                change.effective = Some(self.effective(&wanted.instance)?);
                let faithful = wanted.value.is_none_or(|value| wanted.instance.read(&self.host).as_ref() == Ok(value));
                let written = if faithful { Written::Ok } else { Written::Clamped };
                self.tally.written(&wanted.instance.knob.id, written);
                log_change("applied", change, holder);
            }
        } else if advised {
            changes.iter().for_each(|change| log_change("advised", change, ""));
        }
        Ok(Applied { setting: by_key(&request.setting, &wanted, &changes), changes, advised })
    }

    /// The places that a setting is about.
    fn resolve<'a>(&mut self, setting: &'a BTreeMap<String, Value>) -> Result<Vec<Wanted<'a>>> {
        let known = |survey: &Survey, key: &str| {
            survey.instances.iter().any(|instance| instance.knob.id == key || instance.name() == key)
        };
        if setting.keys().any(|key| !known(&self.survey, key)) {
            // It may have been plugged in since.
            self.survey = survey(&self.host);
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
        let change = |wanted: &Wanted| {
            if let Some(value) = wanted.value {
                self.config.allow.check(&wanted.instance, value)?;
            }
            Ok(Change {
                knob: wanted.instance.name(),
                before: self.effective(&wanted.instance)?,
                requested: wanted.value.cloned().unwrap_or_else(|| AUTO.into()),
                effective: None,
            })
        };
        wanted.iter().map(change).collect()
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
            let disturbed = self.hold.disturbed(returned, &plans);
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

    /// Ends a lease and restores what it applied, or keeps it.
    ///
    /// # Errors
    /// The lease is over or another's.
    pub fn release(&mut self, request: &ReleaseRequest) -> Result<Released> {
        let holder = self.leases.check(&request.lease)?.to_owned();
        log::event("lease_released", &[("holder", &holder), ("keep", &request.keep)]);
        self.leases.end();
        if request.keep {
            self.kept = !self.hold.held().is_empty();
            return Ok(Released { restored: Vec::new(), latched: self.latched(), stood_down: Vec::new() });
        }
        Ok(self.restore_all("release"))
    }

    /// Restores everything and ends any lease; `reason` is for the log.
    pub fn restore(&mut self, reason: &str) -> Released {
        self.leases.end();
        self.restore_all(reason)
    }

    fn restore_all(&mut self, reason: &str) -> Released {
        (self.kept, self.applied) = (false, None);
        self.watch(true);
        let outcome = self.hold.release();
        report(&outcome, reason);
        released(outcome)
    }

    fn latched(&self) -> Vec<Latched> {
        let latched = self.hold.held().into_iter().filter(|held| held.state == State::Latched);
        latched.map(|held| Latched { knob: held.knob, reason: held.reason.unwrap_or_default() }).collect()
    }

    /// The stored calibrations.
    pub fn calibrations(&self) -> Calibrations {
        Calibrations { calibrations: self.calibration.maps().cloned().collect() }
    }

    /// Stores a calibration.
    ///
    /// # Errors
    /// It is none, the machine has no such device, or it can't be stored.
    pub fn calibrate(&mut self, map: Map) -> Result<Map> {
        map.check()?;
        self.calibration.put(map.clone())?;
        log::event("calibrated", &[("device", &map.device), ("points", &map.points.len())]);
        Ok(map)
    }

    /// What this machine lets BayOp control and measure.
    pub fn examine(&self) -> Examination {
        let power = self.config.power.clone();
        Examination::of(&self.host, &doctor::Options { power, ..Default::default() })
    }

    fn watch(&mut self, all: bool) {
        for held in self.hold.watch(all) {
            let event = if held.state == State::Latched { "latched" } else { "stood_down" };
            self.tally.drifted(id(&held.knob));
            log::event(event, &[("knob", &held.knob), ("reason", &held.reason.unwrap_or_default())]);
        }
    }

    fn instance(&self, name: &str) -> Option<&Instance> {
        self.survey.instances.iter().find(|instance| instance.name() == name)
    }

    /// The value in effect: what the kernel shows, through the calibration where there is one.
    fn effective(&self, instance: &Instance) -> Result<Value> {
        let value = instance.read(&self.host)?;
        let device = instance.at.split('/').next().unwrap_or(&instance.at);
        let map = self.calibration.map(device).filter(|_| instance.knob.id == CALIBRATED);
        Ok(match (map, value) {
            (Some(map), Value::Number(requested_us)) => Value::Number(map.effective_us(requested_us)),
            (_, value) => value,
        })
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }
}

/// The kernel's id of this boot. A recorded machine that has none was recorded once and never boots.
///
/// # Errors
/// The live kernel does not say.
pub fn boot_id(host: &Host) -> Result<String> {
    const PATH: &str = "proc/sys/kernel/random/boot_id";
    if !host.is_live() && !host.has(PATH) {
        return Ok("recorded".to_owned());
    }
    host.read(PATH)
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

fn released(outcome: Outcome) -> Released {
    let latched = outcome.latched.into_iter().map(|(knob, reason)| Latched { knob, reason }).collect();
    Released { restored: outcome.restored, latched, stood_down: outcome.stood_down }
}

fn log_change(event: &str, change: &Change, holder: &str) {
    let effective = change.effective.as_ref().map(Value::to_string).unwrap_or_default();
    let Change { knob, before, requested, .. } = change;
    log::event(
        event,
        &[
            ("knob", knob),
            ("before", before),
            ("requested", requested),
            ("effective", &effective),
            ("holder", &holder),
            ("reason", &"request"),
        ],
    );
}

fn report(outcome: &Outcome, reason: &str) {
    for knob in &outcome.restored {
        log::event("restored", &[("knob", knob), ("reason", &reason)]);
    }
    for (knob, why) in &outcome.latched {
        log::event("latched", &[("knob", knob), ("reason", &reason), ("error", why)]);
    }
    for knob in &outcome.stood_down {
        log::event("left_as_is", &[("knob", knob), ("reason", &reason)]);
    }
}

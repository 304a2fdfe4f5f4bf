//! One machine's knobs behind the rules: mode, lease, allow-list, journal.

mod apply;
mod guarded;
mod holding;

use std::collections::BTreeMap;
use std::time::Duration;

use bayop_knobs::knob::{Instance, Survey, survey};
use bayop_knobs::sensor::Sensors;
use bayop_knobs::sysfs::ONLINE;
use bayop_knobs::{Host, Value};

use crate::calibration::{Calibration, Map};
use crate::clock::since_boot;
use crate::config::{Config, Mode};
use crate::devices::Devices;
use crate::examination::Examination;
use crate::files::DEFAULT_PATH;
use crate::hold::{self, Held, Hold, Outcome, id};
use crate::journal::{Journal, State};
use crate::knobs::{self, Knobs};
use crate::log;
use crate::messages::{
    AppliedBy, CalibrateRequest, Calibrations, HeldKnob, Latched, Lease, LeaseInForce, LeaseRequest, ReleaseRequest,
    Released, RenewRequest, Renewed, Status,
};
use crate::metrics::{self, Snapshot, Tally};
use crate::own::{self, VERSION};
use crate::peer::{Peer, Role};
use crate::readings::Readings;
use crate::recordings::Recordings;
use crate::stays::Counting;
use crate::token;
use bayop_core::{Error, Kind, Result, lease};
use guarded::Guarded;

/// The knob that calibrations are about.
const CALIBRATED: &str = "nic.rx_usecs";

/// A machine and what may be done to it.
#[derive(Debug)]
pub struct Agent {
    config: Config,
    host: Host,
    devices: Devices,
    boot_id: String,
    survey: Survey,
    /// The CPUs that were online when the machine was surveyed.
    online: Option<String>,
    calibration: Calibration,
    leases: lease::Slot,
    hold: Hold,
    sensors: Sensors,
    tally: Tally,
    kept: bool,
    /// Whose setting is in effect, and since when.
    applied: Option<(String, Duration)>,
    /// What is held under conditions.
    guarded: Option<Guarded>,
    recordings: Recordings,
    counting: Counting,
    /// Whether a push was refused, and logged, since the last tick.
    has_refused: bool,
    started: Duration,
}

impl Agent {
    /// The agent of a machine, after restoring what an earlier process left changed. The caller holds the locks of
    /// the state folder and of the machine.
    ///
    /// # Errors
    /// The state folder can't be read.
    pub fn start(config: Config, host: Host, devices: Devices) -> Result<Self> {
        let boot_id = boot_id(&host)?;
        let mut hold = Hold::new(host.clone(), devices.clone(), boot_id.clone(), Journal::new(&config.state_dir));
        report(&hold.recover()?, "start");
        let calibration = Calibration::load(&config.state_dir)?;
        let started = since_boot();
        let sensors = Sensors::open(host.clone(), &config.power, 0.0)?;
        let (leases, tally) = (lease::Slot::default(), Tally::default());
        let (kept, applied) = (false, None);
        let recordings = Recordings::new(config.interrupts.clone());
        let counting = Counting::new(config.idle.as_ref());
        let mut agent = Self {
            config,
            host,
            devices,
            boot_id,
            survey: Survey::default(),
            online: None,
            calibration,
            leases,
            hold,
            sensors,
            tally,
            kept,
            applied,
            guarded: None,
            recordings,
            counting,
            has_refused: false,
            started,
        };
        // One device that does not answer keeps the agent from none of its duties but showing knobs.
        if let Err(error) = agent.survey() {
            log::event("not_surveyed", &[("error", &error)]);
        }
        Ok(agent)
    }

    /// Looks for the knobs of the machine.
    fn survey(&mut self) -> Result<()> {
        let (host, online) = (self.host.clone(), self.online_now());
        self.survey = self.devices.on("the machine", move || survey(&host))?;
        self.online = online;
        Ok(())
    }

    fn online_now(&self) -> Option<String> {
        self.host.read(ONLINE).ok()
    }

    /// What is to be done each second: look at counters that wrap, end a lease whose holder is silent, look after what
    /// is held.
    pub fn tick(&mut self) {
        self.sensors.tick(self.now().as_secs_f64());
        self.has_refused = false;
        if let Some(lease) = self.leases.expire(self.now()) {
            log::event("lease_expired", &[("holder", &lease.holder)]);
            // What an earlier lease kept, and this one did not touch, stays.
            if !self.kept {
                self.restore_all("lease expired");
            }
        }
        self.watch(false);
        // Under a lease its holder has to learn of a knob that is no longer as it was set, and applies anew or ends.
        if self.leases.tenure(self.now()).is_none() {
            self.retry();
        }
    }

    /// Tries again to restore what is latched.
    fn retry(&mut self) {
        let outcome = self.hold.retry(self.now());
        if !outcome.restored.is_empty() {
            report(&outcome, "retry");
        }
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
            held: self.held(),
            hold: self.holding(),
            damage: self.hold.damage(),
        })
    }

    fn held(&self) -> Vec<HeldKnob> {
        let held = self.hold.held();
        let known: Vec<_> = held.iter().filter_map(|held| self.instance(&held.knob)).collect();
        let effective = known.iter().zip(self.effective_all(&known));
        let effective: BTreeMap<_, _> =
            effective.filter_map(|(instance, value)| Some((instance.name(), value.ok()?))).collect();
        let view = |Held { knob, asked, state, reason }| {
            let effective = effective.get(&knob).cloned();
            HeldKnob { knob, found: asked.found, requested: asked.requested, effective, state, reason }
        };
        held.into_iter().map(view).collect()
    }

    /// The knobs of the machine, looked for anew.
    ///
    /// # Errors
    /// The machine does not answer.
    pub fn knobs(&mut self) -> Result<Knobs> {
        self.survey()?;
        let effective = self.effective_all(&self.survey.instances.iter().collect::<Vec<_>>());
        Ok(knobs::view(&self.survey, &self.config.allow, effective))
    }

    /// Reads every sensor.
    pub fn sensors(&mut self) -> Readings {
        let time_s = self.now().as_secs_f64();
        Readings { time_s, readings: self.sensors.sample(time_s).into_iter().map(Into::into).collect() }
    }

    /// What is recorded of the machine's interrupts; to be asked without keeping the agent.
    pub fn recordings(&self) -> Recordings {
        self.recordings.clone()
    }

    /// What is counted of the machine's stays in idle states; to be asked without keeping the agent.
    pub fn counting(&self) -> Counting {
        self.counting.clone()
    }

    /// The agent and its machine for Prometheus.
    ///
    /// # Errors
    /// The kernel does not say what the agent costs.
    pub fn metrics(&mut self) -> Result<String> {
        let readings = self.sensors.sample(self.now().as_secs_f64());
        let known: Vec<_> = self.survey.instances.iter().collect();
        let effective = self.effective_all(&known).into_iter();
        let knobs = known.into_iter().zip(effective).filter_map(|(knob, value)| Some((knob, value.ok()?))).collect();
        Ok(metrics::render(&Snapshot {
            mode: self.config.mode,
            own: own::cost()?,
            tally: &self.tally,
            readings: &readings,
            meter: self.sensors.method().ok().map(|method| method.to_string()),
            knobs,
            held: &self.hold.held(),
            damaged: self.hold.damage().is_some(),
            hold: self.holding().as_ref(),
            experts: self.counting.scores(),
        }))
    }

    /// Grants the right to write.
    ///
    /// # Errors
    /// Somebody holds it, or the request is out of bounds.
    pub fn lease(&mut self, request: &LeaseRequest, by: &Peer) -> Result<Lease> {
        let now = self.now();
        let lease = self.leases.grant(token::new()?, &request.holder, request.ttl_s, now)?;
        log::event("lease_granted", &[("holder", &request.holder), ("ttl_s", &request.ttl_s), ("by", by)]);
        Ok(Lease { lease, ttl_s: request.ttl_s })
    }

    /// Lets a lease last its full length from now on, or another length.
    ///
    /// # Errors
    /// It is over or another's, or the length is out of bounds.
    pub fn renew(&mut self, request: &RenewRequest) -> Result<Renewed> {
        let now = self.now();
        Ok(Renewed { expires_in_s: self.leases.renew(&request.lease, request.ttl_s, now)? })
    }

    /// Ends a lease and restores what it applied, or keeps it.
    ///
    /// # Errors
    /// The lease is over or another's.
    pub fn release(&mut self, request: &ReleaseRequest, by: &Peer) -> Result<Released> {
        let holder = self.leases.check(&request.lease)?.to_owned();
        log::event("lease_released", &[("holder", &holder), ("keep", &request.keep), ("by", by)]);
        self.leases.end();
        if request.keep || self.kept {
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
        (self.kept, self.applied, self.guarded) = (false, None, None);
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
    /// The mode or the lease says no, it is none, the machine has no such device, or it can't be stored.
    pub fn calibrate(&mut self, request: CalibrateRequest, by: &Peer) -> Result<Map> {
        self.refuse_observing("stores no calibration")?;
        self.leases.check(&request.lease)?;
        let CalibrateRequest { device, driver, points, .. } = request;
        if self.instance(&format!("{CALIBRATED}@{device}")).is_none() {
            return Err(Error::new(Kind::NotFound, format!("there is no {CALIBRATED}@{device} on this machine"))
                .value(device)
                .at("device"));
        }
        let map = Map { device, driver, points };
        self.calibration.put(map.clone(), self.host.identity(&map.device))?;
        log::event("calibrated", &[("device", &map.device), ("points", &map.points.len()), ("by", by)]);
        Ok(map)
    }

    fn refuse_observing(&self, does: &str) -> Result<()> {
        if self.config.mode != Mode::Observe {
            return Ok(());
        }
        Err(Error::forbidden(format!("the agent observes and {does}"))
            .value(self.config.mode)
            .at("mode")
            .hint(format!("set mode = \"apply\" in {DEFAULT_PATH}; a dry run is allowed in any mode")))
    }

    /// Refuses who has not the role.
    ///
    /// # Errors
    /// The configuration names others for it.
    pub fn allow(&self, peer: &Peer, role: Role) -> Result<()> {
        self.config.roles.allow(peer, role)
    }

    /// What this machine lets BayOp control and measure.
    ///
    /// # Errors
    /// Something of it does not answer.
    pub fn examine(&self) -> Result<Examination> {
        let (host, options) = (self.host.clone(), self.config.examined());
        self.devices.on("what the doctor looks at", move || Examination::of(&host, &options))
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

    /// What the kernel shows in several places, each device asked apart.
    fn shown_all(&self, instances: &[&Instance]) -> Vec<Result<Value>> {
        let jobs = instances.iter().map(|&instance| {
            let (host, asked) = (self.host.clone(), instance.clone());
            (instance.answers().to_owned(), move || asked.read(&host))
        });
        self.devices.each(jobs.collect()).into_iter().map(|answer| answer?).collect()
    }

    /// The values in effect: what the kernel shows, through the calibration where there is one.
    fn effective_all(&self, instances: &[&Instance]) -> Vec<Result<Value>> {
        let shown = self.shown_all(instances).into_iter();
        instances.iter().zip(shown).map(|(instance, shown)| Ok(self.calibrated(instance, shown?))).collect()
    }

    fn calibrated(&self, instance: &Instance, shown: Value) -> Value {
        let device = instance.at.split('/').next().unwrap_or(&instance.at);
        if instance.knob.id != CALIBRATED || self.calibration.is_empty() {
            return shown;
        }
        match (self.calibration.map(device, self.host.identity(device).as_ref()), shown) {
            (Some(map), Value::Number(requested_us)) => Value::Number(map.effective_us(requested_us)),
            (_, shown) => shown,
        }
    }

    fn now(&self) -> Duration {
        since_boot() - self.started
    }
}

/// Restores a machine from its journal alone, as the next start would: what a panic or a hang left in memory is not to be
/// trusted, and writes nothing any more.
///
/// # Errors
/// The journal is there but can't be read.
pub fn recover(config: &Config, host: &Host, devices: &Devices, reason: &str) -> Result<Released> {
    hold::abandon();
    let mut hold = Hold::new(host.clone(), devices.clone(), boot_id(host)?, Journal::new(&config.state_dir));
    let outcome = hold.recover()?;
    report(&outcome, reason);
    Ok(released(outcome))
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

fn released(outcome: Outcome) -> Released {
    let latched = outcome.latched.into_iter().map(|(knob, reason)| Latched { knob, reason }).collect();
    Released { restored: outcome.restored, latched, stood_down: outcome.stood_down }
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

//! Holding a setting under conditions, and falling back when one of them breaks.

use std::time::Duration;

use bayop_knobs::sensor;

use super::Agent;
use super::apply::{Rest, Writer};
use super::guarded::Guarded;
use crate::guard::{Breach, Guard, LoadBand};
use crate::latency::Latency;
use crate::log;
use crate::messages::{Applied, Heard, HoldInForce, HoldRequest};
use crate::peer::{Peer, Role};
use bayop_core::{Error, Result};

impl Agent {
    /// Applies a setting and holds it under conditions, which take the place of those before.
    ///
    /// # Errors
    /// The conditions can't be judged here, the fall-back may not be applied, or the setting could not be; the machine and
    /// what guards it are then as they were.
    pub fn hold(&mut self, request: &HoldRequest, by: &Peer) -> Result<Applied> {
        let HoldRequest { lease, setting, fall_back, conditions } = request;
        conditions.check()?;
        if let Some(LoadBand { device, .. }) = &conditions.load {
            self.received_packets(device).map_err(|error| error.at("conditions.load.device"))?;
        }
        self.put(fall_back, Rest::HandedBack, None).map_err(|error| error.at("fall_back"))?;
        let applied = self.put_asked(Some(lease), setting, Rest::HandedBack, by)?;
        if !applied.advised {
            let (setting, fall_back) = (setting.clone(), fall_back.clone());
            let holder = self.leases.check(lease)?.to_owned();
            // A write may take seconds, in which nobody can push.
            let guard = Guard::new(conditions.clone(), self.now());
            self.guarded = Some(Guarded { setting, fall_back, holder, guard, fell_back: None });
        }
        Ok(applied)
    }

    /// Whether conditions are to be looked at.
    pub fn is_guarding(&self) -> bool {
        self.guarded.as_ref().is_some_and(|guarded| guarded.fell_back.is_none())
    }

    /// Takes in what clients see, and falls back at once when that breaks a condition.
    ///
    /// # Errors
    /// It names no latency.
    pub fn hear(&mut self, latency: &Latency) -> Result<Heard> {
        let now = self.now();
        let guarded = self.guarded.as_mut().filter(|guarded| guarded.watches_latency());
        let watched = guarded.is_some();
        let breach = match guarded {
            Some(guarded) => guarded.guard.hear(latency, now)?,
            None => latency.quantiles().map(|_| None)?,
        };
        self.tally.heard();
        breach.into_iter().for_each(|breach| self.fall_back(breach, now));
        Ok(Heard { watched })
    }

    /// Takes in a datagram, from nobody where more than a latency came. One that is refused is counted and has no other
    /// effect; the first since the last tick is logged.
    pub fn hear_datagram(&mut self, datagram: &[u8], by: Option<&Peer>) {
        let sender = by.ok_or_else(|| Error::forbidden("the datagram brings file descriptors, or has no sender"));
        let heard = sender.and_then(|by| self.allow(by, Role::Push)).and_then(|()| Latency::parse(datagram));
        if let Err(error) = heard.and_then(|latency| self.hear(&latency)) {
            self.tally.refused_push();
            if !std::mem::replace(&mut self.has_refused, true) {
                let by = by.map_or_else(|| "nobody".to_owned(), Peer::to_string);
                log::event("push_refused", &[("by", &by), ("reason", &error)]);
            }
        }
    }

    /// Looks at what nobody pushes: the time and the load.
    pub fn look(&mut self) {
        if !self.is_guarding() {
            return;
        }
        let device = self.guarded.as_ref().and_then(|guarded| guarded.guard.device().map(str::to_owned));
        let packets = device.and_then(|device| self.received_packets(&device).ok());
        let now = self.now();
        let breach = self.guarded.as_mut().and_then(|guarded| guarded.guard.look(packets, now));
        breach.into_iter().for_each(|breach| self.fall_back(breach, now));
    }

    /// The hold under conditions.
    pub fn holding(&self) -> Option<HoldInForce> {
        self.guarded.as_ref().map(|guarded| guarded.view(self.now()))
    }

    /// Puts the fall-back of what is held in effect; where that fails, the machine's own settings, which ends the lease.
    fn fall_back(&mut self, breach: Breach, seen: Duration) {
        let Some(mut guarded) = self.guarded.take() else { return };
        let Breach { condition, seen: what } = &breach;
        log::event("fall_back", &[("condition", &condition.name()), ("reason", what), ("holder", &guarded.holder)]);
        let writer = Writer { holder: &guarded.holder, by: &"agent", reason: what };
        let error = self.put(&guarded.fall_back, Rest::HandedBack, Some(&writer)).err();
        if let Some(error) = &error {
            log::event("fall_back_failed", &[("error", error)]);
            self.restore("the fall-back failed");
        }
        self.kept &= !self.hold.held().is_empty();
        self.tally.fell_back(*condition);
        guarded.give_up(breach, seen, self.now(), error);
        self.guarded = Some(guarded);
    }

    fn received_packets(&self, device: &str) -> Result<f64> {
        let (host, asked) = (self.host.clone(), device.to_owned());
        self.devices.on(device, move || sensor::received_packets(&host, &asked))?
    }
}

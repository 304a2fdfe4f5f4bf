//! Interrupt coalescing: how long and for how many packets a NIC waits before it interrupts
//! (Documentation/networking/ethtool-netlink.rst, "COALESCE_GET").

use super::attribute::{as_number, as_word, numbered, switch};
use super::domain::Domain;
use super::kind::Kind;
use crate::catalogue::{self, Driver};
use crate::control::{Control, Write};
use crate::host::Host;
use crate::network::CoalesceParameter;
use crate::sysfs::NET;
use crate::value::Value;
use bayop_core::{Error, Result};

/// The knob of one coalescing parameter.
#[derive(Debug)]
pub(super) struct Coalesce {
    pub id: &'static str,
    pub parameter: CoalesceParameter,
    /// The switch that lets the driver choose the parameter itself.
    pub adaptive: CoalesceParameter,
    /// The direction of its queues: `rx-`.
    pub queue: &'static str,
}

impl Kind for Coalesce {
    fn id(&self) -> &'static str {
        self.id
    }

    /// A device, and after it its queues where the driver takes the parameter for one.
    fn places(&self, host: &Host) -> Result<Vec<(String, Domain)>> {
        let mut places = Vec::new();
        let mut refused = None;
        for device in host.names(NET) {
            match host.network().coalescing(&device, None) {
                Ok(found) if found.contains_key(&self.parameter) => self.add(host, &device, &mut places),
                Ok(_) => {}
                // A device without hardware behind it is no reason.
                Err(error) if host.driver(&device).is_some() => refused = refused.or(Some(error)),
                Err(_) => {}
            }
        }
        if places.is_empty() {
            return Err(refused.unwrap_or_else(|| {
                Error::unsupported(format!("no network driver has {}", self.parameter.ethtool_name()))
                    .at(format!("/{NET}"))
                    .hint("a virtual NIC may offer napi.gro_flush_timeout_us instead")
            }));
        }
        Ok(places)
    }

    /// What is in effect, also where the driver shows what was asked.
    fn read(&self, host: &Host, at: &str) -> Result<Value> {
        let (device, queue) = self.split(at)?;
        let value = host.network().coalescing(device, queue)?.remove(&self.parameter);
        let value = value.ok_or_else(|| {
            Error::unsupported(format!("the driver of {device} has no {}", self.parameter.ethtool_name()))
        })?;
        Ok(match self.rule(host, device) {
            _ if self.parameter == self.adaptive => switch(value != 0),
            Some(rule) if rule.shows_request => f64::from(rule.effective(value, None)).into(),
            _ => f64::from(value).into(),
        })
    }

    /// Adaptive moderation off first, in a write of its own: a driver that moderates adaptively ignores the value, and
    /// bnxt_en drops what comes with the switch.
    fn plan(&self, host: &Host, at: &str, value: &Value) -> Result<Vec<Write>> {
        let (device, queue) = self.split(at)?;
        let write = |parameter, text: &str| {
            let control = Control::Coalesce { device: device.to_owned(), queue, parameter };
            Write { control, text: text.to_owned() }
        };
        if self.parameter == self.adaptive {
            return Ok(vec![write(self.parameter, as_word(value)?)]);
        }
        let number = as_number(value)?.round() as u32;
        let mut writes = Vec::new();
        if host.network().coalescing(device, None)?.contains_key(&self.adaptive) {
            writes.push(write(self.adaptive, "off"));
        }
        writes.push(write(self.parameter, &number.to_string()));
        Ok(writes)
    }
}

impl Coalesce {
    fn add(&self, host: &Host, device: &str, places: &mut Vec<(String, Domain)>) {
        let domain = self.domain(host, device);
        places.push((device.to_owned(), domain.clone()));
        let queues = numbered(host, &format!("{NET}/{device}/queues"), self.queue);
        let takes_queues = queues.first().is_some_and(|queue| {
            self.split(&format!("{device}/{queue}"))
                .is_ok_and(|(device, queue)| host.network().coalescing(device, queue).is_ok())
        });
        if takes_queues {
            places.extend(queues.into_iter().map(|queue| (format!("{device}/{queue}"), domain.clone())));
        }
    }

    fn rule(&self, host: &Host, device: &str) -> Option<&'static Driver> {
        catalogue::driver(&host.driver(device)?, self.parameter)
    }

    /// The driver's bound and step where they are known, less what it keeps for itself; else all that the interface
    /// can say.
    fn domain(&self, host: &Host, device: &str) -> Domain {
        if self.parameter == self.adaptive {
            return Domain::Choices(vec!["off".into(), "on".into()]);
        }
        let rule = self.rule(host, device);
        let high = rule.and_then(|rule| rule.greatest).unwrap_or(u32::MAX);
        let step = rule.map_or(1, Driver::step);
        let kept = rule.map_or(&[][..], |rule| &rule.reserved);
        let reserved = kept.iter().filter(|kept| kept.high - kept.high % step >= kept.low).cloned().collect();
        Domain::Steps { low: 0.0, high: f64::from(high - high % step), step: f64::from(step), reserved }
    }

    fn split<'a>(&self, at: &'a str) -> Result<(&'a str, Option<u32>)> {
        split(at, self.queue)
    }
}

/// The device and the queue of a place such as `eth0` or `eth0/rx-3`.
pub(super) fn split<'a>(at: &'a str, direction: &str) -> Result<(&'a str, Option<u32>)> {
    let Some((device, queue)) = at.split_once('/') else { return Ok((at, None)) };
    let index = queue.strip_prefix(direction).and_then(|index| index.parse().ok());
    let index = index.ok_or_else(|| {
        Error::cannot_use(at, format!("the place must be DEVICE or DEVICE/{direction}N, such as eth0/{direction}3"))
    })?;
    Ok((device, Some(index)))
}

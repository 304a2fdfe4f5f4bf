//! NAPI deferral: polling on a timer instead of by interrupt (Documentation/networking/napi.rst, "Software IRQ
//! coalescing").

use super::attribute::{as_number, number};
use super::coalesce::split;
use super::domain::Domain;
use super::kind::Kind;
use crate::control::{Control, Write};
use crate::host::Host;
use crate::network::NapiParameter;
use crate::sysfs::NET;
use crate::value::Value;
use bayop_core::{Error, Result};

/// The knob of one parameter of deferral.
#[derive(Debug)]
pub(super) struct Deferral {
    pub id: &'static str,
    pub parameter: NapiParameter,
    /// The file that sets it for a whole device; the youngest parameter has none.
    pub file: Option<&'static str>,
    /// The greatest value, in the knob's unit.
    pub high: f64,
    /// The kernel's unit in the knob's.
    pub scale: f64,
}

impl Kind for Deferral {
    fn id(&self) -> &'static str {
        self.id
    }

    /// A device where the kernel has a file for it, and after it the receive queues with a NAPI instance.
    fn places(&self, host: &Host) -> Result<Vec<(String, Domain)>> {
        let domain = Domain::steps(0.0, self.high, 1.0);
        let mut places = Vec::new();
        for device in host.devices() {
            if self.path(&device).is_some_and(|path| host.has(&path)) {
                places.push((device.clone(), domain.clone()));
            }
            let napis = host.network().napis(&device).unwrap_or_default();
            let has = napis.into_iter().filter(|(_, napi)| napi.parameters.contains_key(&self.parameter));
            places.extend(has.map(|(queue, _)| (format!("{device}/rx-{queue}"), domain.clone())));
        }
        if places.is_empty() {
            return Err(Error::unsupported("no network device that is up has NAPI deferral")
                .at(format!("/{NET}"))
                .hint("kernel 5.8 has it for devices, 6.13 for queues; a veth device polls only with GRO on"));
        }
        Ok(places)
    }

    fn read(&self, host: &Host, at: &str) -> Result<Value> {
        let value = match split(at, "rx-")? {
            (device, None) => number(host, &self.file(device)?)?,
            (device, Some(queue)) => {
                let napi = host.network().napi(device, queue)?;
                *napi.parameters.get(&self.parameter).ok_or_else(|| self.absent(at))?
            }
        };
        Ok(Value::Number(value as f64 * self.scale))
    }

    fn plan(&self, _host: &Host, at: &str, value: &Value) -> Result<Vec<Write>> {
        let control = match split(at, "rx-")? {
            (device, None) => Control::file(self.file(device)?),
            (device, Some(queue)) => Control::Napi { device: device.to_owned(), queue, parameter: self.parameter },
        };
        Ok(vec![Write { control, text: format!("{:.0}", as_number(value)? / self.scale) }])
    }
}

impl Deferral {
    fn path(&self, device: &str) -> Option<String> {
        Some(format!("{NET}/{device}/{}", self.file?))
    }

    fn file(&self, device: &str) -> Result<String> {
        self.path(device).ok_or_else(|| self.absent(device))
    }

    fn absent(&self, at: &str) -> Error {
        Error::unsupported(format!("the kernel has no {} there", self.parameter.netlink_name())).at(at)
    }
}

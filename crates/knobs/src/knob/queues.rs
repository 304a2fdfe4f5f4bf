//! How many receive queues are in use: the others stay open, but no packet is hashed to them, so that the cores that serve
//! them may sleep (Documentation/networking/scaling.rst, "RSS").

use super::attribute::as_number;
use super::domain::Domain;
use super::kind::Kind;
use crate::control::{Control, Write};
use crate::host::Host;
use crate::sysfs::NET;
use crate::value::Value;
use bayop_core::{Error, Result};

#[derive(Debug)]
pub(super) struct CombinedQueues;

impl Kind for CombinedQueues {
    fn id(&self) -> &'static str {
        "nic.combined_queues"
    }

    /// The devices that spread by a table over several queues.
    fn places(&self, host: &Host) -> Result<Vec<(String, Domain)>> {
        let mut places = Vec::new();
        let mut refused = None;
        for device in host.names(NET) {
            match most(host, &device) {
                Ok(most) => places.push((device, Domain::steps(1.0, f64::from(most), 1.0))),
                // A device without hardware behind it is no reason.
                Err(error) if host.driver(&device).is_some() => refused = refused.or(Some(error)),
                Err(_) => {}
            }
        }
        if places.is_empty() {
            let none = || Error::unsupported("no network driver has an indirection table").at(format!("/{NET}"));
            return Err(refused
                .unwrap_or_else(none)
                .hint("a NIC that spreads over several queues has it: ethtool -x DEVICE"));
        }
        Ok(places)
    }

    fn read(&self, host: &Host, at: &str) -> Result<Value> {
        Ok(Value::Number(host.network().indirection(at)?.in_use() as f64))
    }

    fn plan(&self, host: &Host, at: &str, value: &Value) -> Result<Vec<Write>> {
        let table = host.network().indirection(at)?.equally(as_number(value)?.round() as u32);
        Ok(vec![Write { control: Control::Indirection { device: at.to_owned() }, text: table.to_string() }])
    }
}

/// The most queues of a device that can be in use.
fn most(host: &Host, device: &str) -> Result<u32> {
    let entries = host.network().indirection(device)?.queues().len();
    match host.network().receive_queues(device)?.min(u32::try_from(entries).unwrap_or(u32::MAX)) {
        most @ 2.. => Ok(most),
        _ => Err(Error::unsupported("the device has one receive queue, which is always in use").at(device)),
    }
}

//! What the network devices of a recorded machine answer: `ethtool/DEVICE.toml` under its root.
//!
//! ```toml
//! per_queue = true
//! resolution_us = 50
//! indirection = "128: 0 1"
//!
//! [[queue]]
//! rx_usecs = 50
//! adaptive_rx = 1
//!
//! [queue.napi]
//! id = 8193
//! defer-hard-irqs = 0
//! gro-flush-timeout = 0
//! ```
//!
//! A device answers with its first queue, and a write to it reaches every queue, as drivers do. Values are rounded and
//! refused by the driver's rules in the catalogue, so that what is asked and what is in effect differ as they would.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{CoalesceParameter, Coalescing, Indirection, Napi, NapiParameter, Network};
use crate::catalogue;
use crate::network::device::driver;
use crate::overwrite::overwrite;
use crate::refusal::refusal;
use bayop_core::{Error, Result};

/// The network devices of the machine under a root.
#[derive(Debug)]
pub(crate) struct Recorded {
    root: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Device {
    /// Whether the driver takes coalescing for one queue.
    per_queue: bool,
    /// The step of a device that tells its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    resolution_us: Option<u32>,
    /// The table by which it spreads what it receives over the queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    indirection: Option<Indirection>,
    #[serde(default, rename = "queue")]
    queues: Vec<Queue>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Queue {
    #[serde(flatten)]
    coalescing: Coalescing,
    #[serde(skip_serializing_if = "Option::is_none")]
    napi: Option<Napi>,
}

impl Recorded {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    fn load(&self, device: &str) -> Result<Device> {
        let path = path(device);
        let text = fs::read_to_string(self.root.join(&path)).map_err(|error| refusal("read", &path, &error))?;
        toml::from_str(&text).map_err(|error| {
            Error::unsupported(format!("the recorded device cannot be read: {}", error.message()))
                .at(format!("/{path}"))
        })
    }

    fn store(&self, device: &str, recorded: &Device) -> Result<()> {
        let path = path(device);
        let text = toml::to_string(recorded).expect("a device is plain tables");
        let file = fs::OpenOptions::new().write(true).open(self.root.join(&path));
        file.and_then(|file| overwrite(file, &text)).map_err(|error| refusal("write", &path, &error))
    }
}

/// What a device answers as text; none for one that answers nothing and has no driver to ask.
///
/// The step of a device that tells its own is not in it: no interface shows it.
pub(crate) fn record(network: &dyn Network, device: &str, has_driver: bool) -> Option<String> {
    let whole = network.coalescing(device, None).ok();
    let mut napis = network.napis(device).unwrap_or_default();
    let each: Vec<Coalescing> = (0..).map_while(|queue| network.coalescing(device, Some(queue)).ok()).collect();
    if whole.is_none() && napis.is_empty() && !has_driver {
        return None;
    }
    let last_napi = napis.keys().next_back().map_or(0, |last| last + 1);
    let open = network.receive_queues(device).unwrap_or(0);
    let count = (each.len() as u32).max(last_napi).max(open).max(u32::from(whole.is_some()));
    let coalescing = |queue: u32| each.get(queue as usize).or(whole.as_ref()).cloned().unwrap_or_default();
    let queues = (0..count).map(|queue| Queue { coalescing: coalescing(queue), napi: napis.remove(&queue) }).collect();
    let recorded = Device {
        per_queue: !each.is_empty(),
        resolution_us: None,
        indirection: network.indirection(device).ok(),
        queues,
    };
    Some(toml::to_string(&recorded).expect("a device is plain tables"))
}

impl Network for Recorded {
    fn coalescing(&self, device: &str, queue: Option<u32>) -> Result<Coalescing> {
        let recorded = self.load(device)?;
        let queue = addressed(&recorded, device, queue)?.start;
        match recorded.queues.into_iter().nth(queue) {
            Some(queue) if !queue.coalescing.is_empty() => Ok(queue.coalescing),
            _ => Err(not_supported(device)),
        }
    }

    fn set_coalescing(&self, device: &str, queue: Option<u32>, parameter: CoalesceParameter, value: u32) -> Result<()> {
        let mut recorded = self.load(device)?;
        let effective = match driver(&self.root, device).and_then(|driver| catalogue::driver(&driver, parameter)) {
            Some(rule) => rule.shown(value, recorded.resolution_us)?,
            None => value,
        };
        let queues = addressed(&recorded, device, queue)?;
        for queue in &mut recorded.queues[queues] {
            *queue.coalescing.get_mut(&parameter).ok_or_else(|| not_supported(device))? = effective;
        }
        self.store(device, &recorded)
    }

    fn napis(&self, device: &str) -> Result<BTreeMap<u32, Napi>> {
        let queues = self.load(device)?.queues;
        Ok((0..).zip(queues).filter_map(|(index, queue)| Some((index, queue.napi?))).collect())
    }

    fn set_napi(&self, device: &str, queue: u32, parameter: NapiParameter, value: u64) -> Result<()> {
        let mut recorded = self.load(device)?;
        let napi = recorded.queues.get_mut(queue as usize).and_then(|queue| queue.napi.as_mut());
        let entry = napi.and_then(|napi| napi.parameters.get_mut(&parameter));
        *entry.ok_or_else(|| not_supported(device))? = value;
        self.store(device, &recorded)
    }

    fn indirection(&self, device: &str) -> Result<Indirection> {
        self.load(device)?.indirection.ok_or_else(|| not_supported(device))
    }

    /// As the kernel does, refuses another number of entries, and queues that there are not.
    fn set_indirection(&self, device: &str, table: &Indirection) -> Result<()> {
        let mut recorded = self.load(device)?;
        let found = recorded.indirection.replace(table.clone()).ok_or_else(|| not_supported(device))?;
        let is_queue = |queue: &u32| (*queue as usize) < recorded.queues.len();
        if table.queues().len() != found.queues().len() || !table.queues().iter().all(is_queue) {
            return Err(Error::unsupported("the network driver refuses the indirection table: invalid argument"));
        }
        self.store(device, &recorded)
    }

    fn receive_queues(&self, device: &str) -> Result<u32> {
        Ok(self.load(device)?.queues.len() as u32)
    }
}

/// The queues that a call is about: the one it names, or all.
fn addressed(recorded: &Device, device: &str, queue: Option<u32>) -> Result<std::ops::Range<usize>> {
    let all = 0..recorded.queues.len();
    match queue {
        None => Ok(all),
        Some(queue) if recorded.per_queue && all.contains(&(queue as usize)) => Ok(queue as usize..queue as usize + 1),
        Some(_) => Err(not_supported(device)),
    }
}

fn not_supported(device: &str) -> Error {
    Error::unsupported("the network driver does not have the parameter: operation not supported").at(device)
}

pub(crate) fn path(device: &str) -> String {
    format!("ethtool/{device}.toml")
}

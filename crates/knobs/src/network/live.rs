//! What the kernel of this machine answers, in this process's network namespace.

use std::collections::BTreeMap;
use std::io;

use super::{CoalesceParameter, Coalescing, Indirection, Napi, NapiParameter, Network, ethtool, ioctl, netdev};
use crate::refusal::kind;
use bayop_core::{Error, Result, reason};

/// The network devices of this machine.
#[derive(Debug)]
pub(crate) struct Live;

impl Network for Live {
    fn coalescing(&self, device: &str, queue: Option<u32>) -> Result<Coalescing> {
        let by_netlink = if queue.is_none() { ethtool::coalescing(device) } else { None };
        by_netlink
            .unwrap_or_else(|| ioctl::coalescing(device, queue))
            .map_err(|error| refusal("tell its coalescing", &error).at(place(device, queue)))
    }

    fn set_coalescing(&self, device: &str, queue: Option<u32>, parameter: CoalesceParameter, value: u32) -> Result<()> {
        let by_netlink = if queue.is_none() { ethtool::set_coalescing(device, parameter, value) } else { None };
        by_netlink.unwrap_or_else(|| ioctl::set_coalescing(device, queue, parameter, value)).map_err(|error| {
            refusal(&format!("take {} {value}", parameter.ethtool_name()), &error).at(place(device, queue))
        })
    }

    fn napis(&self, device: &str) -> Result<BTreeMap<u32, Napi>> {
        netdev::napis(device).map_err(|error| {
            refusal("tell its NAPI instances", &error).at(device).hint("kernel 6.13 or newer, with the device up")
        })
    }

    fn set_napi(&self, device: &str, queue: u32, parameter: NapiParameter, value: u64) -> Result<()> {
        let id = self.napi(device, queue)?.id;
        netdev::set(id, parameter, value).map_err(|error| {
            refusal(&format!("take {} {value}", parameter.netlink_name()), &error).at(format!("{device}/rx-{queue}"))
        })
    }

    fn indirection(&self, device: &str) -> Result<Indirection> {
        let table = ioctl::indirection(device);
        table.map_err(|error| refusal("tell its indirection table", &error).at(device)).and_then(Indirection::new)
    }

    fn set_indirection(&self, device: &str, table: &Indirection) -> Result<()> {
        let set = ioctl::set_indirection(device, table.queues());
        set.map_err(|error| refusal("take the indirection table", &error).at(device))
    }

    fn receive_queues(&self, device: &str) -> Result<u32> {
        ioctl::receive_queues(device).map_err(|error| refusal("tell how many receive queues it has", &error).at(device))
    }
}

fn place(device: &str, queue: Option<u32>) -> String {
    queue.map_or_else(|| device.to_owned(), |queue| format!("{device} queue {queue}"))
}

fn refusal(act: &str, error: &io::Error) -> Error {
    let refused = Error::new(kind(error), format!("the network driver does not {act}: {}", reason(error)));
    match error.kind() {
        io::ErrorKind::PermissionDenied => refused.hint("run as root, or with CAP_NET_ADMIN"),
        _ => refused,
    }
}

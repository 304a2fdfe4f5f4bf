//! What the kernel of this machine answers, in this process's network namespace.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;

use netlink_packet_core::{DefaultNla, Emitable, NLA_F_NESTED};

use super::genetlink::{Attribute, Connection, Request, malformed, zero_terminated};
use super::{CoalesceParameter, Coalescing, Napi, NapiParameter, Network, ioctl};
use crate::error::{Error, Result};

/// The family `ethtool` (Documentation/networking/ethtool-netlink.rst, "COALESCE_GET").
mod ethtool {
    pub const FAMILY: &str = "ethtool";
    pub const COALESCE_GET: u8 = 19;
    pub const COALESCE_SET: u8 = 20;
    pub const COALESCE_HEADER: u16 = 1;
    pub const HEADER_DEV_NAME: u16 = 2;
}

/// The family `netdev` (Documentation/netlink/specs/netdev.yaml).
mod netdev {
    pub const FAMILY: &str = "netdev";
    pub const QUEUE_GET: u8 = 10;
    pub const NAPI_GET: u8 = 11;
    pub const NAPI_SET: u8 = 14;
    pub const QUEUE_ID: u16 = 1;
    pub const QUEUE_IFINDEX: u16 = 2;
    pub const QUEUE_TYPE: u16 = 3;
    pub const QUEUE_NAPI_ID: u16 = 4;
    pub const TYPE_RX: u32 = 0;
    pub const NAPI_IFINDEX: u16 = 1;
    pub const NAPI_ID: u16 = 2;
}

/// The network devices of this machine.
#[derive(Debug)]
pub(crate) struct Live;

impl Network for Live {
    fn coalescing(&self, device: &str, queue: Option<u32>) -> Result<Coalescing> {
        let answer = match queue {
            Some(_) => ioctl::coalescing(device, queue),
            None => by_netlink_or(ethtool::FAMILY, |connection, family| netlink_coalescing(connection, family, device))
                .unwrap_or_else(|| ioctl::coalescing(device, None)),
        };
        answer.map_err(|error| refusal(&error, "tells its coalescing").at(place(device, queue)))
    }

    fn set_coalescing(&self, device: &str, queue: Option<u32>, parameter: CoalesceParameter, value: u32) -> Result<()> {
        let answer = match queue {
            Some(_) => ioctl::set_coalescing(device, queue, parameter, value),
            None => by_netlink_or(ethtool::FAMILY, |connection, family| {
                let attributes = [device_header(device), coalesce_attribute(parameter, value)];
                let request = Request { command: ethtool::COALESCE_SET, is_dump: false, attributes: &attributes };
                connection.request(family, &request).map(|_| ())
            })
            .unwrap_or_else(|| ioctl::set_coalescing(device, None, parameter, value)),
        };
        answer.map_err(|error| refusal(&error, &format!("takes {}", parameter.ethtool_name())).at(place(device, queue)))
    }

    fn napis(&self, device: &str) -> Result<BTreeMap<u32, Napi>> {
        let answer = ifindex(device).and_then(netdev_napis);
        answer.map_err(|error| {
            refusal(&error, "tells its NAPI instances").at(device).hint("kernel 6.13 or newer, with the device up")
        })
    }

    fn set_napi(&self, device: &str, queue: u32, parameter: NapiParameter, value: u64) -> Result<()> {
        let napi = self.napi(device, queue)?;
        let set = || {
            let value = match u32::try_from(value) {
                Ok(value) => value.to_ne_bytes().to_vec(),
                Err(_) => value.to_ne_bytes().to_vec(),
            };
            let attributes = [unsigned(netdev::NAPI_ID, napi.id), DefaultNla::new(napi_kind(parameter), value)];
            let mut connection = Connection::open()?;
            let family = connection.family(netdev::FAMILY)?;
            connection.request(family, &Request { command: netdev::NAPI_SET, is_dump: false, attributes: &attributes })
        };
        set().map(|_| ()).map_err(|error| {
            refusal(&error, &format!("takes {}", parameter.netlink_name())).at(format!("{device}/rx-{queue}"))
        })
    }
}

/// What the family answers; none when the kernel does not have it.
fn by_netlink_or<T>(name: &str, ask: impl FnOnce(&mut Connection, u16) -> io::Result<T>) -> Option<io::Result<T>> {
    let mut connection = Connection::open().ok()?;
    match connection.family(name) {
        Ok(family) => Some(ask(&mut connection, family)),
        Err(_) => None,
    }
}

fn netlink_coalescing(connection: &mut Connection, family: u16, device: &str) -> io::Result<Coalescing> {
    let attributes = [device_header(device)];
    let request = Request { command: ethtool::COALESCE_GET, is_dump: false, attributes: &attributes };
    coalescing(&connection.request(family, &request)?.concat())
}

/// A driver without a parameter does not send it.
fn coalescing(attributes: &[Attribute]) -> io::Result<Coalescing> {
    let mut found = Coalescing::new();
    for (kind, bytes) in attributes {
        if let Some(parameter) = CoalesceParameter::ALL.into_iter().find(|&parameter| coalesce_kind(parameter) == *kind)
        {
            let value = number(bytes)?;
            let value = u32::try_from(value).map_err(|_| malformed("a coalescing parameter has 32 bits"))?;
            found.insert(parameter, value);
        }
    }
    Ok(found)
}

fn coalesce_kind(parameter: CoalesceParameter) -> u16 {
    match parameter {
        CoalesceParameter::RxUsecs => 2,
        CoalesceParameter::RxFrames => 3,
        CoalesceParameter::TxUsecs => 6,
        CoalesceParameter::AdaptiveRx => 11,
        CoalesceParameter::AdaptiveTx => 12,
    }
}

fn coalesce_attribute(parameter: CoalesceParameter, value: u32) -> DefaultNla {
    match parameter {
        CoalesceParameter::AdaptiveRx | CoalesceParameter::AdaptiveTx => {
            DefaultNla::new(coalesce_kind(parameter), vec![u8::from(value != 0)])
        }
        _ => unsigned(coalesce_kind(parameter), value),
    }
}

fn device_header(device: &str) -> DefaultNla {
    let name = DefaultNla::new(ethtool::HEADER_DEV_NAME, zero_terminated(device));
    let mut bytes = vec![0; name.buffer_len()];
    name.emit(&mut bytes);
    DefaultNla::new(ethtool::COALESCE_HEADER | NLA_F_NESTED, bytes)
}

fn netdev_napis(ifindex: u32) -> io::Result<BTreeMap<u32, Napi>> {
    let mut connection = Connection::open()?;
    let family = connection.family(netdev::FAMILY)?;
    let mut dump = |command, attribute| {
        let attributes = [unsigned(attribute, ifindex)];
        connection.request(family, &Request { command, is_dump: true, attributes: &attributes })
    };
    let instances: Vec<Napi> =
        dump(netdev::NAPI_GET, netdev::NAPI_IFINDEX)?.iter().map(|reply| napi(reply)).collect::<io::Result<_>>()?;
    let queues: Vec<RxQueue> = dump(netdev::QUEUE_GET, netdev::QUEUE_IFINDEX)?
        .iter()
        .filter_map(|reply| rx_queue(reply).transpose())
        .collect::<io::Result<_>>()?;
    Ok(by_queue(instances, &queues))
}

/// A receive queue and the number of the NAPI instance that polls it, where the driver says so.
#[derive(Debug, PartialEq)]
struct RxQueue {
    index: u32,
    napi: Option<u32>,
}

/// The instances by their queues. Where the driver says of no queue who polls it (veth), but has an instance for each,
/// the instances are taken in the order of their numbers, in which drivers add them.
fn by_queue(mut instances: Vec<Napi>, queues: &[RxQueue]) -> BTreeMap<u32, Napi> {
    if queues.len() == instances.len() && queues.iter().all(|queue| queue.napi.is_none()) {
        instances.sort_by_key(|instance| instance.id);
        return (0..).zip(instances).collect();
    }
    let polled_by = |id| instances.iter().find(|instance| instance.id == id).cloned();
    queues.iter().filter_map(|queue| Some((queue.index, polled_by(queue.napi?)?))).collect()
}

fn napi(attributes: &[Attribute]) -> io::Result<Napi> {
    let mut instance = Napi { id: required(attributes, netdev::NAPI_ID)?, parameters: BTreeMap::new() };
    for parameter in NapiParameter::ALL {
        if let Some(value) = optional(attributes, napi_kind(parameter))? {
            instance.parameters.insert(parameter, value);
        }
    }
    Ok(instance)
}

fn napi_kind(parameter: NapiParameter) -> u16 {
    match parameter {
        NapiParameter::DeferHardIrqs => 5,
        NapiParameter::GroFlushTimeout => 6,
        NapiParameter::IrqSuspendTimeout => 7,
    }
}

/// The receive queue of a reply; none for a queue of another direction.
fn rx_queue(attributes: &[Attribute]) -> io::Result<Option<RxQueue>> {
    if required(attributes, netdev::QUEUE_TYPE)? != netdev::TYPE_RX {
        return Ok(None);
    }
    let napi = match optional(attributes, netdev::QUEUE_NAPI_ID)? {
        Some(_) => Some(required(attributes, netdev::QUEUE_NAPI_ID)?),
        None => None,
    };
    Ok(Some(RxQueue { index: required(attributes, netdev::QUEUE_ID)?, napi }))
}

fn required(attributes: &[Attribute], kind: u16) -> io::Result<u32> {
    optional(attributes, kind)?
        .and_then(|value| u32::try_from(value).ok())
        .ok_or_else(|| malformed(&format!("attribute {kind} is there and has 32 bits")))
}

fn optional(attributes: &[Attribute], kind: u16) -> io::Result<Option<u64>> {
    attributes.iter().find(|(found, _)| *found == kind).map(|(_, bytes)| number(bytes)).transpose()
}

/// An unsigned number of 1, 4 or 8 bytes: netlink sends the type `uint` as short as it fits.
fn number(bytes: &[u8]) -> io::Result<u64> {
    match *bytes {
        [byte] => Ok(u64::from(byte)),
        [a, b, c, d] => Ok(u64::from(u32::from_ne_bytes([a, b, c, d]))),
        [a, b, c, d, e, f, g, h] => Ok(u64::from_ne_bytes([a, b, c, d, e, f, g, h])),
        _ => Err(malformed("a number has 1, 4 or 8 bytes")),
    }
}

fn unsigned(kind: u16, value: u32) -> DefaultNla {
    DefaultNla::new(kind, value.to_ne_bytes().to_vec())
}

fn ifindex(device: &str) -> io::Result<u32> {
    let name = CString::new(device)?;
    // SAFETY: the name is a string that ends with a zero byte and outlives the call, which only reads it.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

fn place(device: &str, queue: Option<u32>) -> String {
    queue.map_or_else(|| device.to_owned(), |queue| format!("{device} queue {queue}"))
}

fn refusal(error: &io::Error, does: &str) -> Error {
    let refused = Error::unsupported(format!("the network driver {does} ({error})"));
    match error.kind() {
        io::ErrorKind::PermissionDenied => refused.hint("run as root, or with CAP_NET_ADMIN"),
        _ => refused,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_have_any_of_netlinks_lengths() {
        assert_eq!(number(&[7]).unwrap(), 7);
        assert_eq!(number(&7_u32.to_ne_bytes()).unwrap(), 7);
        assert_eq!(number(&(1_u64 << 40).to_ne_bytes()).unwrap(), 1 << 40);
        for length in [0, 2, 3, 5, 9] {
            assert!(number(&vec![0; length]).is_err());
        }
    }

    #[test]
    fn replies_are_read() {
        let word = |value: u32| value.to_ne_bytes().to_vec();
        let found = coalescing(&[(1, vec![0; 8]), (2, word(50)), (11, vec![1]), (99, vec![])]).unwrap();
        assert_eq!(found, Coalescing::from([(CoalesceParameter::RxUsecs, 50), (CoalesceParameter::AdaptiveRx, 1)]));
        let found = napi(&[(1, word(2)), (2, word(8193)), (5, word(1)), (6, 20_000_u64.to_ne_bytes().to_vec())]);
        let parameters = BTreeMap::from([(NapiParameter::DeferHardIrqs, 1), (NapiParameter::GroFlushTimeout, 20_000)]);
        assert_eq!(found.unwrap(), Napi { id: 8193, parameters });
        let queue = |napi| Some(RxQueue { index: 3, napi });
        assert_eq!(rx_queue(&[(1, word(3)), (3, word(0)), (4, word(8193))]).unwrap(), queue(Some(8193)));
        assert_eq!(rx_queue(&[(1, word(3)), (3, word(0))]).unwrap(), queue(None));
        assert_eq!(rx_queue(&[(1, word(3)), (3, word(1)), (4, word(8193))]).unwrap(), None);
        assert!(rx_queue(&[(3, word(0)), (4, word(8193))]).is_err());
        assert!(napi(&[(1, word(2))]).is_err());
    }

    #[test]
    fn instances_go_by_the_queues_that_they_poll() {
        let instance = |id| Napi { id, parameters: BTreeMap::new() };
        let queue = |index, napi| RxQueue { index, napi };
        let named = by_queue(vec![instance(9), instance(8)], &[queue(0, Some(8)), queue(1, Some(9)), queue(2, None)]);
        assert_eq!(named, BTreeMap::from([(0, instance(8)), (1, instance(9))]));
        let unnamed = by_queue(vec![instance(9), instance(8)], &[queue(0, None), queue(1, None)]);
        assert_eq!(unnamed, BTreeMap::from([(0, instance(8)), (1, instance(9))]));
        assert_eq!(by_queue(vec![instance(9), instance(8)], &[queue(0, None)]), BTreeMap::new());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8192))]

        #[test]
        fn any_attributes_are_read_or_refused(
            attributes in prop::collection::vec((0u16..13, prop::collection::vec(any::<u8>(), 0..12)), 0..12)
        ) {
            let known = |(kind, bytes): &(u16, Vec<u8>)| [2, 3, 6, 11, 12].contains(kind) && ![1, 4, 8].contains(&bytes.len());
            let odd = attributes.iter().any(known);
            prop_assert!(!(odd && coalescing(&attributes).is_ok()));
            let _ = (napi(&attributes), rx_queue(&attributes));
        }
    }
}

//! NAPI instances by the netlink family `netdev` (Documentation/netlink/specs/netdev.yaml).

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;

use netlink_packet_core::DefaultNla;

use super::attribute::{Attribute, optional, required, unsigned};
use super::genetlink::{Connection, Request};
use super::{Napi, NapiParameter};

const FAMILY: &str = "netdev";

const GET_QUEUES: u8 = 10;
const QUEUE_ID: u16 = 1;
const QUEUE_IFINDEX: u16 = 2;
const QUEUE_TYPE: u16 = 3;
const QUEUE_NAPI_ID: u16 = 4;
const TYPE_RX: u32 = 0;

const GET_NAPIS: u8 = 11;
const SET_NAPI: u8 = 14;
const NAPI_IFINDEX: u16 = 1;
const NAPI_ID: u16 = 2;

/// The NAPI instances of a device, by receive queue.
pub(super) fn napis(device: &str) -> io::Result<BTreeMap<u32, Napi>> {
    let ifindex = ifindex(device)?;
    let mut connection = Connection::open()?;
    let family = connection.family(FAMILY)?;
    let mut dump = |command, attribute| {
        let attributes = [unsigned(attribute, ifindex)];
        connection.request(family, &Request { command, is_dump: true, attributes: &attributes })
    };
    let instances: Vec<Napi> =
        dump(GET_NAPIS, NAPI_IFINDEX)?.iter().map(|reply| napi(reply)).collect::<io::Result<_>>()?;
    let queues: Vec<RxQueue> = dump(GET_QUEUES, QUEUE_IFINDEX)?
        .iter()
        .filter_map(|reply| rx_queue(reply).transpose())
        .collect::<io::Result<_>>()?;
    Ok(by_queue(instances, &queues))
}

/// Sets one parameter of the NAPI instance with that number.
pub(super) fn set(id: u32, parameter: NapiParameter, value: u64) -> io::Result<()> {
    let value = match u32::try_from(value) {
        Ok(value) => value.to_ne_bytes().to_vec(),
        Err(_) => value.to_ne_bytes().to_vec(),
    };
    let attributes = [unsigned(NAPI_ID, id), DefaultNla::new(kind(parameter), value)];
    let mut connection = Connection::open()?;
    let family = connection.family(FAMILY)?;
    connection.request(family, &Request { command: SET_NAPI, is_dump: false, attributes: &attributes }).map(|_| ())
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
    let mut instance = Napi { id: required(attributes, NAPI_ID)?, parameters: BTreeMap::new() };
    for parameter in NapiParameter::ALL {
        if let Some(value) = optional(attributes, kind(parameter))? {
            instance.parameters.insert(parameter, value);
        }
    }
    Ok(instance)
}

fn kind(parameter: NapiParameter) -> u16 {
    match parameter {
        NapiParameter::DeferHardIrqs => 5,
        NapiParameter::GroFlushTimeout => 6,
        NapiParameter::IrqSuspendTimeout => 7,
    }
}

/// The receive queue of a reply; none for a queue of another direction.
fn rx_queue(attributes: &[Attribute]) -> io::Result<Option<RxQueue>> {
    if required(attributes, QUEUE_TYPE)? != TYPE_RX {
        return Ok(None);
    }
    let napi = match optional(attributes, QUEUE_NAPI_ID)? {
        Some(_) => Some(required(attributes, QUEUE_NAPI_ID)?),
        None => None,
    };
    Ok(Some(RxQueue { index: required(attributes, QUEUE_ID)?, napi }))
}

fn ifindex(device: &str) -> io::Result<u32> {
    let name = CString::new(device)?;
    // SAFETY: the name is a string that ends with a zero byte and outlives the call, which only reads it.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn replies_are_read() {
        let word = |value: u32| value.to_ne_bytes().to_vec();
        let instance = napi(&[(1, word(2)), (2, word(8193)), (5, word(1)), (6, 20_000_u64.to_ne_bytes().to_vec())]);
        let parameters = BTreeMap::from([(NapiParameter::DeferHardIrqs, 1), (NapiParameter::GroFlushTimeout, 20_000)]);
        assert_eq!(instance.unwrap(), Napi { id: 8193, parameters });
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
        fn an_instance_without_a_whole_number_is_refused(
            attributes in prop::collection::vec((0u16..9, prop::collection::vec(any::<u8>(), 0..12)), 0..12)
        ) {
            let id = attributes.iter().find(|(sent, _)| *sent == NAPI_ID);
            if id.is_none_or(|(_, bytes)| ![1, 4, 8].contains(&bytes.len())) {
                prop_assert!(napi(&attributes).is_err());
            }
            if let Ok(Some(queue)) = rx_queue(&attributes) {
                prop_assert_eq!(required(&attributes, QUEUE_ID).unwrap(), queue.index);
            }
        }
    }
}

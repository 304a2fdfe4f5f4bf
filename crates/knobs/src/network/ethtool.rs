//! Coalescing of a device by the netlink family `ethtool` (Documentation/networking/ethtool-netlink.rst,
//! "COALESCE_GET"). It has no message for one queue.

use std::io;

use netlink_packet_core::{DefaultNla, Emitable, NLA_F_NESTED};

use super::attribute::{Attribute, malformed, name, number, unsigned};
use super::genetlink::{Connection, Request};
use super::{CoalesceParameter, Coalescing};

const FAMILY: &str = "ethtool";
const COALESCE_GET: u8 = 19;
const COALESCE_SET: u8 = 20;
const COALESCE_HEADER: u16 = 1;
const HEADER_DEV_NAME: u16 = 2;

/// The parameters that the driver has; none when the kernel (before 5.6) lacks the family.
pub(super) fn coalescing(device: &str) -> Option<io::Result<Coalescing>> {
    ask(COALESCE_GET, &[header(device)]).map(|replies| read(&replies?.concat()))
}

/// Sets one parameter and leaves the others; none when the kernel lacks the family.
pub(super) fn set_coalescing(device: &str, parameter: CoalesceParameter, value: u32) -> Option<io::Result<()>> {
    ask(COALESCE_SET, &[header(device), attribute(parameter, value)]).map(|replies| replies.map(|_| ()))
}

fn ask(command: u8, attributes: &[DefaultNla]) -> Option<io::Result<Vec<Vec<Attribute>>>> {
    let mut connection = Connection::open().ok()?;
    let family = connection.family(FAMILY).ok()?;
    Some(connection.request(family, &Request { command, is_dump: false, attributes }))
}

/// A driver without a parameter does not send it.
fn read(attributes: &[Attribute]) -> io::Result<Coalescing> {
    let mut coalescing = Coalescing::new();
    for (sent, bytes) in attributes {
        if let Some(parameter) = CoalesceParameter::ALL.into_iter().find(|&parameter| kind(parameter) == *sent) {
            let value = u32::try_from(number(bytes)?);
            coalescing.insert(parameter, value.map_err(|_| malformed("a coalescing parameter has more than 32 bits"))?);
        }
    }
    Ok(coalescing)
}

fn kind(parameter: CoalesceParameter) -> u16 {
    match parameter {
        CoalesceParameter::RxUsecs => 2,
        CoalesceParameter::RxFrames => 3,
        CoalesceParameter::TxUsecs => 6,
        CoalesceParameter::AdaptiveRx => 11,
        CoalesceParameter::AdaptiveTx => 12,
    }
}

fn attribute(parameter: CoalesceParameter, value: u32) -> DefaultNla {
    if parameter.is_switch() {
        DefaultNla::new(kind(parameter), vec![u8::from(value != 0)])
    } else {
        unsigned(kind(parameter), value)
    }
}

fn header(device: &str) -> DefaultNla {
    let name = name(HEADER_DEV_NAME, device);
    let mut bytes = vec![0; name.buffer_len()];
    name.emit(&mut bytes);
    DefaultNla::new(COALESCE_HEADER | NLA_F_NESTED, bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_the_driver_sends_is_what_it_has() {
        let coalescing = read(&[(1, vec![0; 8]), (2, 50_u32.to_ne_bytes().to_vec()), (11, vec![1]), (99, vec![])]);
        let expected = Coalescing::from([(CoalesceParameter::RxUsecs, 50), (CoalesceParameter::AdaptiveRx, 1)]);
        assert_eq!(coalescing.unwrap(), expected);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8192))]

        #[test]
        fn a_parameter_of_an_odd_length_is_refused(
            attributes in prop::collection::vec((0u16..14, prop::collection::vec(any::<u8>(), 0..12)), 0..12)
        ) {
            let is_parameter = |sent: u16| CoalesceParameter::ALL.into_iter().any(|parameter| kind(parameter) == sent);
            let is_odd = |(sent, bytes): &Attribute| is_parameter(*sent) && ![1, 4, 8].contains(&bytes.len());
            if attributes.iter().any(is_odd) {
                prop_assert!(read(&attributes).is_err());
            }
        }
    }
}

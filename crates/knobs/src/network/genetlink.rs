//! Generic netlink: one request, all of its replies (Documentation/userspace-api/netlink/intro.rst).
//!
//! `netlink-packet-core` and `netlink-sys` (the rust-netlink project: nmstate, netavark) encode and check messages and
//! attributes; they are small, synchronous and without unsafe code of ours. Against `netlink-bindings`, which generates
//! every family from the kernel's specifications: it brings 35,000 lines for the dozen attributes here, and its
//! `netlink-socket2` panics on an overrun. Against `neli` 0.7: its router starts a thread.

use std::io;

use netlink_packet_core::{
    DecodeError, DefaultNla, Emitable, NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader,
    NetlinkMessage, NetlinkPayload, NetlinkSerializable, NlasIterator,
};
use netlink_sys::{Socket, protocols::NETLINK_GENERIC};

use super::attribute::{self, Attribute, malformed};

/// The controller, which knows the numbers of all families (include/uapi/linux/genetlink.h).
const CONTROLLER: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;

/// The text of an extended acknowledgement (include/uapi/linux/netlink.h).
const NLMSGERR_ATTR_MSG: u16 = 1;

/// Netlink messages start at multiples of 4 bytes, behind a header of 16.
const ALIGNMENT: usize = 4;
const HEADER_LENGTH: usize = 16;

/// Command, version and two reserved bytes stand before the attributes.
const GENERIC_HEADER_LENGTH: usize = 4;

/// A socket and what it counts.
#[derive(Debug)]
pub(super) struct Connection {
    socket: Socket,
    sequence: u32,
}

/// What is asked of a family.
#[derive(Debug)]
pub(super) struct Request<'a> {
    pub command: u8,
    pub is_dump: bool,
    pub attributes: &'a [DefaultNla],
}

impl Connection {
    pub(super) fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_GENERIC)?;
        socket.bind_auto()?;
        // An error then carries the driver's own words, and not the request again.
        socket.set_ext_ack(true)?;
        socket.set_cap_ack(true)?;
        Ok(Self { socket, sequence: 0 })
    }

    /// The number of a family.
    ///
    /// # Errors
    /// NotFound when the kernel does not have it.
    pub(super) fn family(&mut self, name: &str) -> io::Result<u16> {
        let attributes = [attribute::name(CTRL_ATTR_FAMILY_NAME, name)];
        let request = Request { command: CTRL_CMD_GETFAMILY, is_dump: false, attributes: &attributes };
        let replies = self.request(CONTROLLER, &request)?;
        let id = replies.iter().flatten().find(|(kind, _)| *kind == CTRL_ATTR_FAMILY_ID);
        id.and_then(|(_, bytes)| Some(u16::from_ne_bytes(bytes.as_slice().try_into().ok()?)))
            .ok_or_else(|| malformed("the family has no number"))
    }

    /// The attributes of every message that answers the request.
    ///
    /// # Errors
    /// The kernel's refusal, with its own words where it gives any.
    pub(super) fn request(&mut self, family: u16, request: &Request) -> io::Result<Vec<Vec<Attribute>>> {
        self.sequence += 1;
        self.socket.send(&encode(family, self.sequence, request), 0)?;
        let mut replies = Vec::new();
        loop {
            let (datagram, _) = self.socket.recv_from_full()?;
            if decode(&datagram, self.sequence, &mut replies)? {
                return Ok(replies);
            }
        }
    }
}

fn encode(family: u16, sequence: u32, request: &Request) -> Vec<u8> {
    let attributes = request.attributes;
    let mut payload = vec![0; GENERIC_HEADER_LENGTH + attributes.buffer_len()];
    payload[..2].copy_from_slice(&[request.command, 1]);
    attributes.emit(&mut payload[GENERIC_HEADER_LENGTH..]);
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_ACK | if request.is_dump { NLM_F_DUMP } else { 0 };
    header.sequence_number = sequence;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(Payload { family, bytes: payload }));
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

/// Adds what a datagram answers to `replies`, and says whether the answer is complete.
fn decode(datagram: &[u8], sequence: u32, replies: &mut Vec<Vec<Attribute>>) -> io::Result<bool> {
    let mut rest = datagram;
    while !rest.is_empty() {
        let message = NetlinkMessage::<Payload>::deserialize(rest).map_err(|error| malformed(&error.to_string()))?;
        let length = (message.header.length as usize).next_multiple_of(ALIGNMENT);
        if length < HEADER_LENGTH {
            return Err(malformed("a message has no header"));
        }
        rest = rest.get(length..).unwrap_or_default();
        // An answer to a request whose own answer was given up on.
        if message.header.sequence_number != sequence {
            continue;
        }
        match message.payload {
            NetlinkPayload::InnerMessage(payload) => replies.push(attributes(&payload.bytes, GENERIC_HEADER_LENGTH)?),
            NetlinkPayload::Done(done) => return finished(done.code).map(|()| true),
            NetlinkPayload::Error(error) => {
                let Some(code) = error.code else { return Ok(true) };
                let refusal = io::Error::from_raw_os_error(code.get().saturating_neg());
                return Err(match explanation(&error.header) {
                    Some(text) => io::Error::new(refusal.kind(), Refusal { refusal, text }),
                    None => refusal,
                });
            }
            NetlinkPayload::Overrun(_) => return Err(malformed("a reply was lost")),
            _ => {}
        }
    }
    Ok(false)
}

fn finished(code: i32) -> io::Result<()> {
    if code < 0 { Err(io::Error::from_raw_os_error(code.saturating_neg())) } else { Ok(()) }
}

fn attributes(bytes: &[u8], from: usize) -> io::Result<Vec<Attribute>> {
    let bytes = bytes.get(from..).ok_or_else(|| malformed("a generic message has no header"))?;
    NlasIterator::new(bytes)
        .map(|attribute| attribute.map(|attribute| (attribute.kind(), attribute.value().to_vec())))
        .collect::<Result<_, DecodeError>>()
        .map_err(|error| malformed(&error.to_string()))
}

/// The kernel's own words, behind the header of the request that it refused.
fn explanation(header: &[u8]) -> Option<String> {
    let attributes = attributes(header, HEADER_LENGTH).ok()?;
    let (_, text) = attributes.into_iter().find(|(kind, _)| *kind == NLMSGERR_ATTR_MSG)?;
    Some(String::from_utf8_lossy(&text).trim_end_matches('\0').to_owned())
}

/// An error number with the driver's own words.
#[derive(Debug)]
struct Refusal {
    refusal: io::Error,
    text: String,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.refusal, self.text)
    }
}

impl std::error::Error for Refusal {}

/// A generic message, its family unread.
#[derive(Debug)]
struct Payload {
    family: u16,
    bytes: Vec<u8>,
}

impl NetlinkSerializable for Payload {
    fn message_type(&self) -> u16 {
        self.family
    }

    fn buffer_len(&self) -> usize {
        self.bytes.len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        buffer.copy_from_slice(&self.bytes);
    }
}

impl NetlinkDeserializable for Payload {
    type Error = DecodeError;

    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self { family: header.message_type, bytes: payload.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reply(sequence: u32, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let attributes: Vec<_> =
            attributes.iter().map(|(kind, bytes)| DefaultNla::new(*kind, bytes.to_vec())).collect();
        encode(0x20, sequence, &Request { command: 1, is_dump: false, attributes: &attributes })
    }

    fn error(sequence: u32, code: i32) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [36_u32, 2, sequence, 0, code as u32, 16, 0, sequence, 0] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes
    }

    #[test]
    fn replies_of_a_datagram_are_read_up_to_the_acknowledgement() {
        let mut replies = Vec::new();
        let datagram = [reply(7, &[(2, &[1, 2, 3])]), reply(6, &[(9, &[9])]), reply(7, &[(3, &[4])]), error(7, 0)];
        assert!(decode(&datagram.concat(), 7, &mut replies).unwrap());
        assert_eq!(replies, [vec![(2, vec![1, 2, 3])], vec![(3, vec![4])]]);
    }

    #[test]
    fn a_refusal_keeps_its_kind() {
        let refused = decode(&error(7, -95), 7, &mut Vec::new()).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(95));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8192))]

        #[test]
        fn any_datagram_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
            let _ = decode(&bytes, 7, &mut Vec::new());
        }

        #[test]
        fn a_cut_datagram_never_changes_what_stands_before(
            values in prop::collection::vec(any::<u32>(), 1..20),
            cut in any::<prop::sample::Index>(),
        ) {
            let attributes: Vec<_> = values.iter().map(|value| (2, value.to_ne_bytes())).collect();
            let attributes: Vec<_> = attributes.iter().map(|(kind, bytes)| (*kind, bytes.as_slice())).collect();
            let bytes = reply(7, &attributes);
            let mut replies = Vec::new();
            // The length that the header states must be there, so every cut but none is refused.
            let cut = cut.index(bytes.len() + 1);
            let result = decode(&bytes[..cut], 7, &mut replies);
            prop_assert_eq!(result.is_ok(), cut == bytes.len() || cut == 0);
            prop_assert_eq!(replies.len(), usize::from(cut == bytes.len()));
        }

        #[test]
        fn a_flipped_byte_is_read_or_refused(at in any::<prop::sample::Index>(), flip in 1u8..) {
            let mut bytes = [reply(7, &[(2, &[1; 4]), (3, &[2; 8])]), error(7, -22)].concat();
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            let _ = decode(&bytes, 7, &mut Vec::new());
        }
    }
}

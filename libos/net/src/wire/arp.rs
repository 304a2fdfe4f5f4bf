//! Who has an address (RFC 826), for IPv4 on Ethernet.

use super::ethernet::MacAddress;
use super::ipv4::Address;
use super::u16_at;

/// The length of a message.
pub const LEN: usize = 28;

/// A question or an answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Message {
    /// It asks; else it answers.
    pub is_request: bool,
    /// Who sends it.
    pub sender: (MacAddress, Address),
    /// Who is asked for, or who asked.
    pub target: (MacAddress, Address),
}

/// Ethernet, IPv4, and the lengths of their addresses.
const KIND: [u8; 6] = [0, 1, 8, 0, 6, 4];

/// A message of the kind that we speak; none otherwise.
pub fn parse(bytes: &[u8]) -> Option<Message> {
    let bytes = bytes.first_chunk::<LEN>()?;
    let is_request = match u16_at(bytes, 6) {
        1 => true,
        2 => false,
        _ => return None,
    };
    if bytes[..6] != KIND {
        return None;
    }
    let pair = |at: usize| {
        let (mac, address) = bytes[at..at + 10].split_at(6);
        Some((mac.try_into().ok()?, address.try_into().ok()?))
    };
    Some(Message { is_request, sender: pair(8)?, target: pair(18)? })
}

/// Writes a message. Panics when there is not the room of one.
pub fn write(message: &Message, bytes: &mut [u8]) {
    bytes[..6].copy_from_slice(&KIND);
    bytes[6..8].copy_from_slice(&[0, if message.is_request { 1 } else { 2 }]);
    for (at, (mac, address)) in [(8, message.sender), (18, message.target)] {
        bytes[at..at + 6].copy_from_slice(&mac);
        bytes[at + 6..at + 10].copy_from_slice(&address);
    }
}

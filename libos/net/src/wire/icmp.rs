//! ICMP (RFC 792): echo, which is what `ping` asks for, and that nobody takes what came to a port.

use super::{Checksum, udp};

const ECHO_REQUEST: u8 = 8;
const ECHO_REPLY: u8 = 0;
const PORT_UNREACHABLE: [u8; 2] = [3, 3];
const HEADER_LEN: usize = 8;

/// Whether a message asks for an echo, and is whole.
pub fn is_echo_request(message: &[u8]) -> bool {
    message.len() >= HEADER_LEN && message[..2] == [ECHO_REQUEST, 0] && Checksum::default().with(message).is_right()
}

/// Turns a question into its answer, in place. Panics when it is no message.
pub fn make_reply(message: &mut [u8]) {
    message[0] = ECHO_REPLY;
    message[2..4].copy_from_slice(&[0, 0]);
    let checksum = Checksum::default().with(message).bytes();
    message[2..4].copy_from_slice(&checksum);
}

/// How long it is to say that nobody takes the datagram that a packet carries: the packet's header and the datagram's
/// come back. Panics when it has none.
pub fn unreachable_len(packet: &[u8]) -> usize {
    HEADER_LEN + usize::from(packet[0] & 0xF) * 4 + udp::HEADER_LEN
}

/// Says so, in just the room of it. Panics when there is another.
pub fn write_port_unreachable(packet: &[u8], message: &mut [u8]) {
    message[..HEADER_LEN].fill(0);
    message[..2].copy_from_slice(&PORT_UNREACHABLE);
    let quoted_len = message.len() - HEADER_LEN;
    message[HEADER_LEN..].copy_from_slice(&packet[..quoted_len]);
    let checksum = Checksum::default().with(message).bytes();
    message[2..4].copy_from_slice(&checksum);
}

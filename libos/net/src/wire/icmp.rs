//! Echo (RFC 792): what `ping` asks for.

use super::Checksum;

const ECHO_REQUEST: u8 = 8;
const ECHO_REPLY: u8 = 0;
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

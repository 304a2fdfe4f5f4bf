//! A device that joins segments.

use libos_net::wire::tcp;

use crate::support::{PAYLOAD_START, complete};

/// What it makes of frames (GRO): those that follow each other with data become one.
pub fn joined(frames: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    const NUMBER: usize = PAYLOAD_START + 4;
    const FLAGS: usize = PAYLOAD_START + 13;
    const PAYLOAD: usize = PAYLOAD_START + tcp::HEADER_LEN;
    let number = |frame: &[u8]| u32::from_be_bytes(*frame[NUMBER..].first_chunk().unwrap());
    let mut joined: Vec<Vec<u8>> = Vec::new();
    for frame in frames {
        match joined.last_mut() {
            // The headers are the same but for lengths, numbers and checksums, and hold neither options nor flags.
            Some(before)
                if before.len().min(frame.len()) > PAYLOAD
                    && number(before).wrapping_add((before.len() - PAYLOAD) as u32) == number(&frame)
                    && before[PAYLOAD_START + 12..][..4] == [0x50, 0x10, frame[FLAGS + 1], frame[FLAGS + 2]]
                    && [before[FLAGS - 1], frame[FLAGS] & !8] == [frame[FLAGS - 1], 0x10]
                    && before[NUMBER + 4..FLAGS] == frame[NUMBER + 4..FLAGS] =>
            {
                before[FLAGS] = frame[FLAGS];
                before.extend(&frame[PAYLOAD..]);
                complete(before);
            }
            _ => joined.push(frame),
        }
    }
    joined
}

//! Requests and answers of the binary protocol, as a client has them.

/// A request's opcode.
pub mod opcode {
    #![allow(dead_code, reason = "no test file sends them all")]
    pub const GET: u8 = 0x00;
    pub const SET: u8 = 0x01;
    pub const QUIT: u8 = 0x07;
    pub const NOOP: u8 = 0x0a;
    pub const VERSION: u8 = 0x0b;
    pub const STAT: u8 = 0x10;
}

/// A request with a key, which the client knows by a number.
pub fn request(opcode: u8, key: &str, opaque: u32) -> Vec<u8> {
    let mut bytes = vec![0x80, opcode];
    bytes.extend((key.len() as u16).to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend((key.len() as u32).to_be_bytes());
    bytes.extend(opaque.to_be_bytes());
    bytes.extend([0; 8]);
    bytes.extend(key.as_bytes());
    bytes
}

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub opcode: u8,
    pub status: u16,
    pub opaque: u32,
    pub key: String,
    pub value: String,
}

/// The length of the request or answer that has a header.
pub fn length(header: &[u8; 24]) -> usize {
    24 + u32::from_be_bytes([header[8], header[9], header[10], header[11]]) as usize
}

/// The answers that some bytes are.
pub fn answers(mut bytes: &[u8]) -> Vec<Answer> {
    let mut found = Vec::new();
    while let Some(header) = bytes.first_chunk::<24>() {
        assert_eq!(header[0], 0x81, "an answer begins with another byte than a request");
        let (answer, rest) = bytes.split_at(length(header));
        let key_at = 24 + usize::from(header[4]);
        let value_at = key_at + usize::from(u16::from_be_bytes([header[2], header[3]]));
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        found.push(Answer {
            opcode: header[1],
            status: u16::from_be_bytes([header[6], header[7]]),
            opaque: u32::from_be_bytes([header[12], header[13], header[14], header[15]]),
            key: text(&answer[key_at..value_at]),
            value: text(&answer[value_at..]),
        });
        bytes = rest;
    }
    assert_eq!(bytes, b"", "the last answer is whole");
    found
}

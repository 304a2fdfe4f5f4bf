//! Ethernet II.

use super::u16_at;

/// A station's address.
pub type MacAddress = [u8; 6];

/// What every station hears.
pub const BROADCAST: MacAddress = [0xFF; 6];

/// Whether an address is that of several stations.
#[inline]
pub fn is_group(address: MacAddress) -> bool {
    address[0] & 1 != 0
}

/// The length of a header.
pub const HEADER_LEN: usize = 14;

/// What a frame carries.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EtherType {
    /// IPv4.
    Ipv4,
    /// ARP.
    Arp,
}

/// A header.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Header {
    /// Who is to get the frame.
    pub destination: MacAddress,
    /// Who sent it.
    pub source: MacAddress,
    /// What it carries.
    pub kind: EtherType,
}

/// A frame's header and what it carries; none when we don't speak that.
#[inline]
pub fn parse(frame: &[u8]) -> Option<(Header, &[u8])> {
    let (header, payload) = frame.split_first_chunk::<HEADER_LEN>()?;
    let kind = match u16_at(header, 12) {
        0x0800 => EtherType::Ipv4,
        0x0806 => EtherType::Arp,
        _ => return None,
    };
    let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, ..] = *header;
    Some((Header { destination: [d0, d1, d2, d3, d4, d5], source: [s0, s1, s2, s3, s4, s5], kind }, payload))
}

/// Writes a header to the first bytes of a frame. Panics when the frame is shorter.
#[inline]
pub fn write(header: &Header, frame: &mut [u8]) {
    frame[..6].copy_from_slice(&header.destination);
    frame[6..12].copy_from_slice(&header.source);
    let kind: u16 = match header.kind {
        EtherType::Ipv4 => 0x0800,
        EtherType::Arp => 0x0806,
    };
    frame[12..14].copy_from_slice(&kind.to_be_bytes());
}

//! A NIC of ours as smoltcp's device. Checksums are the NIC's affair, or else ours, as they are under our TCP.

use alloc::vec;

use libos_net::device::{Frame, PartialChecksum, Receive, Transmit};
use libos_net::wire::ethernet::{self, EtherType};
use libos_net::wire::{arp, ipv4, tcp};
use smoltcp::phy::{Checksum, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;

const ARP_LEN: usize = ethernet::HEADER_LEN + arp::LEN;
const SEGMENT_START: usize = ethernet::HEADER_LEN + ipv4::HEADER_LEN;

/// Its two halves.
pub struct Nic<R, T> {
    /// The half that receives.
    pub receive: R,
    /// The half that sends.
    pub transmit: T,
}

/// A frame that came, empty where smoltcp is not to see it.
pub struct Received<'a>(&'a [u8]);

/// Where a frame leaves.
pub struct Sending<'a, T>(&'a mut T);

impl<R: Receive, T: Transmit> Device for Nic<R, T> {
    type RxToken<'a>
        = Received<'a>
    where
        Self: 'a;
    type TxToken<'a>
        = Sending<'a, T>
    where
        Self: 'a;

    fn receive(&mut self, _: Instant) -> Option<(Received<'_>, Sending<'_, T>)> {
        let frame = self.receive.next()?;
        let bytes = if is_sound(&frame) { frame.bytes } else { &[] };
        Some((Received(bytes), Sending(&mut self.transmit)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sending<'_, T>> {
        Some(Sending(&mut self.transmit))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = 1514;
        capabilities.checksum.ipv4 = Checksum::Tx;
        capabilities.checksum.tcp = Checksum::None;
        capabilities
    }
}

/// Whether a frame is a question of ARP or a segment, and its checksums right.
fn is_sound(frame: &Frame) -> bool {
    let is_right = frame.checksum_is_right;
    match ethernet::parse(frame.bytes) {
        Some((header, packet)) if header.kind == EtherType::Ipv4 => {
            ipv4::parse(packet, is_right).is_some_and(|(header, payload)| {
                let segment = || tcp::parse(payload, header.source, header.destination, false);
                header.protocol == ipv4::TCP && (is_right || segment().is_some())
            })
        }
        found => found.is_some(),
    }
}

impl RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(self.0)
    }
}

impl<T: Transmit> TxToken for Sending<'_, T> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, write: F) -> R {
        let is_segment = len > ARP_LEN; // what is not of ARP: nothing else gets an answer
        let completes = self.0.completes_checksums();
        let checksum = PartialChecksum { start: SEGMENT_START, offset: tcp::CHECKSUM_OFFSET, cut: None };
        let (mut write, mut written) = (Some(write), None);
        self.0.send(len, (is_segment && completes).then_some(checksum), |frame| {
            written = write.take().map(|write| write(frame));
            if is_segment {
                let [.., s0, s1, s2, s3, d0, d1, d2, d3] = frame[..SEGMENT_START] else { return };
                tcp::write_checksum(&mut frame[SEGMENT_START..], [s0, s1, s2, s3], [d0, d1, d2, d3], completes);
            }
        });
        // Where there is no room the frame is lost, and sent again when its answer does not come.
        written.or_else(|| write.map(|write| write(&mut vec![0; len]))).expect("one of them was called")
    }
}

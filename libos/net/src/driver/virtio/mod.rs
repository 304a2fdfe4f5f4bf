//! virtio-net over PCI (Virtual I/O Device, version 1.2: 4.1 for PCI, 5.1 for the NIC), with one pair of queues.

mod queue;
mod transport;

use libos_hal::dma::Dma;
use libos_hal::interrupts::DEVICE_VECTOR;
use libos_hal::pci;

use super::OpenError;
use crate::device::{Frame, PartialChecksum, Receive, Transmit};
use crate::wire::ethernet::MacAddress;
use queue::Queue;
use transport::Transport;

const VENDOR: u16 = 0x1AF4;
/// As a device of version 1, and as one that speaks version 0 too.
const IDS: [u16; 2] = [0x1041, 0x1000];

const FEATURE_CHECKSUM: u64 = 1 << 0;
const FEATURE_GUEST_CHECKSUM: u64 = 1 << 1;
const FEATURE_MAC: u64 = 1 << 5;
const FEATURE_VERSION_1: u64 = 1 << 32;

const RECEIVE_QUEUE: u16 = 0;
const TRANSMIT_QUEUE: u16 = 1;

/// `struct virtio_net_hdr` in front of each frame.
const HEADER_LEN: usize = 12;
const HEADER_NEEDS_CHECKSUM: u8 = 1;
const HEADER_CHECKSUM_IS_RIGHT: u8 = 2;

const BUFFER_LEN: usize = 2048;

/// Finds the first virtio-net and starts it. Its interrupts come as `DEVICE_VECTOR`.
///
/// # Errors
///
/// There is none, or none that we can drive.
pub fn open() -> Result<(MacAddress, Receiver, Transmitter), OpenError> {
    let is_ours = |device: &pci::Device| device.vendor == VENDOR && IDS.contains(&device.id);
    let device = pci::devices().find(is_ours).ok_or(OpenError::Absent)?;
    device.enable();
    let mut transport = Transport::new(&device).ok_or(OpenError::Unfit)?;
    let wanted = FEATURE_VERSION_1 | FEATURE_MAC | FEATURE_CHECKSUM | FEATURE_GUEST_CHECKSUM;
    let features = transport.negotiate(wanted);
    if features & (FEATURE_VERSION_1 | FEATURE_MAC) != FEATURE_VERSION_1 | FEATURE_MAC {
        return Err(OpenError::Unfit);
    }
    if !device.route_interrupt(DEVICE_VECTOR) {
        return Err(OpenError::Unfit);
    }
    let mac = transport.mac();
    let receive = transport.queue(RECEIVE_QUEUE, true).ok_or(OpenError::Unfit)?;
    let transmit = transport.queue(TRANSMIT_QUEUE, false).ok_or(OpenError::Unfit)?;
    transport.start();
    let completes_checksums = features & FEATURE_CHECKSUM != 0;
    Ok((mac, Receiver::new(receive), Transmitter::new(transmit, completes_checksums)))
}

/// Receives.
#[derive(Debug)]
pub struct Receiver {
    queue: Queue,
    buffers: Dma,
    /// The buffer that the last frame was in.
    held: Option<u16>,
}

impl Receiver {
    fn new(mut queue: Queue) -> Receiver {
        let buffers = Dma::new(usize::from(queue.len()) * BUFFER_LEN);
        for buffer in 0..queue.len() {
            queue.describe(buffer, buffers.address(usize::from(buffer) * BUFFER_LEN), BUFFER_LEN as u32, true);
            queue.offer(buffer);
        }
        queue.notify();
        queue.set_interrupts(false);
        Receiver { queue, buffers, held: None }
    }
}

impl Receive for Receiver {
    #[inline]
    fn next(&mut self) -> Option<Frame<'_>> {
        if let Some(buffer) = self.held.take() {
            self.queue.offer(buffer);
        }
        let (buffer, len) = self.queue.take_used()?;
        self.held = Some(buffer);
        let bytes = self.buffers.bytes(usize::from(buffer) * BUFFER_LEN, (len as usize).clamp(HEADER_LEN, BUFFER_LEN));
        let (header, bytes) = bytes.split_at(HEADER_LEN);
        let checksum_is_right = header[0] & (HEADER_NEEDS_CHECKSUM | HEADER_CHECKSUM_IS_RIGHT) != 0;
        Some(Frame { bytes, checksum_is_right })
    }

    #[inline]
    fn has_frame(&self) -> bool {
        self.queue.has_used()
    }

    #[inline]
    fn flush(&mut self) {
        if let Some(buffer) = self.held.take() {
            self.queue.offer(buffer);
        }
        self.queue.notify();
    }

    fn set_interrupts(&mut self, on: bool) {
        self.queue.set_interrupts(on);
    }
}

/// Sends.
#[derive(Debug)]
pub struct Transmitter {
    queue: Queue,
    buffers: Dma,
    /// The buffers that were never used yet begin here.
    unused: u16,
    completes_checksums: bool,
}

impl Transmitter {
    fn new(mut queue: Queue, completes_checksums: bool) -> Transmitter {
        let buffers = Dma::new(usize::from(queue.len()) * BUFFER_LEN);
        queue.set_interrupts(false);
        Transmitter { queue, buffers, unused: 0, completes_checksums }
    }

    /// A buffer that the device does not have.
    #[inline]
    fn buffer(&mut self) -> Option<u16> {
        if let Some((buffer, _)) = self.queue.take_used() {
            return Some(buffer);
        }
        (self.unused < self.queue.len()).then(|| {
            self.unused += 1;
            self.unused - 1
        })
    }
}

impl Transmit for Transmitter {
    fn completes_checksums(&self) -> bool {
        self.completes_checksums
    }

    #[inline]
    fn send(&mut self, len: usize, checksum: Option<PartialChecksum>, write: impl FnOnce(&mut [u8])) -> bool {
        let Some(buffer) = self.buffer() else {
            self.flush();
            return false;
        };
        let start = usize::from(buffer) * BUFFER_LEN;
        let (header, frame) = self.buffers.bytes_mut(start, HEADER_LEN + len).split_at_mut(HEADER_LEN);
        header.fill(0);
        if let Some(PartialChecksum { start, offset }) = checksum {
            header[0] = HEADER_NEEDS_CHECKSUM;
            header[6..8].copy_from_slice(&(start as u16).to_le_bytes());
            header[8..10].copy_from_slice(&(offset as u16).to_le_bytes());
        }
        write(frame);
        self.queue.describe(buffer, self.buffers.address(start), (HEADER_LEN + len) as u32, false);
        self.queue.offer(buffer);
        true
    }

    #[inline]
    fn flush(&mut self) {
        self.queue.notify();
    }
}

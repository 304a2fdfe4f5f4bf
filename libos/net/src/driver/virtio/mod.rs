//! virtio-net over PCI (Virtual I/O Device, version 1.2: 4.1 for PCI, 5.1 for the NIC), with a pair of queues for each
//! core. Which of them a frame comes by is up to the device; it keeps to the one that the connection's last answer left
//! by (5.1.6.5.5).

mod control;
mod queue;
mod transport;

use alloc::vec::Vec;

use libos_hal::apic::CoreId;
use libos_hal::dma::Dma;
use libos_hal::interrupts::DEVICE_VECTOR;
use libos_hal::pci;

use super::OpenError;
use crate::device::{Cut, Frame, PartialChecksum, Receive, Transmit};
use crate::wire::ethernet::MacAddress;
use queue::Queue;
use transport::Transport;

const VENDOR: u16 = 0x1AF4;
/// As a device of version 1, and as one that speaks version 0 too.
const IDS: [u16; 2] = [0x1041, 0x1000];

const FEATURE_CHECKSUM: u64 = 1 << 0;
const FEATURE_GUEST_CHECKSUM: u64 = 1 << 1;
const FEATURE_MAC: u64 = 1 << 5;
const FEATURE_GUEST_SEGMENTS: u64 = 1 << 7;
const FEATURE_SEGMENTS: u64 = 1 << 11;
const FEATURE_CONTROL: u64 = 1 << 17;
const FEATURE_SEVERAL_PAIRS: u64 = 1 << 22;
const FEATURE_VERSION_1: u64 = 1 << 32;
/// Features, and what each needs (5.1.3.1).
const NEEDS: [(u64, u64); 2] = [(FEATURE_GUEST_SEGMENTS, FEATURE_GUEST_CHECKSUM), (FEATURE_SEGMENTS, FEATURE_CHECKSUM)];

/// `struct virtio_net_hdr` in front of each frame.
const HEADER_LEN: usize = 12;
const HEADER_NEEDS_CHECKSUM: u8 = 1;
const HEADER_CHECKSUM_IS_RIGHT: u8 = 2;
const HEADER_CUT_TCP: u8 = 1;

/// What a frame takes with its header; where the device joins segments, all that an IP packet may be (5.1.6.3.1); where
/// it cuts them, what a queue's buffers may take, divided by how many they are at most.
const BUFFER_LEN: usize = 2048;
const JOINED_BUFFER_LEN: usize = 65_562_usize.next_multiple_of(64);
const CUT_BUFFER_LEN: usize = 16 << 10;
/// So much memory do the buffers of a queue have at most.
const MAX_BUFFERS_LEN: usize = 4 << 20;

/// Finds the first virtio-net and starts it, with a pair of halves for each core. The interrupts of a pair come to its
/// core, as `DEVICE_VECTOR`.
///
/// # Errors
///
/// There is none, or none that we can drive.
pub fn open(cores: &[CoreId]) -> Result<(MacAddress, Vec<(Receiver, Transmitter)>), OpenError> {
    let is_ours = |device: &pci::Device| device.vendor == VENDOR && IDS.contains(&device.id);
    let device = pci::devices().find(is_ours).ok_or(OpenError::Absent)?;
    device.enable();
    let mut transport = Transport::new(&device).ok_or(OpenError::Unfit)?;
    let several = if cores.len() > 1 { FEATURE_CONTROL | FEATURE_SEVERAL_PAIRS } else { 0 };
    let wanted = FEATURE_VERSION_1 | FEATURE_MAC | FEATURE_CHECKSUM | FEATURE_GUEST_CHECKSUM | several;
    let mut features = transport.offered() & (wanted | FEATURE_GUEST_SEGMENTS | FEATURE_SEGMENTS);
    for (feature, needed) in NEEDS {
        if features & needed == 0 {
            features &= !feature;
        }
    }
    if features & (FEATURE_VERSION_1 | FEATURE_MAC) != FEATURE_VERSION_1 | FEATURE_MAC || !transport.take(features) {
        return Err(OpenError::Unfit);
    }
    if features & several != several {
        return Err(OpenError::TooFewQueues);
    }
    let max_pairs = if several == 0 { 1 } else { transport.max_pairs() };
    if usize::from(max_pairs) < cores.len() {
        return Err(OpenError::TooFewQueues);
    }
    let mac = transport.mac();
    let mut queues = Vec::with_capacity(cores.len());
    for (pair, core) in (0u16..).zip(cores) {
        if !device.route_interrupt(pair, *core, DEVICE_VECTOR) {
            return Err(OpenError::Unfit);
        }
        let receive = transport.queue(2 * pair, Some(pair)).ok_or(OpenError::Unfit)?;
        let transmit = transport.queue(2 * pair + 1, None).ok_or(OpenError::Unfit)?;
        queues.push((receive, transmit));
    }
    let control = (several != 0).then(|| transport.queue(2 * max_pairs, None));
    transport.start();
    let halves = |(receive, transmit)| (Receiver::new(receive, features), Transmitter::new(transmit, features));
    let halves = queues.into_iter().map(halves).collect();
    if let Some(control) = control {
        if !control.is_some_and(|mut queue| control::use_pairs(&mut queue, cores.len() as u16)) {
            return Err(OpenError::Unfit);
        }
    }
    Ok((mac, halves))
}

/// Receives.
#[derive(Debug)]
pub struct Receiver {
    queue: Queue,
    buffers: Dma,
    buffer_len: usize,
    /// The buffer that the last frame was in.
    held: Option<u16>,
}

impl Receiver {
    fn new(mut queue: Queue, features: u64) -> Receiver {
        let buffer_len = if features & FEATURE_GUEST_SEGMENTS != 0 { JOINED_BUFFER_LEN } else { BUFFER_LEN };
        let count = queue.len().min((MAX_BUFFERS_LEN / buffer_len) as u16);
        let buffers = Dma::new(usize::from(count) * buffer_len);
        for buffer in 0..count {
            let address = buffers.address(usize::from(buffer) * buffer_len);
            queue.describe(buffer, address, buffer_len as u32, queue::DEVICE_WRITES);
            queue.offer(buffer);
        }
        queue.notify();
        queue.set_interrupts(false);
        Receiver { queue, buffers, buffer_len, held: None }
    }
}

impl Receive for Receiver {
    #[inline(always)] // in the loop of a core
    fn next(&mut self) -> Option<Frame<'_>> {
        if let Some(buffer) = self.held.take() {
            self.queue.offer(buffer);
        }
        let (buffer, len) = self.queue.take_used()?;
        self.held = Some(buffer);
        let len = (len as usize).clamp(HEADER_LEN, self.buffer_len);
        let bytes = self.buffers.bytes(usize::from(buffer) * self.buffer_len, len);
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
    buffer_len: usize,
    /// The buffers that were never used yet begin here.
    unused: u16,
    completes_checksums: bool,
}

impl Transmitter {
    fn new(mut queue: Queue, features: u64) -> Transmitter {
        let buffer_len = if features & FEATURE_SEGMENTS != 0 { CUT_BUFFER_LEN } else { BUFFER_LEN };
        let buffers = Dma::new(usize::from(queue.len()) * buffer_len);
        queue.set_interrupts(false);
        let completes_checksums = features & FEATURE_CHECKSUM != 0;
        Transmitter { queue, buffers, buffer_len, unused: 0, completes_checksums }
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
    fn max_cut_len(&self) -> usize {
        if self.buffer_len == CUT_BUFFER_LEN { CUT_BUFFER_LEN - HEADER_LEN } else { 0 }
    }

    #[inline]
    fn send(&mut self, len: usize, checksum: Option<PartialChecksum>, write: impl FnOnce(&mut [u8])) -> bool {
        let Some(buffer) = self.buffer() else {
            self.flush();
            return false;
        };
        let start = usize::from(buffer) * self.buffer_len;
        let (header, frame) = self.buffers.bytes_mut(start, HEADER_LEN + len).split_at_mut(HEADER_LEN);
        header.fill(0);
        if let Some(PartialChecksum { start, offset, cut }) = checksum {
            header[0] = HEADER_NEEDS_CHECKSUM;
            if let Some(Cut { header_len, payload_len }) = cut {
                header[1] = HEADER_CUT_TCP;
                header[2..4].copy_from_slice(&(header_len as u16).to_le_bytes());
                header[4..6].copy_from_slice(&(payload_len as u16).to_le_bytes());
            }
            header[6..8].copy_from_slice(&(start as u16).to_le_bytes());
            header[8..10].copy_from_slice(&(offset as u16).to_le_bytes());
        }
        write(frame);
        self.queue.describe(buffer, self.buffers.address(start), (HEADER_LEN + len) as u32, 0);
        self.queue.offer(buffer);
        true
    }

    #[inline]
    fn flush(&mut self) {
        self.queue.notify();
    }
}

//! Intel's 82574 (Linux: e1000e), with one pair of queues and an interrupt delay. By its datasheet (316080), chapters 3,
//! 7 and 10.

mod registers;
mod ring;

use libos_hal::apic::CoreId;
use libos_hal::interrupts::DEVICE_VECTOR;
use libos_hal::mmio::Mmio;
use libos_hal::pci;

use super::OpenError;
use crate::device::{Frame, PartialChecksum, Receive, Transmit};
use crate::wire::ethernet::MacAddress;
use crate::wire::tcp;
use registers::*;
use ring::{BUFFER_LEN, LEN, Ring};

const VENDOR: u16 = 0x8086;
const ID: u16 = 0x10D3;

// What a descriptor of a received frame says, in its second half (3.2.4).
const RECEIVED_DONE: u64 = 1 << 32;
const RECEIVED_NO_CHECKSUM: u64 = 1 << 34;
const RECEIVED_CHECKSUMS: u64 = 1 << 37 | 1 << 38; // TCP's and IP's were looked at
const RECEIVED_ERRORS: u64 = 0xFF << 40;

// What we say of a frame to send (3.3.6), and of checksums (3.3.5).
const SEND_END_OF_FRAME: u64 = 1 << 24;
const SEND_ADD_FRAME_CHECK: u64 = 1 << 25;
const SEND_REPORT: u64 = 1 << 27;
const SEND_EXTENDED: u64 = 1 << 29;
const SEND_DATA: u64 = 1 << 20 | SEND_EXTENDED;
const SEND_CHECKSUM: u64 = 1 << 41;
const CONTEXT_IPV4: u64 = 1 << 25 | SEND_EXTENDED;
const CONTEXT_TCP: u64 = 1 << 24; // else it is UDP's, which has no checksum of zero
const SENT: u64 = 1 << 32;

/// Of the register that delays interrupts.
const DELAY_NS: u32 = 256;
const MAX_DELAY: u32 = 0xFFFF;

/// Finds the first 82574 and starts it; its interrupts come to this core as `DEVICE_VECTOR`, at least
/// `delay_us` apart.
///
/// # Errors
///
/// There is none, or none that we can drive.
pub fn open(delay_us: u32) -> Result<(MacAddress, Receiver, Transmitter), OpenError> {
    let is_ours = |device: &pci::Device| (device.vendor, device.id) == (VENDOR, ID);
    let device = pci::devices().find(is_ours).ok_or(OpenError::Absent)?;
    device.enable();
    let registers = device.registers(0).ok_or(OpenError::Unfit)?;
    registers.write_u32(INTERRUPT_MASK_CLEAR, u32::MAX);
    registers.write_u32(CONTROL, registers.read_u32(CONTROL) | CONTROL_RESET);
    while registers.read_u32(CONTROL) & CONTROL_RESET != 0 {}
    registers.write_u32(INTERRUPT_MASK_CLEAR, u32::MAX);
    registers.write_u32(CONTROL, registers.read_u32(CONTROL) | CONTROL_LINK_UP);
    let (low, high) = (registers.read_u32(RECEIVE_ADDRESS), registers.read_u32(RECEIVE_ADDRESS + 4));
    if high & RECEIVE_ADDRESS_VALID == 0 || !device.route_interrupt(0, CoreId::own(), DEVICE_VECTOR) {
        return Err(OpenError::Unfit);
    }
    // The first message is the receive queue's; it clears what caused it.
    registers.write_u32(INTERRUPT_VECTORS, VECTOR_VALID);
    registers.write_u32(INTERRUPT_AUTO_CLEAR, CAUSE_RECEIVE_QUEUE);
    Throttle(registers).set_delay_us(delay_us);
    let receiver = Receiver::new(registers);
    let transmitter = Transmitter::new(registers);
    registers.write_u32(TRANSMIT_CONTROL, TRANSMIT_ENABLE);
    registers.write_u32(RECEIVE_CHECKSUMS, RECEIVE_CHECKSUMS_ALL);
    registers.write_u32(RECEIVE_CONTROL, RECEIVE_ENABLE);
    let [a, b, c, d] = low.to_le_bytes();
    let [e, f, ..] = high.to_le_bytes();
    Ok(([a, b, c, d, e, f], receiver, transmitter))
}

/// The least time between two interrupts.
#[derive(Clone, Copy, Debug)]
pub struct Throttle(Mmio);

impl Throttle {
    /// What the device has, in us.
    pub fn delay_us(&self) -> u32 {
        (self.0.read_u32(INTERRUPT_THROTTLE) * DELAY_NS).div_ceil(1000)
    }

    /// Says how long it is, in steps of 256 ns and up to 16,776 us.
    pub fn set_delay_us(&self, delay_us: u32) {
        self.0.write_u32(INTERRUPT_THROTTLE, (delay_us.saturating_mul(1000) / DELAY_NS).min(MAX_DELAY));
    }
}

/// Receives.
#[derive(Debug)]
pub struct Receiver {
    registers: Mmio,
    ring: Ring,
    next: usize,
    /// The buffer of the last frame is to be given back.
    is_held: bool,
    /// The last buffer that was given back, which the device has not been told of.
    returned: Option<usize>,
}

impl Receiver {
    fn new(registers: Mmio) -> Receiver {
        let mut ring = Ring::new(registers, RECEIVE_RING);
        for index in 0..LEN {
            ring.offer(index, 0);
        }
        // All but one: an empty ring and a full one would look alike.
        ring.tell(LEN - 1);
        Receiver { registers, ring, next: 0, is_held: false, returned: None }
    }

    /// What delays its interrupts.
    pub fn throttle(&self) -> Throttle {
        Throttle(self.registers)
    }

    #[inline]
    fn give_back(&mut self) {
        if core::mem::take(&mut self.is_held) {
            let last = (self.next + LEN - 1) % LEN;
            self.ring.offer(last, 0);
            self.returned = Some(last);
        }
    }
}

impl Receive for Receiver {
    #[inline]
    fn next(&mut self) -> Option<Frame<'_>> {
        self.give_back();
        let said = self.ring.said(self.next);
        if said & RECEIVED_DONE == 0 {
            return None;
        }
        let index = self.next;
        self.next = (self.next + 1) % LEN;
        self.is_held = true;
        let is_checked = said & (RECEIVED_CHECKSUMS | RECEIVED_NO_CHECKSUM) == RECEIVED_CHECKSUMS;
        let len = (said as u16 as usize).min(BUFFER_LEN);
        Some(Frame {
            bytes: self.ring.buffer(index, len),
            checksum_is_right: is_checked && said & RECEIVED_ERRORS == 0,
        })
    }

    #[inline]
    fn has_frame(&self) -> bool {
        self.ring.said(self.next) & RECEIVED_DONE != 0
    }

    #[inline]
    fn flush(&mut self) {
        self.give_back();
        if let Some(index) = self.returned.take() {
            self.ring.tell(index);
        }
    }

    fn set_interrupts(&mut self, on: bool) {
        if on {
            // What was served meanwhile is no cause any more.
            self.registers.write_u32(INTERRUPT_CAUSE, CAUSE_RECEIVE_QUEUE);
            self.registers.write_u32(INTERRUPT_MASK_SET, CAUSE_RECEIVE_QUEUE);
        } else {
            self.registers.write_u32(INTERRUPT_MASK_CLEAR, CAUSE_RECEIVE_QUEUE);
        }
    }
}

/// Sends.
#[derive(Debug)]
pub struct Transmitter {
    ring: Ring,
    next: usize,
    /// Descriptors that the device has, or has sent and we have not looked at.
    pending: usize,
    /// It was told of all before this one.
    told: usize,
    /// Where it was told that checksums begin and stand.
    context: Option<(usize, usize)>,
}

impl Transmitter {
    fn new(registers: Mmio) -> Transmitter {
        Transmitter { ring: Ring::new(registers, TRANSMIT_RING), next: 0, pending: 0, told: 0, context: None }
    }

    /// Whether there is room for so many descriptors.
    #[inline]
    fn has_room(&mut self, count: usize) -> bool {
        while self.pending > 0 && self.ring.said((self.next + LEN - self.pending) % LEN) & SENT != 0 {
            self.pending -= 1;
        }
        self.pending + count < LEN
    }

    #[inline]
    fn advance(&mut self) {
        self.next = (self.next + 1) % LEN;
        self.pending += 1;
    }

    /// Says where checksums begin and stand, from now on.
    fn describe(&mut self, PartialChecksum { start, offset, .. }: PartialChecksum) {
        let protocol = if offset == tcp::CHECKSUM_OFFSET { CONTEXT_TCP } else { 0 };
        let (start, offset) = (start as u64, offset as u64);
        self.ring.write(self.next, start << 32 | (start + offset) << 40, CONTEXT_IPV4 | protocol | SEND_REPORT);
        self.advance();
    }
}

impl Transmit for Transmitter {
    fn completes_checksums(&self) -> bool {
        true
    }

    #[inline]
    fn send(&mut self, len: usize, checksum: Option<PartialChecksum>, write: impl FnOnce(&mut [u8])) -> bool {
        if !self.has_room(2) {
            self.flush();
            return false;
        }
        let mut says = len as u64 | SEND_DATA | SEND_END_OF_FRAME | SEND_ADD_FRAME_CHECK | SEND_REPORT;
        if let Some(checksum) = checksum {
            let context = Some((checksum.start, checksum.offset));
            if self.context != context {
                self.describe(checksum);
                self.context = context;
            }
            says |= SEND_CHECKSUM;
        }
        write(self.ring.buffer_mut(self.next, len));
        self.ring.offer(self.next, says);
        self.advance();
        true
    }

    #[inline]
    fn flush(&mut self) {
        if self.told != self.next {
            self.told = self.next;
            self.ring.tell(self.next);
        }
    }
}

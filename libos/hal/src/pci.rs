//! Devices on PCI's first bus, configured through ports as PCs do. The firmware has given them their addresses.

use crate::apic::CoreId;
use crate::mmio::Mmio;
use crate::port;

const ADDRESS: u16 = 0xCF8;
const DATA: u16 = 0xCFC;

const COMMAND: u8 = 0x04;
const COMMAND_MEMORY: u32 = 1 << 1;
const COMMAND_BUS_MASTER: u32 = 1 << 2;
const COMMAND_NO_PIN_INTERRUPT: u32 = 1 << 10;
const STATUS_HAS_CAPABILITIES: u32 = 1 << 20;
const FIRST_BAR: u8 = 0x10;
const FIRST_CAPABILITY: u8 = 0x34;
const CAPABILITY_MSIX: u8 = 0x11;
const BAR_IS_PORTS: u32 = 1;
const BAR_IS_64_BIT: u32 = 0b100;
const BAR_ADDRESS: u32 = !0xF;

/// The memory that boot.s maps ends here.
const MAPPED_END: u64 = 512 << 30;

/// The address that a device's message of an interrupt goes to, with the number of the core's APIC in it.
const MESSAGE_ADDRESS: u32 = 0xFEE0_0000;
const MESSAGE_APIC_SHIFT: u32 = 12;

/// A device.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    slot: u8,
    /// Who made it.
    pub vendor: u16,
    /// What it is, by its maker's numbers.
    pub id: u16,
}

/// A capability: where it is in the device's configuration, and which one.
#[derive(Clone, Copy, Debug)]
pub struct Capability {
    /// Where it begins.
    pub offset: u8,
    /// Its number in PCI's list.
    pub id: u8,
}

/// The devices of the first bus, the first function of each.
pub fn devices() -> impl Iterator<Item = Device> {
    (0..32).filter_map(|slot| {
        let device = Device { slot, vendor: 0, id: 0 };
        let ids = device.read(0);
        let there = ids & 0xFFFF != 0xFFFF;
        there.then_some(Device { slot, vendor: ids as u16, id: (ids >> 16) as u16 })
    })
}

impl Device {
    /// Reads four bytes of the configuration; `offset` is rounded down to a multiple of four.
    pub fn read(&self, offset: u8) -> u32 {
        port::write_u32(ADDRESS, self.address(offset));
        port::read_u32(DATA)
    }

    fn write(&self, offset: u8, value: u32) {
        port::write_u32(ADDRESS, self.address(offset));
        port::write_u32(DATA, value);
    }

    fn address(&self, offset: u8) -> u32 {
        1 << 31 | u32::from(self.slot) << 11 | u32::from(offset & !3)
    }

    /// Lets it answer at its addresses and reach memory, and takes its interrupt pin away.
    pub fn enable(&self) {
        let command = self.read(COMMAND) & 0xFFFF;
        self.write(COMMAND, command | COMMAND_MEMORY | COMMAND_BUS_MASTER | COMMAND_NO_PIN_INTERRUPT);
    }

    /// Its capabilities, in its order.
    pub fn capabilities(&self) -> impl Iterator<Item = Capability> + use<'_> {
        let first =
            if self.read(COMMAND) & STATUS_HAS_CAPABILITIES == 0 { 0 } else { self.read(FIRST_CAPABILITY) as u8 };
        // A chain that ends: there is room for 48.
        core::iter::successors(Some(first & !3), |at| Some((self.read(*at) >> 8) as u8 & !3))
            .take(48)
            .take_while(|at| *at != 0)
            .map(|offset| Capability { offset, id: self.read(offset) as u8 })
    }

    /// The registers behind a base address register; none when there are none in memory, or not where it is mapped.
    pub fn registers(&self, bar: u8) -> Option<Mmio> {
        if bar > 5 {
            return None;
        }
        let offset = FIRST_BAR + 4 * bar;
        let low = self.read(offset);
        let high = if low & BAR_IS_64_BIT == BAR_IS_64_BIT { self.read(offset + 4) } else { 0 };
        self.write(offset, u32::MAX);
        let mask = self.read(offset);
        self.write(offset, low);
        let (base, len) = aperture(low, high, mask)?;
        // SAFETY: the firmware gave this range of addresses to the device and to nothing else, and its size is what the
        // device says. Drivers take their device once.
        Some(unsafe { Mmio::new(base, len) })
    }

    /// Has one of its interrupts (MSI-X) come to a core as `vector`. Says whether it can.
    pub fn route_interrupt(&self, number: u16, core: CoreId, vector: u8) -> bool {
        let Some(capability) = self.capabilities().find(|capability| capability.id == CAPABILITY_MSIX) else {
            return false;
        };
        let last = (self.read(capability.offset) >> 16) as u16 & 0x7FF;
        if number > last {
            return false;
        }
        let table = self.read(capability.offset + 4);
        let Some(registers) = self.registers((table & 7) as u8) else { return false };
        let entry = registers.part((table & !7) as usize + 16 * usize::from(number), 16);
        entry.write_u32(0, MESSAGE_ADDRESS | u32::from(core.0) << MESSAGE_APIC_SHIFT);
        entry.write_u32(4, 0);
        entry.write_u32(8, u32::from(vector));
        entry.write_u32(12, 0);
        self.write(capability.offset, self.read(capability.offset) | 1 << 31);
        true
    }
}

/// Address and length of the memory behind a base address register: from both its halves, and from what the lower one
/// holds after ones were written to it. At most 4 GiB of it.
fn aperture(low: u32, high: u32, mask: u32) -> Option<(usize, usize)> {
    let base = u64::from(high) << 32 | u64::from(low & BAR_ADDRESS);
    let len = u64::from(!(mask & BAR_ADDRESS)) + 1;
    let is_mapped = base != 0 && base.checked_add(len)? <= MAPPED_END;
    (low & BAR_IS_PORTS == 0 && is_mapped).then_some((base as usize, len as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_aperture_is_where_it_is_mapped() {
        const SIZE_16_KIB: u32 = 0xFFFF_C000;
        for (low, high, mask, expected) in [
            (0xFEBD_4004, 0, SIZE_16_KIB | 4, Some((0xFEBD_4000, 0x4000))),
            (0xFEBD_4000, 0, SIZE_16_KIB, Some((0xFEBD_4000, 0x4000))),
            (0x0000_000C, 0x38, SIZE_16_KIB | 0xC, Some((0x38 << 32, 0x4000))), // on a boundary of 4 GiB
            (0x0000_0004, 1, 4, Some((1 << 32, 1 << 32))),
            (0xFFFF_C004, 0x7F, SIZE_16_KIB | 4, Some(((512 << 30) - 0x4000, 0x4000))),
            (0x0000_0004, 0x80, SIZE_16_KIB | 4, None),
            (0xFFFF_C004, u32::MAX, SIZE_16_KIB | 4, None),
            (0, 0, SIZE_16_KIB, None),
            (0x0000_C001, 0, 0xFFFF_FFE1, None),
        ] {
            assert_eq!(aperture(low, high, mask), expected, "{high:x} {low:x}");
        }
    }
}

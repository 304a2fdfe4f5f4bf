//! virtio over PCI (section 4.1): where the registers are, and the steps from reset to running (3.1.1).

use libos_hal::mmio::Mmio;
use libos_hal::pci;

use super::queue::Queue;
use crate::wire::ethernet::MacAddress;

const CAPABILITY_VENDOR: u8 = 9;
const COMMON: usize = 1;
const NOTIFY: usize = 2;
const DEVICE: usize = 4;

// struct virtio_pci_common_cfg
const DEVICE_FEATURE_SELECT: usize = 0x00;
const DEVICE_FEATURE: usize = 0x04;
const DRIVER_FEATURE_SELECT: usize = 0x08;
const DRIVER_FEATURE: usize = 0x0C;
const CONFIG_VECTOR: usize = 0x10;
const STATUS: usize = 0x14;
const QUEUE_SELECT: usize = 0x16;
const QUEUE_SIZE: usize = 0x18;
const QUEUE_VECTOR: usize = 0x1A;
const QUEUE_ENABLE: usize = 0x1C;
const QUEUE_NOTIFY_OFFSET: usize = 0x1E;
const QUEUE_ADDRESSES: [usize; 3] = [0x20, 0x28, 0x30];

// struct virtio_net_config
const MAX_PAIRS: usize = 8;

const STATUS_ACKNOWLEDGE: u8 = 1;
const STATUS_DRIVER: u8 = 2;
const STATUS_DRIVER_OK: u8 = 4;
const STATUS_FEATURES_OK: u8 = 8;
const NO_VECTOR: u16 = 0xFFFF;

const MAX_QUEUE_LEN: u16 = 256;

/// The registers of a device.
#[derive(Debug)]
pub(super) struct Transport {
    common: Mmio,
    device: Mmio,
    notify: Mmio,
    notify_multiplier: u32,
}

impl Transport {
    /// Finds the registers, and resets the device. None: it does not speak version 1.
    pub fn new(device: &pci::Device) -> Option<Transport> {
        let mut parts = [None; 5];
        let mut notify_multiplier = 0;
        for capability in device.capabilities().filter(|capability| capability.id == CAPABILITY_VENDOR) {
            let at = capability.offset;
            let kind = (device.read(at) >> 24) as usize;
            let (offset, len) = (device.read(at + 8) as usize, device.read(at + 12) as usize);
            if let Some(part @ None) = parts.get_mut(kind) {
                *part = device.registers(device.read(at + 4) as u8).map(|bar| bar.part(offset, len));
                if kind == NOTIFY {
                    notify_multiplier = device.read(at + 16);
                }
            }
        }
        let transport =
            Transport { common: parts[COMMON]?, device: parts[DEVICE]?, notify: parts[NOTIFY]?, notify_multiplier };
        transport.common.write_u8(STATUS, 0);
        while transport.common.read_u8(STATUS) != 0 {}
        transport.add_status(STATUS_ACKNOWLEDGE | STATUS_DRIVER);
        Some(transport)
    }

    /// The features that the device has.
    pub fn offered(&self) -> u64 {
        let half = |half| {
            self.common.write_u32(DEVICE_FEATURE_SELECT, half);
            u64::from(self.common.read_u32(DEVICE_FEATURE)) << (32 * half)
        };
        half(0) | half(1)
    }

    /// Takes features, of those that are offered. Whether the device agrees.
    pub fn take(&mut self, features: u64) -> bool {
        for half in 0..2 {
            self.common.write_u32(DRIVER_FEATURE_SELECT, half);
            self.common.write_u32(DRIVER_FEATURE, (features >> (32 * half)) as u32);
        }
        self.add_status(STATUS_FEATURES_OK);
        self.common.read_u8(STATUS) & STATUS_FEATURES_OK != 0
    }

    /// The NIC's address.
    pub fn mac(&self) -> MacAddress {
        core::array::from_fn(|at| self.device.read_u8(at))
    }

    /// How many pairs of queues it has, where it has several.
    pub fn max_pairs(&self) -> u16 {
        self.device.read_u16(MAX_PAIRS)
    }

    /// Sets a queue up, with one of the device's interrupts. None: the device has no such queue, or no interrupt for it.
    pub fn queue(&mut self, number: u16, interrupt: Option<u16>) -> Option<Queue> {
        self.common.write_u16(CONFIG_VECTOR, NO_VECTOR);
        self.common.write_u16(QUEUE_SELECT, number);
        let len = self.common.read_u16(QUEUE_SIZE).min(MAX_QUEUE_LEN);
        if !len.is_power_of_two() {
            return None;
        }
        self.common.write_u16(QUEUE_SIZE, len);
        let vector = interrupt.unwrap_or(NO_VECTOR);
        self.common.write_u16(QUEUE_VECTOR, vector);
        if self.common.read_u16(QUEUE_VECTOR) != vector {
            return None;
        }
        let at = u32::from(self.common.read_u16(QUEUE_NOTIFY_OFFSET)) * self.notify_multiplier;
        let queue = Queue::new(number, len, self.notify.part(at as usize, 2));
        for (register, address) in QUEUE_ADDRESSES.into_iter().zip(queue.addresses()) {
            self.common.write_u32(register, address as u32);
            self.common.write_u32(register + 4, (address >> 32) as u32);
        }
        self.common.write_u16(QUEUE_ENABLE, 1);
        Some(queue)
    }

    /// The device may begin.
    pub fn start(&self) {
        self.add_status(STATUS_DRIVER_OK);
    }

    fn add_status(&self, bits: u8) {
        self.common.write_u8(STATUS, self.common.read_u8(STATUS) | bits);
    }
}

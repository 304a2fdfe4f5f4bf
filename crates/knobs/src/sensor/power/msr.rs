//! Energy of processor packages by model-specific registers (Intel SDM volume 3, section 16.10 "Platform specific power
//! management support"; AMD PPR, "RAPL"), for kernels without a powercap driver for the processor.
//!
//! The registers are read through `/dev/cpu/N/msr`, at the offset that is the register's number. DRAM is not among them:
//! its unit differs by model.

use super::super::attribute::Attribute;
use super::super::counter::EnergyCounter;
use super::channel::{Channel, Input, Look};
use super::options::Method;
use super::vendor::{self, Vendor};
use crate::host::Host;
use crate::sysfs::CPUS;
use bayop_core::{Error, Result};

/// The energy counter takes the low 32 bits of its register.
const PERIOD: u64 = 1 << 32;

/// Where a vendor keeps the unit and the energy of a package.
#[derive(Debug, Clone, Copy)]
struct Registers {
    unit: u64,
    energy: u64,
}

/// MSR_RAPL_POWER_UNIT and MSR_PKG_ENERGY_STATUS.
const INTEL: Registers = Registers { unit: 0x606, energy: 0x611 };
/// RAPL_PWR_UNIT and PKG_ENERGY_STAT.
const AMD: Registers = Registers { unit: 0xC001_0299, energy: 0xC001_029B };

/// One channel for each package, by its first CPU; none for processors whose registers are not known.
pub(super) fn channels(host: &Host) -> Vec<Channel> {
    let Some(vendor) = vendor::of(host) else { return Vec::new() };
    let registers = match vendor {
        Vendor::Intel => INTEL,
        Vendor::Amd => AMD,
    };
    let mut channels: Vec<Channel> = Vec::new();
    for cpu in super::super::cpu::names(host) {
        let Some(index) = cpu.strip_prefix("cpu") else { continue };
        let Some(at) = domain(host, &cpu, vendor) else { continue };
        let path = format!("dev/cpu/{index}/msr");
        if host.has(&path) && channels.iter().all(|channel| channel.at != at) {
            let source = format!("/{path}, register {:#x}", registers.energy);
            let input = Package { msr: Attribute::new(path), registers, counter: None };
            channels.push(Channel::new(at, source, Method::Msr, true, input));
        }
    }
    channels
}

/// What a package register belongs to: the package, or its die where each die counts for itself.
fn domain(host: &Host, cpu: &str, vendor: Vendor) -> Option<String> {
    let id = |name: &str| host.read(&format!("{CPUS}/{cpu}/topology/{name}")).ok()?.parse::<u32>().ok();
    let package = id("physical_package_id")?;
    Some(match id("die_id").filter(|&die| die > 0 && !vendor.counts_energy_by_socket()) {
        Some(die) => format!("msr/package-{package}-die-{die}"),
        None => format!("msr/package-{package}"),
    })
}

#[derive(Debug)]
struct Package {
    msr: Attribute,
    registers: Registers,
    counter: Option<EnergyCounter>,
}

impl Package {
    fn register(&mut self, host: &Host, register: u64) -> Result<u64> {
        let mut bytes = [0; 8];
        match self.msr.read_at(host, &mut bytes, register)? {
            8 => Ok(u64::from_le_bytes(bytes)),
            length => Err(Error::unsupported(format!("register {register:#x} has {length} bytes"))
                .rule("a register must have 8 bytes")
                .at(self.msr.source())),
        }
    }
}

impl Input for Package {
    fn look(&mut self, host: &Host, time_s: f64) -> Result<Look> {
        if self.counter.is_none() {
            // Bits 12:8: energy counts in units of 1/2^ESU joule.
            let energy_status_unit = (self.register(host, self.registers.unit)? >> 8) & 0x1f;
            self.counter = Some(EnergyCounter::new(2.0_f64.powi(energy_status_unit as i32), Some(PERIOD)));
        }
        let raw = self.register(host, self.registers.energy)? % PERIOD;
        let counter = self.counter.as_mut().expect("the counter was made above");
        Ok(Look { energy_j: counter.look(raw, time_s)?, power_w: None })
    }

    fn look_within_s(&self) -> Option<f64> {
        self.counter.as_ref()?.look_within_s()
    }
}

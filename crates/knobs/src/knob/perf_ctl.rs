//! `cpu.perf_ctl_mhz`: the P-state that IA32_PERF_CTL asks for (Intel SDM volume 4, registers 199H and CEH; the
//! interface that Dong et al. set frequencies by).

use super::attribute::{as_number, numbered};
use super::domain::Domain;
use super::kind::Kind;
use crate::control::{Control, Write};
use crate::host::Host;
use crate::value::Value;
use bayop_core::{Error, Result};

const IA32_PERF_CTL: u32 = 0x199;
const MSR_PLATFORM_INFO: u32 = 0xce;

/// The bus clock since Sandy Bridge.
const MHZ_PER_RATIO: f64 = 100.0;

/// Bits 15:8 of IA32_PERF_CTL: the target's ratio to the bus clock. The others are kept.
const TARGET: u64 = 0xff00;
const TARGET_SHIFT: u32 = 8;

/// Bits of MSR_PLATFORM_INFO: 15:8 the greatest ratio without turbo, 47:40 the least.
const GREATEST_SHIFT: u32 = 8;
const LEAST_SHIFT: u32 = 40;

/// `cpu.perf_ctl_mhz`.
#[derive(Debug)]
pub(super) struct PerfCtl;

impl Kind for PerfCtl {
    fn id(&self) -> &'static str {
        "cpu.perf_ctl_mhz"
    }

    fn places(&self, host: &Host) -> Result<Vec<(String, Domain)>> {
        if !host.read("proc/cpuinfo")?.contains("GenuineIntel") {
            return Err(Error::unsupported("the processor is not Intel's, whose register this is").at("/proc/cpuinfo"));
        }
        let cpus = numbered(host, "dev/cpu", "");
        if cpus.iter().all(|cpu| !host.has(&format!("dev/cpu/{cpu}/msr"))) {
            return Err(Error::unsupported("the kernel shows no model-specific registers: there is no /dev/cpu/0/msr")
                .hint("modprobe msr; under Secure Boot the kernel refuses"));
        }
        cpus.into_iter().map(|cpu| Ok((format!("cpu{cpu}"), domain(host, &cpu)?))).collect()
    }

    fn read(&self, host: &Host, at: &str) -> Result<Value> {
        let ratio = (control(at)?.register(host)? & TARGET) >> TARGET_SHIFT;
        Ok(Value::Number(ratio as f64 * MHZ_PER_RATIO))
    }

    fn plan(&self, host: &Host, at: &str, value: &Value) -> Result<Vec<Write>> {
        let control = control(at)?;
        let ratio = (as_number(value)? / MHZ_PER_RATIO).round() as u64;
        let register = control.register(host)? & !TARGET | ratio << TARGET_SHIFT;
        Ok(vec![Write { control, text: format!("{register:#x}") }])
    }
}

fn control(at: &str) -> Result<Control> {
    let cpu = at.strip_prefix("cpu").and_then(|cpu| cpu.parse().ok());
    let cpu = cpu.ok_or_else(|| Error::cannot_use(at, "the place must be a CPU, such as cpu0"))?;
    Ok(Control::Msr { cpu, register: IA32_PERF_CTL })
}

fn domain(host: &Host, cpu: &str) -> Result<Domain> {
    let cpu = cpu.parse().map_err(|_| Error::malformed(cpu, "a CPU must have a number").at("/dev/cpu"))?;
    let info = Control::Msr { cpu, register: MSR_PLATFORM_INFO }.register(host)?;
    let mhz = |shift: u32| (info >> shift & 0xff) as f64 * MHZ_PER_RATIO;
    let (low, high) = (mhz(LEAST_SHIFT), mhz(GREATEST_SHIFT));
    if low <= 0.0 || low > high {
        return Err(Error::malformed(format!("{info:#x}"), "the register must say the least and greatest ratio")
            .at(format!("/dev/cpu/{cpu}/msr, register {MSR_PLATFORM_INFO:#x}"))
            .hint("a hypervisor may hide it"));
    }
    Ok(Domain::steps(low, high, MHZ_PER_RATIO))
}

//! P-states: the frequency that a core asks for in IA32_PERF_CTL (Intel's manuals 3B, "Enhanced Intel SpeedStep
//! Technology", and 4), where the processor says that it has the register and its range is known to be told.

use core::arch::x86_64::CpuidResult;

use crate::cpu;

const IA32_PERF_STATUS: u32 = 0x198;
const IA32_PERF_CTL: u32 = 0x199;
const MSR_PLATFORM_INFO: u32 = 0xCE;
const IA32_PM_ENABLE: u32 = 0x770;

/// Xeons E5-2600 and v3, and the three generations of Scalable: all are clocked by 100 MHz, and tell their range.
const KNOWN_MODELS: [u32; 5] = [0x2D, 0x3F, 0x55, 0x6A, 0x6C];
/// From one frequency to the next.
pub const STEP_MHZ: u32 = 100;

/// Of IA32_PERF_CTL and IA32_PERF_STATUS: the ratio to the clock.
const RATIO: u64 = 0xFF00;
const RATIO_SHIFT: u32 = 8;

/// The frequencies that each core of this machine can ask for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Frequencies {
    /// The least.
    pub least_mhz: u32,
    /// The greatest that is no turbo.
    pub most_mhz: u32,
}

impl Frequencies {
    /// Those of this machine; none where they can't be asked for. A guest's are its host's matter, whatever it is told.
    pub fn of_machine() -> Option<Frequencies> {
        if !has_perf_ctl(cpu::id) {
            return None;
        }
        // A core that chooses itself, where firmware has switched that on, does not look at what it is asked for.
        // SAFETY: `cpuid` has said that the register is there.
        if has_own_choice(cpu::id) && unsafe { cpu::read_msr(IA32_PM_ENABLE) } & 1 != 0 {
            return None;
        }
        // SAFETY: the manual has the register for each of these models, and there is no hypervisor to hide it.
        Frequencies::told(unsafe { cpu::read_msr(MSR_PLATFORM_INFO) })
    }

    /// As MSR_PLATFORM_INFO has them: bits 15:8 the greatest ratio without turbo, 47:40 the least.
    fn told(info: u64) -> Option<Frequencies> {
        let [least_mhz, most_mhz] = [40, 8].map(|shift| (info >> shift & 0xFF) as u32 * STEP_MHZ);
        (0 < least_mhz && least_mhz <= most_mhz).then_some(Frequencies { least_mhz, most_mhz })
    }

    /// What the core that this runs on has been asked for.
    pub fn asked(&self) -> Asked {
        // SAFETY: where there are frequencies, all cores have the register.
        Asked { found: unsafe { cpu::read_msr(IA32_PERF_CTL) }, frequencies: *self }
    }

    /// What the core that this runs on does.
    pub fn running_mhz(&self) -> u32 {
        // SAFETY: it comes with the other one.
        mhz(unsafe { cpu::read_msr(IA32_PERF_STATUS) })
    }
}

/// Whether there is IA32_PERF_CTL (leaf 1: EIST), on a processor whose range is known to be told, with nothing below.
fn has_perf_ctl(id: impl Fn(u32) -> CpuidResult) -> bool {
    let features = id(1).ecx;
    let (has_eist, is_guest) = (features & 1 << 7 != 0, features & 1 << 31 != 0);
    has_eist && !is_guest && cpu::intel_model(id).is_some_and(|model| KNOWN_MODELS.contains(&model))
}

/// Whether there is IA32_PM_ENABLE (leaf 6: HWP).
fn has_own_choice(id: impl Fn(u32) -> CpuidResult) -> bool {
    id(0).eax >= 6 && id(6).eax & 1 << 7 != 0
}

/// What a core is asked for.
#[derive(Debug)]
pub struct Asked {
    /// The register as it was found.
    found: u64,
    frequencies: Frequencies,
}

impl Asked {
    /// What it was found at.
    pub fn found_mhz(&self) -> u32 {
        mhz(self.found)
    }

    /// Asks the core that this runs on for one of its frequencies, or for the nearest.
    pub fn ask(&self, asked_mhz: u32) {
        // SAFETY: the register is there (`Frequencies::asked`); the ratio is of its range, the rest as it was found.
        unsafe { cpu::write_msr(IA32_PERF_CTL, self.register(asked_mhz)) }
    }

    /// Leaves the core that this runs on as it was found.
    pub fn restore(&self) {
        // SAFETY: as in `ask`; it has been there before.
        unsafe { cpu::write_msr(IA32_PERF_CTL, self.found) }
    }

    fn register(&self, asked_mhz: u32) -> u64 {
        let Frequencies { least_mhz, most_mhz } = self.frequencies;
        let ratio = asked_mhz.clamp(least_mhz, most_mhz) / STEP_MHZ;
        self.found & !RATIO | u64::from(ratio) << RATIO_SHIFT
    }
}

fn mhz(register: u64) -> u32 {
    ((register & RATIO) >> RATIO_SHIFT) as u32 * STEP_MHZ
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skylake(leaf: u32) -> CpuidResult {
        let [eax, ebx, ecx, edx] = match leaf {
            0 => [0x16, 0x756E_6547, 0x6C65_746E, 0x4965_6E69],
            1 => [0x0005_0654, 0, 1 << 7, 0],
            6 => [1 << 7, 0, 0, 0],
            _ => [0; 4],
        };
        CpuidResult { eax, ebx, ecx, edx }
    }

    #[test]
    fn only_a_processor_that_announces_the_register_and_is_no_guest_has_it() {
        let with = |changed: u32, change: fn(&mut CpuidResult)| {
            has_perf_ctl(move |leaf| {
                let mut id = skylake(leaf);
                if leaf == changed {
                    change(&mut id);
                }
                id
            })
        };
        assert!(has_perf_ctl(skylake));
        assert!(!with(0, |id| id.ebx = 0x6874_7541), "another maker");
        assert!(!with(1, |id| id.eax = 0x0005_0694), "a model that is not known");
        assert!(!with(1, |id| id.ecx = 0));
        assert!(!with(1, |id| id.ecx |= 1 << 31), "a guest");
    }

    #[test]
    fn what_chooses_itself_is_asked_only_where_that_is_announced() {
        assert!(has_own_choice(skylake));
        let without =
            |leaf: u32| move |asked| if asked == leaf { CpuidResult { eax: 5, ..skylake(0) } } else { skylake(asked) };
        assert!(!has_own_choice(without(0)));
        assert!(!has_own_choice(without(6)));
    }

    #[test]
    fn a_range_is_what_the_register_tells() {
        let told = |least: u64, most: u64| Frequencies::told(0x80 | most << 8 | 0b111 << 28 | least << 40);
        assert_eq!(told(8, 24), Some(Frequencies { least_mhz: 800, most_mhz: 2400 }));
        assert_eq!([told(0, 24), told(25, 24), told(0, 0)], [None; 3]);
    }

    #[test]
    fn asking_changes_the_ratio_alone_and_keeps_to_the_range() {
        let frequencies = Frequencies { least_mhz: 800, most_mhz: 2400 };
        let asked = Asked { found: 1 << 32 | 35 << 8 | 0x42, frequencies };
        assert_eq!(asked.found_mhz(), 3500);
        for (asked_mhz, ratio) in [(800, 8), (1200, 12), (2400, 24), (0, 8), (25_600, 24)] {
            assert_eq!(asked.register(asked_mhz), 1 << 32 | ratio << 8 | 0x42);
        }
    }
}

//! Input and output ports, for what a PC keeps there: serial line, configuration of PCI, timer, calendar.

use core::arch::asm;

macro_rules! ports {
    ($read:ident, $write:ident, $type:ty, $register:tt) => {
        #[doc = concat!("Reads `", stringify!($type), "` from a port that this crate names.")]
        pub(crate) fn $read(port: u16) -> $type {
            let value;
            // SAFETY: reading a port moves no memory of ours; which port, is up to this crate alone.
            unsafe {
                asm!(
                    concat!("in ", $register, ", dx"),
                    out($register) value,
                    in("dx") port,
                    options(nostack, preserves_flags),
                );
            }
            value
        }

        #[doc = concat!("Writes `", stringify!($type), "` to a port that this crate names.")]
        pub(crate) fn $write(port: u16, value: $type) {
            // SAFETY: no port of a PC that this crate names moves memory by itself.
            unsafe {
                asm!(
                    concat!("out dx, ", $register),
                    in("dx") port,
                    in($register) value,
                    options(nostack, preserves_flags),
                );
            }
        }
    };
}

ports!(read_u8, write_u8, u8, "al");
ports!(read_u32, write_u32, u32, "eax");

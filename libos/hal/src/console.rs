//! The first serial line, where the library OS says what it does.

use core::fmt;

use crate::port;

const DATA: u16 = 0x3F8;
const LINE_STATUS: u16 = DATA + 5;
const TRANSMIT_EMPTY: u8 = 1 << 5;

/// Writes a line to the console.
#[macro_export]
macro_rules! say {
    ($($argument:tt)*) => {
        $crate::console::write(format_args!("{}\n", format_args!($($argument)*)))
    };
}

/// Writes to the console, and waits until the line has taken it.
pub fn write(arguments: fmt::Arguments) {
    // The line itself never fails.
    let _ = fmt::Write::write_fmt(&mut Serial, arguments);
}

struct Serial;

impl fmt::Write for Serial {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            while port::read_u8(LINE_STATUS) & TRANSMIT_EMPTY == 0 {
                core::hint::spin_loop();
            }
            port::write_u8(DATA, byte);
        }
        Ok(())
    }
}

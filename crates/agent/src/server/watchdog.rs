//! What restores the machine when the main loop does not go on: a system call that never returns can't be interrupted.

use std::process;
use std::thread;

use bayop_knobs::Host;

use crate::agent;
use crate::config::Config;
use crate::devices::{Devices, PATIENCE};
use crate::{fault, log};

/// For how many devices in turn the main loop may wait before it is taken for hung.
const DEVICES: u32 = 4;
/// How often it is looked at within that time. Looks are counted, not time: a process that was stopped has time to go on.
const LOOKS: u32 = 20;

/// Watches from now on, in a thread that ends with the process: for the main loop's own signs of life, and for those of
/// what it waits for.
pub fn watch(config: Config, host: Host, devices: Devices) {
    let patience = DEVICES * fault::patience(PATIENCE);
    thread::spawn(move || {
        let mut silent = 0;
        while silent < LOOKS {
            thread::sleep(patience / LOOKS);
            silent = if devices.has_gone_on() { 0 } else { silent + 1 };
        }
        log::event("hung", &[("after_s", &patience.as_secs_f64())]);
        restore(&config, &host, &devices);
    });
}

/// Restores the machine and ends the process.
fn restore(config: &Config, host: &Host, devices: &Devices) -> ! {
    let code = match agent::recover(config, host, devices, "hung") {
        Ok(released) if released.latched.is_empty() => 1,
        Ok(_) => 3,
        Err(error) => {
            log::event("not_restored", &[("error", &error)]);
            3
        }
    };
    process::exit(code)
}

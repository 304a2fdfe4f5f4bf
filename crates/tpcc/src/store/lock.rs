//! A lock that never waits for long.

use core::hint::spin_loop;
use core::sync::atomic::{AtomicBool, Ordering};

use lock_api::{GuardSend, Mutex, MutexGuard, RawMutex};

use super::conflict::Conflict;

/// How often one looks whether another transaction is done. A lock is held for some microseconds at most; whoever is
/// not done by then has lost its core, and may need ours to go on.
const LOOKS: u32 = 256;

/// What `ready` answers, as soon as it answers something.
///
/// # Errors
/// [`Conflict`] if it does not in a moment.
pub(super) fn soon<T>(mut ready: impl FnMut() -> Option<T>) -> Result<T, Conflict> {
    for _ in 0..LOOKS {
        if let Some(value) = ready() {
            return Ok(value);
        }
        spin_loop();
    }
    Err(Conflict)
}

/// Data under a lock.
pub(super) type Locked<T> = Mutex<Flag, T>;

/// The data of a [`Locked`].
///
/// # Errors
/// [`Conflict`] if another thread keeps it.
pub(super) fn lock<T>(locked: &Locked<T>) -> Result<MutexGuard<'_, Flag, T>, Conflict> {
    soon(|| locked.try_lock())
}

/// Whether somebody has the lock.
pub(super) struct Flag(AtomicBool);

// SAFETY: `try_lock` answers true to one caller alone until `unlock`, because it is who turned the flag from false to
// true. Acquire and release order what two holders do.
unsafe impl RawMutex for Flag {
    const INIT: Self = Self(AtomicBool::new(false));
    type GuardMarker = GuardSend;

    fn lock(&self) {
        while !self.try_lock() {
            spin_loop();
        }
    }

    fn try_lock(&self) -> bool {
        !self.0.load(Ordering::Relaxed) && !self.0.swap(true, Ordering::Acquire)
    }

    unsafe fn unlock(&self) {
        self.0.store(false, Ordering::Release);
    }
}

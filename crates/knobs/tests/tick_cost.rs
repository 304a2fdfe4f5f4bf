//! What a tick costs: the agent takes one a second and has a thousandth of a core for everything.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use bayop_knobs::sensor::{Options, Sensors};
use bayop_knobs::tree;

/// The system's allocator with a count of this thread's allocations.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps to the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps to the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Rounds of ticks; the cheapest counts, because the others shared the CPU with somebody.
const ROUNDS: u32 = 50;
const TICKS: u32 = 20;

/// About a third of the agent's budget of 1 ms a second.
const MOST: Duration = Duration::from_micros(300);

#[test]
fn a_tick_is_cheap_and_allocates_nothing() {
    for (name, power) in [
        ("xeon-2-sockets-2-dies", ""),
        ("altra-xgene", ""),
        ("threadripper-2-dies", "meter = 'model'\nmodel = { idle_w = 50.0, busy_w = 90.0 }"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let machines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/machines");
        let text = fs::read_to_string(machines.join(format!("{name}.tree"))).unwrap();
        let host = tree::unpack(&text, folder.path()).unwrap();
        fs::write(folder.path().join("proc/stat"), "cpu  1 2 3 4 5 6 7 8\n").unwrap();
        let options: Options = toml::from_str(power).unwrap();
        let mut sensors = Sensors::open(host, &options, 0.0).unwrap();
        sensors.method().unwrap();
        let allocations = ALLOCATIONS.get();
        let mut each = Duration::MAX;
        for round in 0..ROUNDS {
            let start = Instant::now();
            for tick in 1..=TICKS {
                sensors.tick(f64::from(round * TICKS + tick));
            }
            each = each.min(start.elapsed() / TICKS);
        }
        assert_eq!(ALLOCATIONS.get(), allocations, "{name}");
        println!("{name}: {each:?} a tick");
        assert!(each < MOST, "{name}: {each:?} a tick");
    }
}

//! What transactions cost: nanoseconds by kind, and how many a second one worker and two run.
//!
//! ```console
//! $ cargo bench -p bayop-tpcc --bench transactions -- --out transactions.json
//! ```
//!
//! A database of the specification's size with a warehouse for each worker. Each worker runs the mix for its own warehouse
//! as fast as it can, and what met a conflict again at once. A second counts all of that, drawing requests too; a
//! transaction's time is the wall's from its first try to its commit, so on a busy machine it holds what others ran.
//! Afterwards the conditions of consistency are checked. `--transactions N` runs as many of each worker in a repeat.
#![allow(missing_docs)]

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use bayop_tpcc::store::{Conflict, Worker};
use bayop_tpcc::{Constants, Database, Kind, Random, Request, Scale, Terminal, violations};

const REPEATS: usize = 9;
const WORKERS: [u8; 2] = [1, 2];

/// What one worker or all of them did in some time.
#[derive(Default)]
struct Done {
    /// Of each kind, in the order of [`Kind::ALL`].
    ns: [Vec<u64>; 5],
    conflicts: u32,
}

/// What was measured with a number of workers.
struct Cost {
    workers: u8,
    /// Of each repeat, ascending.
    transactions_per_s: Vec<f64>,
    /// Of all repeats, ascending.
    done: Done,
}

fn main() {
    let transactions =
        argument("--transactions").map_or(50_000, |n| n.parse().expect("--transactions must be a number"));
    let costs = WORKERS.map(|workers| cost(workers, transactions));
    println!("{:<9}{:>16}{:>16}{:>11}", "workers", "best (1/s)", "median (1/s)", "conflicts");
    for Cost { workers, transactions_per_s, done } in &costs {
        let (median, best) = (transactions_per_s[REPEATS / 2], transactions_per_s[REPEATS - 1]);
        println!("{workers:<9}{best:>16.0}{median:>16.0}{:>11}", done.conflicts);
    }
    println!("\n{:<9}{:<13}{:>9}{:>13}{:>13}", "workers", "kind", "count", "median (ns)", "p99 (ns)");
    for Cost { workers, done, .. } in &costs {
        for (kind, ns) in Kind::ALL.iter().zip(&done.ns) {
            let (kind, median_ns, p99_ns) = (format!("{kind:?}"), quantile(ns, 50), quantile(ns, 99));
            println!("{workers:<9}{kind:<13}{:>9}{median_ns:>13}{p99_ns:>13}", ns.len());
        }
    }
    if let Some(path) = argument("--out") {
        std::fs::write(path, json(&costs)).expect("the results can be written");
    }
}

/// What so many transactions of each worker in a repeat cost.
fn cost(workers: u8, transactions: u32) -> Cost {
    let mut random = Random::new(1);
    let constants = Constants::for_population(&mut random);
    let scale = Scale::standard(workers.into());
    let database = Database::populate(scale, constants, &mut random, 0);
    let constants = constants.for_run(&mut random);
    let mut sides: Vec<_> = (0..workers)
        .map(|number| {
            let random = Random::new(random.bits());
            (Worker::new(&database.epoch, number), Terminal::new(scale, constants, u32::from(number) + 1, random))
        })
        .collect();
    let mut cost = Cost { workers, transactions_per_s: Vec::new(), done: Done::default() };
    let start = Instant::now();
    for _ in 0..REPEATS {
        let begin = Barrier::new(workers.into());
        let before = start.elapsed();
        thread::scope(|scope| {
            let threads: Vec<_> = sides
                .iter_mut()
                .map(|(worker, terminal)| {
                    scope.spawn(|| {
                        begin.wait();
                        run(worker, terminal, &database, transactions, start)
                    })
                })
                .collect();
            for thread in threads {
                let done = thread.join().expect("no worker panics");
                cost.done.conflicts += done.conflicts;
                cost.done.ns.iter_mut().zip(done.ns).for_each(|(all, ns)| all.extend(ns));
            }
        });
        let all = f64::from(workers) * f64::from(transactions);
        cost.transactions_per_s.push(all / (start.elapsed() - before).as_secs_f64());
    }
    assert_eq!(violations(&mut sides[0].0, &database), Ok(vec![]));
    cost.transactions_per_s.sort_by(f64::total_cmp);
    cost.done.ns.iter_mut().for_each(|ns| ns.sort_unstable());
    cost
}

fn run<'db>(
    worker: &mut Worker<'db>,
    terminal: &mut Terminal,
    database: &'db Database,
    transactions: u32,
    start: Instant,
) -> Done {
    let mut done = Done::default();
    for _ in 0..transactions {
        let kind = Kind::draw(terminal);
        let request = Request::draw(kind, terminal);
        let before = start.elapsed();
        while let Err(Conflict) = request.run(worker, database, before.as_micros() as u64).map(std::hint::black_box) {
            done.conflicts += 1;
            thread::yield_now();
        }
        done.ns[kind as usize].push((start.elapsed() - before).as_nanos() as u64);
    }
    done
}

fn quantile(ascending: &[u64], percent: usize) -> u64 {
    ascending[(ascending.len() - 1) * percent / 100]
}

/// What stands behind a name; `cargo bench` adds arguments of its own.
fn argument(name: &str) -> Option<String> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.next()?;
    Some(arguments.next().unwrap_or_else(|| panic!("{name} needs a value")))
}

fn json(costs: &[Cost]) -> String {
    let rows: Vec<String> = costs
        .iter()
        .map(|Cost { workers, transactions_per_s, done }| {
            let kinds = Kind::ALL.iter().zip(&done.ns).map(|(kind, ns)| {
                let (count, median_ns, p99_ns) = (ns.len(), quantile(ns, 50), quantile(ns, 99));
                format!("\"{kind:?}\": {{\"count\": {count}, \"median_ns\": {median_ns}, \"p99_ns\": {p99_ns}}}")
            });
            let (kinds, conflicts) = (kinds.collect::<Vec<_>>().join(", "), done.conflicts);
            let per_s = transactions_per_s.iter().map(|per_s| format!("{per_s:.0}")).collect::<Vec<_>>().join(", ");
            format!(
                "  {{\"workers\": {workers}, \"transactions_per_s\": [{per_s}], \"conflicts\": {conflicts}, \"kinds\": {{{kinds}}}}}"
            )
        })
        .collect();
    format!("[\n{}\n]\n", rows.join(",\n"))
}

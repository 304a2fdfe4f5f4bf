//! A whole run: threads, progress, and the end.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use crate::clock::{SECOND_NS, now_ns, to_ns};
use crate::connections::Connections;
use crate::interval::quantile;
use crate::mix::Mix;
use crate::plan::{Dialect, Plan};
use crate::protocol::Protocol;
use crate::protocol::echo::Echo;
use crate::protocol::http::Http;
use crate::protocol::http2::Http2;
use crate::protocol::memcached_binary::MemcachedBinary;
use crate::protocol::memcached_text::MemcachedText;
use crate::protocol::postgresql::PostgreSql;
use crate::protocol::redis::Redis;
use crate::recorder::Window;
use crate::records::Records;
use crate::report::{BATCHES, Batch, Report};
use crate::worker::Worker;
use bayop_core::Error;

/// How often somebody may interrupt.
const PATIENCE: Duration = Duration::from_millis(50);
/// Time for threads to start before the load does.
const HEAD_START_NS: u64 = SECOND_NS / 200;
/// How long after the decision the load ends, so that all threads end together.
const END_DELAY_NS: u64 = SECOND_NS / 100;
/// Batches that must have ended before a run may end early.
const LEAST_BATCHES: usize = 10;

/// Runs a plan and reports what was seen.
///
/// `interrupted` is asked twenty times a second, with the batches that have ended until then; when it says so, the load
/// ends, outstanding replies are awaited, and the report says what was measured until then. It is asked while the
/// connections come up, too.
///
/// # Errors
/// A server can't be reached at the start, or the machine is out of memory or sockets. Whatever happens later is in
/// the report.
pub fn run(plan: &Plan, interrupted: impl FnMut(&Report) -> bool) -> Result<Report, Error> {
    run_over(&mut Connections::default(), plan, interrupted)
}

/// The same over connections that an earlier run may have left, and which this one leaves to the next.
///
/// # Errors
/// As of [`run`].
pub fn run_over(
    connections: &mut Connections,
    plan: &Plan,
    interrupted: impl FnMut(&Report) -> bool,
) -> Result<Report, Error> {
    let records = Records::new(plan)?;
    match plan.dialect {
        Dialect::Memcached => run_with(connections, plan, &records, &Mix::one(MemcachedText), interrupted),
        Dialect::MemcachedBinary => run_with(connections, plan, &records, &Mix::one(MemcachedBinary), interrupted),
        Dialect::Redis => run_with(connections, plan, &records, &Mix::one(Redis), interrupted),
        Dialect::Http => {
            let requests = plan.workload.http.iter();
            let http = Mix::new(requests.map(|request| (request.weight, Http::new(&plan.servers[0], request))));
            run_with(connections, plan, &records, &http, interrupted)
        }
        Dialect::Http2 | Dialect::Grpc => {
            let requests = plan.workload.http.iter().enumerate();
            let http2 = Mix::new(requests.map(|(way, request)| (request.weight, Http2::new(way))));
            run_with(connections, plan, &records, &http2, interrupted)
        }
        Dialect::Postgresql => {
            let queries = plan.workload.sql.texts.iter();
            let sql = Mix::new(queries.map(|query| (query.weight, PostgreSql::new(&query.text))));
            run_with(connections, plan, &records, &sql, interrupted)
        }
        Dialect::Echo => {
            let echo = Mix::one(Echo::new(records.value(0).to_vec()));
            run_with(connections, plan, &records, &echo, interrupted)
        }
    }
}

fn run_with<P: Protocol>(
    connections: &mut Connections,
    plan: &Plan,
    records: &Records,
    mix: &Mix<P>,
    mut interrupted: impl FnMut(&Report) -> bool,
) -> Result<Report, Error> {
    let mut report = Report { batches: vec![Batch::default(); BATCHES], ..Report::default() };
    let mut is_over = false;
    let links = connections.take(plan, || {
        is_over = is_over || interrupted(&report);
        is_over
    })?;
    report.interrupted = is_over;
    let origin_ns = now_ns() + HEAD_START_NS;
    let start_ns = origin_ns + to_ns(plan.warmup_s);
    let window = Window { origin_ns, start_ns, end_ns: start_ns + to_ns(plan.duration_s) };
    let end_ns = AtomicU64::new(if is_over { origin_ns } else { window.end_ns });
    let (sender, pieces) = channel();
    thread::scope(|scope| {
        let threads: Vec<_> = links
            .into_iter()
            .enumerate()
            .map(|(thread, links)| {
                let worker = Worker::new(plan, records, mix.clone(), links, thread);
                let sender = sender.clone();
                let end_ns = &end_ns;
                scope.spawn(move || worker.run(window, end_ns, sender))
            })
            .collect();
        drop(sender);
        loop {
            match pieces.recv_timeout(PATIENCE) {
                Ok(piece) => {
                    report.batches[piece.index].merge(&piece.batch);
                    if is_narrow(plan, &report) && !report.ended_early {
                        report.ended_early = true;
                        end_ns.fetch_min(now_ns() + END_DELAY_NS, Ordering::Relaxed);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    if !report.interrupted && interrupted(&report) {
                        report.interrupted = true;
                        end_ns.fetch_min(now_ns() + END_DELAY_NS, Ordering::Relaxed);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        for thread in threads {
            let (seen, links) = thread.join().expect("the timing loop does not panic");
            report.merge(&seen);
            connections.keep(links);
        }
        report.duration_s = end_ns.load(Ordering::Relaxed).saturating_sub(start_ns) as f64 / SECOND_NS as f64;
        Ok(report)
    })
}

fn is_narrow(plan: &Plan, report: &Report) -> bool {
    let Some(until) = plan.until_interval else { return false };
    let ended = report.batches.iter().filter(|batch| batch.count() > 0).count();
    ended >= LEAST_BATCHES
        && quantile(report, until.quantile).half_width().is_some_and(|width| width <= until.half_width)
}

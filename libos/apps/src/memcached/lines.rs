//! Commands of one line and one answer.

use alloc::vec::Vec;

use libos_net::service::Output;

use super::stats::{Stats, write_stat};
use super::store::{Item, MAX_KEY_LEN};
use super::words::{expires_s, number};
use super::{BAD_EXPIRY, BAD_FORMAT, END, ERROR, Memcached, NOT_FOUND};

const BAD_DELTA: &[u8] = b"CLIENT_ERROR invalid numeric delta argument\r\n";
const NOT_A_NUMBER: &[u8] = b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";
const DELETED: &[u8] = b"DELETED\r\n";
const TOUCHED: &[u8] = b"TOUCHED\r\n";
const OK: &[u8] = b"OK\r\n";

impl Memcached {
    /// A command of one line and one answer.
    pub(super) fn simple(&mut self, now_s: u32, words: &[&[u8]], output: &mut Output) {
        match words {
            [b"delete", key] | [b"delete", key, b"0"] => output.write(self.delete(now_s, key)),
            [b"delete", _, ..] => {
                output.write(b"CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n");
            }
            [b"incr", key, delta] => self.add(now_s, key, delta, true, output),
            [b"decr", key, delta] => self.add(now_s, key, delta, false, output),
            [b"touch", key, time] => output.write(self.touch(now_s, key, time)),
            [b"flush_all"] => self.flush(None, output),
            [b"flush_all", delay, ..] => match expires_s(delay, now_s) {
                Some(at_s) => self.flush(Some(at_s).filter(|at_s| *at_s > now_s), output),
                None => output.write(BAD_EXPIRY),
            },
            [b"stats"] => self.write_stats(now_s, output),
            [b"stats", b"reset"] => {
                self.stats = Stats { total_connections: self.stats.total_connections, ..Stats::default() };
                output.write(b"RESET\r\n");
            }
            [b"version", ..] => {
                output.write(concat!("VERSION ", env!("CARGO_PKG_VERSION"), "-bayop-libos\r\n").as_bytes());
            }
            [b"verbosity", _, ..] => output.write(OK),
            _ => output.write(ERROR),
        }
    }

    fn delete(&mut self, now_s: u32, key: &[u8]) -> &'static [u8] {
        if key.len() > MAX_KEY_LEN {
            return BAD_FORMAT;
        }
        match self.store.find(key, now_s) {
            Some(item) => {
                self.store.remove(item);
                self.stats.delete_hits += 1;
                DELETED
            }
            None => {
                self.stats.delete_misses += 1;
                NOT_FOUND
            }
        }
    }

    fn touch(&mut self, now_s: u32, key: &[u8], time: &[u8]) -> &'static [u8] {
        if key.len() > MAX_KEY_LEN {
            return BAD_FORMAT;
        }
        let Some(expires_s) = expires_s(time, now_s) else { return BAD_EXPIRY };
        self.stats.cmd_touch += 1;
        match self.store.find(key, now_s) {
            Some(item) => {
                self.store.touch(item, expires_s);
                self.stats.touch_hits += 1;
                TOUCHED
            }
            None => {
                self.stats.touch_misses += 1;
                NOT_FOUND
            }
        }
    }

    fn flush(&mut self, at_s: Option<u32>, output: &mut Output) {
        self.stats.cmd_flush += 1;
        self.store.flush(at_s);
        output.write(OK);
    }

    /// `incr` and `decr`: numbers of 64 bits, which go round at the top and stop at zero.
    fn add(&mut self, now_s: u32, key: &[u8], delta: &[u8], up: bool, output: &mut Output) {
        if key.len() > MAX_KEY_LEN {
            return output.write(BAD_FORMAT);
        }
        let Some(delta) = number(delta, u64::MAX) else { return output.write(BAD_DELTA) };
        let found = self.store.find(key, now_s);
        let counts = if up {
            [&mut self.stats.incr_misses, &mut self.stats.incr_hits]
        } else {
            [&mut self.stats.decr_misses, &mut self.stats.decr_hits]
        };
        *counts[usize::from(found.is_some())] += 1;
        let Some(item) = found else { return output.write(NOT_FOUND) };
        let Some(value) = self.number(item) else { return output.write(NOT_A_NUMBER) };
        let sum = if up { value.wrapping_add(delta) } else { value.saturating_sub(delta) };
        let text = alloc::format!("{sum}");
        let len = self.store.value_len(item);
        if text.len() <= len {
            // As memcached does: a shorter number leaves spaces behind.
            self.store.overwrite(item, alloc::format!("{text:len$}").as_bytes());
        } else {
            let (flags, expires_s) = (self.store.flags(item), self.store.expires_s(item));
            // A number is never too large.
            let _ = self.store.set(key, flags, expires_s, text.as_bytes(), now_s);
        }
        output.write(text.as_bytes());
        output.write(b"\r\n");
    }

    fn number(&self, item: Item) -> Option<u64> {
        if self.store.value_len(item) > 20 {
            return None;
        }
        let value: Vec<u8> = self.store.value(item).flatten().copied().collect();
        number(value.trim_ascii_end(), u64::MAX)
    }

    fn write_stats(&self, now_s: u32, output: &mut Output) {
        output.write(concat!("STAT version ", env!("CARGO_PKG_VERSION"), "-bayop-libos\r\n").as_bytes());
        let counts = self.store.counts;
        for (name, number) in [
            ("pid", 1),
            ("uptime", u64::from(now_s - self.start_s)),
            ("time", u64::from(now_s)),
            ("pointer_size", 64),
            ("threads", 1),
            ("curr_connections", self.connections as u64),
            ("limit_maxbytes", self.limit as u64),
            ("curr_items", counts.items),
            ("total_items", counts.total_items),
            ("bytes", counts.bytes),
            ("evictions", counts.evictions),
        ] {
            write_stat(output, name, number);
        }
        self.stats.write(output);
        output.write(END);
    }
}

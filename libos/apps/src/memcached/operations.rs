//! What both protocols do with the store, and count.

use alloc::vec::Vec;

use super::PORT;
use super::server::{Memcached, VERSION};
use super::stats::Stats;
use super::store::{Item, MAX_VALUE_LEN};
use super::text::words::number;

/// What `stats settings` says that can't be set otherwise here.
const SETTINGS: [(&str, &str); 11] = [
    ("maxconns_fast", "yes"),
    ("evictions", "on"),
    ("domain_socket", "NULL"),
    ("shutdown_command", "no"),
    ("detail_enabled", "no"),
    ("cas_enabled", "yes"),
    ("binding_protocol", "auto-negotiate"),
    ("auth_enabled_sasl", "no"),
    ("auth_enabled_ascii", "no"),
    ("flush_enabled", "yes"),
    ("dump_enabled", "no"),
];

/// How a value is stored.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Verb {
    Set,
    Add,
    Replace,
    Append,
    Prepend,
    /// If the item still has this unique number.
    Cas(u64),
}

/// A command that stores, without its value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Storing<'a> {
    pub verb: Verb,
    pub key: &'a [u8],
    pub flags: u32,
    pub expires_s: u32,
}

/// Why a value is not stored.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Refusal {
    /// Its verb wants an item, or wants none, or what it would make of the item is too large.
    NotStored,
    /// The item has another unique number.
    Exists,
    /// The item whose unique number is a condition is not there.
    NotFound,
    TooLarge,
}

/// Why a number is not changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum NoSum {
    NotFound,
    NotANumber,
}

impl Memcached {
    /// The item that a client gets; `touch_s`: it is gone at another time from now on.
    #[inline]
    pub(super) fn get(&mut self, now_s: u32, key: &[u8], touch_s: Option<u32>) -> Option<Item> {
        self.stats.cmd_get += 1;
        let Some(item) = self.store.find(key, now_s) else {
            self.stats.get_misses += 1;
            return None;
        };
        self.stats.get_hits += 1;
        if let Some(expires_s) = touch_s {
            self.stats.cmd_touch += 1;
            self.stats.touch_hits += 1;
            self.store.touch(item, expires_s);
        }
        Some(item)
    }

    /// Stores a value.
    pub(super) fn store(&mut self, now_s: u32, command: &Storing, value: &[u8]) -> Result<Item, Refusal> {
        let Storing { verb, key, flags, expires_s } = *command;
        self.stats.cmd_set += 1;
        let found = if verb == Verb::Set { None } else { self.store.find(key, now_s) };
        let result = match (verb, found) {
            (Verb::Add, Some(_)) | (Verb::Replace | Verb::Append | Verb::Prepend, None) => {
                return Err(Refusal::NotStored);
            }
            (Verb::Cas(_), None) => {
                self.stats.cas_misses += 1;
                return Err(Refusal::NotFound);
            }
            (Verb::Cas(unique), Some(item)) if self.store.unique(item) != unique => {
                self.stats.cas_badval += 1;
                return Err(Refusal::Exists);
            }
            (Verb::Append | Verb::Prepend, Some(item)) => {
                let old: Vec<u8> = self.store.value(item).flatten().copied().collect();
                let whole = if verb == Verb::Append { [&old, value].concat() } else { [value, &old].concat() };
                let (flags, expires_s) = (self.store.flags(item), self.store.expires_s(item));
                return self.store.set(key, flags, expires_s, &whole, now_s).map_err(|_| Refusal::NotStored);
            }
            _ => {
                self.stats.cas_hits += u64::from(matches!(verb, Verb::Cas(_)));
                self.store.set(key, flags, expires_s, value, now_s)
            }
        };
        result.map_err(|_| Refusal::TooLarge)
    }

    /// Whether a value of this length can't be stored. What a `set` would have replaced is gone then: it is not what its
    /// client thinks that is there. All others leave it, as memcached does.
    pub(super) fn refuses(&mut self, now_s: u32, key: &[u8], value_len: usize, is_set: bool) -> bool {
        let is_refused = value_len > MAX_VALUE_LEN;
        self.stats.store_too_large += u64::from(is_refused);
        if is_refused && is_set {
            if let Some(item) = self.store.find(key, now_s) {
                self.store.remove(item);
            }
        }
        is_refused
    }

    /// Removes an item; whether it was there.
    pub(super) fn delete(&mut self, now_s: u32, key: &[u8]) -> bool {
        let found = self.store.find(key, now_s);
        match found {
            Some(item) => {
                self.store.remove(item);
                self.stats.delete_hits += 1;
            }
            None => self.stats.delete_misses += 1,
        }
        found.is_some()
    }

    /// Has an item be gone at another time.
    pub(super) fn touch(&mut self, now_s: u32, key: &[u8], expires_s: u32) -> Option<Item> {
        self.stats.cmd_touch += 1;
        let found = self.store.find(key, now_s);
        match found {
            Some(item) => {
                self.store.touch(item, expires_s);
                self.stats.touch_hits += 1;
            }
            None => self.stats.touch_misses += 1,
        }
        found
    }

    /// `incr` and `decr`: numbers of 64 bits, which go round at the top and stop at zero. The sum and its item.
    pub(super) fn add(&mut self, now_s: u32, key: &[u8], delta: u64, up: bool) -> Result<(u64, Item), NoSum> {
        let found = self.store.find(key, now_s);
        let counts = if up {
            [&mut self.stats.incr_misses, &mut self.stats.incr_hits]
        } else {
            [&mut self.stats.decr_misses, &mut self.stats.decr_hits]
        };
        *counts[usize::from(found.is_some())] += 1;
        let item = found.ok_or(NoSum::NotFound)?;
        let value = number(self.store.value(item).flatten()).ok_or(NoSum::NotANumber)?;
        let sum = if up { value.wrapping_add(delta) } else { value.saturating_sub(delta) };
        let mut text = alloc::format!("{sum}").into_bytes();
        let len = self.store.value_len(item);
        if text.len() <= len {
            text.resize(len, b' '); // as memcached does: a shorter number leaves spaces behind
            self.store.overwrite(item, &text);
            return Ok((sum, item));
        }
        let (flags, expires_s) = (self.store.flags(item), self.store.expires_s(item));
        let longer = self.store.set(key, flags, expires_s, &text, now_s);
        Ok((sum, longer.unwrap_or(item))) // a number is never too large
    }

    /// Has all items be gone that are there now, or at a time to come.
    pub(super) fn flush(&mut self, now_s: u32, at_s: u32) {
        self.stats.cmd_flush += 1;
        self.store.flush(Some(at_s).filter(|at_s| *at_s > now_s));
    }

    /// Says each line of `stats`, or of one of its kinds, as a name and a value. None: there is no such kind.
    pub(super) fn each_stat(&self, now_s: u32, kind: &[u8], mut say: impl FnMut(&str, &[u8])) -> Option<()> {
        match kind {
            b"" => {
                say("version", VERSION.as_bytes());
                self.counted(now_s, |name, number| say(name, alloc::format!("{number}").as_bytes()));
            }
            b"settings" => {
                for (name, number) in [
                    ("maxbytes", self.limit),
                    ("maxconns", self.max_connections),
                    ("tcpport", PORT.into()),
                    ("num_threads", self.cores),
                    ("item_size_max", MAX_VALUE_LEN),
                ] {
                    say(name, alloc::format!("{number}").as_bytes());
                }
                SETTINGS.iter().for_each(|(name, value)| say(name, value.as_bytes()));
            }
            b"items" | b"slabs" => {} // there are no slab classes
            _ => return None,
        }
        Some(())
    }

    fn counted(&self, now_s: u32, mut say: impl FnMut(&str, u64)) {
        let counts = self.store.counts;
        let ours = [
            ("pid", 1),
            ("uptime", u64::from(now_s - self.start_s)),
            ("time", u64::from(now_s)),
            ("pointer_size", 64),
            ("threads", self.cores as u64),
            ("max_connections", self.max_connections as u64),
            ("curr_connections", self.connections as u64),
            // It never stops listening.
            ("accepting_conns", 1),
            ("listen_disabled_num", 0),
            ("time_in_listen_disabled_us", 0),
            ("limit_maxbytes", self.limit as u64),
            ("curr_items", counts.items),
            ("total_items", counts.total_items),
            ("bytes", counts.bytes),
            ("evictions", counts.evictions),
            ("get_expired", counts.get_expired),
            ("get_flushed", counts.get_flushed),
        ];
        ours.into_iter().chain(self.stats.named()).for_each(|(name, number)| say(name, number));
    }

    /// Begins to count anew.
    pub(super) fn reset_stats(&mut self) {
        self.stats = Stats::default();
        self.store.counts.reset();
    }
}

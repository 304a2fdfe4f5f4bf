//! Commands of one line and one answer.

use libos_net::service::Output;

use super::super::operations::NoSum;
use super::super::server::{Memcached, VERSION};
use super::super::store::MAX_KEY_LEN;
use super::words::{expires_s, number};
use super::{BAD_EXPIRY, BAD_FORMAT, END, ERROR, NOT_FOUND};

const BAD_DELTA: &[u8] = b"CLIENT_ERROR invalid numeric delta argument\r\n";
const NOT_A_NUMBER: &[u8] = b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";
const DELETED: &[u8] = b"DELETED\r\n";
const TOUCHED: &[u8] = b"TOUCHED\r\n";
const OK: &[u8] = b"OK\r\n";

impl Memcached {
    /// A command of one line and one answer.
    pub(super) fn simple(&mut self, now_s: u32, words: &[&[u8]], output: &mut Output) {
        let before = output.len();
        self.answer(now_s, words, output);
        if is_quiet(words) {
            output.cut(before);
        }
    }

    fn answer(&mut self, now_s: u32, words: &[&[u8]], output: &mut Output) {
        match words {
            [b"delete", key] | [b"delete", key, b"0" | b"noreply"] | [b"delete", key, b"0", b"noreply"] => {
                output.write(self.delete_word(now_s, key));
            }
            [b"delete", _, _] | [b"delete", _, _, _] => {
                output.write(b"CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n");
            }
            [b"incr", key, delta] | [b"incr", key, delta, _] => self.add_word(now_s, key, delta, true, output),
            [b"decr", key, delta] | [b"decr", key, delta, _] => self.add_word(now_s, key, delta, false, output),
            [b"touch", key, time] | [b"touch", key, time, _] => output.write(self.touch_word(now_s, key, time)),
            [b"flush_all"] | [b"flush_all", b"noreply"] => output.write(self.flush_word(now_s, b"0")),
            [b"flush_all", delay] | [b"flush_all", delay, _] => output.write(self.flush_word(now_s, delay)),
            [b"stats"] => self.write_stats(now_s, b"", output),
            [b"stats", b"reset", ..] => {
                self.reset_stats();
                output.write(b"RESET\r\n");
            }
            [b"stats", kind, ..] => self.write_stats(now_s, kind, output),
            [b"version", ..] => {
                output.write(b"VERSION ");
                output.write(VERSION.as_bytes());
                output.write(b"\r\n");
            }
            [b"verbosity", level] | [b"verbosity", level, _] => {
                output.write(if number(*level).is_some() { OK } else { BAD_FORMAT });
            }
            _ => output.write(ERROR),
        }
    }

    fn delete_word(&mut self, now_s: u32, key: &[u8]) -> &'static [u8] {
        match key.len() {
            0..=MAX_KEY_LEN if self.delete(now_s, key) => DELETED,
            0..=MAX_KEY_LEN => NOT_FOUND,
            _ => BAD_FORMAT,
        }
    }

    fn touch_word(&mut self, now_s: u32, key: &[u8], time: &[u8]) -> &'static [u8] {
        if key.len() > MAX_KEY_LEN {
            return BAD_FORMAT;
        }
        let Some(expires_s) = expires_s(time, now_s) else { return BAD_EXPIRY };
        if self.touch(now_s, key, expires_s).is_some() { TOUCHED } else { NOT_FOUND }
    }

    fn flush_word(&mut self, now_s: u32, delay: &[u8]) -> &'static [u8] {
        let Some(at_s) = expires_s(delay, now_s) else { return BAD_EXPIRY };
        self.flush(now_s, at_s);
        OK
    }

    fn add_word(&mut self, now_s: u32, key: &[u8], delta: &[u8], up: bool, output: &mut Output) {
        if key.len() > MAX_KEY_LEN {
            return output.write(BAD_FORMAT);
        }
        let Some(delta) = number(delta) else { return output.write(BAD_DELTA) };
        match self.add(now_s, key, delta, up) {
            Ok((sum, _)) => {
                output.write_decimal(sum);
                output.write(b"\r\n");
            }
            Err(NoSum::NotFound) => output.write(NOT_FOUND),
            Err(NoSum::NotANumber) => output.write(NOT_A_NUMBER),
        }
    }

    fn write_stats(&self, now_s: u32, kind: &[u8], output: &mut Output) {
        let said = self.each_stat(now_s, kind, |name, value| {
            for piece in [b"STAT ", name.as_bytes(), b" ", value, b"\r\n"] {
                output.write(piece);
            }
        });
        output.write(if said.is_some() { END } else { ERROR });
    }
}

/// Whether an answer is not wanted. A line that is no command is answered all the same, so that its sender stays in
/// step, and so are commands that know no `noreply`.
fn is_quiet(words: &[&[u8]]) -> bool {
    let [verb, .., b"noreply"] = words else { return false };
    match *verb {
        b"delete" | b"incr" | b"decr" | b"touch" => (3..=4).contains(&words.len()),
        b"flush_all" | b"verbosity" => words.len() <= 3,
        _ => false,
    }
}

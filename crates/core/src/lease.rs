//! Who may write, until when.
//!
//! One writer at a time: a lease is a random token that its holder renews while it lives. A dead holder renews nothing,
//! the lease expires, and the agent restores the machine. Pure: time is an argument, measured from any fixed moment.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use core::time::Duration;

use crate::quote::is_printable;
use crate::{Error, Result};

/// The shortest lease: two ticks of the agent's clock.
pub const LEAST_TTL_S: f64 = 2.0;
/// The longest lease: how long a machine may stay changed after its brain died.
pub const GREATEST_TTL_S: f64 = 3600.0;
/// The longest name of a holder, in bytes.
const HOLDER_BYTES: usize = 128;

/// The right to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    token: String,
    /// Who asked for it, in its own words.
    pub holder: String,
    ttl: Duration,
    granted: Duration,
    expires: Duration,
}

/// What others may know of the lease in force.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tenure<'a> {
    /// Who holds it.
    pub holder: &'a str,
    /// The seconds since it was granted.
    pub age_s: f64,
    /// The seconds until it ends unless it is renewed.
    pub expires_in_s: f64,
}

/// At most one lease.
#[derive(Debug, Default)]
pub struct Slot(Option<Lease>);

impl Slot {
    /// Grants the lease to `holder` and returns `token`, the secret that proves it.
    ///
    /// # Errors
    /// Somebody holds the lease, or the length of time or the name is out of bounds.
    pub fn grant(&mut self, token: String, holder: &str, ttl_s: f64, now: Duration) -> Result<String> {
        let ttl = length(ttl_s)?;
        if holder.is_empty() || holder.len() > HOLDER_BYTES || !holder.chars().all(is_printable) {
            let rule = format!("a holder must be 1 to {HOLDER_BYTES} bytes of printable text");
            return Err(Error::cannot_use(holder, rule).at("holder"));
        }
        if let Some(lease) = &self.0 {
            let left_s = lease.expires.saturating_sub(now).as_secs_f64();
            return Err(Error::conflict(format!("{} holds the lease", lease.holder))
                .rule("one writer at a time must hold it")
                .value(&lease.holder)
                .hint(format!("it ends in {left_s:.0} s unless it is renewed; bayop restore ends it now")));
        }
        self.0 = Some(Lease { token: token.clone(), holder: holder.to_owned(), ttl, granted: now, expires: now + ttl });
        Ok(token)
    }

    /// Lets the lease last its full length from now on, or from now on `ttl_s`. Returns the seconds left.
    ///
    /// # Errors
    /// `token` is not that of the lease in force, or the length is out of bounds.
    pub fn renew(&mut self, token: &str, ttl_s: Option<f64>, now: Duration) -> Result<f64> {
        self.check(token)?;
        let lease = self.0.as_mut().expect("a token was just matched");
        lease.ttl = ttl_s.map_or(Ok(lease.ttl), length)?;
        lease.expires = now + lease.ttl;
        Ok(lease.ttl.as_secs_f64())
    }

    /// The holder that `token` proves.
    ///
    /// # Errors
    /// `token` is not that of the lease in force.
    pub fn check(&self, token: &str) -> Result<&str> {
        match &self.0 {
            Some(lease) if lease.token == token => Ok(&lease.holder),
            Some(_) => Err(Error::conflict("the lease is over: somebody else holds it now")),
            None => Err(Error::conflict("the lease is over: it was released, or expired and the machine was restored")
                .hint("POST /v1/lease gives a new one")),
        }
    }

    /// Ends the lease and returns it when its time is over.
    pub fn expire(&mut self, now: Duration) -> Option<Lease> {
        self.0.take_if(|lease| lease.expires <= now)
    }

    /// Ends the lease, whoever holds it.
    pub fn end(&mut self) -> Option<Lease> {
        self.0.take()
    }

    /// When the lease ends unless it is renewed.
    pub fn expires(&self) -> Option<Duration> {
        self.0.as_ref().map(|lease| lease.expires)
    }

    /// Who holds the lease, since when and until when.
    pub fn tenure(&self, now: Duration) -> Option<Tenure<'_>> {
        self.0.as_ref().map(|lease| Tenure {
            holder: &lease.holder,
            age_s: now.saturating_sub(lease.granted).as_secs_f64(),
            expires_in_s: lease.expires.saturating_sub(now).as_secs_f64(),
        })
    }
}

fn length(ttl_s: f64) -> Result<Duration> {
    if (LEAST_TTL_S..=GREATEST_TTL_S).contains(&ttl_s) {
        return Ok(Duration::from_secs_f64(ttl_s));
    }
    let rule = format!("a lease must last {LEAST_TTL_S} to {GREATEST_TTL_S} seconds");
    Err(Error::cannot_use(ttl_s, rule).at("ttl_s"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn one_writer_at_a_time() {
        let mut slot = Slot::default();
        slot.grant("a".into(), "tune", 10.0, s(0)).unwrap();
        let refused = slot.grant("b".into(), "other", 10.0, s(9)).unwrap_err();
        assert_eq!((refused.kind, refused.value.as_deref()), (Kind::Conflict, Some("tune")));
    }

    #[test]
    fn a_renewed_lease_lives_and_a_silent_one_expires() {
        let mut slot = Slot::default();
        slot.grant("a".into(), "tune", 10.0, s(0)).unwrap();
        assert_eq!(slot.renew("a", None, s(8)).unwrap(), 10.0);
        assert_eq!(slot.tenure(s(9)), Some(Tenure { holder: "tune", age_s: 9.0, expires_in_s: 9.0 }));
        assert_eq!(slot.expire(s(17)), None);
        assert_eq!(slot.expire(s(18)).unwrap().holder, "tune");
        assert_eq!(slot.renew("a", None, s(18)).unwrap_err().kind, Kind::Conflict);
    }

    #[test]
    fn a_holder_may_choose_another_length() {
        let mut slot = Slot::default();
        slot.grant("a".into(), "run", 10.0, s(0)).unwrap();
        assert_eq!(slot.renew("a", Some(300.0), s(5)).unwrap(), 300.0);
        assert_eq!(slot.renew("a", Some(1.0), s(6)).unwrap_err().kind, Kind::Input);
        assert_eq!(slot.renew("a", None, s(100)).unwrap(), 300.0);
        assert_eq!((slot.expire(s(399)), slot.expire(s(400)).is_some()), (None, true));
    }

    #[test]
    fn a_wrong_token_does_nothing() {
        let mut slot = Slot::default();
        slot.grant("a".into(), "tune", 10.0, s(0)).unwrap();
        assert_eq!(slot.renew("b", None, s(9)).unwrap_err().kind, Kind::Conflict);
        assert!(slot.expire(s(10)).is_some());
    }

    #[test]
    fn lengths_and_names_are_bounded() {
        for ttl_s in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1.9, 3601.0] {
            assert_eq!(Slot::default().grant("a".into(), "tune", ttl_s, s(0)).unwrap_err().kind, Kind::Input);
        }
        for holder in ["", "two\nlines", "a\u{202e}b", "a\u{2028}b", &"x".repeat(129)] {
            assert_eq!(Slot::default().grant("a".into(), holder, 10.0, s(0)).unwrap_err().kind, Kind::Input);
        }
        assert!(Slot::default().grant("a".into(), "Jörg's \"नि\" \\ 1", 10.0, s(0)).is_ok());
    }
}

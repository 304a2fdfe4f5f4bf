//! A request and its answer.

use alloc::format;
use alloc::vec::Vec;

use bayop_core::{Error, Kind, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::http::{Answer, Request};
use crate::knob::{DELAY, Value};
use crate::messages::{
    Applied, ApplyRequest, KnobInPlace, Knobs, Lease, LeaseInForce, LeaseRequest, NoCalibrations, NoHold, Place,
    Readings, ReleaseRequest, Released, RenewRequest, Renewed, RestoreRequest, Status,
};
use crate::{Agent, NIC, capture, secret, since_start};

impl Agent {
    /// What a request is answered.
    pub(crate) fn answer(&mut self, now_us: u64, request: &Request) -> Result<Answer> {
        let now = since_start(now_us);
        match (request.method, request.path) {
            ("GET", "/v1/status") => json(&self.status(now_us)),
            ("GET", "/v1/knobs") => json(&self.knobs()),
            ("GET", "/v1/sensors") => {
                let (readings, time_s) = ((self.readings)(now_us), now.as_secs_f64());
                json(&Readings { time_s, readings: readings.iter().map(|reading| reading.shown(time_s)).collect() })
            }
            ("GET", path) if path.split('?').next() == Some("/v1/interrupts") => {
                let query = path.split_once('?').map_or("", |(_, query)| query);
                self.interrupts(now_us, query)
            }
            ("GET", "/v1/hold") => json(&NoHold { hold: None }),
            ("GET", "/v1/calibration") => json(&NoCalibrations { calibrations: [] }),
            ("POST", "/v1/lease") => {
                let LeaseRequest { holder, ttl_s } = read(request)?;
                let lease = self.leases.grant(secret(self.random), &holder, ttl_s, now)?;
                Ok(Answer::Made(written(&Lease { lease, ttl_s })?))
            }
            ("POST", "/v1/lease/renew") => {
                let RenewRequest { lease, ttl_s } = read(request)?;
                json(&Renewed { expires_in_s: self.leases.renew(&lease, ttl_s, now)? })
            }
            ("POST", "/v1/apply") => json(&self.apply(now_us, &read(request)?)?),
            ("POST", "/v1/release") => {
                let ReleaseRequest { lease, keep } = read(request)?;
                self.leases.check(&lease)?;
                self.leases.end();
                json(&Released { restored: self.holding.end(keep), ..Released::default() })
            }
            ("POST", "/v1/restore") => {
                let RestoreRequest {} = read(request)?;
                self.leases.end();
                json(&Released { restored: self.holding.restore(), ..Released::default() })
            }
            (_, path @ ("/v1/hold" | "/v1/latency" | "/v1/calibration" | "/v1/idle" | "/v1/doctor" | "/metrics")) => {
                Err(Error::unsupported(format!("the library OS's agent has no {} {path}", request.method))
                    .hint("docs/libos.md has what it answers"))
            }
            (method, path) => Err(Error::new(Kind::NotFound, format!("there is no {method} {path}"))
                .hint("docs/reference/agent-openapi.json describes every request")),
        }
    }

    fn interrupts(&self, now_us: u64, query: &str) -> Result<Answer> {
        let mut since = 0;
        for part in query.split('&').filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some(("device", NIC)) => {}
                Some(("device", name)) => {
                    let rule = format!("device must be {NIC}, the only one");
                    return Err(Error::cannot_use(name, rule).of(Kind::NotFound).at("device"));
                }
                Some(("since", number)) => {
                    let rule = "since must be the number of a record";
                    since = number.parse().map_err(|_| Error::cannot_use(number, rule).at("since"))?;
                }
                _ => return Err(Error::cannot_use(part, "the query must be device=DEVICE&since=NUMBER").at("query")),
            }
        }
        let delay_us = self.holding.knobs().find_map(|(about, value)| match value {
            Value::Number(delay_us) if about.id == DELAY => Some(delay_us),
            _ => None,
        });
        let captured = capture::since(&self.log.lock(), self.cores, since, since_start(now_us).as_secs_f64(), delay_us);
        let mut body = written(&captured.head)?;
        body.push(b'\n');
        body.extend(captured.records);
        Ok(Answer::Raw(body))
    }

    fn status(&self, now_us: u64) -> Status {
        let lease = self.leases.tenure(since_start(now_us)).map(|tenure| LeaseInForce {
            holder: tenure.holder.into(),
            age_s: tenure.age_s,
            expires_in_s: tenure.expires_in_s,
        });
        Status {
            version: env!("CARGO_PKG_VERSION"),
            mode: "apply",
            boot_id: self.boot_id.clone(),
            uptime_s: since_start(now_us).as_secs_f64(),
            lease,
            kept: self.holding.kept,
            applied_by: self.holding.applied_by(now_us),
            held: self.holding.held(),
            hold: None,
            damage: None,
        }
    }

    fn knobs(&self) -> Knobs {
        let shown = self.holding.knobs().map(|(about, effective)| KnobInPlace {
            id: about.id,
            summary: about.summary,
            unit: about.unit,
            safest: about.safest,
            places: [Place { at: about.at, domain: about.domain, allowed: about.domain, effective, error: None }],
        });
        Knobs { knobs: shown.collect(), missing: [].into() }
    }

    fn apply(&mut self, now_us: u64, request: &ApplyRequest) -> Result<Applied> {
        if request.dry_run {
            return self.holding.preview(&request.setting);
        }
        let lease = request.lease.as_deref().ok_or_else(|| {
            Error::input("the request names no lease").rule("a setting must be applied under one").at("lease")
        })?;
        self.holding.apply(&request.setting, self.leases.check(lease)?, now_us)
    }
}

fn json(answer: &impl Serialize) -> Result<Answer> {
    Ok(Answer::Told(written(answer)?))
}

fn written(answer: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(answer).map_err(|error| Error::unsupported(format!("no JSON: {error}")))
}

fn read<T: DeserializeOwned>(request: &Request) -> Result<T> {
    if !request.is_json {
        return Err(Error::input("the body is not said to be JSON")
            .rule("its content-type must be application/json")
            .at("body"));
    }
    serde_json::from_slice(request.body).map_err(|error| {
        Error::input(format!("the body is not the JSON that the API describes: {error}"))
            .at("body")
            .hint("docs/reference/agent-openapi.json describes every request")
    })
}

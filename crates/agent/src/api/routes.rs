//! One function per route: lock the agent, ask it, answer.

use std::sync::{Arc, Mutex, MutexGuard};

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::{Extension, Json};
use bayop_core::Error;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::body::{Failure, Input};
use crate::agent::Agent;
use crate::calibration::Map;
use crate::examination::Examination;
use crate::knobs::Knobs;
use crate::latency::Latency;
use crate::messages::{
    Applied, ApplyRequest, CalibrateRequest, Calibrations, Heard, HoldRequest, Holding, Lease, LeaseRequest,
    ReleaseRequest, Released, RenewRequest, Renewed, RestoreRequest, Status,
};
use crate::metrics;
use crate::peer::Peer;
use crate::readings::Readings;
use crate::stays::Stays;

/// What a route answers.
type Answer<T> = Result<T, Failure>;

/// The path that puts everything back.
pub(super) const RESTORE: &str = "/v1/restore";
/// The path of what clients see.
pub(super) const LATENCY: &str = "/v1/latency";

/// Who asks.
type By = Extension<Peer>;

/// The agent, as the routes and the clock share it.
pub type Shared = Arc<Mutex<Agent>>;

/// The agent, exclusively. After a panic nobody has it: what it left half done is not acted upon, and the process ends by
/// way of a restore.
pub fn lock(agent: &Shared) -> MutexGuard<'_, Agent> {
    agent.lock().expect("no request has panicked")
}

pub(super) fn all() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(status))
        .routes(routes!(knobs))
        .routes(routes!(sensors))
        .routes(routes!(metrics))
        .routes(routes!(interrupts))
        .routes(routes!(idle))
        .routes(routes!(lease))
        .routes(routes!(renew))
        .routes(routes!(apply))
        .routes(routes!(holding, hold))
        .routes(routes!(latency))
        .routes(routes!(release))
        .routes(routes!(restore))
        .routes(routes!(calibrations, calibrate))
        .routes(routes!(doctor))
}

/// The agent, its lease and what it holds.
#[utoipa::path(get, path = "/v1/status", responses((status = 200, body = Status)))]
async fn status(State(agent): State<Shared>) -> Answer<Json<Status>> {
    Ok(Json(lock(&agent).status()?))
}

/// The knobs of this machine, with what may be written and what is in effect.
#[utoipa::path(get, path = "/v1/knobs", responses(
    (status = 200, body = Knobs),
    (status = 502, description = "The machine does not answer", body = Failure)))]
async fn knobs(State(agent): State<Shared>) -> Answer<Json<Knobs>> {
    Ok(Json(lock(&agent).knobs()?))
}

/// Reads every sensor.
#[utoipa::path(get, path = "/v1/sensors", responses((status = 200, body = Readings)))]
async fn sensors(State(agent): State<Shared>) -> Json<Readings> {
    Json(lock(&agent).sensors())
}

/// The agent and its machine for Prometheus.
#[utoipa::path(get, path = "/metrics", responses(
    (status = 200, description = "OpenMetrics text", body = String, content_type = metrics::CONTENT_TYPE)))]
async fn metrics(State(agent): State<Shared>) -> Answer<impl IntoResponse> {
    let text = lock(&agent).metrics()?;
    Ok(([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text))
}

/// What interrupts of a network device are asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// One of those that the configuration has under `interrupts`.
    device: String,
    /// The first record's number; one that no record has yet tells where to begin.
    #[serde(default)]
    since: u64,
}

/// The newest records of a network device's interrupts, from a number on: a line of JSON that says what they are, and
/// the records behind it. Who asks first begins the recording; it ends ten seconds after nobody has asked any more.
#[utoipa::path(get, path = "/v1/interrupts", params(Asked), responses(
    (status = 200, description = "A line of JSON and records", body = String, content_type = "application/octet-stream"),
    (status = 400, description = "The request is wrong", body = Failure),
    (status = 403, description = "The configuration does not allow it", body = Failure),
    (status = 409, description = "The recording has ended: there were too many", body = Failure),
    (status = 502, description = "The recorder can't be reached, or has ended", body = Failure)))]
async fn interrupts(
    State(agent): State<Shared>,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Answer<impl IntoResponse> {
    let Query(Asked { device, since }) = asked.map_err(|rejection| {
        Error::input(rejection.body_text()).rule("the query must be device=DEVICE&since=NUMBER").at("query")
    })?;
    let recordings = lock(&agent).recordings();
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], recordings.since(&device, since).await?))
}

/// How long the CPUs have stayed in their idle states: how often each for how long, since the counting began. Who asks
/// first begins it; it ends half a minute after nobody has asked any more.
#[utoipa::path(get, path = "/v1/idle", responses(
    (status = 200, body = Stays),
    (status = 403, description = "The configuration does not allow it", body = Failure),
    (status = 502, description = "The counter can't be reached, or has ended", body = Failure)))]
async fn idle(State(agent): State<Shared>) -> Answer<Json<Stays>> {
    let counting = lock(&agent).counting();
    Ok(Json(counting.stays().await?))
}

/// Asks for the right to write. One writer holds it at a time; what it applied is restored when it ends.
#[utoipa::path(post, path = "/v1/lease", request_body = LeaseRequest, responses(
    (status = 201, body = Lease),
    (status = 400, description = "The request is wrong", body = Failure),
    (status = 409, description = "Somebody holds the lease", body = Failure)))]
async fn lease(
    State(agent): State<Shared>,
    Extension(by): By,
    Input(request): Input<LeaseRequest>,
) -> Answer<impl IntoResponse> {
    let lease = lock(&agent).lease(&request, &by)?;
    Ok((StatusCode::CREATED, Json(lease)))
}

/// Lets a lease last its full length from now on, or another length.
#[utoipa::path(post, path = "/v1/lease/renew", request_body = RenewRequest, responses(
    (status = 200, body = Renewed),
    (status = 400, description = "The request is wrong", body = Failure),
    (status = 409, description = "The lease is over or another's", body = Failure)))]
async fn renew(State(agent): State<Shared>, Input(request): Input<RenewRequest>) -> Answer<Json<Renewed>> {
    Ok(Json(lock(&agent).renew(&request)?))
}

/// Applies a setting, all or nothing, and answers what is in effect.
#[utoipa::path(post, path = "/v1/apply", request_body = ApplyRequest, responses(
    (status = 200, body = Applied),
    (status = 400, description = "The request is wrong", body = Failure),
    (status = 403, description = "The mode or the allow-list says no", body = Failure),
    (status = 404, description = "There is no such knob or place", body = Failure),
    (status = 409, description = "The lease is another's, or the knob is latched or stood down", body = Failure),
    (status = 502, description = "The kernel refused; what was changed is put back", body = Failure)))]
async fn apply(
    State(agent): State<Shared>,
    Extension(by): By,
    Input(request): Input<ApplyRequest>,
) -> Answer<Json<Applied>> {
    Ok(Json(lock(&agent).apply(&request, &by)?))
}

/// What is held under conditions.
#[utoipa::path(get, path = "/v1/hold", responses((status = 200, body = Holding)))]
async fn holding(State(agent): State<Shared>) -> Json<Holding> {
    Json(Holding { hold: lock(&agent).holding() })
}

/// Applies a setting and holds it under conditions, which the agent checks itself. When one of them breaks, the fall-back
/// is in effect within a second, and the lease goes on.
#[utoipa::path(post, path = "/v1/hold", request_body = HoldRequest, responses(
    (status = 200, body = Applied),
    (status = 400, description = "The request is wrong", body = Failure),
    (status = 403, description = "The mode or the allow-list says no", body = Failure),
    (status = 404, description = "There is no such knob, place or device", body = Failure),
    (status = 409, description = "The lease is another's, or a knob is latched or stood down", body = Failure),
    (status = 502, description = "The kernel refused; what was changed is put back", body = Failure)))]
async fn hold(
    State(agent): State<Shared>,
    Extension(by): By,
    Input(request): Input<HoldRequest>,
) -> Answer<Json<Applied>> {
    Ok(Json(lock(&agent).hold(&request, &by)?))
}

/// Says what clients see. A datagram to the socket `latency.sock` beside the agent's does the same.
#[utoipa::path(put, path = LATENCY, request_body = Latency, responses(
    (status = 200, body = Heard),
    (status = 400, description = "The request is wrong", body = Failure)))]
async fn latency(State(agent): State<Shared>, Input(latency): Input<Latency>) -> Answer<Json<Heard>> {
    Ok(Json(lock(&agent).hear(&latency)?))
}

/// Ends a lease and restores what it applied, or keeps it.
#[utoipa::path(post, path = "/v1/release", request_body = ReleaseRequest, responses(
    (status = 200, body = Released),
    (status = 400, description = "The request is wrong", body = Failure),
    (status = 409, description = "The lease is over or another's", body = Failure)))]
async fn release(
    State(agent): State<Shared>,
    Extension(by): By,
    Input(request): Input<ReleaseRequest>,
) -> Answer<Json<Released>> {
    Ok(Json(lock(&agent).release(&request, &by)?))
}

/// Restores everything and ends any lease.
#[utoipa::path(post, path = RESTORE, request_body = RestoreRequest, responses(
    (status = 200, body = Released),
    (status = 400, description = "The request is wrong", body = Failure)))]
async fn restore(
    State(agent): State<Shared>,
    Extension(by): By,
    Input(RestoreRequest {}): Input<RestoreRequest>,
) -> Json<Released> {
    Json(lock(&agent).restore(&format!("request of {by}")))
}

/// The stored maps from requested to effective rx_usecs.
#[utoipa::path(get, path = "/v1/calibration", responses((status = 200, body = Calibrations)))]
async fn calibrations(State(agent): State<Shared>) -> Json<Calibrations> {
    Json(lock(&agent).calibrations())
}

/// Stores the map of one network device in place of its earlier one.
#[utoipa::path(put, path = "/v1/calibration", request_body = CalibrateRequest, responses(
    (status = 200, body = Map),
    (status = 400, description = "The map is none", body = Failure),
    (status = 403, description = "The mode says no", body = Failure),
    (status = 404, description = "There is no such device", body = Failure),
    (status = 409, description = "The lease is over or another's", body = Failure),
    (status = 502, description = "The map could not be stored", body = Failure)))]
async fn calibrate(
    State(agent): State<Shared>,
    Extension(by): By,
    Input(request): Input<CalibrateRequest>,
) -> Answer<Json<Map>> {
    Ok(Json(lock(&agent).calibrate(request, &by)?))
}

/// What this machine lets BayOp control and measure, what is missing, and the remedy.
#[utoipa::path(get, path = "/v1/doctor", responses(
    (status = 200, body = Examination),
    (status = 502, description = "Something of it does not answer", body = Failure)))]
async fn doctor(State(agent): State<Shared>) -> Answer<Json<Examination>> {
    Ok(Json(lock(&agent).examine()?))
}

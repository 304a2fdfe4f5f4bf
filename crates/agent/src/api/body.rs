//! Bodies in and out: bounded in size and time, refused with a reason.

use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Body as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use utoipa::ToSchema;

use crate::fault;
use bayop_core::{Error, Kind};

/// The largest body, in bytes: some hundred knobs by place.
pub const GREATEST_BODY: usize = 64 * 1024;
/// How long a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// How every request that fails is answered.
#[derive(Debug, Serialize, ToSchema)]
pub struct Failure {
    /// What is wrong, and what to do.
    pub error: Error,
}

/// A request's JSON, in place of axum's extractor so that every refusal has the one shape.
#[derive(Debug)]
pub struct Input<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Input<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Failure> {
        let bytes = read(request.into_body()).await?;
        serde_json::from_slice(&bytes).map(Self).map_err(|error| {
            Error::input(format!("the body is not the JSON that the API describes: {error}"))
                .at("body")
                .hint("GET /v1/openapi.json describes every request")
                .into()
        })
    }
}

async fn read(body: Body) -> Result<Vec<u8>, Error> {
    let too_large = || Error::new(Kind::TooLarge, format!("the body has more than {GREATEST_BODY} bytes")).at("body");
    // A declared length is refused before anything arrives.
    if body.size_hint().lower() > GREATEST_BODY as u64 {
        return Err(too_large());
    }
    let collected =
        tokio::time::timeout(fault::patience(BODY_TIMEOUT), Limited::new(body, GREATEST_BODY).collect()).await;
    let collected = collected
        .map_err(|_| Error::input(format!("the body did not arrive in {} s", BODY_TIMEOUT.as_secs())).at("body"))?;
    match collected {
        Ok(body) => Ok(body.to_bytes().into()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(error) => Err(Error::input(format!("the body did not arrive whole: {error}")).at("body")),
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { error }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.error.kind.http_status()).expect("a status of HTTP");
        (status, Json(self)).into_response()
    }
}

//! The agent's HTTP API, with the description that is generated from it.

mod body;
mod routes;

pub use body::GREATEST_BODY;
pub use routes::{Shared, lock};

use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json, Router};
use utoipa::OpenApi;
use utoipa::openapi::OpenApi as Description;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::peer::{Peer, Role};
use bayop_core::{Error, Kind};
use body::Failure;

#[derive(OpenApi)]
#[openapi(info(
    title = "bayop-agent",
    description = "Reads the sensors of a Linux server and applies settings to it. Whatever it changes is put back: on \
        release, when the lease expires, when the agent stops, and at its next start after a crash.",
    license(name = "Apache-2.0"),
    contact()
))]
struct Root;

fn described() -> OpenApiRouter<Shared> {
    OpenApiRouter::with_openapi(Root::openapi()).merge(routes::all()).routes(routes!(openapi))
}

/// The description of the API, from the types and routes themselves.
pub fn description() -> Description {
    described().split_for_parts().1
}

/// The description as it is served and printed.
pub fn description_text() -> String {
    let mut text = description().to_pretty_json().expect("a description is JSON");
    text.push('\n');
    text
}

/// This description.
#[utoipa::path(get, path = "/v1/openapi.json", responses((status = 200, description = "OpenAPI 3.1", body = Object)))]
async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], description_text()).into_response()
}

/// The API of an agent, to be asked with the [`Peer`] as an extension of each request. Whatever it is asked, it answers
/// JSON.
pub fn router(agent: Shared) -> Router {
    let (routes, _description) = described().with_state(agent.clone()).split_for_parts();
    let routes = routes.method_not_allowed_fallback(other_method).fallback(other_path);
    routes.layer(middleware::from_fn_with_state(agent, authorize))
}

/// Lets a request through whose peer has the role for it.
async fn authorize(
    State(agent): State<Shared>,
    Extension(peer): Extension<Peer>,
    request: Request,
    next: Next,
) -> Result<Response, Failure> {
    let role = match (request.method(), request.uri().path()) {
        (&Method::GET | &Method::HEAD, _) => Role::Observe,
        (_, routes::RESTORE) => Role::Restore,
        (_, routes::LATENCY) => Role::Push,
        _ => Role::Apply,
    };
    // A statement of its own: the agent is not kept while the request is served.
    lock(&agent).allow(&peer, role)?;
    Ok(next.run(request).await)
}

async fn other_path(uri: Uri) -> Failure {
    Error::new(Kind::NotFound, format!("the API has no path {}", uri.path()))
        .value(uri.path())
        .hint("GET /v1/openapi.json describes every path")
        .into()
}

async fn other_method(method: Method, uri: Uri) -> Response {
    let error = Error::input(format!("{} does not have the method {method}", uri.path())).value(method);
    (StatusCode::METHOD_NOT_ALLOWED, Json(Failure { error })).into_response()
}

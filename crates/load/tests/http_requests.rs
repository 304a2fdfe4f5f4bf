//! HTTP requests as they are sent, and those that are refused.

use bayop_load::body::Body;
use bayop_load::header::Header;
use bayop_load::http_request::{HttpRequest, Method};
use bayop_load::protocol::http::Http;
use bayop_load::protocol::{Kind, Protocol};
use proptest::prelude::*;

/// The request for a record, as text.
fn sent(request: &HttpRequest, key: &str) -> String {
    let mut out = Vec::new();
    Http::new("h:80", request).encode(Kind::Get, key.as_bytes(), b"", 0, &mut out);
    out.escape_ascii().to_string()
}

fn with_headers(headers: &[&str]) -> HttpRequest {
    HttpRequest { headers: headers.iter().map(|header| header.parse().unwrap()).collect(), ..HttpRequest::get("/") }
}

fn with_bodies(method: Method, bodies: &[&str]) -> HttpRequest {
    let bodies = bodies.iter().map(|body| body.as_bytes().to_vec().into()).collect();
    HttpRequest { method, bodies, ..HttpRequest::get("/") }
}

#[test]
fn a_path_has_the_number_of_the_record() {
    for (key, number) in [("0042", "42"), ("000", "0"), ("100", "100")] {
        let expected = format!(r"GET /item/{number}?also={number} HTTP/1.1\r\nHost: h:80\r\n\r\n");
        assert_eq!(sent(&HttpRequest::get("/item/{n}?also={n}"), key), expected);
    }
}

#[test]
fn headers_follow_the_host_that_one_of_them_names() {
    let request = with_headers(&["Accept: */*", "host:www.example.org", "X-Record: {n}", "Accept: text/html", "X:"]);
    let headers = r"Host: www.example.org\r\nAccept: */*\r\nX-Record: 7\r\nAccept: text/html\r\nX: \r\n";
    assert_eq!(sent(&request, "07"), format!(r"GET / HTTP/1.1\r\n{headers}\r\n"));
}

#[test]
fn a_request_names_one_host() {
    assert_eq!(with_headers(&["A: b", "HOST: one"]).check(), Ok(()));
    let error = with_headers(&["Host: one", "A: b", "host: two"]).check().unwrap_err().to_string();
    assert_eq!(error, "cannot use 'host: two': a request must name one host (headers)");
}

#[test]
fn a_call_names_a_service_and_a_method() {
    let call = |path: &str| HttpRequest { path: path.to_owned(), ..with_bodies(Method::Post, &[]) }.check_call();
    assert_eq!(call("/call.Service/{n}"), Ok(()));
    for path in ["/", "/call.Service", "/call.Service/", "//Method", "/call.Service/Method/1"] {
        let error = call(path).unwrap_err().to_string();
        assert_eq!(error, format!("cannot use '{path}': the path of a call must be /package.Service/Method (path)"));
    }
}

#[test]
fn records_are_sent_with_the_bodies_in_turn() {
    let request = with_bodies(Method::Put, &["", "one", "{n}\r\n"]);
    for (key, end) in [
        ("000", r"Content-Length: 0\r\n\r\n"),
        ("001", r"Content-Length: 3\r\n\r\none"),
        ("002", r"Content-Length: 5\r\n\r\n{n}\r\n"),
        ("100", r"Content-Length: 3\r\n\r\none"),
    ] {
        assert_eq!(sent(&request, key), format!(r"PUT / HTTP/1.1\r\nHost: h:80\r\n{end}"));
    }
}

#[test]
fn the_only_body_is_sent_as_it_is() {
    let request = HttpRequest { path: "/{n}".to_owned(), ..with_bodies(Method::Post, &["{n}"]) };
    assert_eq!(sent(&request, "07"), r"POST /7 HTTP/1.1\r\nHost: h:80\r\nContent-Length: 3\r\n\r\n{n}");
}

#[test]
fn what_could_have_a_body_says_that_it_has_none() {
    let length = r"Content-Length: 0\r\n";
    for (method, name, length) in [
        (Method::Get, "GET", ""),
        (Method::Post, "POST", length),
        (Method::Put, "PUT", length),
        (Method::Patch, "PATCH", length),
        (Method::Delete, "DELETE", ""),
    ] {
        let request = with_bodies(method, &[]);
        assert_eq!(sent(&request, "1"), format!(r"{name} / HTTP/1.1\r\nHost: h:80\r\n{length}\r\n"));
        assert_eq!(serde_json::to_value(method).unwrap(), name);
    }
}

#[test]
fn a_body_needs_a_method_that_takes_one() {
    for method in [Method::Post, Method::Put, Method::Patch] {
        assert_eq!(with_bodies(method, &["x"]).check(), Ok(()));
    }
    for method in [Method::Get, Method::Delete] {
        let error = with_bodies(method, &["x"]).check().unwrap_err().to_string();
        assert!(error.ends_with("the method of a request with a body must be POST, PUT or PATCH (method)"), "{error}");
    }
}

#[test]
fn a_body_in_json_has_a_character_for_a_byte() {
    let error = serde_json::from_str::<Body>("\"\u{20ac}\"").unwrap_err().to_string();
    assert!(error.contains("the characters of a body must be U+0000 to U+00FF"), "{error}");
}

proptest! {
    #[test]
    fn any_bytes_are_a_body(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let body = Body::from(bytes.clone());
        let back: Body = serde_json::from_str(&serde_json::to_string(&body).unwrap()).unwrap();
        prop_assert_eq!(back.bytes(), &bytes);
    }

    #[test]
    fn a_server_reads_what_was_meant(
        value in "[ -~]{0,20}",
        path in "/[!-z]{0,20}",
        body in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let header: Header = format!("X-Any: {value}").parse().unwrap();
        let request = HttpRequest {
            name: String::new(),
            weight: 1.0,
            method: Method::Post,
            path: path.clone(),
            headers: vec![header.clone()],
            bodies: vec![body.clone().into()],
        };
        let mut out = Vec::new();
        Http::new("h", &request).encode(Kind::Get, b"0", b"", 0, &mut out);
        let mut headers = [httparse::EMPTY_HEADER; 3];
        let mut read = httparse::Request::new(&mut headers);
        let start = read.parse(&out).unwrap().unwrap();
        prop_assert_eq!((read.method, read.path), (Some("POST"), Some(&path[..])));
        prop_assert_eq!((read.headers[1].name, read.headers[1].value), ("X-Any", header.value().as_bytes()));
        prop_assert_eq!(std::str::from_utf8(read.headers[2].value).unwrap(), body.len().to_string());
        prop_assert_eq!(&out[start..], body);
    }
}

//! Adapts requests to what rmcp demands of them, and its answers to what the client accepts.
//!
//! rmcp serves only clients that name both media types of an answer, and chooses one of them. [`Accepted`] reads which of
//! them the client accepts, by any media range, and [`Accepted::answer`] rewrites an answer of the other type.

use axum::body::Body;
use axum::http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, ORIGIN};
use axum::response::Response;
use http_body_util::BodyExt;
use serde_json::Value;

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// The media types that a client accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accepted {
    pub(super) json: bool,
    pub(super) events: bool,
}

impl Accepted {
    /// Reads the headers of a request, and writes those that rmcp demands in their place.
    pub(super) fn take(headers: &mut HeaderMap) -> Accepted {
        let ranges: Vec<&str> =
            headers.get_all(ACCEPT).iter().filter_map(|range| range.to_str().ok()).collect();
        let accepted = Accepted::read(&ranges.join(","));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        accepted
    }

    fn read(ranges: &str) -> Accepted {
        Accepted { json: accepts(ranges, JSON), events: accepts(ranges, EVENTS) }
    }

    /// Rewrites an answer that has the type that the client does not accept. A single message is the last of its events.
    pub(super) async fn answer(self, answer: Response) -> Response {
        let kind = answer.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        let (is_json, is_events) = (kind == Some(JSON.as_bytes()), kind == Some(EVENTS.as_bytes()));
        let is_accepted = (self.json || !is_json) && (self.events || !is_events);
        if is_accepted || !answer.status().is_success() {
            return answer;
        }
        let kind = if self.json { JSON } else { EVENTS };
        let (mut parts, body) = answer.into_parts();
        let text = match is_json {
            // No error occurs here.
            true => body.collect().await.map(|whole| [b"data: ", &*whole.to_bytes(), b"\n\n"].concat()),
            false => Ok(last_message(body).await),
        };
        parts.headers.remove(CONTENT_LENGTH);
        parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        Response::from_parts(parts, Body::from(text.unwrap_or_default()))
    }
}

/// Returns whether the most specific media range for a type accepts it.
fn accepts(ranges: &str, kind: &str) -> bool {
    let family = kind.split_once('/').map_or(kind, |(family, _)| family);
    let weight = |range: &str| {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next()?.to_ascii_lowercase();
        let rank = [kind, &format!("{family}/*"), "*/*"].iter().rev().position(|known| *known == name)?;
        let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        Some((rank, weight.and_then(|weight| weight.trim().parse::<f32>().ok()) != Some(0.0)))
    };
    ranges.trim().is_empty() || ranges.split(',').filter_map(weight).max().is_some_and(|(_, accepts)| accepts)
}

/// Returns the response among the messages of an event stream. The notifications before it are of no use to a client that
/// reads one message.
async fn last_message(mut body: Body) -> Vec<u8> {
    let mut text = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        text.extend_from_slice(frame.data_ref().map(AsRef::as_ref).unwrap_or_default());
        while let Some(end) = text.windows(2).position(|pair| pair == b"\n\n") {
            let event: Vec<u8> = text.drain(..end + 2).collect();
            let data = event.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"data:"));
            let data = data.unwrap_or_default().trim_ascii();
            let message: Value = serde_json::from_slice(data).unwrap_or_default();
            if message.get("result").or_else(|| message.get("error")).is_some() {
                return data.to_vec();
            }
        }
    }
    Vec::new()
}

/// Returns whether a request's body is JSON by its type. Forms, plain text, and from browsers what has no type, are refused: web
/// pages can send them without asking.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let is_browser = || headers.contains_key(ORIGIN) || headers.contains_key("sec-fetch-site");
    let Some(kind) = headers.get(CONTENT_TYPE) else { return !is_browser() };
    let Ok(kind) = kind.to_str() else { return false };
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let subtype = kind.strip_prefix("application/");
    kind.is_empty() && !is_browser()
        || kind == "text/json"
        || subtype.is_some_and(|kind| kind.split(['-', '+']).any(|it| it == "json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_media_range_that_accepts_an_answer_is_served() {
        for (ranges, json, events) in [
            ("", true, true),
            ("*/*", true, true),
            ("text/html, */*;q=0.8", true, true),
            ("application/*, TEXT/*", true, true),
            ("application/json; charset=utf-8, text/event-stream;q=0.9", true, true),
            ("application/json", true, false),
            ("text/event-stream", false, true),
            ("application/json;q=0, */*", false, true),
            ("*/*, text/event-stream; q=0.0", true, false),
            ("application/json;q=0, application/*", false, false),
            ("text/html, image/*", false, false),
        ] {
            assert_eq!(Accepted::read(ranges), Accepted { json, events }, "{ranges}");
        }
    }

    #[tokio::test]
    async fn an_answer_has_the_form_that_the_client_accepts() {
        let (message, note) = (r#"{"id":1,"result":{}}"#, r#"{"method":"n"}"#);
        let stream = format!(": alive\n\nid: 0\ndata:\n\ndata: {note}\n\ndata: {message}\n\n");
        let event = format!("data: {message}\n\n");
        for (kind, body, ranges, expected) in [
            (EVENTS, stream.as_str(), "application/json", message),
            (JSON, message, "text/*", &event),
            (JSON, message, "*/*", message),
            (EVENTS, &stream, "", &stream),
        ] {
            let answer =
                Response::builder().header(CONTENT_TYPE, kind).body(Body::from(body.to_owned())).unwrap();
            let answer = Accepted::read(ranges).answer(answer).await;
            assert_eq!(
                answer.into_body().collect().await.unwrap().to_bytes(),
                expected.as_bytes(),
                "{ranges}"
            );
        }
    }

    #[test]
    fn json_is_json_under_each_of_its_names() {
        let is = |kind: &'static str| {
            is_json(&HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))]))
        };
        assert!(is_json(&HeaderMap::new()));
        assert!(
            ["Application/JSON; charset=utf-8", "application/json-rpc", "text/json", "application/a+json"]
                .map(is)
                == [true; 4]
        );
        assert!(
            ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"].map(is) == [false; 3]
        );
    }
}

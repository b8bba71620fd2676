//! Lines of bounded length, the messages in them, and the envelopes of invalid lines.
//!
//! [`parse`] reads a text, [`Request::of`] only whose answer it will be. Guarantee: a text that can't be parsed is answered under
//! its id wherever that can be found: before the place where broken JSON breaks off, at the beginning or at the end of a
//! line that is too long. Limit: of a line that is too long, an id is looked for in the first [`Lines::limit`] and the
//! last [`TAIL`] bytes.

use std::fmt;
use std::io;

use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// How many bytes are kept from the end of a line that is too long: an id and its neighbours, as official clients write them.
const TAIL: usize = 1024;

/// An error answer to an invalid message.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) id: Option<RequestId>,
    code: ErrorCode,
    pub(super) message: String,
    /// Whether it stays unsent: nobody waits for it, and an echo could go on for ever.
    pub(super) silent: bool,
}

impl Refusal {
    /// Returns the answer itself.
    pub(super) fn into_message(self) -> ServerJsonRpcMessage {
        ServerJsonRpcMessage::error(ErrorData::new(self.code, self.message, None), self.id)
    }
}

/// Parses a message; `None` for an unreadable notification or response, which the protocol ignores and nobody waits for.
pub(super) fn parse(text: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Refusal> {
    let fault = match serde_json::from_slice(text) {
        Ok(message) => return Ok(Some(message)),
        Err(fault) => fault,
    };
    let envelope = Envelope::read(text);
    if !fault.is_data() {
        return Err(envelope.refusal(ErrorCode::PARSE_ERROR, format!("this is no JSON: {fault}")));
    }
    if envelope.is_notification() || envelope.is_response() {
        return Ok(None);
    }
    let refusal = envelope.refusal(ErrorCode::INVALID_REQUEST, "this is no JSON-RPC request".to_owned());
    Err(Refusal { silent: false, ..refusal })
}

/// The properties of a request that matter before it is read.
#[derive(Debug, PartialEq)]
pub(super) struct Request {
    pub(super) id: RequestId,
    /// Whether it begins a session.
    pub(super) initializes: bool,
    /// Whether its answer comes only when the connection ends.
    pub(super) listens: bool,
}

impl Request {
    /// Reads the request in a text; `None` for anything else.
    pub(super) fn of(text: &[u8]) -> Option<Request> {
        let envelope = Envelope::read(text);
        let id = envelope.id.filter(|_| envelope.method)?;
        Some(Request { id, initializes: envelope.initializes, listens: envelope.listens })
    }
}

/// The outermost fields of a message that can't be parsed, as far as an answer needs them.
#[derive(Debug, Default)]
struct Envelope {
    id: Option<RequestId>,
    has_id: bool,
    method: bool,
    /// One of its methods, of which an invalid message may have several, is `initialize`.
    initializes: bool,
    /// Its last method is `subscriptions/listen`.
    listens: bool,
    result: bool,
}

impl Envelope {
    /// Reads the fields before the text ends or breaks off.
    fn read(text: &[u8]) -> Envelope {
        let mut envelope = Envelope::default();
        let _ = serde_json::Deserializer::from_slice(text).deserialize_map(&mut envelope);
        envelope
    }

    /// What the last fields of a text are. Its beginning is cut off, so each comma may be the one between two fields of
    /// the outermost object: it is, if what follows ends as that object does.
    fn read_end(text: &[u8]) -> Envelope {
        let commas = text.iter().enumerate().filter(|(_, byte)| **byte == b',').map(|(at, _)| at);
        let is_object = |text: &[u8]| serde_json::from_slice::<serde_json::Map<String, Value>>(text).is_ok();
        let mut ends = commas.map(|comma| [b"{", &text[comma + 1..]].concat());
        ends.find(|end| is_object(end)).map_or_else(Envelope::default, |end| Envelope::read(&end))
    }

    fn is_notification(&self) -> bool {
        self.method && !self.has_id
    }

    fn is_response(&self) -> bool {
        self.result && !self.method
    }

    fn refusal(self, code: ErrorCode, message: String) -> Refusal {
        let silent = self.id.is_none() || self.is_response();
        Refusal { id: self.id, code, message, silent }
    }
}

/// Fills the envelope field by field, so that those before a fault are kept.
impl<'de> Visitor<'de> for &mut Envelope {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(name) = fields.next_key::<String>()? {
            if name == "id" {
                self.has_id = true;
                self.id = RequestId::deserialize(fields.next_value::<Value>()?).ok();
                continue;
            }
            if name == "method" {
                self.method = true;
                let method = fields.next_value::<Value>()?;
                self.initializes |= method == "initialize";
                self.listens = method == "subscriptions/listen";
                continue;
            }
            self.result |= name == "result" || name == "error";
            fields.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

/// Reads lines of bounded length.
pub(super) struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// The last bytes of a line that is longer than the limit, of which no more than its beginning is kept.
    tail: Option<Vec<u8>>,
    limit: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(input: R, limit: usize) -> Self {
        Lines { input: BufReader::new(input), line: Vec::new(), tail: None, limit }
    }

    /// Reads until a line is whole; false at the end. May be dropped and called again.
    pub(super) async fn read(&mut self) -> io::Result<bool> {
        loop {
            let bytes = self.input.fill_buf().await?;
            if bytes.is_empty() {
                // A last line without a newline is accepted too, if it is a message: a person's `printf` sends such lines.
                return Ok(!self.line.is_empty());
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(bytes.len(), |end| end + 1);
            let fits = used.min(self.limit - self.line.len());
            self.line.extend_from_slice(&bytes[..fits]);
            if fits < used || self.tail.is_some() {
                let tail = self.tail.get_or_insert_default();
                tail.extend_from_slice(&bytes[..used]);
                tail.drain(..tail.len().saturating_sub(TAIL));
            }
            self.input.consume(used);
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    /// Returns the length of the line.
    pub(super) fn length(&self) -> usize {
        self.line.len()
    }

    /// Takes the message in the line; `None` if it is empty or needs no answer.
    pub(super) fn take(&mut self) -> Result<Option<ClientJsonRpcMessage>, Refusal> {
        let line = std::mem::take(&mut self.line);
        if let Some(tail) = self.tail.take() {
            let mut envelope = Envelope::read(&line);
            if !envelope.has_id {
                envelope.id = Envelope::read_end(tail.trim_ascii_end()).id;
            }
            let message = format!("a message is at most {} bytes long; this one is dropped", self.limit);
            return Err(envelope.refusal(ErrorCode::INVALID_REQUEST, message));
        }
        let text = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&line).trim_ascii();
        if text.is_empty() { Ok(None) } else { parse(text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answers and messages that are made of a text, by lines of at most 100 bytes.
    async fn answers(text: &str) -> Vec<Result<bool, (Option<RequestId>, i32, bool)>> {
        let mut lines = Lines::new(text.as_bytes(), 100);
        let mut answers = Vec::new();
        while lines.read().await.unwrap() {
            let taken = lines.take().map(|message| message.is_some());
            answers.push(taken.map_err(|refusal| (refusal.id, refusal.code.0, refusal.silent)));
        }
        answers
    }

    fn id(number: i64) -> Option<RequestId> {
        Some(RequestId::Number(number))
    }

    #[tokio::test]
    async fn the_id_of_a_line_that_is_too_long_is_found_at_either_end() {
        for long in [100, 200, TAIL - 60, TAIL, 10 * TAIL] {
            let text = "x, \\\"id\\\": 9},".repeat(long / 10 + 1);
            let last = format!(r#"{{"method":"m","params":{{"id":4,"a":"{text}"}},"jsonrpc":"2.0","id":5}}"#);
            let first = format!(r#"{{"id":6,"method":"m","params":{{"a":"{text}","id":4}}}}"#);
            let none = format!(r#"{{"method":"m","params":{{"a":"{text}","id":4}}}}"#);
            let answer = format!(r#"{{"id":7,"result":{{"a":"{text}"}}}}"#);
            let said =
                answers(&format!("{last}\n{first}\r\n{none}\n{answer}\n{{\"jsonrpc\":\"2.0\"}}")).await;
            let invalid = ErrorCode::INVALID_REQUEST.0;
            let expected = [(id(5), false), (id(6), false), (None, true), (id(7), true)];
            let expected = expected.map(|(id, silent)| Err((id, invalid, silent)));
            assert_eq!(said[..4], expected, "{long}");
            assert_eq!(said[4], Err((None, invalid, false)), "the next line is read as ever");
        }
    }

    #[tokio::test]
    async fn the_id_of_broken_json_is_found_before_the_place_where_it_breaks() {
        let parse_error = ErrorCode::PARSE_ERROR.0;
        let said =
            answers("{\"id\":\"a\",\"params\":{\"id\":1,\n{\"params\":{\"id\":1,\n{\"id\":[2],\"method\"")
                .await;
        let expected = [Some(RequestId::String("a".into())), None, None];
        assert_eq!(said, expected.map(|id| Err((id.clone(), parse_error, id.is_none()))));
    }

    #[test]
    fn only_a_request_has_an_id_to_answer() {
        let id_of = |text: &[u8]| Request::of(text).map(|request| request.id);
        assert_eq!(id_of(br#"{"id":1,"method":"ping"}"#), id(1));
        assert_eq!(id_of(br#"{"id":1,"result":{}}"#), None);
        assert_eq!(id_of(br#"{"method":"ping"}"#), None);
        assert_eq!(id_of(b"[1]"), None);
    }

    #[test]
    fn initialize_is_known_however_it_is_written() {
        let initializes = |text: &[u8]| Request::of(text).unwrap().initializes;
        assert!(initializes(br#"{"id":1,"method":"initialize"}"#));
        assert!(initializes(br#"{"method":"\u0069nitialize", "params":{"method":"ping"},"id":"a"}"#));
        assert!(initializes(br#"{"method":"ping","method":"initialize","id":1}"#));
        assert!(!initializes(br#"{"id":1,"method":"ping","params":{"method":"initialize"}}"#));
    }
}

//! Reads lines of bounded length, parses the messages in them, and finds the ids of invalid messages.
//!
//! [`parse`] parses a message; [`Envelope::read`] reads only its identifying fields. Guarantee: an invalid
//! message is answered with its id if the id can be found. An id can be found if it comes before a syntax error or is
//! near the beginning or end of an oversized line. Limitation: in an oversized line, only the first
//! [`BoundedLines::limit`] and the last [`TAIL`] bytes are searched.

use std::borrow::Cow;
use std::fmt;
use std::io;

use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use crate::text::mended_json;

/// The number of bytes retained from the end of an oversized line. Official clients write the id within these bytes.
const TAIL: usize = 1024;

/// An error answer to an invalid message.
#[derive(Debug)]
pub(super) struct InvalidMessage {
    pub(super) id: Option<RequestId>,
    code: ErrorCode,
    pub(super) message: String,
    /// True if the answer is not sent because no one is waiting for it and the other side might echo it forever.
    pub(super) silent: bool,
}

impl InvalidMessage {
    /// Converts the answer to a protocol message.
    pub(super) fn into_message(self) -> ServerJsonRpcMessage {
        ServerJsonRpcMessage::error(ErrorData::new(self.code, self.message, None), self.id)
    }
}

/// Parses a message. Returns `None` for an invalid notification or response, which the protocol ignores.
pub(super) fn parse(text: &[u8]) -> Result<Option<ClientJsonRpcMessage>, InvalidMessage> {
    let fault = match serde_json::from_slice(text) {
        Ok(message) => return Ok(Some(message)),
        Err(fault) => fault,
    };
    let text = mended_json(text);
    let fault = match &text {
        Cow::Borrowed(_) => fault,
        Cow::Owned(text) => match serde_json::from_slice(text) {
            Ok(message) => return Ok(Some(message)),
            Err(fault) => fault,
        },
    };
    let envelope = Envelope::read(&text);
    if !fault.is_data() {
        return Err(envelope.refusal(ErrorCode::PARSE_ERROR, format!("invalid JSON: {fault}")));
    }
    if envelope.is_notification() || envelope.is_response() {
        return Ok(None);
    }
    let refusal = envelope.refusal(ErrorCode::INVALID_REQUEST, "not a JSON-RPC request".to_owned());
    Err(InvalidMessage { silent: false, ..refusal })
}

/// The outermost fields of a message, read even if the message is invalid.
#[derive(Debug, Default)]
pub(super) struct Envelope {
    pub(super) id: Option<RequestId>,
    has_id: bool,
    method: bool,
    /// True if any method is `initialize`, which starts a session. An invalid message may have several methods.
    pub(super) initializes: bool,
    /// True if the last method is `subscriptions/listen`, which is answered only when the connection ends.
    pub(super) listens: bool,
    result: bool,
}

impl Envelope {
    /// Reads the fields up to the end of the text or the first syntax error.
    pub(super) fn read(text: &[u8]) -> Envelope {
        let mut envelope = Envelope::default();
        let _ = serde_json::Deserializer::from_slice(text).deserialize_map(&mut envelope);
        envelope
    }

    /// Reads the last fields from text whose beginning is cut off. A comma separates two fields of the outermost object
    /// if the text after the comma completes an object.
    fn read_end(text: &[u8]) -> Envelope {
        let commas = text.iter().enumerate().filter(|(_, byte)| **byte == b',').map(|(at, _)| at);
        let is_object = |text: &[u8]| serde_json::from_slice::<serde_json::Map<String, Value>>(text).is_ok();
        let mut ends = commas.map(|comma| [b"{", &text[comma + 1..]].concat());
        ends.find(|end| is_object(end)).map_or_else(Envelope::default, |end| Envelope::read(&end))
    }

    pub(super) fn is_request(&self) -> bool {
        self.method && self.id.is_some()
    }

    fn is_notification(&self) -> bool {
        self.method && !self.has_id
    }

    fn is_response(&self) -> bool {
        self.result && !self.method
    }

    fn refusal(self, code: ErrorCode, message: String) -> InvalidMessage {
        let silent = self.id.is_none() || self.is_response();
        InvalidMessage { id: self.id, code, message, silent }
    }
}

/// Fills the envelope field by field, so the fields before an error are retained.
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
pub(super) struct BoundedLines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// The last bytes of an oversized line. The bytes between the beginning of the line and these last bytes are
    /// dropped.
    tail: Option<Vec<u8>>,
    limit: usize,
}

impl<R: AsyncRead + Unpin> BoundedLines<R> {
    pub(super) fn new(input: R, limit: usize) -> Self {
        BoundedLines { input: BufReader::new(input), line: Vec::new(), tail: None, limit }
    }

    /// Reads until a line is complete. Returns false at the end of input. Cancel safe.
    pub(super) async fn read(&mut self) -> io::Result<bool> {
        loop {
            let bytes = self.input.fill_buf().await?;
            if bytes.is_empty() {
                // A final line without a newline, such as one written by a manual `printf`, also counts.
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

    /// Takes the message from the line. Returns `None` if the line is empty or needs no answer.
    pub(super) fn take(&mut self) -> Result<Option<ClientJsonRpcMessage>, InvalidMessage> {
        let line = std::mem::take(&mut self.line);
        if let Some(tail) = self.tail.take() {
            let mut envelope = Envelope::read(&line);
            if !envelope.has_id {
                envelope.id = Envelope::read_end(tail.trim_ascii_end()).id;
            }
            let message = format!("the message exceeds {} bytes and was dropped", self.limit);
            return Err(envelope.refusal(ErrorCode::INVALID_REQUEST, message));
        }
        let text = line.trim_ascii();
        if text.is_empty() { Ok(None) } else { parse(text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the result for each line of the input, with lines limited to 100 bytes.
    async fn answers(text: &str) -> Vec<Result<bool, (Option<RequestId>, i32, bool)>> {
        let mut lines = BoundedLines::new(text.as_bytes(), 100);
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
    fn half_a_character_is_replaced_and_a_whole_one_stays() {
        for (sent, expected) in [
            (r#"["a \ud83d\ud83d\ude00 \udE00"]"#, r#"["a \ufffd\ud83d\ude00 \ufffd"]"#),
            ("\u{feff}[1]", "[1]"),
            ("\u{feff}[\"\\ud83d\"]", "[\"\\ufffd\"]"),
        ] {
            assert_eq!(mended_json(sent.as_bytes()), Cow::<[u8]>::Owned(expected.into()), "{sent}");
        }
        let whole = br#"["\ud83d\ude00 \\ud83d \u00e9"#;
        assert!(matches!(mended_json(whole), Cow::Borrowed(text) if text == whole));
        assert!(
            parse(br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\ud83d"}}"#).unwrap().is_some()
        );
    }

    #[test]
    fn a_hundred_thousand_byte_order_marks_are_one_fault() {
        assert!(parse("\u{feff}".repeat(100_000).as_bytes()).is_err());
    }

    #[test]
    fn only_a_request_has_an_id_to_answer() {
        let is_request = |text: &[u8]| Envelope::read(text).is_request();
        assert!(is_request(br#"{"id":1,"method":"ping"}"#));
        assert!(!is_request(br#"{"id":1,"result":{}}"#));
        assert!(!is_request(br#"{"method":"ping"}"#));
        assert!(!is_request(b"[1]"));
    }

    #[test]
    fn initialize_is_known_however_it_is_written() {
        let initializes = |text: &[u8]| Envelope::read(text).initializes;
        assert!(initializes(br#"{"id":1,"method":"initialize"}"#));
        assert!(initializes(br#"{"method":"\u0069nitialize", "params":{"method":"ping"},"id":"a"}"#));
        assert!(initializes(br#"{"method":"ping","method":"initialize","id":1}"#));
        assert!(!initializes(br#"{"id":1,"method":"ping","params":{"method":"initialize"}}"#));
    }
}

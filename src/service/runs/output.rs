//! Records the part of a command's output that is stored.
//!
//! # Guarantees
//!
//! - Memory use is limited to 2 MiB of a line of each stream and 96 KiB of the combined output.
//! - The checksums do not depend on how the two streams are interleaved.

use sha2::{Digest, Sha256};

use super::expect::{Expected, renamed};
use crate::domain::run::{Expectation, Output, steady};
use crate::text::{first_bytes, last_bytes, visible};

/// The maximum size of each stored part, the beginning and the end, in bytes.
const HALF: usize = 32 << 10;
/// The maximum number of bytes at each end of a line that are matched against expectations.
const LINE_END: usize = 512 << 10;
/// The size of the pieces in which the steady part of a long line is hashed, in bytes.
const PIECE: usize = 64 << 10;
/// The number of bytes of a stream up to which its steady part is hashed, because that takes far longer than the checksum.
const STEADY_MAX: u64 = 64 << 20;

/// Records the output of a command on its two streams.
#[derive(Debug)]
pub(super) struct Recorder {
    streams: [Stream; 2],
    head: Vec<u8>,
    tail: Vec<u8>,
    bytes: u64,
    expected: Vec<Expected>,
    /// The paths to rename, each with its name in what is stored.
    places: Vec<(String, String)>,
}

#[derive(Debug, Default)]
struct Stream {
    hash: Sha256,
    bytes: u64,
    /// The first bytes of an incomplete character.
    begun: Vec<u8>,
    /// The current incomplete line.
    line: Vec<u8>,
    steady: Steady,
}

/// Hashes what is steady in a stream.
#[derive(Debug, Default)]
struct Steady {
    hash: Sha256,
    /// The current incomplete line, but for the pieces that are hashed.
    line: Vec<u8>,
    /// The number of line ends since the last text.
    ends: usize,
}

impl Steady {
    fn add(&mut self, new: &[u8], places: &[(String, String)]) {
        let mut parts = new.split(|byte| *byte == b'\n');
        let last = parts.next_back().unwrap_or_default();
        for part in parts {
            self.extend(part, places);
            self.cut(self.line.len(), places);
            self.ends += 1;
        }
        self.extend(last, places);
    }

    fn extend(&mut self, part: &[u8], places: &[(String, String)]) {
        self.line.extend_from_slice(part);
        // Where a piece ends may not depend on how the output arrives.
        while self.line.len() > PIECE {
            let piece = &self.line[..PIECE];
            match piece[..PIECE - 1].iter().rposition(|byte| *byte == b'\r') {
                // Only the last state of a progress bar counts.
                Some(before) => drop(self.line.drain(..=before)),
                None => {
                    let blank = piece.iter().rposition(|byte| *byte == b' ').filter(|at| *at > 0);
                    self.cut(blank.unwrap_or(PIECE), places);
                }
            }
        }
    }

    /// Hashes the beginning of the line.
    fn cut(&mut self, end: usize, places: &[(String, String)]) {
        let piece: Vec<u8> = self.line.drain(..end).collect();
        let is_plain = |byte: &u8| matches!(byte, b'\t' | b' '..=b'~') && !b"/\\".contains(byte);
        let text = match piece.iter().all(is_plain) {
            true => piece.trim_ascii_end().to_vec(),
            false => {
                let name = |text: String, (path, to): &(String, String)| renamed(&text, path, to);
                steady(&places.iter().fold(clean(&piece), name)).into_bytes()
            }
        };
        if !text.is_empty() {
            (0..std::mem::take(&mut self.ends)).for_each(|_| self.hash.update(b"\n"));
            self.hash.update(text);
        }
    }
}

impl Recorder {
    pub(super) fn new(expected: Vec<Expected>, places: Vec<(String, String)>) -> Recorder {
        let streams = Default::default();
        Recorder { streams, head: Vec::new(), tail: Vec::new(), bytes: 0, expected, places }
    }

    /// Records new bytes from one of the streams.
    pub(super) fn record(&mut self, stream: usize, new: &[u8]) {
        let stream = &mut self.streams[stream];
        stream.hash.update(new);
        let count = new.len() as u64;
        (stream.bytes, self.bytes) = (stream.bytes + count, self.bytes + count);
        if stream.bytes <= STEADY_MAX {
            stream.steady.add(new, &self.places);
        }
        if !self.expected.is_empty() {
            let mut parts = new.split(|byte| *byte == b'\n');
            let last = parts.next_back().unwrap_or_default();
            for part in parts {
                append(&mut stream.line, part);
                self.expected.iter_mut().for_each(|it| it.check_line(&stream.line));
                stream.line.clear();
            }
            append(&mut stream.line, last);
        }
        // Holds back an incomplete character, so that output from the other stream can't split it.
        let mut whole = std::mem::take(&mut stream.begun);
        whole.extend_from_slice(new);
        let end = whole.len() - incomplete_end(&whole);
        stream.begun = whole.split_off(end);
        self.keep(&whole);
    }

    fn keep(&mut self, new: &[u8]) {
        let (first, rest) = new.split_at(new.len().min(HALF - self.head.len()));
        self.head.extend_from_slice(first);
        self.tail.extend_from_slice(&rest[rest.len().saturating_sub(HALF)..]);
        if self.tail.len() > 2 * HALF {
            self.tail.drain(..self.tail.len() - HALF);
        }
    }

    /// Returns the output and the result of each expectation.
    pub(super) fn finish(mut self) -> (Output, Vec<Expectation>) {
        for stream in 0..self.streams.len() {
            let begun = std::mem::take(&mut self.streams[stream].begun);
            self.keep(&begun);
            let steady = &mut self.streams[stream].steady;
            steady.cut(steady.line.len(), &self.places);
            let line = std::mem::take(&mut self.streams[stream].line);
            if !line.is_empty() {
                self.expected.iter_mut().for_each(|it| it.check_line(&line));
            }
        }
        let is_whole = self.bytes <= (self.head.len() + self.tail.len()) as u64;
        let (mut text, mut end) = match is_whole {
            true => halves(clean(&[self.head, self.tail].concat())),
            false => {
                // The stored end may begin inside a character.
                let rest = self.tail.iter().take(3).take_while(|byte| is_continuation(**byte)).count();
                (
                    first_bytes(&clean(&self.head), HALF).to_owned(),
                    Some(last_bytes(&clean(&self.tail[rest..]), HALF).to_owned()),
                )
            }
        };
        let steady = self.streams.each_mut().map(|it| (std::mem::take(&mut it.steady.hash), it.bytes > 0));
        let is_hashed = self.streams.iter().all(|it| it.bytes <= STEADY_MAX);
        let steady_sha256 = (end.is_some() && is_hashed).then(|| sum(steady));
        let sha256 = sum(self.streams.map(|it| (it.hash, it.bytes > 0)));
        let mut expectations: Vec<Expectation> = self.expected.into_iter().map(Expected::finish).collect();
        let found = expectations.iter_mut().filter_map(|it| it.found.as_mut());
        for text in found.chain([&mut text]).chain(&mut end) {
            for (path, to) in &self.places {
                *text = renamed(text, path, to);
            }
        }
        (Output { text, end, bytes: self.bytes, sha256, steady_sha256 }, expectations)
    }
}

/// Appends to a line. A line end stands for the middle of one that is too long.
fn append(line: &mut Vec<u8>, part: &[u8]) {
    for piece in part.chunks(LINE_END) {
        line.extend_from_slice(piece);
        if line.len() > 3 * LINE_END {
            line.splice(LINE_END..line.len() - LINE_END, [b'\n']);
        }
    }
}

/// Returns the SHA-256 of the output. If both streams have output, hashes their two digests, which makes the result
/// independent of the reading order.
fn sum(streams: [(Sha256, bool); 2]) -> String {
    let has_both = streams.iter().all(|(_, has_output)| *has_output);
    let has_errors = streams[1].1;
    let [output, errors] = streams.map(|(hash, _)| hash.finalize());
    let sum = match (has_both, has_errors) {
        (true, _) => Sha256::new().chain_update(output).chain_update(errors).finalize(),
        (false, true) => errors,
        (false, false) => output,
    };
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the whole text if it is short enough. Otherwise returns its beginning and end.
fn halves(text: String) -> (String, Option<String>) {
    match text.len() <= 2 * HALF {
        true => (text, None),
        false => (first_bytes(&text, HALF).to_owned(), Some(last_bytes(&text, HALF).to_owned())),
    }
}

/// Returns the number of trailing bytes that form an incomplete character.
fn incomplete_end(bytes: &[u8]) -> usize {
    let last = bytes[bytes.len().saturating_sub(3)..].utf8_chunks().last();
    let invalid = last.map_or(&[][..], |chunk| chunk.invalid());
    str::from_utf8(invalid).map_or_else(|error| error.error_len().map_or(invalid.len(), |_| 0), |_| 0)
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// Converts bytes to text, replacing control characters other than line ends and tabs with control pictures. Characters
/// that hide or reorder text are retained. They are made visible when displayed.
pub(super) fn clean(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    let shown = |c: char| match c {
        '\n' | '\t' => c,
        '\r' => '\u{240D}',
        c if c.is_control() => visible(c),
        c => c,
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(parts: &[(usize, &[u8])]) -> Output {
        let mut recorder = Recorder::new(Vec::new(), Vec::new());
        parts.iter().for_each(|(stream, bytes)| recorder.record(*stream, bytes));
        recorder.finish().0
    }

    #[test]
    fn control_characters_become_visible() {
        let output = recorded(&[(0, b"a\0b\x1b[2Jc\x7f\r\n\td\re\xff\xc2\x9b \xe2\x80\xaex\n")]);
        assert_eq!(output.text, "a␀b␛[2Jc␡\n\td␍e\u{FFFD}\u{FFFD} \u{202e}x\n");
        assert_eq!((output.end, output.bytes), (None, 24));
    }

    #[test]
    fn split_characters_are_joined() {
        let parts: &[(usize, &[u8])] =
            &[(0, b"\xf0\x9f"), (1, b"err\n"), (0, b"\x9a\x80"), (0, b" \xe2\x82")];
        assert_eq!(recorded(parts).text, "err\n🚀 \u{FFFD}");
    }

    #[test]
    fn the_checksum_does_not_depend_on_interleaving() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(recorded(&[]).sha256, empty);
        assert_eq!(recorded(&[(0, b"ab"), (0, b"c")]).sha256, abc);
        assert_eq!(recorded(&[(1, b"abc")]).sha256, abc);
        let mixed = recorded(&[(0, b"a"), (1, b"x"), (0, b"bc")]);
        assert_eq!(mixed.sha256, recorded(&[(1, b"x"), (0, b"abc")]).sha256);
        assert_ne!(mixed.sha256, recorded(&[(0, b"abcx")]).sha256);
    }

    #[test]
    fn both_ends_of_long_output_are_stored() {
        let line = "0123456789abcde\n";
        let all: String = (0..100_000).map(|_| line).collect();
        let output = recorded(&[(0, b"first\n"), (0, all.as_bytes()), (1, b"last\n")]);
        let end = output.end.unwrap();
        assert!(output.text.starts_with("first\n0123") && end.ends_with("cde\nlast\n"), "{end}");
        assert_eq!((output.text.len(), end.len()), (HALF, HALF));
        assert_eq!(output.bytes, 1_600_011);
        // Control pictures take three bytes each.
        let output = recorded(&[(0, &[0; 2 * HALF])]);
        assert!(output.text.len() <= HALF && output.end.unwrap().len() <= HALF);
        let output = recorded(&[(0, "é".repeat(HALF).as_bytes()), (0, b"!")]);
        let end = output.end.unwrap();
        assert!(!output.text.contains('\u{FFFD}') && !end.contains('\u{FFFD}') && end.ends_with("é!"));
        let steady = |name: &str, piece: usize| {
            let text = format!("5%\r\x1b[1m{} \r\nin /tmp/tmp.{name}\n", "x, ".repeat(50_000));
            recorded(&text.as_bytes().chunks(piece).map(|it| (0, it)).collect::<Vec<_>>()).steady_sha256
        };
        assert!(steady("Ab12Cd", 999).is_some() && steady("Ab12Cd", 999) == steady("2nYztt", 32_768));
        assert_ne!(steady("Ab12Cd", 999), steady("Ab12Cd/y", 999));
        // Text that is stored in full has no second part.
        let output = recorded(&[(0, &[b'x'; 2 * HALF])]);
        assert_eq!((output.text.len(), output.end), (2 * HALF, None));
    }

    #[test]
    fn expectations_see_each_stream_line_by_line() {
        let expected = ["^whole$", "^last$", "x tail$"].map(|it| Expected::parse(it).unwrap()).into();
        let mut recorder = Recorder::new(expected, Vec::new());
        recorder.record(0, &vec![b'x'; 9 * LINE_END]);
        recorder.record(0, b" tail\nwho");
        recorder.record(1, b"err");
        recorder.record(0, b"le\nlast");
        let (_, expectations) = recorder.finish();
        assert!(expectations.iter().all(|it| it.held), "{expectations:?}");
    }
}

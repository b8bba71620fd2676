//! The token that clients send: `Authorization: Bearer …`.

use std::path::{Path, PathBuf};

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use subtle::ConstantTimeEq;

/// A secret token. It can't be printed: it implements neither `Debug` nor `Display`.
pub struct BearerToken(String);

/// The reason why a token is invalid.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read.
    #[error("cannot read the token from {path}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The token is too weak or cannot be sent in a header.
    #[error(
        "the token is {0}. Make one with `openssl rand -hex 32`: at least {LEAST} letters, digits or symbols, on one line"
    )]
    Unfit(&'static str),
}

/// The minimum length of a token, in characters. For hexadecimal digits, this length corresponds to 64 bits, but tokens
/// may also contain other characters.
const LEAST: usize = 16;

/// The maximum length of a token, in characters. The token must fit into a header.
const MOST: usize = 4096;

impl BearerToken {
    /// Reads a token from a file, ignoring surrounding white space.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read or does not contain a valid token.
    pub fn read(path: &Path) -> Result<BearerToken, TokenError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| TokenError::Unreadable { path: path.to_owned(), source })?;
        BearerToken::new(&text)
    }

    /// Checks a token.
    ///
    /// # Errors
    ///
    /// Returns an error if the token is too short, too long, or contains characters that are invalid in a header.
    pub fn new(text: &str) -> Result<BearerToken, TokenError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(TokenError::Unfit("empty"));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenError::Unfit("not a single ASCII word"));
        }
        match text.len() {
            0..LEAST => Err(TokenError::Unfit("too short")),
            LEAST..=MOST => Ok(BearerToken(text.to_owned())),
            _ => Err(TokenError::Unfit("too long")),
        }
    }

    /// Returns whether the request headers contain this token. The comparison takes constant time.
    pub(super) fn is_sent_in(&self, headers: &HeaderMap) -> bool {
        let mut shown = headers.get_all(AUTHORIZATION).iter();
        let (Some(one), None) = (shown.next(), shown.next()) else { return false };
        let Some((scheme, secret)) = one.to_str().ok().and_then(|text| text.split_once(' ')) else {
            return false;
        };
        scheme.eq_ignore_ascii_case("bearer") && bool::from(secret.trim().as_bytes().ct_eq(self.0.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const SECRET: &str = "0123456789abcdef";

    fn shown(values: &[&str]) -> bool {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_str(value).unwrap());
        }
        BearerToken::new(SECRET).is_ok_and(|token| token.is_sent_in(&headers))
    }

    #[test]
    fn only_the_whole_token_by_the_right_scheme_is_let_in() {
        assert!(shown(&["Bearer 0123456789abcdef"]));
        assert!(shown(&["bearer  0123456789abcdef"]));
        assert!(!shown(&[]));
        for wrong in
            ["Bearer 0123456789abcdeF", "Bearer 0123456789abcde", "Basic 0123456789abcdef", SECRET, "Bearer "]
        {
            assert!(!shown(&[wrong]), "{wrong}");
        }
        assert!(!shown(&["Bearer 0123456789abcdef", "Bearer wrong"]), "two are one too many");
    }

    #[test]
    fn a_weak_or_unfit_token_is_refused() {
        for unfit in ["", " \n", "tiny", "two words of sixteen", "ümlaut-ümlaut-ümlaut"] {
            let error = BearerToken::new(unfit).err().unwrap().to_string();
            assert!(error.contains("openssl rand"), "{error}");
            assert!(unfit.trim().is_empty() || !error.contains(unfit), "{error}");
        }
        assert!(BearerToken::new(&"x".repeat(MOST + 1)).is_err());
        assert!(BearerToken::new(&format!("  {SECRET}\n")).is_ok());
    }
}

//! Detects credentials in text. Git keeps everything that was committed, so a token in a finding is leaked for good.
//!
//! The rules cover tokens with a known prefix and form, private keys, and passwords in addresses. The rules do not
//! guess: a rule for `password = …` would raise so many false alarms that people would ignore them all.
//!
//! Guarantees:
//!
//! - A suspected credential is reported by kind and line, and its text is never shown.
//! - Placeholders (`AKIA…EXAMPLE`, `ghp_xxxx`) and text with too little entropy are ignored.
//! - Each prefix requires a single pass over the text, without backtracking.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::text::first_bytes;
use crate::yaml;

/// A suspected credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Suspect {
    /// The line on which the credential begins, counted from 1.
    pub line: u64,
    /// The kind, worded for the end of a sentence: `a GitHub token`.
    pub kind: &'static str,
}

/// A token rule: the prefix and the form of the characters after it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenRule {
    kind: String,
    prefix: String,
    /// The characters allowed in addition to letters and digits.
    #[serde(default)]
    also: String,
    /// The minimum and maximum number of characters after the prefix.
    least: usize,
    most: Option<usize>,
    /// The minimum number of character classes (uppercase, lowercase, digits) in a real token.
    classes: usize,
    /// Text that every real token contains.
    #[serde(default)]
    holds: String,
}

static TOKENS: LazyLock<Vec<TokenRule>> =
    LazyLock::new(|| yaml::from_text(include_str!("secrets.yaml")).unwrap_or_default());

/// The maximum length of a token. A longer run of characters is ordinary text.
const ANY: usize = 500;

/// The maximum number of bytes to inspect from the start of a key or a web token.
const WINDOW: usize = 4_096;

/// The maximum length of a URL scheme.
const MAX_SCHEME: usize = 32;

/// The signature of the example JSON Web Token on jwt.io, which appears in a lot of documentation.
const EXAMPLE_JWT: &str = "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c";

/// The minimum entropy of random text, in bits per character. Hexadecimal digits have almost 4, and concatenated words
/// have less than 3.
const LEAST_ENTROPY: f64 = 2.8;

/// Words in what stands for a credential.
const PLACEHOLDERS: [&str; 7] = ["example", "placeholder", "redacted", "dummy", "your", "sample", "..."];

/// Returns the suspected credentials in the text. Each kind is reported at most once per line.
pub fn suspects(text: &str) -> Vec<Suspect> {
    let mut found: Vec<(usize, &'static str)> = Vec::new();
    for token in TOKENS.iter() {
        let fits = |at: &usize| is_token(text, *at, token);
        found.extend(starts(text, &token.prefix).filter(fits).map(|at| (at, token.kind.as_str())));
    }
    found.extend(private_keys(text).map(|at| (at, "a private key")));
    found.extend(starts(text, "eyJ").filter(|at| is_web_token(text, *at)).map(|at| (at, "a JSON Web Token")));
    found.extend(passwords(text).map(|at| (at, "a password in an address")));
    found.sort_unstable();
    let (mut line, mut seen) = (1, 0);
    let mut suspects: Vec<Suspect> = found
        .into_iter()
        .map(|(at, kind)| {
            line += text.as_bytes()[seen..at].iter().filter(|byte| **byte == b'\n').count() as u64;
            seen = at;
            Suspect { line, kind }
        })
        .collect();
    suspects.sort_unstable();
    suspects.dedup();
    suspects
}

/// Returns the text in a file. UTF-16, such as the output that PowerShell redirects to a file, becomes readable too.
pub fn text_of(content: &[u8]) -> Cow<'_, str> {
    match String::from_utf8_lossy(content) {
        text if text.contains('\0') => Cow::Owned(text.replace('\0', "")),
        text => text,
    }
}

/// Returns the positions where a word begins with the prefix.
fn starts<'a>(text: &'a str, prefix: &'static str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(prefix).map(|(at, _)| at).filter(|at| {
        let before = &text[..*at];
        let is_word = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        !is_word || ends_with_escape(before)
    })
}

/// Returns whether the text ends with an escape sequence, whose last letter belongs to no word: a line break in JSON, a
/// percent-encoded character, or a terminal color.
fn ends_with_escape(text: &str) -> bool {
    let bytes = text.as_bytes();
    let color =
        text.strip_suffix('m').map(|rest| rest.trim_end_matches(|c: char| c.is_ascii_digit() || c == ';'));
    matches!(bytes, [.., b'\\', b'n' | b'r' | b't'])
        || matches!(bytes, [.., b'%', one, two] if one.is_ascii_hexdigit() && two.is_ascii_hexdigit())
        || color.is_some_and(|rest| rest.ends_with("\u{1b}[") || rest.ends_with("␛["))
}

fn is_token(text: &str, at: usize, token: &TokenRule) -> bool {
    let rest = &text[at + token.prefix.len()..];
    let body = run(rest, &token.also, ANY + 1);
    // A period or dash at the end belongs to the sentence, not to the token.
    let body = if token.most.is_none() { body.trim_end_matches(['.', '-']) } else { body };
    let only_base32 = !token.prefix.ends_with("IA")
        || body.bytes().all(|b| b.is_ascii_uppercase() || (b'2'..=b'7').contains(&b));
    (token.least..=token.most.unwrap_or(ANY)).contains(&body.len())
        && only_base32
        && body.contains(&token.holds)
        && is_random(body, token.classes)
}

/// Returns the longest prefix of token characters, at most `most` bytes.
fn run<'a>(text: &'a str, also: &str, most: usize) -> &'a str {
    let end =
        text.bytes().take(most).position(|b| !b.is_ascii_alphanumeric() && !also.as_bytes().contains(&b));
    // Everything before the end is ASCII, so any position is a character boundary.
    &text[..end.unwrap_or(text.len().min(most))]
}

/// Returns whether the text looks random: enough variety, and no words that are typical of examples.
fn is_random(body: &str, classes: usize) -> bool {
    let has = [u8::is_ascii_uppercase, u8::is_ascii_lowercase, u8::is_ascii_digit];
    if has.iter().filter(|is| body.bytes().any(|b| is(&b))).count() < classes {
        return false;
    }
    let lower = body.to_ascii_lowercase();
    let rows = ["xxxx", "0123456789", "abcdefgh"];
    if PLACEHOLDERS.iter().chain(&rows).any(|word| lower.contains(word)) {
        return false;
    }
    let mut counts = [0_u32; 256];
    for byte in body.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let length = body.len() as f64;
    let entropy: f64 = counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / length)
        .map(|share| -share * share.log2())
        .sum();
    entropy >= LEAST_ENTROPY
}

/// Returns the positions of private key blocks that contain key material, not only the header line.
fn private_keys(text: &str) -> impl Iterator<Item = usize> + '_ {
    text.match_indices("-----BEGIN ").map(|(at, _)| at).filter(|at| {
        let rest = first_bytes(&text[*at + "-----BEGIN ".len()..], WINDOW);
        let Some((name, rest)) = rest.split_once("-----") else { return false };
        let is_key =
            name.len() <= 40 && (name.ends_with("PRIVATE KEY") || name.ends_with("PRIVATE KEY BLOCK"));
        let end = rest.find("-----END").unwrap_or(rest.len());
        let lines = rest[..end].split(['\n', '\\', '"', ' ']).map(|line| line.trim_start_matches('n').trim());
        is_key
            && lines
                .take(40)
                .any(|line| run(line, "+/=", ANY).len() >= 40 && is_random(run(line, "+/=", ANY), 2))
    })
}

/// Returns whether a JSON Web Token begins at `at`: a header and claims in JSON, and a signature.
fn is_web_token(text: &str, at: usize) -> bool {
    let token = run(&text[at..], "_-.", WINDOW).trim_end_matches('.');
    let mut parts = token.split('.');
    let (Some(header), Some(claims), Some(signature), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    header.len() >= 16
        && claims.starts_with("eyJ")
        && claims.len() >= 10
        && signature.len() >= 32
        && signature != EXAMPLE_JWT
        && is_random(signature, 2)
}

/// Returns the positions of addresses with a password: `scheme://user:password@host`.
fn passwords(text: &str) -> impl Iterator<Item = usize> + '_ {
    text.match_indices("://").filter_map(|(at, mark)| {
        let letters = |c: &u8| c.is_ascii_alphanumeric() || b"+.-".contains(c);
        let scheme = text.as_bytes()[..at].iter().rev().take(MAX_SCHEME).take_while(|c| letters(c)).count();
        let rest = first_bytes(&text[at + mark.len()..], WINDOW);
        // Characters that end an address or its host. A password can contain them only in percent-encoded form, such as
        // `%2F`.
        let end = rest.find(|c: char| c.is_whitespace() || "/?#\"'`<>()[]{}\\|,;".contains(c));
        let (login, _) = rest[..end.unwrap_or(rest.len())].rsplit_once('@')?;
        let (_, password) = login.split_once(':')?;
        let host = &rest[login.len() + 1..];
        let is_host = host.starts_with(|c: char| c.is_alphanumeric() || c == '[');
        (scheme > 0 && is_host && !stands_for_a_password(password)).then(|| at - scheme)
    })
}

/// Returns whether the text is a placeholder for a password.
fn stands_for_a_password(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let words = ["changeme", "xxx", "***"];
    let names = ["password", "passwd", "pass", "pwd", "pw", "secret", "token", "x-oauth-basic"];
    let is_variable = text.starts_with(['$', '%']) && !text.starts_with("%2") && !text.starts_with("%4");
    let is_masked = text.chars().all(|c| !c.is_alphanumeric());
    is_masked
        || is_variable
        || names.contains(&lower.as_str())
        || PLACEHOLDERS.iter().chain(&words).any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns reproducible characters that look random. A real token here would trigger secret scanners.
    fn noise(alphabet: &str, length: usize) -> String {
        let alphabet: Vec<char> = alphabet.chars().collect();
        let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            alphabet[(state >> 33) as usize % alphabet.len()]
        };
        (0..length).map(|_| next()).collect()
    }

    const BASE62: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    const BASE32: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    const HEX: &str = "0123456789abcdef";

    fn kinds(text: &str) -> Vec<&'static str> {
        suspects(text).into_iter().map(|suspect| suspect.kind).collect()
    }

    /// Returns a token that matches the rule, concatenated so that this file contains no complete token.
    fn real(token: &TokenRule) -> String {
        let length = (token.least + token.holds.len()).min(token.most.unwrap_or(ANY));
        let body = match token.kind.as_str() {
            "an AWS access key" | "an age secret key" => noise(BASE32, length),
            "a DigitalOcean token" | "a Shopify token" | "a Databricks token" => noise(HEX, length),
            "an Azure storage key" => noise(BASE62, 86) + "==",
            _ => noise(BASE62, length - token.holds.len()) + &token.holds,
        };
        format!("{}{body}", token.prefix)
    }

    #[test]
    fn each_kind_is_found_wherever_it_stands() {
        assert_eq!(TOKENS.len(), 39, "secrets.yaml is read");
        for token in TOKENS.iter() {
            let secret = real(token);
            for text in [
                secret.clone(),
                format!("The key is `{secret}`."),
                format!("KEY={secret}\n"),
                format!("\u{1b}[1;32m{secret}\u{1b}[0m ␛[0m"),
                format!("{{\"log\": \"first\\n{secret}\"}}"),
                format!("?key%3D{secret}"),
                text_of(&secret.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>()).into_owned(),
                format!("{{\"key\": \"{secret}\"}}"),
                format!("https://example.org/?key={secret}&x=1"),
            ] {
                assert_eq!(kinds(&text), [token.kind.as_str()], "{}: {text}", token.prefix);
            }
            let found = suspects(&format!("# Found\n\n- one\n- {secret}\n"));
            assert_eq!(found, [Suspect { line: 4, kind: &token.kind }]);
        }
    }

    #[test]
    fn private_keys_and_web_tokens_are_found() {
        let body = noise(BASE62, 64);
        for name in [
            "PRIVATE KEY",
            "RSA PRIVATE KEY",
            "OPENSSH PRIVATE KEY",
            "EC PRIVATE KEY",
            "PGP PRIVATE KEY BLOCK",
        ] {
            let block = format!("-----BEGIN {name}-----\n{body}\n{body}\n-----END {name}-----\n");
            assert_eq!(kinds(&block), ["a private key"]);
            assert_eq!(kinds(&block.replace('\n', "\\n")), ["a private key"], "in JSON");
            assert_eq!(kinds(&block.replace('\n', "\n    ")), ["a private key"], "indented");
        }
        let token = format!("{}{}.eyJ{}.{}", "eyJ", noise(BASE62, 33), noise(BASE62, 60), noise(BASE62, 43));
        assert_eq!(kinds(&format!("Authorization: Bearer {token}")), ["a JSON Web Token"]);
    }

    #[test]
    fn passwords_in_addresses_are_found() {
        for address in [
            "https://anna:hunter2@git.example/a/b.git",
            "postgres://app:s3cr3t%2Fx@db.internal:5432/app",
            "redis://:k9Zt2@cache:6379",
            "mongodb+srv://anna:p@ss@cluster.example/x?y=z",
            "https://x-access-token:9c1f0b7e@github.com/a/b",
            "ftp://anna:x:y9@[::1]:21/x",
        ] {
            let text = format!("Found.\n\nCloned `{address}` today.");
            assert_eq!(suspects(&text), [Suspect { line: 3, kind: "a password in an address" }], "{address}");
        }
    }

    #[test]
    fn addresses_without_a_password_are_passed_over() {
        for text in [
            "git@host:path/x.git and ssh://git@host:22/path",
            "https://user@host/x, https://host:8080/a@b, https://host/a:b@c",
            "https://<user>:<password>@host and https://{user}:{password}@host",
            "https://user:password@host, https://USER:PASSWORD@host, https://user:***@host",
            "https://user:$PASSWORD@host, https://user:${PASSWORD}@host, https://%USER%:%PASS%@host",
            "https://user:your-token-here@host https://user:@host https://user:....@host",
            "https://host?q=a:b@c https://host#a:b@c",
            "://user:hunter2@host and user:hunter2@host and https: //user:hunter2@host",
            "https://a.example:see b@c.example",
            "mailto:anna@host",
        ] {
            assert_eq!(suspects(text), [], "{text}");
        }
    }

    #[test]
    fn look_alikes_are_passed_over() {
        let image = noise(&format!("{BASE62}+/"), 20_000);
        let public = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----", noise(BASE62, 64));
        let certificate =
            format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----", noise(BASE62, 64));
        let commit = noise(HEX, 40);
        let digest = format!("sha256:{}", noise(HEX, 64));
        let long_name = "sk-proj-the-long-name-of-a-project-that-someone-gave-it-in-2026";
        let prefixed = format!("task-ant-{0} disk-{0} mynpm_{0} xghp_{0}", noise(BASE62, 60));
        for text in [
            "",
            "AKIAIOSFODNN7EXAMPLE",
            "ghp_xxx, ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx, ghp_****",
            "GITHUB_TOKEN=ghp_YOUR_TOKEN_HERE",
            "glpat-aaaaaaaaaaaaaaaaaaa1 and glpat-your-own-token-goes-here1",
            "sk_live_ begins a Stripe key, sk-ant- one of Anthropic's; AKIA and ASIA those of AWS.",
            "sk-ant-api03-... and sk-proj-00000000000000000000000000000000000000000000000000",
            "npm_config_registry=https://registry.npmjs.org npm_lifecycle_event",
            "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
            "Grep for `-----BEGIN RSA PRIVATE KEY-----` in the image.",
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
            "password = \"correct horse battery staple\"",
            "0192a4c1-7e3b-7f00-8000-3d9f6c2b1a55",
            "AKIAAAAAAAAAAAAAAAAA",
            "ASIAN MARKETS, AKIAB",
            long_name,
            &image,
            &format!("data:image/png;base64,{image}"),
            &public,
            &certificate,
            &commit,
            &digest,
            &prefixed,
        ] {
            assert_eq!(suspects(text), [], "{}", &text[..text.len().min(80)]);
        }
    }

    #[test]
    fn a_hostile_text_is_read_at_once() {
        let before = std::time::Instant::now();
        for piece in ["-----BEGIN sk-eyJ AKIA", "sk-ant-", "eyJ-", "-----BEGIN PRIVATE KEY-----\n", "a://b:c"]
        {
            assert_eq!(suspects(&piece.repeat((1 << 16) / piece.len())), []);
        }
        assert!(before.elapsed().as_secs() < 20, "{:?}", before.elapsed());
    }
}

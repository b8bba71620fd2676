//! Attachments: files stored with a node, submitted with a result or by `tot attach`. Ended investigations accept them
//! too.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use schemars::JsonSchema;
use serde::Deserialize;

use super::backing::check_number;
use super::{Decision, Rejection, quoted};
use crate::domain::{Attached, AttachmentName, Code, Diagnostic, Event, Investigation, NodeId};
use crate::picture;
use crate::ruleset::EffectiveRules;
use crate::ruleset::rules::{CallDiagnostics, secrets};
use crate::secrets::{suspects, text_of};
use crate::text::{counted, percent_decoded, shell_line};

/// A file that an agent submitted with a result, not yet validated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct Attach {
    /// Its file name.
    #[schemars(extend("examples" = ["timings.log"]))]
    pub name: String,
    /// Its content.
    #[schemars(extend("x-empty" = true))]
    pub text: Option<String>,
    /// Or in base64; picture metadata is dropped.
    #[schemars(extend("x-empty" = true))]
    pub base64: Option<String>,
}

/// A file to store, not yet validated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAttachment {
    /// The file name.
    pub name: String,
    /// The file content.
    pub content: Vec<u8>,
}

/// Attaches files to a committed node.
///
/// # Errors
///
/// Returns `NODE_NOT_FOUND`, `INVALID_ARGUMENT`, `TEXT_TOO_LONG`, `EMPTY_BATCH` or `SECRET_SUSPECTED`.
pub fn attach(
    investigation: &Investigation,
    rules: &EffectiveRules,
    node: &NodeId,
    files: Vec<NewAttachment>,
) -> Result<Decision, Rejection> {
    if investigation.node(node).is_none_or(|node| node.is_pending()) {
        let error = Diagnostic::new(Code::NodeNotFound, format!("There is no committed node {node}."));
        return Err(error.about(node).suggest("Attach files to a node that has a result.").into());
    }
    if files.is_empty() {
        return Err(Diagnostic::new(Code::EmptyBatch, "The call names no file.").into());
    }
    let mut diagnostics = CallDiagnostics::default();
    let attachments = checked(investigation, rules, node, files, &mut diagnostics);
    Rejection::unless_empty(diagnostics.errors)?;
    Ok(Decision { event: Some(Event::Attached { attachments }), warnings: diagnostics.warnings })
}

/// Decodes and checks the files submitted with a result. Returns those that can be stored.
pub(super) fn of_result(
    investigation: &Investigation,
    rules: &EffectiveRules,
    node: &NodeId,
    given: Vec<Attach>,
    diagnostics: &mut CallDiagnostics,
) -> Vec<Arc<Attached>> {
    let mut files = Vec::with_capacity(given.len());
    for Attach { name, text, base64 } in given {
        // Clients fill both fields, one of them with nothing.
        let base64 = base64.filter(|digits| !(digits.trim().is_empty() && text.is_some()));
        let text = text.filter(|text| !(text.trim().is_empty() && base64.is_some()));
        let content = match (text, base64) {
            (Some(text), None) => of_data_address(&text).unwrap_or_else(|| Ok(text.into_bytes())),
            (None, Some(digits)) => of_data_address(&digits).unwrap_or_else(|| of_base64(&digits)),
            (None, None) => Err("it has neither text nor base64".to_owned()),
            (Some(_), Some(_)) => Err("it has both text and base64".to_owned()),
        };
        match content {
            Ok(content) => files.push(NewAttachment { name, content }),
            Err(reason) => diagnostics.refuse(
                Code::InvalidArgument,
                node,
                format!("The attachment {} of {node} can't be stored: {reason}.", quoted(&name)),
                "Give its text, or all of its bytes as base64.",
            ),
        }
    }
    checked(investigation, rules, node, files, diagnostics)
}

/// Decodes base64 in either alphabet, with or without padding.
fn of_base64(digits: &str) -> Result<Vec<u8>, String> {
    const ENGINE: GeneralPurpose = GeneralPurpose::new(
        &STANDARD,
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
    );
    // Encoders may wrap their output in lines, and clients may quote and escape it.
    let digits = digits.trim().trim_matches(['"', '\'']).replace("\\r", "").replace("\\n", "");
    let digits: String = digits.split_whitespace().collect();
    ENGINE.decode(digits.replace('-', "+").replace('_', "/")).map_err(|error| {
        let error = error.to_string();
        format!("its base64 can't be read: {}", error.trim_end_matches('.'))
    })
}

/// Decodes a text that is as a whole a `data:` address. Returns `None` for any other text.
fn of_data_address(text: &str) -> Option<Result<Vec<u8>, String>> {
    let text = text.trim();
    let mut in_quotes = false;
    let comma = text.find(|c| {
        in_quotes ^= c == '"';
        c == ',' && !in_quotes
    })?;
    let (head, data) = (&text[..comma], &text[comma + 1..]);
    let scheme = head.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("data:"))?;
    let (mut kind, is_base64) = (&head[scheme.len()..], head.to_ascii_lowercase().ends_with(";base64"));
    if is_base64 {
        kind = &kind[..kind.len() - ";base64".len()];
    }
    // The lines of an event stream begin like an address.
    let kind = kind.split(';').next().unwrap_or_default();
    let is_kind = kind.is_empty() || kind.contains('/') && !kind.contains([' ', '"', '{', '[']);
    if !is_kind || (!is_base64 && (head.contains(char::is_whitespace) || data.contains('\n'))) {
        return None;
    }
    let data = percent_decoded(data);
    Some(if is_base64 { of_base64(&String::from_utf8_lossy(&data)) } else { Ok(data) })
}

/// Returns the files that can be stored, pictures without their metadata. Adds the errors and warnings for all files to the diagnostics.
pub(super) fn checked(
    investigation: &Investigation,
    rules: &EffectiveRules,
    node: &NodeId,
    files: Vec<NewAttachment>,
    diagnostics: &mut CallDiagnostics,
) -> Vec<Arc<Attached>> {
    check_number(node.as_str(), "attachments", files.len(), diagnostics);
    let there = investigation.attachments_of(node).keys();
    let mut taken: BTreeSet<String> = there.map(AttachmentName::without_case).collect();
    let mut attached = Vec::with_capacity(files.len());
    for NewAttachment { name, content } in files {
        let name = match AttachmentName::of_file(&name) {
            Ok(name) => name,
            Err(error) => {
                let how = "Give it a plain file name, such as plot.png.";
                diagnostics.refuse(Code::InvalidArgument, node, format!("{node}: {error}."), how);
                continue;
            }
        };
        if !taken.insert(name.without_case()) {
            let is_there =
                investigation.attachments_of(node).keys().any(|it| it.without_case() == name.without_case());
            let message = match is_there {
                true => format!("{node} already has {name}, and attachments are never replaced."),
                false => format!("The call attaches {name} to {node} twice."),
            };
            let how = "Give this one another name; letter case makes no difference.";
            diagnostics.refuse(Code::InvalidArgument, node, message, how);
        }
        let most = rules.attachment_max;
        if content.len() as u64 > most {
            let has = counted(content.len(), "byte");
            let message = format!("The attachment {name} of {node} has {has}; the limit is {most}.");
            let how = "Attach the part that matters, or keep it in the project and cite its path.";
            diagnostics.refuse(Code::TextTooLong, node, message, how);
        }
        let Some(content) = picture::without_metadata(&content).map(Cow::into_owned) else {
            let message = format!("The picture {name} of {node} may say where and with what it was taken.");
            let remove = shell_line(&["exiftool".into(), "-all=".into(), name.to_string()]);
            let how = format!("Attach it as PNG or JPEG, or remove that first: `{remove}`.");
            diagnostics.refuse(Code::InvalidArgument, node, message, how);
            continue;
        };
        let is_named = suspects(name.as_str()).is_empty();
        let field = if is_named { format!("attachments: {name}") } else { "attachments".to_owned() };
        let texts = [("attachments", name.as_str()), (field.as_str(), &text_of(&content))];
        secrets::check(rules.secrets, node.as_str(), texts, diagnostics);
        attached.push(Arc::new(Attached { node: node.clone(), name, content }));
    }
    attached
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_with_data_is_read_and_other_text_stays() {
        for (text, content) in [
            ("data:text/plain;base64,aGkgdGhlcmU=", "hi there"),
            (" DATA:image/png;charset=utf-8;BASE64,aGkgdGhlcmU\n", "hi there"),
            ("data:;base64,aGkgdGhlcmU%3D", "hi there"),
            ("data:text/plain;name=\"a, b.txt\";base64,aGkgdGhlcmU=", "hi there"),
            ("data:,hi there", "hi there"),
            ("data:image/svg+xml,%3Csvg%20a='b'/>%zz%", "<svg a='b'/>%zz%"),
        ] {
            assert_eq!(of_data_address(text), Some(Ok(content.as_bytes().to_vec())), "{text}");
        }
        for text in ["data: {\"a/b\": 1, 2}", "data:a,b", "a,b", "", "data:text/plain,a\nb", "ä,b", "data:"]
        {
            assert_eq!(of_data_address(text), None, "{text}");
        }
        assert!(of_data_address("data:image/png;base64,!").unwrap().is_err());
    }

    #[test]
    fn base64_is_read_in_either_alphabet_with_or_without_padding() {
        for digits in ["+/+/aA==", "-_-_aA", "+/+_\naA=", "\"+/+/\\naA==\""] {
            assert_eq!(of_base64(digits).unwrap(), [0xfb, 0xff, 0xbf, 0x68], "{digits}");
        }
    }

    #[test]
    fn a_file_is_named_as_macos_names_it() {
        for (given, name) in [
            ("bild_u\u{308}.txt", "bild_ü.txt"),
            ("カ\u{3099}.txt", "ガ.txt"),
            ("Bildschirmfoto 10.11.12\u{202f}PM.png", "Bildschirmfoto 10.11.12 PM.png"),
        ] {
            assert_eq!(AttachmentName::of_file(given).unwrap().as_str(), name);
        }
        assert!(AttachmentName::of_file("a\u{308}\u{323}\u{301}x\tb.txt").is_err());
    }
}

//! One investigation per payload, with the payload in every field that a stranger can set.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};
use tree_of_thoughts::domain::{Comment, Conclusion, Event, Meta, Node, Run, SessionId, Timestamp};
use tree_of_thoughts::format::{StoredFile, layout};
use tree_of_thoughts::ruleset::builtin;
use tree_of_thoughts::yaml;

use super::repository::{Commit, Stream, amend_authors, files, files_of, folder_name};

/// The start time of the first investigation, in milliseconds.
const BEGIN: i64 = 1_795_000_000_000;

/// Writes an investigation for each payload below a folder. Returns their folders with the payload names.
pub fn write(root: &Path, payloads: &[(&'static str, String)]) -> Vec<(&'static str, PathBuf)> {
    let folders = payloads.iter().enumerate().map(|(number, (name, text))| {
        let folder = root.join(format!("{number:03} {}", folder_name(text)));
        investigation(&folder, number, text);
        (*name, folder)
    });
    let folders: Vec<_> = folders.collect();
    // Authors that git would not write, all in one history.
    if let Some((_, last)) = folders.last() {
        amend_authors(last, payloads.iter().map(|(_, text)| text.as_str()), BEGIN / 1_000 + 9_000);
    }
    folders
}

fn investigation(folder: &Path, number: usize, text: &str) {
    let time = |minutes: i64| Timestamp::from_milliseconds(BEGIN + minutes * 60_000).unwrap();
    let seconds = |minutes: i64| time(minutes).seconds();
    let stored = |part: &str| filled(&STORED[part], text);
    let mut meta: Meta = serde_json::from_value(stored("meta")).unwrap();
    meta.id = SessionId::new(BEGIN as u64 + number as u64, [7; 10]);
    meta.started_at = time(number as i64);
    // Every other investigation names an invalid ruleset and mode.
    if !number.is_multiple_of(2) {
        (meta.ruleset, meta.mode) = (text.to_owned(), text.to_owned());
    }
    let mut stream = Stream::on(&format!("b{}", reference_name(text)));
    let mut commit = |minutes: i64, message: &str, files: Vec<(String, Vec<u8>)>| {
        stream.commit(&Commit { author: text, at: seconds(minutes), message }, &files);
        stream.tag(&format!("t{minutes}{}", reference_name(text)));
    };
    let trailer = format!("Start\n\n{text}\n\nTool: {text}\nAgent-Id: {text}\nWarning: {text}");
    let start = vec![
        (layout::META.to_owned(), meta.write().unwrap().into()),
        (layout::RULESET.to_owned(), ruleset(number, text).into()),
    ];
    commit(0, &trailer, start);
    let nodes = nodes(text);
    let proposed = nodes.iter().map(|node| Node { classification: None, ..node.clone() });
    commit(1, text, files(proposed));
    commit(2, &format!("Commit all\n\n{text}"), files(nodes.clone()));
    let mut edited = nodes;
    edited[0].title = format!("{text} {text}");
    if let Some(classification) = &mut edited[0].classification {
        classification.findings = format!("Before.\n\n{text}\n\nAfter.\n\n## References\n\n- {text}\n");
    }
    commit(3, &format!("{text}\n\nAgent-Id: x\nNode: {text}"), files(edited));
    // A file named after the payload, and two invalid node files that are quoted in error messages.
    let name: String = text.chars().filter(|c| !matches!(c, '\0')).take(60).collect();
    let name = name.split('/').filter(|part| !matches!(*part, "" | "." | "..")).collect::<Vec<_>>().join("|");
    let quoted = serde_json::to_string(text).unwrap();
    let strays = vec![
        (format!("nodes/R9/x{name}.yaml"), format!("version: 2\nid: {quoted}\n").into()),
        (format!("x{name}"), text.into()),
        (format!("attachments/R1.A/x{name}"), text.into()),
        ("nodes/R2/R2.A9.yaml".to_owned(), format!("version: 2\nid: {quoted}\n{quoted}: 1\n").into()),
        ("nodes/R2/R2.A8.yaml".to_owned(), format!("version: 2\n{text}\n").into()),
    ];
    commit(4, "Strays", strays);
    commit(5, text, attachments(text));
    let comments: Vec<Comment> = serde_json::from_value(stored("comments")).unwrap();
    let said = comments.into_iter().map(|comment| Event::Commented { comment: Arc::new(comment) });
    commit(5, text, said.flat_map(|event| files_of(&event)).collect());
    commit(5, text, files_of(&Event::Ran { runs: runs(text), attachments: Vec::new() }));
    // Some have not ended.
    if !number.is_multiple_of(3) {
        let conclusion: Conclusion = serde_json::from_value(stored("conclusion")).unwrap();
        let file = (layout::CONCLUSION.to_owned(), conclusion.write().unwrap().into());
        commit(5, &format!("End {text}"), vec![file]);
    }
    stream.write(folder);
}

static STORED: LazyLock<Value> = LazyLock::new(|| yaml::from_text(include_str!("hostile.yaml")).unwrap());

/// Returns a part of the stored files with the payload in it.
fn filled(part: &Value, text: &str) -> Value {
    match part {
        Value::String(old) => old.replace("TEXT", text).into(),
        Value::Array(items) => items.iter().map(|item| filled(item, text)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (key.clone(), filled(value, text))).collect()
        }
        other => other.clone(),
    }
}

fn runs(text: &str) -> Vec<Arc<Run>> {
    let mut runs = filled(&STORED["runs"], text);
    for (number, run) in runs.as_array_mut().unwrap().iter_mut().enumerate() {
        if run["verdict"] != "fails" {
            let mut ran = filled(&STORED["ran"], text);
            ran["output"]["text"] = json!(format!("{number} {text}"));
            ran["expectations"][0]["held"] = json!(number != 1);
            run["ran"] = ran;
        }
    }
    serde_json::from_value::<Vec<Run>>(runs).unwrap().into_iter().map(Arc::new).collect()
}

/// The default ruleset with the payload in each text field. Every fourth is an invalid ruleset.
fn ruleset(number: usize, text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap();
    let mut written = String::new();
    let mut is_advice = false;
    for line in builtin::all()[0].text.lines() {
        // Multi-line values are replaced as a whole.
        is_advice = line.starts_with("advice:") || (is_advice && line.starts_with(' '));
        let line = if is_advice && line.starts_with(' ') {
            continue;
        } else if line.starts_with("summary:") {
            format!("summary: {quoted}")
        } else if line.starts_with("advice:") {
            format!("advice: {quoted}")
        } else if line.starts_with("  meaning:") {
            format!("  meaning: {quoted}")
        } else if number % 4 == 3 && line.starts_with("name:") {
            format!("name: {quoted}")
        } else if number % 4 == 1 && line.starts_with("  colour: red") {
            format!("  colour: {quoted}")
        } else {
            line.to_owned()
        };
        written.push_str(&line);
        written.push('\n');
    }
    written
}

fn nodes(text: &str) -> Vec<Node> {
    // As much of the payload as fits in an id.
    let letters: String = text.chars().filter(char::is_ascii_alphanumeric).take(150).collect();
    let nodes = [
        ("R1.A", None, Some("EXPLORE")),
        ("R2.A1", Some("R1.A"), Some("FOUND")),
        ("R2.A2", Some("R1.A"), Some("EXHAUST")),
        ("R2.A3", Some("R1.A"), None),
        ("R3.A1a", Some("R2.A1"), Some("VERIFY")),
        ("R3.A2b", Some("R2.A2"), Some("DEAD")),
        (&format!("R2.A4{letters}"), Some("R1.A"), Some("STRANGE_STATE")),
    ];
    let node = |(id, parent, state): (&str, Option<&str>, Option<&str>)| {
        let mut node = STORED["node"].clone();
        if let Some(state) = state {
            let result = STORED["result"].as_object().unwrap().clone();
            node.as_object_mut().unwrap().extend(result);
            node["requestedState"] = json!(state);
            let mut change = STORED[if state == "FOUND" { "conversion" } else { "reclassification" }].clone();
            change["to"] = json!(state);
            node["reclassified"] = if state == "EXPLORE" { json!([]) } else { json!([change]) };
        }
        let mut node = filled(&node, text);
        (node["id"], node["parent"]) = (json!(id), json!(parent));
        serde_json::from_value(node).unwrap()
    };
    nodes.into_iter().map(node).collect()
}

/// Files that contain the payload, and content that a browser might not treat as plain text.
fn attachments(text: &str) -> Vec<(String, Vec<u8>)> {
    let svg =
        |within: &str| format!("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'>{within}</svg>");
    let escaped =
        text.replace('&', "&amp;").replace('<', "&lt;").replace('\'', "&apos;").replace(['\0', '\u{b}'], "");
    let files: [(&str, Vec<u8>); 7] = [
        ("notes.txt", text.into()),
        ("page.html", format!("<!doctype html><script>alert(1)</script>{text}").into()),
        ("raw.svg", svg(text).into()),
        (
            "drawing.svg",
            svg(&format!(
                "<script>{escaped}</script><text fill='{escaped}' style='{escaped}' \
            onclick='{escaped}'>{escaped}</text><image href='{escaped}'/><use href='{escaped}'/>"
            ))
            .into(),
        ),
        (
            "picture.png",
            [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0", text.as_bytes()].concat(),
        ),
        ("huge.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\x02\0\0\0".to_vec()),
        ("core.bin", [b"\xff\xfe\0", text.as_bytes()].concat()),
    ];
    files.into_iter().map(|(name, content)| (format!("attachments/R1.A/{name}"), content)).collect()
}

/// The part of the payload that git allows in the name of a branch or tag.
fn reference_name(text: &str) -> String {
    let allowed = |c: &char| {
        !c.is_control() && !matches!(c, ' ' | '~' | '^' | ':' | '?' | '*' | '[' | '\\' | '/' | '@')
    };
    let name: String = text.chars().filter(allowed).take(40).collect();
    name.replace("..", "").trim_end_matches('.').trim_end_matches(".lock").to_owned()
}

//! One investigation per payload, with the payload in every field that a stranger can set.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tree_of_thoughts::domain::run::{
    Ended, Expectation, Output, ProjectState, Ran, RunVerdict, Seconds, System,
};
use tree_of_thoughts::domain::{
    AmendedConclusion, Amendment, Asked, Author, Caller, Citation, Classification, Code, Command, Comment,
    CommentId, CommentKind, Commenter, Conclusion, Event, Lines, Link, LinkKind, Meta, Node, NodeId,
    PersonsAnswer, Pin, Reclassification, Run, RunId, RunKind, SessionId, StopReason, Stopped, Timestamp,
    Warning,
};
use tree_of_thoughts::format::{self, conclusion_file, layout, meta_file};
use tree_of_thoughts::ruleset::builtin;

use super::repository::{Commit, Stream, amend_authors, folder_name};

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
    let meta = Meta {
        id: SessionId::new(BEGIN as u64 + number as u64, [7; 10]),
        title: text.to_owned(),
        query: text.to_owned(),
        context: Some(text.to_owned()),
        // Every other investigation names an invalid ruleset and mode.
        ruleset: if number.is_multiple_of(2) { builtin::DEFAULT.to_owned() } else { text.to_owned() },
        mode: if number.is_multiple_of(2) { "deep".to_owned() } else { text.to_owned() },
        min_rounds: 5,
        min_roots: 1,
        allow_early_terminal: false,
        started_at: time(number as i64),
    };
    let mut stream = Stream::on(&format!("b{}", reference_name(text)));
    let mut commit = |minutes: i64, message: &str, files: Vec<(String, Vec<u8>)>| {
        stream.commit(&Commit { author: text, at: seconds(minutes), message }, &files);
        stream.tag(&format!("t{minutes}{}", reference_name(text)));
    };
    let trailer = format!("Start\n\n{text}\n\nTool: {text}\nAgent-Id: {text}\nWarning: {text}");
    let start = vec![
        (layout::META.to_owned(), meta_file::write(&meta).unwrap().into()),
        (layout::RULESET.to_owned(), ruleset(number, text).into()),
    ];
    commit(0, &trailer, start);
    let nodes = nodes(text, &time);
    let proposed = nodes.iter().map(|node| Node { classification: None, ..node.clone() }).collect();
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
        (format!("nodes/R9/x{name}.yaml"), format!("version: 1\nid: {quoted}\n").into()),
        (format!("x{name}"), text.into()),
        (format!("attachments/R1.A/x{name}"), text.into()),
        ("nodes/R2/R2.A9.yaml".to_owned(), format!("version: 1\nid: {quoted}\n{quoted}: 1\n").into()),
        ("nodes/R2/R2.A8.yaml".to_owned(), format!("version: 1\n{text}\n").into()),
    ];
    commit(4, "Strays", strays);
    let conclusion = Conclusion {
        agent_id: Some(text.to_owned()),
        caller: caller(text),
        stopped: Some(Stopped { reason: StopReason::Stuck, note: Some(text.to_owned()) }),
        conclusion: Some(text.to_owned()),
        asked: Some(Asked { answer: PersonsAnswer::Accepted, said: Some(text.to_owned()) }),
        amended: vec![AmendedConclusion {
            at: time(6),
            agent_id: Some(text.to_owned()),
            caller: caller(text),
            reason: text.to_owned(),
            conclusion: Some(text.to_owned()),
            answers: None,
            not_covered: Some(vec![text.to_owned()]),
        }],
        not_covered: vec![text.to_owned()],
        ..Conclusion::new(time(5))
    };
    commit(5, text, attachments(text));
    let said = comments(text, &time).into_iter().map(|comment| Event::Commented { comment });
    let said = said.flat_map(|event| format::files(&event).unwrap());
    commit(5, text, said.map(|file| (file.path, file.content.unwrap())).collect());
    let ran = Event::Ran { runs: runs(text, &time), attachments: Vec::new() };
    let ran = format::files(&ran).unwrap().into_iter();
    commit(5, text, ran.map(|file| (file.path, file.content.unwrap())).collect());
    // Some have not ended.
    if !number.is_multiple_of(3) {
        let file = (layout::CONCLUSION.to_owned(), conclusion_file::write(&conclusion).unwrap().into());
        commit(5, &format!("End {text}"), vec![file]);
    }
    stream.write(folder);
}

/// An objection to a node with an answer, and a comment on the investigation.
fn comments(text: &str, time: &impl Fn(i64) -> Timestamp) -> Vec<Arc<Comment>> {
    let id = |number: u8| CommentId::new(BEGIN as u64, [number; 10]);
    let kinds = [
        (1, Some("R1.A"), CommentKind::Objection, None),
        (2, Some("R1.A"), CommentKind::Answer, Some(1)),
        (3, None, CommentKind::Comment, None),
    ];
    let comment = |(number, node, kind, reply_to): (u8, Option<&str>, CommentKind, Option<u8>)| {
        Arc::new(Comment {
            id: id(number),
            node: node.map(|node| node.parse().unwrap()),
            kind,
            reply_to: reply_to.map(id),
            author: commenter(text, number == 1),
            at: time(5),
            text: text.to_owned(),
        })
    };
    kinds.into_iter().map(comment).collect()
}

/// A command run for a node, a rerun with a different result and a judgment on it; and a command run for the
/// investigation.
fn runs(text: &str, time: &impl Fn(i64) -> Timestamp) -> Vec<Arc<Run>> {
    let id = |number: u8| RunId::new(BEGIN as u64, [number; 10]);
    let expectation = |held| Expectation {
        pattern: text.to_owned(),
        range: Some(text.to_owned()),
        found: Some(text.to_owned()),
        held,
    };
    let ran = |held| Ran {
        command: vec!["rm".to_owned(), "-rf".to_owned(), "~".to_owned(), text.to_owned()],
        folder: Some(text.to_owned()),
        project: Some(ProjectState {
            commit: Some(text.to_owned()),
            changed: vec![text.to_owned()],
            patch: Some(text.to_owned()),
        }),
        started_at: time(4),
        seconds: Seconds::default(),
        timeout: None,
        ended: Ended::NotRun(text.to_owned()),
        expected_exit: None,
        output: Output {
            text: format!("{held} {text}"),
            end: Some(text.to_owned()),
            bytes: 9,
            sha256: format!("{held}{text}"),
        },
        expectations: vec![expectation(held)],
        attachments: Vec::new(),
        system: System { os: text.to_owned(), architecture: text.to_owned(), cpus: 2 },
    };
    let again = RunKind::Repeated {
        of: id(1),
        at: Some(text.to_owned()),
        verdict: RunVerdict::Differs,
        ran: ran(false),
    };
    let all = [
        (1, Some("R2.A1"), RunKind::Captured(ran(true))),
        (2, Some("R2.A1"), again),
        (3, Some("R2.A1"), RunKind::Judged { of: id(2), holds: false }),
        (4, None, RunKind::Captured(ran(true))),
    ];
    let run = |(number, node, what): (u8, Option<&str>, RunKind)| {
        Arc::new(Run {
            id: id(number),
            node: node.map(|node| node.parse().unwrap()),
            author: commenter(text, number == 1),
            at: time(5),
            note: Some(text.to_owned()),
            what,
        })
    };
    all.into_iter().map(run).collect()
}

fn commenter(text: &str, is_person: bool) -> Commenter {
    Commenter {
        name: text.to_owned(),
        email: Some(text.to_owned()),
        agent_id: Some(text.to_owned()),
        caller: Caller { person: caller(text).person.filter(|_| is_person), ..caller(text) },
    }
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

fn nodes(text: &str, time: &impl Fn(i64) -> Timestamp) -> Vec<Node> {
    let id = |id: &str| id.parse::<NodeId>().unwrap();
    let node = |name: &str, parent: Option<&str>, state: Option<&str>| Node {
        planned_action: text.to_owned(),
        covers: vec![text.to_owned()],
        classification: state.map(|state| classification(text, state, time)),
        ..Node::new(id(name), parent.map(id), text, time(1))
    };
    // As much of the payload as fits in an id.
    let letters: String = text.chars().filter(char::is_ascii_alphanumeric).take(150).collect();
    vec![
        node("R1.A", None, Some("EXPLORE")),
        node("R2.A1", Some("R1.A"), Some("FOUND")),
        node("R2.A2", Some("R1.A"), Some("EXHAUST")),
        node("R2.A3", Some("R1.A"), None),
        node("R3.A1a", Some("R2.A1"), Some("VERIFY")),
        node("R3.A2b", Some("R2.A2"), Some("DEAD")),
        node(&format!("R2.A4{letters}"), Some("R1.A"), Some("STRANGE_STATE")),
    ]
}

fn classification(text: &str, state: &str, time: &impl Fn(i64) -> Timestamp) -> Classification {
    let warning = || Warning { code: Code::parse(text), message: text.to_owned() };
    let change = |by: Author| Reclassification {
        caller: match by {
            Author::Child(_) => Caller::default(),
            Author::Agent(_) | Author::Unknown => caller(text),
        },
        reason: Some(text.to_owned()),
        evidence: Some(text.to_owned()),
        verification_method: Some(text.to_owned()),
        alternatives_considered: vec![text.to_owned()],
        warnings: vec![warning()],
        ..Reclassification::new("EXPLORE".parse().unwrap(), state.parse().unwrap(), time(3), by)
    };
    Classification {
        requested_state: Some(state.parse().unwrap()),
        agent_id: Some(text.to_owned()),
        caller: caller(text),
        headline: Some(text.to_owned()),
        commands: vec![Command {
            command: text.to_owned(),
            exit_code: Some(1),
            output: Some(text.to_owned()),
        }],
        references: vec![Citation {
            target: text.to_owned(),
            lines: Some(text.to_owned()),
            commit: Some(text.to_owned()),
            quote: Some(text.to_owned()),
            note: Some(text.to_owned()),
            named_in: None,
            pinned: Some(Pin {
                path: text.to_owned(),
                commit: Some(text.to_owned()),
                blob: text.to_owned(),
                uncommitted: false,
                lines: Some(Lines { first: 1, last: 2 }),
                text: Some(text.to_owned()),
            }),
        }],
        links: vec![Link { to: "R2.A1".parse().unwrap(), kind: LinkKind::Contradicts }],
        amended: vec![Amendment {
            agent_id: Some(text.to_owned()),
            caller: caller(text),
            title: Some(text.to_owned()),
            headline: Some(text.to_owned()),
            findings: Some(text.to_owned()),
            evidence: Some(text.to_owned()),
            alternatives_considered: Some(vec![text.to_owned()]),
            caveats: Some(vec![text.to_owned()]),
            commands: Some(vec![Command { command: text.to_owned(), exit_code: None, output: None }]),
            references: Some(vec![Citation { target: text.to_owned(), ..Citation::default() }]),
            ..Amendment::new(time(4), text)
        }],
        evidence: Some(text.to_owned()),
        verification_method: Some(text.to_owned()),
        alternatives_considered: vec![text.to_owned(), format!("also {text}")],
        caveats: vec![text.to_owned()],
        warnings: vec![warning()],
        reclassified: match state {
            "EXPLORE" => Vec::new(),
            "FOUND" => vec![change(Author::Child("R3.A1a".parse().unwrap()))],
            _ => vec![change(Author::Agent(text.to_owned()))],
        },
        ..Classification::new("EXPLORE".parse().unwrap(), text, time(2))
    }
}

fn caller(text: &str) -> Caller {
    let caller = Caller::of_person(text, Some(text.to_owned()));
    let text = || Some(text.to_owned());
    Caller { client: text(), session: text(), model: text(), ..caller }
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

fn files(nodes: Vec<Node>) -> Vec<(String, Vec<u8>)> {
    let nodes = nodes.into_iter().map(Arc::new).collect();
    let event = Event::Committed { nodes, transitions: Vec::new(), attachments: Vec::new() };
    let files = format::files(&event).unwrap().into_iter();
    files.filter_map(|file| Some((file.path, file.content?))).collect()
}

/// The part of the payload that git allows in the name of a branch or tag.
fn reference_name(text: &str) -> String {
    let allowed = |c: &char| {
        !c.is_control() && !matches!(c, ' ' | '~' | '^' | ':' | '?' | '*' | '[' | '\\' | '/' | '@')
    };
    let name: String = text.chars().filter(allowed).take(40).collect();
    name.replace("..", "").trim_end_matches('.').trim_end_matches(".lock").to_owned()
}

//! Commit messages for readers of `git log`. The subject names the event. The body contains titles, reasons and
//! warnings. Trailers follow in git's own format. `subject`, `body` and `trailers` write them for each event, also for reruns.
//!
//! Text from callers can't pass for a trailer: it is indented or follows a node id, and the trailers are the last
//! paragraph.
//!
//! A message quotes only text that its commit writes. Withholding a node from publication
//! ([`crate::format::layout::WITHHELD`]) therefore withholds the messages of the commits that wrote it.

mod body;
mod subject;
mod trailers;

use crate::domain::{Caller, Code, Conclusion, Diagnostic, Event, Investigation, Meta};
use crate::ruleset::EffectiveRules;
use crate::text::{one_line, shorten, visible};
use body::{body, unfiled_warnings};
use subject::subject;
use trailers::{caller_trailers, trailer, trailers};

/// The maximum length of a subject in characters. A longer subject states the number of nodes instead of naming all of
/// them.
const SUBJECT_MAX: usize = 100;

/// The command that releases proposals. No tool does this.
pub const RELEASE: &str = "tot release";

/// The tool that agents use to comment, and the commands that people use.
pub const COMMENT: [&str; 4] = ["tot_comment", "tot comment", "tot object", "tot resolve"];

/// The command that attaches files. No tool does this.
pub const ATTACH: &str = "tot attach";

/// The command for runs, used by people and by agents with a shell.
pub const RUN: &str = "tot run";
/// The command for repetitions and judgements, used by people and by agents with a shell.
pub const RERUN: &str = "tot rerun";

/// Returns whether a warning is recorded only in the message. This is the case for suspected credentials and for all
/// warnings issued when an investigation ends.
fn is_unfiled(event: &Event, code: &Code) -> bool {
    matches!(event, Event::Ended { .. }) || *code == Code::SecretSuspected
}

/// Returns the message for the first commit, without warnings.
pub fn started(meta: &Meta) -> String {
    started_with(meta, &[], &Caller::default())
}

/// Returns the message for the first commit, with the warnings issued when the investigation started.
pub fn started_with(meta: &Meta, warnings: &[Diagnostic], caller: &Caller) -> String {
    let mut message = format!("Start: {}\n\n{}\n", line(&meta.title, SUBJECT_MAX), block(&meta.query));
    if !warnings.is_empty() {
        message.push_str(&format!("\n{}", unfiled_warnings(warnings)));
    }
    message.push('\n');
    trailer(&mut message, "Tool", "tot_start");
    trailer(&mut message, "Ruleset", &meta.ruleset);
    trailer(&mut message, "Mode", &meta.mode);
    caller_trailers(&mut message, caller);
    for warning in warnings {
        trailer(&mut message, "Warning", &warning.code.to_string());
    }
    message
}

/// Returns the message for a merge of two commits, with a line for each decision. `parents` contains the short ids of
/// the commits.
pub fn merged(parents: &[String; 2], decisions: &[String]) -> String {
    let mut message = format!("Merge {} and {}\n", parents[0], parents[1]);
    message.push_str(if decisions.is_empty() { "" } else { "\n" });
    decisions.iter().for_each(|decision| trailer(&mut message, "Merged", decision));
    message
}

/// Returns the message for the annotated tag that marks an investigation as ended.
pub fn ended(meta: &Meta, end: &Conclusion) -> String {
    let mut message = format!("{}\n", line(&meta.title, SUBJECT_MAX));
    let report = end.report();
    if !report.is_empty() {
        message.push_str(&format!("\n{}\n", block(&report)));
    }
    message.push('\n');
    trailer(&mut message, "Tool", "tot_end");
    message
}

/// Returns the short ids of the commits merged by a commit with this message.
pub fn merged_ids(message: &str) -> Option<[String; 2]> {
    let is_id = |id: &str| id.len() == 10 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let (one, other) = message.lines().next()?.strip_prefix("Merge ")?.split_once(" and ")?;
    (is_id(one) && is_id(other)).then(|| [one, other].map(str::to_owned))
}

/// Returns the message for an event. `before` is the state on which the event was decided, and `warnings` contains the
/// warnings in the reply.
pub fn message(
    before: &Investigation,
    rules: &EffectiveRules,
    event: &Event,
    warnings: &[Diagnostic],
    caller: &Caller,
) -> String {
    let mut text = format!("{}\n", subject(before, rules, event));
    let mut body = body(before, rules, event);
    if matches!(
        event,
        Event::Proposed { .. }
            | Event::Ended { .. }
            | Event::Commented { .. }
            | Event::Attached { .. }
            | Event::Ran { .. }
    ) {
        // No file stores these warnings, so a reviewer sees them only in the message.
        let kept: Vec<Diagnostic> =
            warnings.iter().filter(|warning| is_unfiled(event, &warning.code)).cloned().collect();
        body.push_str(&unfiled_warnings(&kept));
    }
    if !body.is_empty() {
        text.push('\n');
        text.push_str(&body);
    }
    text.push('\n');
    trailers(&mut text, event, warnings, caller);
    text
}

/// Shortens the text to one line of at most `max` characters.
fn line(text: &str, max: usize) -> String {
    shorten(&one_line(text), max)
}

/// Indents free text so that none of its lines can pass for a trailer, and truncates it after forty lines.
fn block(text: &str) -> String {
    const LINES: usize = 40;
    let mut lines: Vec<String> = text
        .trim()
        .lines()
        .take(LINES)
        .map(|one| {
            let clean: String = one.chars().take(1_000).map(visible).collect();
            let clean = clean.trim_end();
            if clean.is_empty() { String::new() } else { format!("    {clean}") }
        })
        .collect();
    if text.trim().lines().count() > LINES {
        lines.push("    …".into());
    }
    lines.join("\n")
}

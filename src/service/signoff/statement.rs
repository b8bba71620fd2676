//! The signed text: the message and the name of the tag.
//!
//! The signature covers the commit and therefore every file. The message serves people who read only the tag, and can
//! be compared with the commit.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::assess::Assessment;
use crate::decide::blockers;
use crate::domain::{Code, NodeId};
use crate::store::{CommitId, SIGN_OFFS, SignedFiles, Snapshot};
use crate::text::{made_visible, one_line, shorten};

/// The maximum number of open points listed.
const MOST_OPEN: usize = 100;
/// The number of commit id digits in a tag name or a subject.
const SHORT: usize = 10;
/// The maximum length of a person's name in a tag name.
const MOST_NAME: usize = 40;
/// The trailer keys.
const CONCLUSION: &str = "Conclusion";
const RULESET: &str = "Ruleset";
const OPEN: &str = "Open";
const RUN: &str = "Run";
/// The trailer value for a missing file or an empty list.
const NONE: &str = "none";

/// A person's decision on a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SignOffDecision {
    /// The commit is approved.
    Approved,
    /// The commit is rejected.
    Rejected,
}

impl SignOffDecision {
    const ALL: [SignOffDecision; 2] = [SignOffDecision::Approved, SignOffDecision::Rejected];

    fn prefix(self) -> &'static str {
        SIGN_OFFS[self as usize]
    }

    /// Returns the decision for a tag name.
    pub(super) fn of(tag: &str) -> Option<SignOffDecision> {
        SignOffDecision::ALL.into_iter().find(|decision| tag.starts_with(decision.prefix()))
    }
}

impl fmt::Display for SignOffDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.prefix().trim_end_matches('/'))
    }
}

/// The parsed message of a sign-off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The text written by the person.
    pub text: String,
    /// The blobs of the conclusion and the ruleset.
    pub files: SignedFiles,
    /// The points that were open at signing.
    pub open: Vec<String>,
}

/// Returns a tag name such as `approved/anna-1a2b3c4d5e-07f3`. The commit and the random number prevent two clones from
/// using the same name for different tags, since a sync could keep only one of them.
pub fn tag_name(decision: SignOffDecision, person: &str, commit: CommitId, random: u16) -> String {
    let mut plain = String::new();
    for c in person.chars() {
        match c.is_ascii_alphanumeric() {
            true => plain.push(c.to_ascii_lowercase()),
            false if !plain.is_empty() && !plain.ends_with('-') => plain.push('-'),
            false => {}
        }
    }
    plain.truncate(MOST_NAME);
    let plain = Some(plain.trim_end_matches('-')).filter(|plain| !plain.is_empty()).unwrap_or("somebody");
    format!("{}{plain}-{}-{random:04x}", decision.prefix(), short(commit))
}

fn short(commit: CommitId) -> String {
    commit.to_string().chars().take(SHORT).collect()
}

/// Returns the open points of a state: anything that blocks its conclusion or should have blocked it, warnings, and
/// uncertain answers.
pub fn open_points(snapshot: &Snapshot) -> Vec<String> {
    let investigation = snapshot.investigation.as_ref();
    let mut open = Vec::new();
    if investigation.end_in_force().is_none() {
        open.push("not ended".to_owned());
    }
    if snapshot.all_faults().any(|fault| fault.code != Code::HistoryCut) {
        open.push("faults in its files".to_owned());
    }
    let Some(rules) = snapshot.rules() else { return open };
    let about = |node: Option<&str>| node.map(|node| format!(" {node}")).unwrap_or_default();
    // Contested nodes are included.
    for owed in blockers::missing_steps(investigation, &rules)
        .iter()
        .chain(&blockers::file_problems(investigation, &rules))
    {
        open.push(format!("{}{}", owed.code, about(owed.node.as_deref())));
    }
    // Includes objections that the rules do not require to be resolved.
    let assessment = Assessment::new(investigation, Some(rules));
    for objection in &assessment.open {
        open.push(format!("objection{}", about(objection.comment.node.as_ref().map(NodeId::as_str))));
    }
    for answer in assessment.answers.iter().filter(|answer| !answer.verdict.is_confirmed()) {
        open.push(format!("{} {}", answer.words(), answer.node.id));
    }
    for (node, _) in investigation.committed() {
        let classification = node.classification.iter();
        let changes = classification.clone().flat_map(|it| &it.reclassified);
        let warnings = classification.flat_map(|it| &it.warnings).chain(changes.flat_map(|it| &it.warnings));
        open.extend(warnings.map(|warning| format!("warning {} {}", warning.code, node.id)));
    }
    open
}

/// Returns the message of a sign-off: a subject, the person's text, and git trailers.
pub fn statement(
    decision: SignOffDecision,
    snapshot: &Snapshot,
    files: &SignedFiles,
    open: &[String],
    text: &str,
) -> String {
    let meta = snapshot.investigation.meta();
    let verb = match decision {
        SignOffDecision::Approved => "Approve",
        SignOffDecision::Rejected => "Reject",
    };
    let title = shorten(&one_line(&meta.title), 80);
    let mut message = format!("{verb} {}: {title}\n\n", short(snapshot.head));
    let text = made_visible(text.trim());
    if !text.is_empty() {
        message.push_str(&format!("{text}\n\n"));
    }
    let mut trailer = |key: &str, value: &str| message.push_str(&format!("{key}: {}\n", one_line(value)));
    trailer(CONCLUSION, files.conclusion.as_deref().unwrap_or(NONE));
    trailer(RULESET, files.ruleset.as_deref().unwrap_or(NONE));
    let assessment = Assessment::new(&snapshot.investigation, snapshot.rules());
    for run in assessment.whole_runs().take(MOST_OPEN) {
        trailer(RUN, &format!("{} {}", run.run.id, run.words()));
    }
    open.iter().take(MOST_OPEN).for_each(|line| trailer(OPEN, line));
    match open.len() {
        0 => trailer(OPEN, NONE),
        all if all > MOST_OPEN => trailer(OPEN, &format!("{} more", all - MOST_OPEN)),
        _ => {}
    }
    message
}

impl Statement {
    /// Parses a message. Returns `None` if the message lacks the conclusion or ruleset trailers, as in a manually
    /// created tag.
    pub(super) fn read(message: &str) -> Option<Statement> {
        let (before, last) = message.trim_end().rsplit_once("\n\n")?;
        let trailers: Option<Vec<(&str, &str)>> = last.lines().map(|line| line.split_once(": ")).collect();
        let trailers = trailers?;
        let values = |key: &'static str| {
            trailers.iter().filter(move |(known, _)| *known == key).map(|(_, value)| *value)
        };
        let file = |key| -> Option<Option<String>> {
            let value = values(key).next()?;
            Some((value != NONE).then(|| value.to_owned()))
        };
        let files = SignedFiles { conclusion: file(CONCLUSION)?, ruleset: file(RULESET)? };
        let open = values(OPEN).filter(|line| *line != NONE).map(str::to_owned).collect();
        let text = before.split_once("\n\n").map_or("", |(_, text)| text).trim().to_owned();
        Some(Statement { text, files, open })
    }
}

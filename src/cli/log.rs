//! `tot log`: shows the history of an investigation, a node or a branch.

use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};

use super::place::{Common, node as named_node};
use super::print::{columns, page, say_fields};
use super::screen::{BAD, DOUBT, NAME, QUIET, Screen, styled};
use super::{CommandError, CommandResult};
use crate::assess::NodeMark;
use crate::domain::{Happening, Investigation, NodeId, Timestamp};
use crate::report::verb_of;
use crate::ruleset::EffectiveRules;
use crate::ruleset::rules::states::label;
use crate::store::{HistoryEntry, SIGN_OFFS};
use crate::text::one_line;

/// Show the commits of an investigation, newest first; only those of a node or a branch if one is named.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct LogArguments {
    /// Node, such as R2.A1, or words of its title; or a branch: A1 means R2.A1 and all nodes below it
    #[arg(value_name = "NODE|BRANCH")]
    subject: Vec<String>,
    /// Maximum number of commits
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    number: Option<u64>,
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
With --json: {sessionId, commits: [{commit, at, author, agentId?, client?, subject, tags, merge, changes: [{what, nodeId?}], warnings, gaps}]}

Examples:
  tot log                 all commits of the current investigation
  tot log R2.A1           those of one node
  tot log A1 -n 20        the 20 newest of R2.A1 and the nodes below it
  git log -p              in the investigation's folder: every changed line";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LogCommit {
    commit: String,
    at: Timestamp,
    author: String,
    agent_id: Option<String>,
    /// The program that made the call, with its version.
    client: Option<String>,
    subject: String,
    tags: Vec<String>,
    merge: bool,
    /// The changes to nodes or to the whole investigation: `what`, such as `proposed` or `committed`, and `nodeId`.
    changes: Vec<Value>,
    warnings: Vec<String>,
    /// Parts of the commit that are unreadable or omitted.
    gaps: Vec<String>,
    /// The name shown for the author of the commit, as on pages.
    #[serde(skip)]
    who: String,
    /// The commit in one line: the subject, or the nodes with what they became and their names.
    #[serde(skip)]
    line: String,
}

/// The part of the history to show.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LogSubject {
    All,
    Node(NodeId),
    /// A node id without its round.
    Branch(String),
}

pub(super) fn run(arguments: &LogArguments) -> CommandResult {
    let place = arguments.common.place()?;
    let snapshot = place.store.load(&place.folder()?)?;
    let investigation = &snapshot.investigation;
    let of = subject(investigation, &arguments.subject)?;
    // Reading stops once there are enough commits.
    let mut left = arguments.number;
    let history = place.store.history_until(&snapshot, |entry| {
        left = left.map(|left| left - u64::from(fits(entry, &of)));
        left == Some(0)
    })?;
    let is_known = |fits: &dyn Fn(&NodeId) -> bool| {
        let there = investigation.nodes().any(|node| fits(&node.id));
        there || history.iter().flat_map(|entry| &entry.happenings).filter_map(Happening::node_id).any(fits)
    };
    match &of {
        LogSubject::Node(node) if !is_known(&|id| id.is_named(node)) => {
            return Err(format!("there was never a node {node}").into());
        }
        LogSubject::Branch(branch) if !is_known(&|id| is_in(id, branch)) => {
            named_node(investigation, &arguments.subject)?;
        }
        _ => {}
    }
    let commits = history.iter().filter(|entry| fits(entry, &of));
    let rules = snapshot.rules();
    let commits: Vec<LogCommit> = commits.map(|entry| commit(entry, &of, rules.as_ref())).collect();
    match arguments.common.json {
        true => say_fields(&json!({"sessionId": investigation.meta().id, "commits": commits})),
        false => page(&shown(&commits, Screen { columns: columns() })),
    }
}

/// Returns what the words name: a branch, a node, or everything. What has no node today may have been in the history.
fn subject(investigation: &Investigation, words: &[String]) -> CommandResult<LogSubject> {
    let branch = match words {
        [] => return Ok(LogSubject::All),
        [word] => Some(word).filter(|word| !word.contains(char::is_whitespace)),
        _ => None,
    };
    match (named_node(investigation, words), branch) {
        (_, Some(word)) if word.parse::<NodeId>().is_ok() => Ok(LogSubject::Node(word.parse()?)),
        (_, Some(word)) if investigation.nodes().any(|node| is_in(&node.id, word)) => {
            Ok(LogSubject::Branch(word.clone()))
        }
        (Ok(node), _) => Ok(LogSubject::Node(node.id.clone())),
        (Err(CommandError::Failed(..)), Some(word)) => Ok(LogSubject::Branch(word.clone())),
        (Err(error), _) => Err(error),
    }
}

/// Returns whether the node is the top node of the branch or below it. `A12` is not below `A1`.
fn is_in(node: &NodeId, branch: &str) -> bool {
    let Some(rest) = node.suffix().strip_prefix(branch) else { return false };
    let ends_in_digit = branch.ends_with(|c: char| c.is_ascii_digit());
    rest.chars().next().is_none_or(|next| next.is_ascii_digit() != ends_in_digit)
}

fn fits(entry: &HistoryEntry, of: &LogSubject) -> bool {
    entry.happenings.iter().any(|happening| is_about(happening, of)) || *of == LogSubject::All
}

fn is_about(happening: &Happening, of: &LogSubject) -> bool {
    match (of, happening.node_id()) {
        (LogSubject::All, _) => true,
        (_, None) => false,
        (LogSubject::Node(node), Some(id)) => id.is_named(node),
        (LogSubject::Branch(branch), Some(id)) => is_in(id, branch),
    }
}

fn commit(entry: &HistoryEntry, of: &LogSubject, rules: Option<&EffectiveRules<'_>>) -> LogCommit {
    let trailers = entry.trailers();
    let all = |key: &str| -> Vec<String> {
        trailers.iter().filter(|(name, _)| *name == key).map(|(_, value)| (*value).to_owned()).collect()
    };
    let change = |happening: &Happening| json!({"what": verb_of(happening).1, "nodeId": happening.node_id().map(ToString::to_string)});
    LogCommit {
        commit: entry.commit.to_string(),
        at: entry.at,
        author: entry.author_name.clone(),
        agent_id: entry.agent().map(str::to_owned),
        client: all("Client").into_iter().next(),
        subject: entry.subject().to_owned(),
        // Anyone can create a tag, so its name alone must not suggest an approval.
        tags: entry
            .tags
            .iter()
            .filter(|tag| !SIGN_OFFS.iter().any(|it| tag.starts_with(it)))
            .cloned()
            .collect(),
        merge: entry.parents.len() > 1,
        changes: entry.happenings.iter().filter(|it| is_about(it, of)).map(change).collect(),
        warnings: all("Warning"),
        gaps: entry.gaps.iter().cloned().chain(entry.faults.iter().map(ToString::to_string)).collect(),
        who: entry.who().into_owned(),
        line: line(entry, of, rules),
    }
}

/// Describes a commit: each proposal and result by its node, what that became, and its name; anything else by the subject.
fn line(entry: &HistoryEntry, of: &LogSubject, rules: Option<&EffectiveRules<'_>>) -> String {
    let subject = match entry.subject().trim() {
        "" => "(no subject)",
        subject => subject,
    };
    let result = |happening: &Happening| {
        let (node, from) = match happening {
            Happening::Proposed(node) | Happening::Committed(node) => (node, None),
            Happening::Reclassified(node, change) => (node, Some(&change.from)),
            _ => return None,
        };
        let mark = NodeMark::new(rules, node);
        let from = from.map(|from| format!("{} → ", label(rules, from))).unwrap_or_default();
        let sign = if mark.refutes.is_some() { "✗ " } else { "" };
        Some(format!("{} {from}{sign}{}: {}", node.id, mark.label, node.name()))
    };
    let told = || entry.happenings.iter().filter(|it| is_about(it, of));
    let results: Vec<String> = told().filter_map(result).collect();
    let nodes: Vec<_> = told().filter_map(Happening::node).collect();
    match nodes.as_slice() {
        _ if entry.parents.len() > 1 => subject.to_owned(),
        _ if !results.is_empty() => results.join("; "),
        [only] => format!("{subject}: {}", only.name()),
        _ => subject.to_owned(),
    }
}

/// Formats each commit as a line, followed by its warnings and gaps.
fn shown(commits: &[LogCommit], screen: Screen) -> String {
    let one = |commit: &LogCommit| {
        let id = &commit.commit[..10];
        let who = one_line(&commit.who);
        let tags: String = commit.tags.iter().map(|tag| format!("({}) ", one_line(tag))).collect();
        let minute = commit.at.to_minute();
        let used = id.len() + minute.len() + tags.chars().count() + 4;
        // The author follows if there is room.
        let line = screen.rest(&format!("{} · {who}", commit.line), used);
        let line = match line.strip_suffix(&who) {
            Some(told) if !who.is_empty() => format!("{told}{}", styled(QUIET, &who)),
            _ => line,
        };
        let mut text =
            format!("{}  {}  {}{line}\n", styled(NAME, id), styled(QUIET, &minute), styled(DOUBT, &tags));
        for (style, lines) in [(DOUBT, &commit.warnings), (BAD, &commit.gaps)] {
            for line in lines {
                text.push_str(&format!("            {}\n", styled(style, &screen.rest(line, 12))));
            }
        }
        text
    };
    commits.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_is_a_node_and_what_is_below_it() {
        for (node, branch, is) in [
            ("R2.A1", "A1", true),
            ("R3.A1a", "A1", true),
            ("R2.A12", "A1", false),
            ("R4.A1a1", "A1a", true),
            ("R1.A", "A1", false),
            ("R1.AB", "A", false),
        ] {
            assert_eq!(is_in(&node.parse().unwrap(), branch), is, "{node} {branch}");
        }
    }
}

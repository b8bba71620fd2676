//! Supporting data for a result, besides its text: start time, commands, runs, sources, and links to other nodes.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{not_blank, quoted};
use crate::domain::{
    Citation, Code, Command, Investigation, Lines, Link, LinkKind, Node, NodeId, RunId, Timestamp,
};
use crate::ruleset::rules::CallDiagnostics;
use crate::text::one_line;

/// A command that was run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct NewCommand {
    /// As typed.
    #[schemars(extend("examples" = ["cargo test"]))]
    pub command: String,
    /// Its exit code.
    pub exit_code: Option<i32>,
    /// Its output.
    pub output: Option<String>,
}

/// A source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct NewCitation {
    /// A URL or path.
    #[schemars(extend("examples" = ["src/queue/db.py"]))]
    pub target: String,
    /// 18, or 18-24.
    pub lines: Option<String>,
    /// The commit read.
    pub commit: Option<String>,
    /// The exact words.
    pub quote: Option<String>,
    /// What it shows.
    pub note: Option<String>,
}

/// A link from a result to another node.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct NewLink {
    /// The node.
    pub to: String,
    /// The effect on that node.
    #[schemars(with = "String", extend("enum" = ["supports", "contradicts", "duplicates", "depends"]))]
    pub kind: LinkKind,
}

/// Maximum number of entries in a list.
const MOST: usize = 50;

/// Maximum number of characters in a headline, or in the `lines` or `commit` field of a source.
pub const LINE_MAX: usize = 300;

impl NewCommand {
    /// Returns the text fields with their names.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        [Some(&self.command), self.output.as_ref()]
            .into_iter()
            .flatten()
            .map(|text| ("commands", text.as_str()))
    }
}

impl NewCitation {
    /// Returns the text fields with their names.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        let optional = [&self.lines, &self.commit, &self.quote, &self.note].into_iter().flatten();
        std::iter::once(&self.target).chain(optional).map(|text| ("references", text.as_str()))
    }
}

/// Parses the time when the work began. Adds an error if the time is invalid or in the future.
pub(super) fn started_at(
    about: &str,
    text: Option<&str>,
    now: Timestamp,
    diagnostics: &mut CallDiagnostics,
) -> Option<Timestamp> {
    let text = text.map(str::trim).filter(|text| !text.is_empty())?;
    let wrong = match text.parse::<Timestamp>() {
        Ok(time) if time <= now => return Some(time),
        Ok(_) => format!("startedAt of {about} is in the future; the current time is {now}."),
        Err(error) => format!("startedAt of {about}: {error}."),
    };
    let how = "Give the time when the research began, or omit it.";
    diagnostics.refuse(Code::InvalidArgument, about, wrong, how);
    None
}

/// Returns the non-blank caveats, each as a single line.
pub(super) fn caveats(about: &str, given: Vec<String>, diagnostics: &mut CallDiagnostics) -> Vec<String> {
    check_number(about, "caveats", given.len(), diagnostics);
    given.into_iter().filter_map(|text| not_blank(Some(one_line(&text)))).collect()
}

/// Returns the non-blank commands.
pub(super) fn commands(
    about: &str,
    given: Vec<NewCommand>,
    diagnostics: &mut CallDiagnostics,
) -> Vec<Command> {
    check_number(about, "commands", given.len(), diagnostics);
    let given = given.into_iter().filter(|ran| !ran.command.trim().is_empty());
    let command = |ran: NewCommand| Command {
        command: ran.command,
        exit_code: ran.exit_code,
        output: not_blank(ran.output),
    };
    given.map(command).collect()
}

/// Returns the runs with these ids or unambiguous id endings.
pub(super) fn runs(
    investigation: &Investigation,
    about: &str,
    given: &[String],
    diagnostics: &mut CallDiagnostics,
) -> Vec<RunId> {
    check_number(about, "runs", given.len(), diagnostics);
    let mut runs = Vec::with_capacity(given.len());
    for named in given.iter().map(|named| named.trim()).filter(|named| !named.is_empty()) {
        match super::run::captured(investigation, named) {
            Ok(run) if runs.contains(&run.id) => {}
            Ok(run) => runs.push(run.id),
            Err(error) => diagnostics.errors.push(error.about(about)),
        }
    }
    runs
}

/// Returns the sources. Adds an error for each source without a target.
pub(super) fn references(
    about: &str,
    given: Vec<NewCitation>,
    diagnostics: &mut CallDiagnostics,
) -> Vec<Citation> {
    check_number(about, "references", given.len(), diagnostics);
    let mut references = Vec::with_capacity(given.len());
    for cited in given {
        if cited.target.trim().is_empty() {
            let what = format!("A reference in {about} has no target.");
            diagnostics.refuse(Code::InvalidArgument, about, what, "Give its URL or path.");
            continue;
        }
        let lines = not_blank(cited.lines);
        if let Some(lines) = lines.as_deref().filter(|lines| lines.parse::<Lines>().is_err()) {
            let what = format!("A reference in {about} has an invalid line range: {}.", quoted(lines));
            diagnostics.refuse(Code::InvalidArgument, about, what, "Write one line as 18, several as 18-24.");
        }
        references.push(Citation {
            target: cited.target.trim().to_owned(),
            lines: lines.map(|lines| lines.replace(' ', "")),
            commit: not_blank(cited.commit),
            quote: not_blank(cited.quote),
            note: not_blank(cited.note),
            ..Citation::default()
        });
    }
    references
}

/// Returns the links. Adds an error for each link that does not point to another existing node.
pub(super) fn links(
    investigation: &Investigation,
    node: &Node,
    given: &[NewLink],
    diagnostics: &mut CallDiagnostics,
) -> Vec<Link> {
    check_number(node.id.as_str(), "links", given.len(), diagnostics);
    let mut links: Vec<Link> = Vec::with_capacity(given.len());
    for linked in given {
        let known = investigation.find(linked.to.trim()).ok().filter(|to| to.id != node.id);
        match known.map(|to| seen(investigation, &to.id, linked.kind)) {
            Some(link) if links.contains(&link) => {}
            Some(link) => links.push(link),
            None => diagnostics.refuse(
                Code::NodeNotFound,
                &node.id,
                format!("{} links to {}, but no other node has that id.", node.id, quoted(&linked.to)),
                "Link to a node that is committed or pending.",
            ),
        }
    }
    links
}

/// Returns a link to a node. A link of the kind `depends` says what its author saw.
pub(super) fn seen(investigation: &Investigation, to: &NodeId, kind: LinkKind) -> Link {
    let node = investigation.node(to).filter(|_| kind == LinkKind::Depends);
    let (saw, state) = (node.and_then(|to| to.claim_hash()), node.and_then(|to| to.state().cloned()));
    Link { saw, state, ..Link::new(to.clone(), kind) }
}

pub(super) fn check_number(about: &str, field: &str, number: usize, diagnostics: &mut CallDiagnostics) {
    if number > MOST {
        let of = if about.is_empty() { String::new() } else { format!(" of {about}") };
        let message = format!("{field}{of} has {number} entries; the limit is {MOST}.");
        let how = "Keep what matters, and put the rest into a file that you cite.";
        diagnostics.refuse(Code::InvalidArgument, about, message, how);
    }
}

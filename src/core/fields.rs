//! The fields of a node under the headings that people read: for pages, screens, search and comparisons.
//!
//! Pure. [`node`](crate::domain::node) says how to add a stored field.

use std::borrow::Cow;

use crate::domain::{
    AmendedConclusion, Amendment, Asked, Author, Caller, Citation, Claim, Classification, Command, Link,
    NamedIn, Node, NodeId, PersonsAnswer, Pin, Reclassification, StateName, Warning,
};
use crate::text;

/// A field of a node with its value as text.
#[derive(Clone, Debug)]
pub struct NodeField<'a> {
    /// The name for display.
    pub name: &'static str,
    /// The value; empty if absent.
    pub value: Cow<'a, str>,
    /// True if the field is text that the agent wrote about its work. False if it is a choice or a fact.
    pub is_text: bool,
}

/// A text field that supports findings or a state change.
#[derive(Clone, Copy, Debug)]
pub struct BackingText<'a> {
    /// The key in JSON and in files.
    pub key: &'static str,
    /// The heading for display.
    pub heading: &'static str,
    /// True if the field is a list of texts. Otherwise, it has at most one.
    pub is_list: bool,
    /// The texts in Markdown.
    pub entries: &'a [String],
}

/// The name of the field that lists later state changes.
pub const CHANGES_OF_STATE: &str = "Changes of state";

/// The name of the field that lists later text changes.
pub const CHANGES_OF_TEXTS: &str = "Changes of texts";

/// The heading for the other results.
pub const OTHER_RESULTS: &str = "Other results";

/// The heading for the headline.
pub const HEADLINE: &str = "Found";

/// The heading for the evidence.
const EVIDENCE: &str = "Evidence";

/// The heading for the alternatives considered.
const ALTERNATIVES: &str = "Alternatives considered";

/// The heading for the limitations of the research.
const CAVEATS: &str = "Not tried";

/// The heading for the commands.
pub const COMMANDS: &str = "Commands";

/// The heading for the sources.
pub const REFERENCES: &str = "References";

/// The heading for the links.
pub const LINKS: &str = "Links";

/// The heading for the planned action.
pub const PLANNED: &str = "What was planned";

/// The heading for the findings.
pub const FINDINGS: &str = "Findings";

/// A note on an answer that a person gave through a client.
pub const NO_SIGN_OFF: &str = "said through the client, which is not a sign-off";

impl Node {
    /// Returns all fields, for comparing two states of the node.
    pub fn fields(&self) -> impl Iterator<Item = NodeField<'_>> {
        self.proposal_fields().into_iter().chain(self.result_fields())
    }

    /// Returns the fields of the proposal.
    pub fn proposal_fields(&self) -> Vec<NodeField<'_>> {
        let withdrawn = self.withdrawn.as_ref().filter(|_| self.is_withdrawn());
        vec![
            NodeField::fact("Title", &self.title),
            NodeField::fact("Parent", self.parent.as_ref().map_or("", NodeId::as_str)),
            NodeField::fact(PLANNED, &self.planned_action),
            NodeField::fact("Covers", self.covers.join("\n")),
            NodeField::fact("Claimed by", self.claim.as_ref().map(Claim::line).unwrap_or_default()),
            NodeField::fact("Withdrawn", withdrawn.map(|it| it.at.to_string()).unwrap_or_default()),
        ]
    }

    /// Returns the fields of the result, including its later changes. Empty while the node is pending.
    pub fn result_fields(&self) -> Vec<NodeField<'_>> {
        self.classification.as_ref().map(Classification::fields).unwrap_or_default()
    }
}

impl Classification {
    /// Returns all fields, including the later changes.
    pub fn fields(&self) -> Vec<NodeField<'_>> {
        let person = self.caller.person.as_ref().map_or("", |person| &person.name);
        let began = self.started_at.map(|at| at.to_string()).unwrap_or_default();
        let mut fields = vec![
            NodeField::fact("State as committed", self.state.as_str()),
            NodeField::fact("Asked for", self.requested_state.as_ref().map_or("", StateName::as_str)),
            NodeField::fact("Refutes its parent", if self.refutes { "yes" } else { "" }),
            NodeField::fact("Parent as seen", self.saw.map(|saw| saw.to_string()).unwrap_or_default()),
            NodeField::fact("Agent", self.agent_id.as_deref().unwrap_or_default()),
            NodeField::fact("Person", person),
            NodeField::fact("Client", self.caller.line()),
            NodeField::fact("Research began", began),
            NodeField::fact("Committed", self.committed_at.to_string()),
            NodeField::text(HEADLINE, self.headline.as_deref().unwrap_or_default()),
            NodeField::text(FINDINGS, &self.findings),
        ];
        fields.extend(self.backing().map(|text| NodeField::text(text.heading, text.entries.join("\n\n"))));
        fields.extend([
            NodeField::text(COMMANDS, joined(&self.commands, command_text, "\n\n")),
            NodeField::fact(REFERENCES, joined(&self.references, reference_line, "\n")),
            NodeField::fact(LINKS, joined(&self.links, link_line, "\n")),
            NodeField::fact("Warnings", joined(&self.warnings, Warning::line, "\n")),
            NodeField::fact(CHANGES_OF_STATE, joined(&self.reclassified, Reclassification::line, "\n")),
            NodeField::fact(CHANGES_OF_TEXTS, joined(&self.amended, Amendment::line, "\n")),
            NodeField::text(OTHER_RESULTS, joined(&self.other_results, Classification::text, "\n\n")),
        ]);
        fields
    }

    /// Returns the fields that support the findings.
    pub fn backing(&self) -> impl Iterator<Item = BackingText<'_>> {
        let texts = [&self.alternatives_considered, &self.caveats];
        backing(self.evidence.as_ref(), self.verification_method.as_ref(), texts.map(Vec::as_slice))
    }

    /// Formats the state, the author and the time on one line.
    fn line(&self) -> String {
        let by = self.caller.by_line(self.agent_id.as_deref());
        format!("{}{by} at {}", self.current_state(), self.committed_at)
    }

    /// Formats all fields of another result.
    pub fn text(&self) -> String {
        let fields = self.fields().into_iter().filter(|field| !field.value.is_empty());
        let fields = fields.map(|field| format!("{}: {}", field.name, field.value));
        std::iter::once(self.line()).chain(fields).collect::<Vec<_>>().join("\n")
    }
}

impl Reclassification {
    /// Returns the fields that support the change.
    pub fn backing(&self) -> impl Iterator<Item = BackingText<'_>> {
        let texts = [self.alternatives_considered.as_slice(), &[]];
        backing(self.evidence.as_ref(), self.verification_method.as_ref(), texts)
    }

    /// Formats the change on one line, including every field that a manual edit can change.
    fn line(&self) -> String {
        let by = match &self.by {
            Author::Child(child) => format!(" by its child {child}"),
            Author::Caller(caller) => caller.by_line(self.agent()),
        };
        let mut line = format!("{} → {} at {}{by}", self.from, self.to, self.at);
        if self.settles > 0 {
            let others = text::counted(self.settles, "other result");
            line.push_str(&format!("; decided between this and {others}"));
        }
        let saw = self.saw.map(|saw| format!("parent as seen: {saw}"));
        let saw = saw.into_iter().chain(self.links.iter().map(link_line));
        let texts = self.reason.iter().chain(self.backing().flat_map(|text| text.entries)).cloned();
        for text in texts.chain(saw).chain(self.warnings.iter().map(Warning::line)) {
            line.push_str("; ");
            line.push_str(&text);
        }
        line
    }
}

impl Amendment {
    /// Returns the previous text of the fields that support the findings, each with its heading.
    pub fn backing(&self) -> Vec<(&'static str, String)> {
        let parts = [
            (EVIDENCE, self.evidence.clone()),
            (ALTERNATIVES, self.alternatives_considered.as_ref().map(|all| all.join("\n\n"))),
            (CAVEATS, self.caveats.as_ref().map(|all| all.join("\n\n"))),
            (COMMANDS, self.commands.as_ref().map(|all| joined(all, command_text, "\n\n"))),
            (REFERENCES, self.references.as_ref().map(|all| joined(all, reference_line, "\n"))),
        ];
        parts.into_iter().filter_map(|(heading, text)| Some((heading, text?))).collect()
    }

    /// Formats the change on one line, including every field that a manual edit can change.
    pub fn line(&self) -> String {
        let by = self.caller.by_line(self.agent_id.as_deref());
        let before = [("title", &self.title), ("headline", &self.headline), ("findings", &self.findings)];
        let before = before.into_iter().filter_map(|(name, text)| Some((name, text.clone()?)));
        let before: String =
            before.chain(self.backing()).map(|(name, text)| format!("; {name} before: {text}")).collect();
        format!("{}{by}: {}{before}", self.at, self.reason)
    }
}

impl AmendedConclusion {
    /// Formats the time, the author and the reason on one line.
    pub fn line(&self) -> String {
        format!("{}{}: {}", self.at, self.caller.by_line(self.agent_id.as_deref()), self.reason)
    }
}

impl Asked {
    /// Describes in a sentence how the person answered when asked whether the investigation may end.
    pub fn line(&self) -> String {
        let said = self.said.as_ref().map(|said| format!(": “{said}”")).unwrap_or_default();
        let worth = match self.answer {
            PersonsAnswer::NotOffered | PersonsAnswer::Unanswered => String::new(),
            _ => format!(" ({NO_SIGN_OFF})"),
        };
        format!("The person at the client: {}{said}{worth}.", self.answer.label())
    }
}

impl Claim {
    /// Formats the claim on one line.
    pub fn line(&self) -> String {
        format!("{}, from {} until {}", self.agent_id, self.at, self.until)
    }
}

impl Caller {
    /// Formats the client, the model and the session on one line. Empty if none is known.
    pub fn line(&self) -> String {
        let session = self.session.as_deref().map(|session| format!("session {session}"));
        let parts = [self.client.clone(), self.model.clone(), session];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// Formats the author and the client, with a leading space. Empty if neither is known.
    pub fn by_line(&self, agent: Option<&str>) -> String {
        let who = self.who(agent).map(|who| format!(" by {who}")).unwrap_or_default();
        let through = Some(self.line()).filter(|line| !line.is_empty());
        who + &through.map(|line| format!(" ({line})")).unwrap_or_default()
    }
}

impl<'a> NodeField<'a> {
    fn fact(name: &'static str, value: impl Into<Cow<'a, str>>) -> Self {
        NodeField { name, value: value.into(), is_text: false }
    }

    fn text(name: &'static str, value: impl Into<Cow<'a, str>>) -> Self {
        NodeField { is_text: true, ..NodeField::fact(name, value) }
    }
}

fn backing<'a>(
    evidence: Option<&'a String>,
    method: Option<&'a String>,
    [alternatives, caveats]: [&'a [String]; 2],
) -> impl Iterator<Item = BackingText<'a>> {
    let one = |key, heading, text: Option<&'a String>| {
        let entries = text.map(std::slice::from_ref).unwrap_or_default();
        BackingText { key, heading, is_list: false, entries }
    };
    let list = |key, heading, entries| BackingText { key, heading, is_list: true, entries };
    let texts = [
        one("evidence", EVIDENCE, evidence),
        one("verificationMethod", "How the author checked it", method),
        list("alternativesConsidered", ALTERNATIVES, alternatives),
        list("caveats", CAVEATS, caveats),
    ];
    texts.into_iter()
}

/// Formats a command with its exit status and output.
fn command_text(command: &Command) -> String {
    let exit = command.exit_code.map(|code| format!(" (exit code {code})")).unwrap_or_default();
    let output = command.output.as_deref().map(|output| format!("\n{output}")).unwrap_or_default();
    format!("$ {}{exit}{output}", command.command)
}

/// Formats a source on one line, followed by the cited text if it was recorded.
fn reference_line(citation: &Citation) -> String {
    let commit = citation.commit.as_deref().map(|commit| format!("@{commit}")).unwrap_or_default();
    let lines = citation.lines.as_deref().map(|lines| format!(":{lines}")).unwrap_or_default();
    let quote = citation.quote.as_deref().map(|quote| format!(" “{quote}”")).unwrap_or_default();
    let note = citation.note.as_deref().map(|note| format!(" - {note}")).unwrap_or_default();
    let named = match citation.named_in {
        None => "",
        Some(NamedIn::Findings) => " (in the findings)",
        Some(NamedIn::Evidence) => " (in the evidence)",
        Some(NamedIn::Source) => " (a source in the findings)",
    };
    let pinned = citation.pinned.as_ref().map(|pin| format!("; {}", pin_text(pin))).unwrap_or_default();
    format!("{}{commit}{lines}{quote}{note}{named}{pinned}", citation.target)
}

/// Formats the recorded state of a cited file, with the recorded lines.
fn pin_text(pin: &Pin) -> String {
    let lines = pin.lines.map(|lines| format!(":{lines}")).unwrap_or_default();
    let text =
        pin.text.as_deref().map(|text| format!("\n{}", text.trim_end_matches('\n'))).unwrap_or_default();
    let commit = pin.commit.as_deref().unwrap_or("no commit");
    let changed = if pin.uncommitted && pin.commit.is_some() { " with uncommitted changes" } else { "" };
    format!("{}{lines} was {} at {commit}{changed}{text}", pin.path, pin.blob)
}

/// Formats a link as its kind and the other node.
fn link_line(link: &Link) -> String {
    let saw = link.saw.map(|saw| format!(", seen as {saw}")).unwrap_or_default();
    let state = link.state.as_ref().map(|state| format!(", then {state}")).unwrap_or_default();
    format!("{} {}{saw}{state}", link.kind.as_str(), link.to)
}

fn joined<T>(all: &[T], text: impl Fn(&T) -> String, gap: &str) -> String {
    all.iter().map(text).collect::<Vec<_>>().join(gap)
}

//! What replies share, and how domain values become parts of them. What is sent whole (a diagnostic, a reference, the
//! quality figures) says itself how it is written; where a reply shortens, joins or leaves out, it has a type of its own.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::decide::quality::Quality;
use crate::decide::standing::{self, Outlook, Turned, turned};
use crate::domain::{Code, Diagnostic, Investigation, SessionId, Transition};
use crate::markdown;
use crate::ruleset::rules::{self, Blockers, shortened};
use crate::service::{Refusal, Standing, Unjudged, Written};
use crate::store::CommitId;
use crate::text::counted;

/// How many nodes of a kind are named.
const NAMED: usize = 3;

/// How much of a finding stands in a reply.
const SUMMARY: usize = 300;

/// Whether the call was done: where it was rejected, nothing was written, and the errors say why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Status {
    /// The call was done.
    Ok,
    /// Nothing was written.
    #[default]
    Rejected,
}

/// What every reply has.
#[derive(Clone, Debug, Default)]
pub struct Shared {
    /// The investigation, for the log.
    pub session: Option<SessionId>,
    /// Whether the call was done.
    pub status: Status,
    /// What to do next.
    pub message: String,
    /// Why the call was rejected.
    pub errors: Vec<Diagnostic>,
    /// What is doubtful, though the call went through.
    pub warnings: Vec<Diagnostic>,
    /// The git commit that was written; absent when none was.
    pub commit: Option<String>,
    /// The highest round of any committed node.
    pub current_round: Option<u32>,
    /// Whether tot_end would be accepted now.
    pub can_end: bool,
    /// Everything that keeps tot_end from being accepted.
    pub owed: Vec<Debt>,
    /// The graph that was asked for, or a small one. It is sent whole, and leaves the room of nothing else.
    pub graph: Graph,
}

/// What keeps the end away, all of one kind.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Debt {
    /// What kind.
    pub code: Code,
    /// How often, where that is more than once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<usize>,
    /// The first nodes, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub node_ids: Vec<String>,
    /// The first one, in a sentence.
    pub message: String,
}

/// What of [`Shared`] is sent of a call that was done, and never cut.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Head<'a> {
    status: Status,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    current_round: Option<u32>,
    can_end: bool,
}

/// The doubts, which no later reply repeats.
#[derive(Serialize)]
pub struct Warnings<'a> {
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    warnings: &'a [Diagnostic],
}

/// What else of [`Shared`] is sent of it, as far as there is room.
#[derive(Serialize)]
pub struct Advice<'a> {
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    owed: &'a [Debt],
}

/// What of [`Shared`] is sent of a call that was rejected: what helps to mend the call, and nothing else.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rejection<'a> {
    status: Status,
    message: &'a str,
    errors: &'a [Diagnostic],
    /// Absent where the call does not say which investigation it means. One that does not exist can't be ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    can_end: Option<bool>,
}

/// A node's change of state.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TransitionEntry {
    /// The node.
    pub node_id: String,
    /// Its state before.
    pub from: String,
    /// Its state now; also the key under which other replies give a state.
    pub state: String,
    /// The child that brought it about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The form of the graph in a reply: none; `auto`, which is DOT while it is short and the address of its resource
/// beyond; or one that is sent whatever its size. The variants have no words of their own, since
/// five tools would repeat them.
#[expect(missing_docs, reason = "the words would stand in the schema of five tools")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum GraphForm {
    None,
    #[default]
    Auto,
    Dot,
    Mermaid,
    Json,
}

impl GraphForm {
    /// The default of the tools that write.
    pub fn none() -> Self {
        GraphForm::None
    }
}

/// The graph of a reply, in the form that was asked for.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Graph {
    /// The graph as DOT.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dot: Option<String>,
    /// The graph as DOT, in the reply to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_dot: Option<String>,
    /// The graph as Mermaid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mermaid: Option<String>,
    /// The graph as nodes with their parents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph: Option<Vec<GraphNode>>,
    /// The address of the resource that has the graph, where it is too large for a reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph_resource: Option<String>,
}

/// One node of the graph.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GraphNode {
    /// The node.
    pub node_id: String,
    /// The node it extends; absent for a root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Its state; absent while it is only proposed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Its title.
    pub title: String,
}

impl Shared {
    /// Of a call that went through; without a message of its own the next legal step is the message.
    pub fn done(standing: &Standing, commit: Option<CommitId>, warnings: &[Diagnostic]) -> Shared {
        let outlook = standing::outlook(standing.investigation(), &standing.rules());
        // What still lacks children is owed, and told there.
        let warnings = warnings.iter().filter(|warning| !matches!(warning.code, Code::Incomplete(_)));
        let mut warnings: Vec<Diagnostic> = warnings.cloned().collect();
        let mut told = HashSet::new();
        for warning in &mut warnings {
            warning.suggestion.take_if(|suggestion| !told.insert(suggestion.clone()));
        }
        Shared {
            warnings,
            commit: commit.map(|commit| commit.to_string()),
            ..Shared::standing(standing, &outlook)
        }
    }

    /// Of a reading call, with how the investigation stands.
    pub fn standing(standing: &Standing, outlook: &Outlook) -> Shared {
        let investigation = standing.investigation();
        Shared {
            session: Some(investigation.meta().id),
            status: Status::Ok,
            message: outlook.next_action.clone(),
            current_round: Some(investigation.current_round()),
            can_end: outlook.blockers.list.is_empty(),
            owed: debts(&outlook.blockers),
            ..Shared::default()
        }
    }

    /// Of a call that is about no single investigation.
    pub fn apart(message: String) -> Shared {
        Shared { status: Status::Ok, message, ..Shared::default() }
    }

    /// Of a write that went through.
    pub fn written(written: &Written) -> Shared {
        let commit = written.decision.event.is_some().then_some(written.standing.snapshot.head);
        let shared = Shared::done(&written.standing, commit, &written.decision.warnings);
        shared.after_what_changed(&written.before, &written.standing)
    }

    /// Adds to the message, before the next step, what the call did to answers beyond the nodes that it names.
    pub fn after_what_changed(self, before: &Investigation, standing: &Standing) -> Shared {
        let Turned { refuted, unconfirmed } = turned(before, standing.investigation(), &standing.rules());
        let mut message = String::new();
        if !refuted.is_empty() {
            message.push_str(&format!("Refuted now: {}. ", shortened(&refuted, NAMED)));
        }
        if !unconfirmed.is_empty() {
            let named = shortened(&unconfirmed, NAMED);
            message.push_str(&format!(
                "No longer confirmed: {named}. tot_step with `strategy: verify` proposes what renews it, for another agent to \
                 research. "
            ));
        }
        Shared { message: message + &self.message, ..self }
    }

    /// Of a reading call on an investigation whose rules can't be used.
    pub fn unjudged(unjudged: &Unjudged) -> Shared {
        let investigation = &unjudged.snapshot.investigation;
        let error = std::slice::from_ref(&unjudged.error);
        let mut blockers = Blockers::default();
        blockers.push(unjudged.error.clone());
        Shared {
            session: Some(investigation.meta().id),
            status: Status::Ok,
            message: first_error(error),
            warnings: error.to_vec(),
            current_round: Some(investigation.current_round()),
            owed: debts(&blockers),
            ..Shared::default()
        }
    }

    /// Of a call that was refused.
    pub fn refused(refusal: &Refusal) -> Shared {
        let standing = refusal.standing.as_ref();
        let can_end = standing
            .is_some_and(|it| standing::outlook(it.investigation(), &it.rules()).blockers.list.is_empty());
        Shared {
            session: standing.map(|it| it.investigation().meta().id),
            message: "Nothing was written: mend the call as the errors say.".to_owned(),
            errors: each_once(refusal.errors.clone()),
            can_end,
            ..Shared::default()
        }
    }

    /// Whether nothing was done, or not all of it.
    pub fn is_rejected(&self) -> bool {
        self.status == Status::Rejected
    }

    /// What is sent of a call that was done.
    pub fn head(&self) -> Head<'_> {
        let Shared { status, current_round, can_end, .. } = *self;
        Head { status, message: &self.message, commit: self.commit.as_deref(), current_round, can_end }
    }

    /// The doubts, which give way after all other advice.
    pub fn warnings(&self) -> Warnings<'_> {
        Warnings { warnings: &self.warnings }
    }

    /// What else is sent of it.
    pub fn advice(&self) -> Advice<'_> {
        Advice { owed: &self.owed }
    }

    /// What is sent of a call that was rejected.
    pub fn rejection(&self) -> Rejection<'_> {
        let no_such = self.errors.iter().any(|error| error.code == Code::SessionNotFound);
        let can_end = (self.session.is_some() || no_such).then_some(self.can_end);
        Rejection { status: self.status, message: &self.message, errors: &self.errors, can_end }
    }
}

/// The blockers, as a reply lists them.
fn debts(blockers: &Blockers) -> Vec<Debt> {
    let told = |debt: &rules::Debt| {
        let first = blockers.list.iter().find(|blocker| blocker.code == debt.code);
        Debt {
            code: debt.code.clone(),
            count: (debt.count > 1).then_some(debt.count),
            // The message names a single one.
            node_ids: if debt.count > 1 { debt.nodes.clone() } else { Vec::new() },
            message: first.map(|first| first.message.clone()).unwrap_or_default(),
        }
    };
    blockers.debts.iter().map(told).collect()
}

/// The errors, one for a mistake that the call makes in several places: it names the others.
pub fn each_once(errors: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut each: Vec<(Diagnostic, String, Vec<String>, usize)> = Vec::new();
    for error in errors {
        let mut mistake =
            error.node.as_ref().map_or(error.message.clone(), |node| error.message.replace(node, ""));
        while let Some((from, to)) = index_in(&mistake) {
            mistake.replace_range(from..to, "");
        }
        let is_same = |(one, known, ..): &&mut (Diagnostic, String, Vec<String>, usize)| {
            (&one.code, &one.suggestion, known.as_str()) == (&error.code, &error.suggestion, mistake.as_str())
        };
        match each.iter_mut().find(is_same) {
            Some((_, _, nodes, more)) => {
                *more += 1;
                nodes.extend(error.node);
            }
            None => each.push((error, mistake, Vec::new(), 0)),
        }
    }
    let told = each.into_iter().map(|(mut error, _, nodes, more)| {
        match (more, nodes.as_slice()) {
            (0, _) => {}
            (_, []) => error.message.push_str(&format!(", and so in {}", counted(more, "more place"))),
            (_, nodes) => error.message.push_str(&format!(" The same of {}.", shortened(nodes, 10))),
        }
        error
    });
    told.collect()
}

/// Where the first index stands, as in `nodes[2].id`.
fn index_in(text: &str) -> Option<(usize, usize)> {
    text.match_indices('[').find_map(|(from, _)| {
        let length = text[from + 1..].find(']').filter(|length| *length > 0)?;
        let is_index = text[from + 1..from + 1 + length].bytes().all(|byte| byte.is_ascii_digit());
        is_index.then_some((from, from + length + 2))
    })
}

/// The first error with what to do about it, and how many more there are.
pub fn first_error(errors: &[Diagnostic]) -> String {
    let Some(first) = errors.first() else { return String::new() };
    let suggestion = first.suggestion.as_deref().map(|text| format!(" {text}")).unwrap_or_default();
    let more = match errors.len() {
        0 | 1 => String::new(),
        2 => " One more error is listed.".into(),
        many => format!(" {} more errors are listed.", many - 1),
    };
    format!("{}{suggestion}{more}", first.message)
}

impl From<&Transition> for TransitionEntry {
    fn from(transition: &Transition) -> Self {
        TransitionEntry {
            node_id: transition.node.id.to_string(),
            from: transition.from.to_string(),
            state: transition.to.to_string(),
            by: transition.by.as_ref().map(ToString::to_string),
        }
    }
}

/// The quality figures. Six digits are more than they mean, and spare an agent 0.30000000000000004.
pub fn figures(quality: &Quality) -> Value {
    let mut figures = serde_json::to_value(quality).unwrap_or_default();
    for (_, figure) in figures.as_object_mut().into_iter().flatten().filter(|(_, figure)| figure.is_f64()) {
        *figure = figure.as_f64().map_or(Value::Null, |size| Value::from((size * 1e6).round() / 1e6));
    }
    figures
}

/// The ids of the pending proposals.
pub fn pending(investigation: &Investigation) -> Vec<String> {
    investigation.pending().map(|node| node.id.to_string()).collect()
}

/// The beginning of a finding.
pub fn summary(findings: &str) -> String {
    markdown::excerpt(findings, SUMMARY)
}

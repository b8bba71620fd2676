//! `tot commit -m TEXT`: stores a finding in one line.

use clap::Args;

use super::{lines, listed, state_lines, stored};
use crate::cli::ExitResult;
use crate::cli::propose::{fresh, place};
use crate::cli::work::{self, WorkTarget};
use crate::decide::commit::{NewVerification, NodeResult};
use crate::decide::next::{Next, states_that_count};
use crate::decide::propose::NewNode;
use crate::domain::fresh::Ids;
use crate::domain::{Node, NodeId};
use crate::markdown::without_links;
use crate::ruleset::{Role, State};
use crate::service::reply::{ReplyFields, StoredResults};
use crate::text::{one_line, shorten};

/// The options of a finding in one line.
#[derive(Args)]
pub(super) struct FindingArguments {
    /// Finding in Markdown, or - for standard input: commits the pending node, or else proposes a node and commits it in one
    /// step. NODE is then the pending node or the parent; default: the one that `tot next` names
    #[arg(short, long, value_name = "TEXT")]
    pub message: Option<String>,
    /// State, as listed by `tot util ruleset show`; default: the open state
    #[arg(long, value_name = "STATE", requires = "message")]
    state: Option<String>,
    /// Evidence: what was measured, read or reproduced
    #[arg(long, value_name = "TEXT", requires = "message")]
    evidence: Option<String>,
    /// Alternative that was considered; can be given several times
    #[arg(long = "alternative", value_name = "TEXT", requires = "message")]
    alternatives: Vec<String>,
}

/// Stores the finding `text` in the pending node or below the parent with this id.
pub(super) fn commit(
    subject: &WorkTarget,
    arguments: &FindingArguments,
    text: &str,
    named: Option<NodeId>,
) -> ExitResult {
    let text = work::text(text)?;
    if text.trim().is_empty() {
        return Err("the finding is blank: say in a sentence what was tried, and what was found".into());
    }
    let investigation = subject.investigation();
    let pending: Vec<&Node> = investigation.pending().map(AsRef::as_ref).collect();
    if named.is_none() && pending.len() > 1 {
        return Err(format!("several nodes are proposed: name one of {}", listed(&pending)).into());
    }
    let proposed = pending.into_iter().find(|node| named.as_ref().is_none_or(|id| node.id == *id));
    let rules = subject.loaded.rules();
    let asked = arguments.state.as_deref().and_then(|state| rules.ruleset().state_meant(state, "").ok());
    let parent = match (proposed, named) {
        (Some(node), _) => node.parent.clone(),
        (None, Some(id)) => Some(id),
        (None, None) => place(subject, asked.as_ref())?,
    };
    let state = match &arguments.state {
        Some(state) => state.clone(),
        None => meant(subject, parent.as_ref())?,
    };
    // The first line becomes the title of a new node, or the headline of a pending one.
    let line = without_links(&one_line(text.trim().lines().next().unwrap_or_default()));
    let heading = line.trim_start_matches('#').strip_prefix(' ');
    let line = &shorten(heading.unwrap_or(&line), 120);
    let id = match proposed {
        Some(node) => node.id.clone(),
        None => fresh(subject, &mut Ids::new(investigation), parent.as_ref())?.into(),
    };
    let result = NodeResult {
        node_id: id.to_string(),
        state,
        findings: text.trim().to_owned(),
        headline: proposed.map(|_| line.clone()),
        evidence: arguments.evidence.clone(),
        verification: NewVerification::new(None, arguments.alternatives.clone()),
        ..NodeResult::default()
    };
    let (service, caller) = (subject.service(), subject.caller()?);
    if proposed.is_some() {
        let replied = service.commit(&subject.id(), vec![result], &caller);
        return subject.tell(replied.map(|written| stored(&written)), lines);
    }
    let parent = parent.as_ref().map(ToString::to_string);
    let (id, title) = (id.to_string(), line.clone());
    let node = NewNode { id, parent, title, is_id_chosen: true, ..NewNode::default() };
    // A single call stores either everything or nothing.
    let replied = service.step(&subject.id(), vec![result], Some(vec![node]), &Next::default(), &caller);
    let replied = replied.map(|turn| {
        let shared = ReplyFields::done(&turn.loaded, turn.commits.last().copied(), &turn.warnings());
        let stored = turn.decisions.last().map(StoredResults::of).unwrap_or_default();
        (shared.after_what_changed(&turn.before, &turn.loaded), stored)
    });
    subject.tell(replied, lines)
}

/// Returns the default state of a finding: the only allowed state, or an open one that the parent accepts.
fn meant(subject: &WorkTarget, parent: Option<&NodeId>) -> Result<String, String> {
    let (investigation, rules) = (subject.investigation(), subject.loaded.rules());
    let parent = parent.and_then(|id| investigation.node(id)).map(AsRef::as_ref);
    let states = states_that_count(investigation, &rules, parent);
    let waits = parent.and_then(|parent| rules.requirement(investigation, parent)).and_then(|owed| owed.of);
    let open = |state: &&&State| {
        state.role == Role::Open && waits.as_ref().is_none_or(|of| of.contains(&state.name))
    };
    let only = states.first().filter(|_| states.len() == 1);
    let state = only.or_else(|| states.iter().find(open)).map(|state| state.name.to_string());
    state.ok_or_else(|| {
        let place =
            parent.map_or_else(|| "a root".to_owned(), |parent| format!("a node below {}", parent.id));
        format!(
            "give the state with --state. States that count for {place}:\n{}",
            state_lines(&rules, &states)
        )
    })
}

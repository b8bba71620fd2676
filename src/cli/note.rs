//! `tot note`: stores a finding in one line.

use clap::Args;

use super::commit::{lines, state_lines, stored};
use super::propose::place;
use super::work::{self, LocalTools, WorkArguments, WorkTarget};
use super::{ExitResult, misused};
use crate::decide::commit::{NewVerification, NodeResult};
use crate::decide::next::{Next, next, states_that_count};
use crate::decide::propose::NewNode;
use crate::domain::fresh::Ids;
use crate::domain::{Node, NodeId};
use crate::ruleset::{Role, State};
use crate::service::reply::{ReplyFields, StoredResults};
use crate::text::{one_line, shorten};

/// Store a finding in one line: proposes a node and commits it in one step, or commits the pending node.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct NoteArguments {
    /// Investigation (id, prefix or suffix; optional when there is only one), then the finding in Markdown, or - for standard
    /// input, then a pending node or the parent; default: the node that `tot next` names
    #[arg(value_names = ["TEXT", "NODE"], required = true, num_args = 1..=3)]
    what: Vec<String>,
    /// State, as listed by `tot ruleset show`; default: the open state
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// Evidence: what was measured, read or reproduced
    #[arg(long, value_name = "TEXT")]
    evidence: Option<String>,
    /// Alternative that was considered; can be given several times
    #[arg(long = "alternative", value_name = "TEXT")]
    alternatives: Vec<String>,
    #[command(flatten)]
    work: WorkArguments,
}

const EXAMPLES: &str = "\
Examples:
  tot note 'The planner picks another index after the upgrade'
  tot note 'The disk is as fast as before' R1.A --state DEAD
  tot note 0196 - --state FOUND --evidence 'Measured: 41 ms before, 97 ms after' <finding.md";

pub(super) fn run(arguments: &NoteArguments) -> ExitResult {
    let (id, text, named) = match arguments.what.as_slice() {
        [text] => (None, text, None),
        [text, node] if node.parse::<NodeId>().is_ok() => (None, text, Some(node)),
        [id, text] => (Some(id.as_str()), text, None),
        [id, text, node] => (Some(id.as_str()), text, Some(node)),
        _ => return Err(misused("give a finding, and optionally a node")),
    };
    let tools = LocalTools::new("tot note", &arguments.work)?;
    if id.is_none() && tools.place.names_one(text, "a finding")? {
        return Err(misused("give a finding after the id"));
    }
    let text = work::text(text)?;
    let named = named.map(|node| super::place::node(node)).transpose()?;
    let subject = tools.subject(id)?;
    let investigation = subject.investigation();
    let pending: Vec<&Node> = investigation.pending().map(AsRef::as_ref).collect();
    let proposed = match (&named, pending.as_slice()) {
        (Some(id), all) => all.iter().find(|node| node.id == *id).copied(),
        (None, []) => None,
        (None, [only]) => Some(*only),
        (None, all) => {
            let names: Vec<&str> = all.iter().take(8).map(|node| node.id.as_str()).collect();
            return Err(format!("several nodes are proposed: name one of {}", names.join(", ")).into());
        }
    };
    let rules = subject.loaded.rules();
    let asked = arguments.state.as_deref().and_then(|state| rules.ruleset().state_meant(state, "").ok());
    let parent = match (proposed, named) {
        (Some(node), _) => node.parent.clone(),
        (None, Some(id)) => Some(id),
        (None, None) => place(&subject, asked.as_ref())?,
    };
    let state = match &arguments.state {
        Some(state) => state.clone(),
        None => meant(&subject, parent.as_ref())?,
    };
    // The first line becomes the title of a new node, or the headline of a pending one.
    let line = one_line(text.trim().lines().next().unwrap_or_default());
    let heading = line.trim_start_matches('#').strip_prefix(' ');
    let line = &shorten(heading.unwrap_or(&line), 120);
    let id = match proposed {
        Some(node) => node.id.clone(),
        None => super::propose::fresh(&subject, &mut Ids::new(investigation), parent.as_ref())?,
    };
    let (service, caller) = (subject.service(), subject.caller()?);
    let request = Next::default();
    let result = NodeResult {
        node_id: id.to_string(),
        state,
        findings: text.trim().to_owned(),
        headline: proposed.map(|_| line.clone()),
        evidence: arguments.evidence.clone(),
        verification: NewVerification::new(None, arguments.alternatives.clone()),
        ..NodeResult::default()
    };
    let parent = parent.as_ref().map(ToString::to_string);
    let node = NewNode { id: id.to_string(), parent, title: line.clone(), ..NewNode::default() };
    if proposed.is_some() {
        let replied = service.commit(&subject.id(), vec![result], &caller);
        return subject.tell(replied.map(|written| stored(&written)), lines);
    }
    // A single call stores either everything or nothing.
    let replied = service.step(&subject.id(), vec![result], Some(vec![node]), &request, &caller);
    let replied = replied.and_then(|turn| {
        let (loaded, warnings) = (&turn.loaded, turn.warnings());
        let plan = next(loaded.investigation(), &loaded.rules(), &request, service.now()?)?;
        let shared = ReplyFields::done(loaded, turn.commits.last().copied(), &warnings);
        let shared = shared.stepping(plan.next_step).after_what_changed(&turn.before, loaded);
        Ok((shared, turn.decisions.last().map(StoredResults::of).unwrap_or_default()))
    });
    subject.tell(replied, lines)
}

/// Returns the default state of a note: the only allowed state, or an open one that the parent accepts.
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

//! `tot propose`: proposes or withdraws nodes to research.

use std::path::Path;

use clap::Args;
use serde_json::Value;

use super::draft;
use super::work::{self, LocalTools, WorkArguments, WorkTarget, piped};
use super::{CommandError, CommandResult, ExitResult, misused};
use crate::decide::next::{Next, Task, next, place_of_next};
use crate::decide::propose::{NewNode, Propose};
use crate::domain::fresh::Ids;
use crate::domain::{Caller, Node, NodeId, ShortId, StateName};
use crate::service::Refusal;
use crate::service::reply::{self, Advised, ProposeAdvice, ProposeBody, Replied};
use crate::text::one_line;

/// Propose nodes to research, or withdraw proposals. Everything is stored in one commit, or nothing is.
///
/// A title is enough: the new node goes below the node that `tot next` names, or below --below. Files and your editor also accept
/// ids of the form R<round>.<suffix>: R1.A is a root, R2.A1 its child, R3.A1a a child of R2.A1. Proposing a pending id again
/// replaces that proposal.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct ProposeArguments {
    /// Titles, or a file; - for standard input. Default: standard input, or your editor at a terminal, with the required nodes
    /// filled in
    #[arg(value_name = "TITLE|FILE", conflicts_with = "next")]
    titles: Vec<String>,
    /// Parent of the new nodes; default: the node that `tot next` names
    #[arg(long, value_name = "NODE")]
    below: Option<String>,
    /// Propose the required nodes, with generated titles
    #[arg(long, conflicts_with = "below")]
    next: bool,
    /// Withdraw these pending proposals
    #[arg(long, value_name = "NODE", num_args = 1..)]
    withdraw: Vec<String>,
    /// Reopen the investigation, which has ended, for the reason in -m
    #[arg(long, requires = "message", conflicts_with = "next")]
    reopen: bool,
    /// Why it is reopened; - for standard input
    #[arg(short, long, value_name = "TEXT", requires = "reopen", conflicts_with = "next")]
    message: Option<String>,
    #[command(flatten)]
    work: WorkArguments,
}

const EXAMPLES: &str = "\
Examples:
  tot propose --next                the required nodes
  tot propose                       in your editor, with the required nodes filled in
  tot propose 'Read the slow query log' 'Ask the vendor' --below R1.A
  tot propose --withdraw R2.A1 R2.A2
  tot propose 'Try it on the other disk' --below R2.A1 --reopen -m 'It was measured on one disk only.'
  tot propose nodes.yaml

A file is YAML, or JSON as for the tool tot_propose:

  nodes:
  - id: R2.A1                       optional
    title: Read the slow query log
    plannedAction: Look for plans that changed.";

const HELP: &str = "\
One node per line, ID optional; its task is indented below. R1.A is a root, R2.A1 its child, R3.A1a
a child of R2.A1. Everything below this line is ignored. If unchanged, nothing is proposed.";

pub(super) fn run(arguments: &ProposeArguments) -> ExitResult {
    let titles = arguments.titles.as_slice();
    let files = titles.iter().map(|word| is_draft(word)).collect::<Result<Vec<bool>, _>>()?;
    let subject = LocalTools::new("tot propose", &arguments.work)?.subject()?;
    let caller = subject.caller()?;
    let reopen = arguments.message.as_deref().map(work::text).transpose()?;
    let mut call = match titles {
        [file] if files == [true] => match of_text(&work::read(file)?)? {
            Ok(call) => call,
            Err(refusal) => return subject.tell(Err(refusal), lines),
        },
        [_, ..] if files.contains(&true) => return Err(misused("give titles, or one file")),
        [_, ..] => {
            let node = |title: &String| NewNode { title: title.clone(), ..NewNode::default() };
            Propose { nodes: titles.iter().map(node).collect(), ..Propose::default() }
        }
        [] if arguments.next => {
            let nodes: Vec<NewNode> = planned(&subject)?.into_iter().map(node_of).collect();
            if nodes.is_empty() && subject.investigation().end_in_force().is_none() {
                return Err(nothing_owed(&subject).into());
            }
            Propose { nodes, ..Propose::default() }
        }
        [] if !arguments.withdraw.is_empty() => Propose::default(),
        [] => match piped("arguments")? {
            Some(text) => match of_text(&text)? {
                Ok(call) => call,
                Err(refusal) => return subject.tell(Err(refusal), lines),
            },
            None => return edit(&subject, arguments, reopen),
        },
    };
    complete(&subject, &mut call.nodes, arguments.below.as_ref())?;
    call.reopen = reopen.or(call.reopen);
    call.withdraw.extend(arguments.withdraw.iter().cloned());
    subject.tell(proposed(&subject, call, &caller), lines)
}

/// The reply to a proposal.
type Proposed = Advised<ProposeBody, ProposeAdvice>;

fn proposed(subject: &WorkTarget, call: Propose, caller: &Caller) -> Replied<Proposed> {
    let written = subject.service().propose(&subject.id(), call, caller)?;
    let (shared, body, advice) = reply::proposed(&written);
    Ok((shared, Advised { body, advice }))
}

/// Returns whether a word is a file of proposals, and not a title.
///
/// # Errors
///
/// Returns an error for a word that could be either, or that is a node id.
fn is_draft(word: &str) -> CommandResult<bool> {
    let path = Path::new(word);
    let is_there = path.exists() && !path.is_dir();
    let is_path =
        path.is_absolute() || ["./", "../", ".\\", "..\\", "~/"].iter().any(|start| word.starts_with(start));
    let ending = path.extension().map(|ending| ending.to_ascii_lowercase());
    let is_named =
        ending.is_some_and(|ending| ["yaml", "yml", "json", "md", "txt"].iter().any(|it| ending == *it));
    if word.parse::<NodeId>().is_ok() {
        return Err(misused(format!(
            "`{word}` is a node id, not a title: `--below {word}` proposes below it; a file or your editor gives the new node this id"
        )));
    }
    match (is_there, is_path || is_named) {
        _ if word == "-" => Ok(true),
        (true, true) => Ok(true),
        (true, false) => Err(misused(format!(
            "`{}` could be a title or the file of that name: write ./ before the file, or more words for the title",
            one_line(word)
        ))),
        // A title in a script without spaces may end in a file name.
        (false, _) => match !word.contains(char::is_whitespace) && (is_path || (is_named && word.is_ascii()))
        {
            true => Err(misused(format!("there is no file `{word}`; to be a title, it needs another word"))),
            false => Ok(false),
        },
    }
}

fn edit(subject: &WorkTarget, arguments: &ProposeArguments, reopen: Option<String>) -> ExitResult {
    let task = |task: Task| format!("{} {}\n    {}\n", task.id, task.title, task.planned_action);
    let draft: String = planned(subject)?.into_iter().map(task).collect();
    let edited = subject.edit(("tot propose", ""), "TOT_PROPOSE.txt", &draft, HELP).map_err(|error| {
        if !matches!(error, CommandError::Unchanged) || draft.is_empty() {
            return error;
        }
        let take = subject.command("tot propose", "--next");
        format!("unchanged, so nothing was proposed. To accept the draft as it is: `{take}`").into()
    })?;
    let caller = subject.caller()?;
    let call = |text: &str| -> Result<Replied<Proposed>, String> {
        let nodes = draft::titles(text);
        let mut call = Propose { nodes, reopen: reopen.clone(), ..Propose::default() };
        complete(subject, &mut call.nodes, arguments.below.as_ref()).map_err(|error| error.to_string())?;
        Ok(proposed(subject, call, &caller))
    };
    subject.call_edited(edited, call, lines)
}

fn of_text(text: &str) -> Result<Result<Propose, Refusal>, draft::DraftError> {
    if text.split_whitespace().next().is_some_and(|word| word.parse::<NodeId>().is_ok()) {
        return Ok(Ok(Propose { nodes: draft::titles(text), ..Propose::default() }));
    }
    let mut fields = draft::batch(text, "nodes", "plannedAction")?;
    // A node without an id gets a free one.
    let nodes = fields.get_mut("nodes").and_then(Value::as_array_mut).into_iter().flatten();
    for node in nodes.filter_map(Value::as_object_mut) {
        node.entry("id").or_insert_with(|| Value::from(""));
    }
    Ok(work::understood(fields))
}

fn node_of(task: Task) -> NewNode {
    let parent = task.parent.as_ref().map(ToString::to_string);
    let Task { id, title, planned_action, .. } = task;
    NewNode { id: id.to_string(), parent, title, planned_action, ..NewNode::default() }
}

/// Returns the required tasks, or the recommended ones if nothing is required.
fn planned(subject: &WorkTarget) -> CommandResult<Vec<Task>> {
    let now = subject.service().now()?;
    let plan = next(subject.investigation(), &subject.loaded.rules(), &Next::default(), now);
    let mut tasks = plan.map_err(Refusal::from)?.tasks;
    let is_any_required = tasks.iter().any(|task| task.is_required);
    tasks.retain(|task| task.is_required || !is_any_required);
    Ok(tasks)
}

/// Explains why `--next` proposes nothing.
fn nothing_owed(subject: &WorkTarget) -> String {
    match subject.investigation().pending().next() {
        Some(node) => {
            let commit = subject.command("tot commit", node.id.as_str());
            format!("no other node is required until {} is committed: `{commit}`", node.id)
        }
        None => {
            let (next, add) = (subject.command("tot next", ""), subject.command("tot propose", "TITLE"));
            format!("no node is required: `{next}` shows the next step, and `{add}` adds a node anyway")
        }
    }
}

/// Fills in the parents of nodes with an id, and the ids of nodes without one. A node without an id is placed below `below`, or
/// in the default place if that is `None`.
fn complete(subject: &WorkTarget, nodes: &mut [NewNode], below: Option<&String>) -> CommandResult {
    let investigation = subject.investigation();
    let mut ids = Ids::new(investigation);
    nodes.iter().filter_map(|node| node.id.parse().ok()).for_each(|id| drop(ids.take(&id)));
    let mut next = below.map(|below| subject.node_id(below)).transpose()?.map(Some);
    for node in nodes {
        let given = node.parent.as_ref().and_then(|parent| investigation.find(parent).ok());
        if node.id.is_empty() {
            let parent = match (given, &next) {
                (Some(parent), _) => Some(parent.id.clone()),
                (None, Some(place)) => place.clone(),
                (None, None) => next.insert(place(subject, None)?).clone(),
            };
            node.id = fresh(subject, &mut ids, parent.as_ref())?.to_string();
            node.is_id_chosen = true;
            node.parent = parent.as_ref().map(ToString::to_string);
        } else if node.parent.is_none()
            && let Ok(id) = node.id.parse::<ShortId>()
        {
            let is_above = |node: &&Node| {
                id.suffix().len() > node.id.suffix().len() && id.suffix().starts_with(node.id.suffix())
            };
            let above = investigation.in_round(id.round().saturating_sub(1)).map(AsRef::as_ref);
            let above = above.filter(is_above).max_by_key(|node| node.id.suffix().len());
            node.parent = above.map(|node| node.id.to_string());
        }
    }
    Ok(())
}

/// Returns the default parent for a new node, or `None` if the node becomes a root.
pub(super) fn place(subject: &WorkTarget, state: Option<&StateName>) -> CommandResult<Option<NodeId>> {
    let place = place_of_next(subject.investigation(), &subject.loaded.rules(), state);
    Ok(place.ok_or_else(|| match (state, subject.investigation().pending().next()) {
        (Some(state), _) => {
            format!("no open node accepts a child in the state {state}: `tot next` shows the next step")
        }
        (None, Some(node)) => format!("commit {} first, then propose below it", node.id),
        (None, None) => "no open nodes are left: `tot next` shows the next step".to_owned(),
    })?)
}

/// Returns an unused id for a child of `parent`, or for a root if there is no parent.
pub(super) fn fresh(subject: &WorkTarget, ids: &mut Ids, parent: Option<&NodeId>) -> Result<ShortId, String> {
    let (investigation, rules) = (subject.investigation(), subject.loaded.rules());
    let id = match parent {
        Some(parent) => ids.child(parent.short()),
        None => ids.root(rules.root_ids(investigation)),
    };
    id.ok_or_else(|| match parent {
        Some(parent) => format!("no ids are left below {parent}: propose below another node with --below"),
        None => "the ruleset allows no more roots: propose and commit the first title alone, then the others below it"
            .to_owned(),
    })
}

fn lines(Advised { body, .. }: &Proposed) -> String {
    let said = |ids: &[String], what: &str| ids.iter().map(|id| format!("{what} {id}\n")).collect::<String>();
    said(&body.approved_nodes, "proposed") + &said(&body.withdrawn, "withdrawn")
}

//! `tot propose`: nodes to be researched next, or proposals that are taken back.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};

use super::draft;
use super::misused;
use super::work::{self, Subject, Work, WorkArguments, Worked, fields, id_and_rest, list, piped};
use crate::decide::next::{Next, Task, next};
use crate::domain::NodeId;
use crate::yaml::{self, Text};

/// Registers nodes to research, or takes proposals back. All of it is one commit, or nothing.
///
/// An id is R<round>.<suffix>: R1.A is a root, R2.A1 its child, R3.A1a a child of that. Proposing a pending id again replaces
/// it.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct ProposeArguments {
    /// The investigation (an id, or the beginning or ending of one; not where there is only one), then a file, or - for standard
    /// input. Without one your editor opens with what `tot next` gives, or standard input is read where that is no terminal
    #[arg(value_names = ["ID", "FILE"], num_args = 0..=2)]
    what: Vec<String>,
    /// Propose what `tot next` gives as it stands
    #[arg(long)]
    next: bool,
    /// Take this pending proposal back; for several, give it several times
    #[arg(long, value_name = "NODE")]
    withdraw: Vec<NodeId>,
    #[command(flatten)]
    work: WorkArguments,
}

const EXAMPLES: &str = "\
Examples:
  tot propose                       in your editor
  tot propose --next                what tot next gives
  tot propose --withdraw R2.A1
  tot propose 0196 nodes.yaml

A file is YAML, or the JSON of the tool tot_propose:

  nodes:
  - id: R2.A1
    parent: R1.A                    not for a root
    title: Read the slow query log
    plannedAction: Look for plans that changed.";

const HELP: &str = "\
What is to be researched next, as YAML. Change it, or add to it: R1.A is a root, R2.A1 its
child, R3.A1a a child of that. What stands below the line is left out. A text without a change
gives it up: `tot propose --next` takes all of it as it stands.";

/// The proposals of a template, as they are to be written.
#[derive(Serialize)]
struct Nodes {
    nodes: Vec<Proposal>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Proposal {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    title: Text,
    planned_action: Text,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    covers: Vec<String>,
}

pub(super) fn run(arguments: &ProposeArguments) -> ExitCode {
    work::status("tot propose", propose(arguments))
}

fn propose(arguments: &ProposeArguments) -> Worked {
    let (id, files) = id_and_rest(&arguments.what);
    let subject = Work::new(&arguments.work).subject(id)?;
    let mut edited = None;
    let mut call = match files {
        [file] => draft::batch(&work::read(file)?, "nodes", "plannedAction")?,
        [] if arguments.next => fields([("nodes", json!(planned(&subject)?.nodes))]),
        [] if !arguments.withdraw.is_empty() => fields([]),
        [] => match piped()? {
            Some(text) => draft::batch(&text, "nodes", "plannedAction")?,
            None => {
                let text = yaml::to_text(&planned(&subject)?)?;
                let written =
                    edited.insert(subject.edit(("tot propose", ""), "TOT_PROPOSE.yaml", &text, HELP)?);
                written.understood(draft::batch(&written.text, "nodes", "plannedAction"))?
            }
        },
        _ => return Err(misused("give one file")),
    };
    if !arguments.withdraw.is_empty() {
        let ids: Vec<String> = arguments.withdraw.iter().map(ToString::to_string).collect();
        call.insert("withdraw".to_owned(), json!(ids));
    }
    subject.call("tot_propose", call, edited.as_ref(), lines)
}

/// What there is to be proposed.
fn planned(subject: &Subject) -> Result<Nodes, Box<dyn std::error::Error>> {
    let service = subject.service();
    let now = service.now().map_err(super::refused)?;
    let plan = next(subject.investigation(), &subject.standing.rules(), &Next::default(), now);
    let plan = plan.map_err(|rejection| super::refused(rejection.into()))?;
    let proposal = |task: Task| Proposal {
        id: task.id.to_string(),
        parent: task.parent.map(|parent| parent.to_string()),
        title: Text(task.title),
        planned_action: Text(task.planned_action),
        covers: task.covers,
    };
    Ok(Nodes { nodes: plan.tasks.into_iter().map(proposal).collect() })
}

fn lines(reply: &Value) -> String {
    let said = |field, what: &str| {
        list(reply, field)
            .map(|id| format!("{what} {}\n", id.as_str().unwrap_or_default()))
            .collect::<String>()
    };
    said("approvedNodes", "proposed") + &said("withdrawn", "taken back") + &work::outcome(reply)
}

//! `tot next`: plans the next research.

use clap::Args;
use serde_json::{Value, json};

use super::ExitResult;
use super::work::{LocalTools, WorkArguments, fields, list, word};
use crate::text::one_line;

/// Show what to research next: pending proposals, new nodes with valid ids, and the next command.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct NextArguments {
    /// Investigation: id, prefix or suffix; optional when there is only one
    id: Option<String>,
    /// Maximum number of tasks
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=20))]
    max_tasks: u32,
    /// Show the full brief of each task, as agents get it
    #[arg(long)]
    full: bool,
    /// Claim the pending tasks, so that nobody else does the same work
    #[arg(long)]
    claim: bool,
    /// Name of the agent: tasks claimed by others are left out. With --claim, the default is the author of your commits
    #[arg(long = "as", value_name = "NAME")]
    agent: Option<String>,
    #[command(flatten)]
    work: WorkArguments,
}

const EXAMPLES: &str = "\
Examples:
  tot next
  tot next 0196 --max-tasks 3 --full
  tot next --claim";

pub(super) fn run(arguments: &NextArguments) -> ExitResult {
    let subject = LocalTools::new("tot next", &arguments.work)?.subject(arguments.id.as_deref())?;
    let agent = match (&arguments.agent, arguments.claim) {
        (None, true) => {
            Some(subject.author()?.ok_or("git does not know your name: name the claimant with --as")?)
        }
        (agent, _) => agent.clone(),
    };
    let call = fields([
        ("maxTasks", json!(arguments.max_tasks)),
        ("brief", json!(arguments.full.then_some("full"))),
        ("agentId", json!(agent)),
        ("claim", json!(arguments.claim.then_some(true))),
    ]);
    subject.call("tot_next", call, lines)
}

fn lines(reply: &Value) -> String {
    let mut text = String::new();
    for task in list(reply, "tasks") {
        let pending = if task["pending"] == true { "  (proposed)" } else { "" };
        // The last step of the path is the task itself.
        text.push_str(&format!("{}{pending}\n", one_line(word(task, "path"))));
        let ask = Some(word(task, "ask")).filter(|ask| !ask.is_empty());
        text.extend(ask.map(|ask| format!("    {}\n", one_line(ask))));
        text.push_str(&format!("    counts as {}\n", one_line(word(task, "counts"))));
        text.extend(word(task, "prompt").lines().map(|line| format!("      {}\n", one_line(line))));
    }
    for claim in list(reply, "claimed") {
        let (node, agent, until) = (word(claim, "nodeId"), word(claim, "agentId"), word(claim, "until"));
        text.push_str(&(one_line(&format!("{node} is claimed by {agent} until {until}")) + "\n"));
    }
    text
}

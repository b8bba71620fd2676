//! `tot next`: plans the next research.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::work::{LocalTools, WorkArguments, fields, list, word};
use super::{ExitResult, value_name};
use crate::text::one_line;

/// Show what to research next: pending proposals, new nodes with valid ids, and the next command.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct NextArguments {
    /// Investigation: id, prefix or suffix; optional when there is only one
    id: Option<String>,
    /// Which tasks come first
    #[arg(long, value_name = "WHAT", default_value = "owed")]
    strategy: StrategyArgument,
    /// Maximum number of tasks
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=20))]
    max_tasks: u32,
    /// A parameter and its values: plans tasks that cover all combinations; can be given several times
    #[arg(long, value_name = "NAME=VALUE,…", value_parser = dimension)]
    dimension: Vec<(String, Vec<String>)>,
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
  tot next 0196 --strategy verify --max-tasks 3
  tot next --dimension os=linux,mac --dimension load=idle,peak";

/// The order of tasks.
#[derive(Clone, Copy, ValueEnum)]
enum StrategyArgument {
    /// Required nodes: the lowest round, spread over its parents
    Owed,
    /// Required nodes, then recommended ones
    Balanced,
    /// Like balanced, but with three children under each open node
    Exhaustive,
    /// Answers without a confirmation
    Verify,
    /// The deepest branch first
    Deepen,
}

fn dimension(text: &str) -> Result<(String, Vec<String>), String> {
    let (name, values) = text.split_once('=').ok_or("give a name and values, like os=linux,mac")?;
    let values = values.split(',').map(|value| value.trim().to_owned()).collect();
    Ok((name.trim().to_owned(), values))
}

pub(super) fn run(arguments: &NextArguments) -> ExitResult {
    let subject = LocalTools::new("tot next", &arguments.work)?.subject(arguments.id.as_deref())?;
    let agent = match (&arguments.agent, arguments.claim) {
        (None, true) => {
            Some(subject.author()?.ok_or("git does not know your name: name the claimant with --as")?)
        }
        (agent, _) => agent.clone(),
    };
    let dimensions = arguments.dimension.iter().cloned().collect::<std::collections::BTreeMap<_, _>>();
    let call = fields([
        ("strategy", json!(value_name(arguments.strategy))),
        ("maxTasks", json!(arguments.max_tasks)),
        ("dimensions", json!((!dimensions.is_empty()).then_some(dimensions))),
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
        let covers: Vec<&str> = list(task, "covers").filter_map(Value::as_str).collect();
        if !covers.is_empty() {
            text.push_str(&format!("    covers {}\n", one_line(&covers.join(", "))));
        }
        text.push_str(&format!("    counts as {}\n", one_line(word(task, "counts"))));
        text.extend(word(task, "prompt").lines().map(|line| format!("      {}\n", one_line(line))));
    }
    for claim in list(reply, "claimed") {
        let (node, agent, until) = (word(claim, "nodeId"), word(claim, "agentId"), word(claim, "until"));
        text.push_str(&(one_line(&format!("{node} is claimed by {agent} until {until}")) + "\n"));
    }
    if let (Some(covered), Some(of)) =
        (reply["coverage"]["covered"].as_u64(), reply["coverage"]["total"].as_u64())
    {
        text.push_str(&format!("{covered} of {of} combinations are covered\n"));
    }
    text
}

//! `tot next`: plans the next research.

use clap::Args;

use super::ExitResult;
use super::work::{LocalTools, WorkArguments};
use crate::mcp::tools::next::{self, Brief, ClaimedEntry, NextAdvice, NextBody, NextInput, PlanRequest};
use crate::service::reply::Advised;
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
    let brief = if arguments.full { Brief::Full } else { Brief::Short };
    let asked = PlanRequest { max_tasks: Some(arguments.max_tasks), brief };
    let (session_id, claim) = (subject.id(), arguments.claim);
    let input = NextInput { session_id, asked, agent_id: agent, claim, ttl_minutes: None };
    let planned = next::run(subject.service(), input, &subject.caller()?);
    let planned = planned.map(|(shared, body, advice)| (shared, Advised { body, advice }));
    subject.tell(planned, lines)
}

fn lines(Advised { body, advice }: &Advised<NextBody, NextAdvice>) -> String {
    let mut text = String::new();
    for task in &body.tasks {
        let pending = if task.pending { "  (proposed)" } else { "" };
        // The last step of the path is the task itself.
        text.push_str(&format!("{}{pending}\n", one_line(&task.path)));
        let ask = Some(&task.ask).filter(|ask| !ask.is_empty());
        text.extend(ask.map(|ask| format!("    {}\n", one_line(ask))));
        text.push_str(&format!("    counts as {}\n", one_line(&task.counts)));
        let prompt = task.prompt.iter().flat_map(|prompt| prompt.lines());
        text.extend(prompt.map(|line| format!("      {}\n", one_line(line))));
    }
    for ClaimedEntry { node_id, agent_id, until } in &advice.claimed {
        text.push_str(&(one_line(&format!("{node_id} is claimed by {agent_id} until {until}")) + "\n"));
    }
    text
}

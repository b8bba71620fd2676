//! `tot next`: plans the next research.

mod claim;

use clap::Args;

use super::caller::agent_name;
use super::screen::{Screen, doubts};
use super::work::{LocalTools, WorkArguments};
use super::{ExitResult, done, misused};
use crate::decide::claim::Claimant;
use crate::service::reply::Advised;
use crate::service::reply::plan::{self, Brief, ClaimedEntry, NextAdvice, NextBody, NextInput, PlanRequest};
use crate::text::one_line;

/// Show what to research next: pending proposals, new nodes with valid ids, and the next command.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct NextArguments {
    /// Nodes for --claim or --release
    #[arg(value_name = "NODE")]
    nodes: Vec<String>,
    /// Maximum number of tasks
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=20))]
    max_tasks: u32,
    /// Show the full brief of each task, as agents get it
    #[arg(long)]
    full: bool,
    /// Claim these pending proposals or, without any, the pending tasks, so that nobody else does the same work. A claim is a note
    /// that expires, not a lock
    #[arg(long)]
    claim: bool,
    /// Duration of the claim
    #[arg(long = "for", value_name = "MINUTES", requires = "claim")]
    minutes: Option<u32>,
    /// Release these claimed proposals, whoever claimed them
    #[arg(long, conflicts_with_all = ["claim", "minutes", "full", "agent"])]
    release: bool,
    /// Name of the agent: tasks claimed by others are left out. With --claim, the default is the author of your commits
    #[arg(long = "as", value_name = "NAME", value_parser = agent_name)]
    agent: Option<String>,
    #[command(flatten)]
    work: WorkArguments,
}

const EXAMPLES: &str = "\
Examples:
  tot next
  tot next --max-tasks 3 --full
  tot next --claim
  tot next --claim R2.A1 R2.A2          for an hour
  tot next --claim R2.A1 --for 240 --as reviewer-2
  tot next --release R2.A1              frees it for others";

pub(super) fn run(arguments: &NextArguments) -> ExitResult {
    let NextArguments { nodes, agent, minutes, work, .. } = arguments;
    match (nodes.is_empty(), arguments.release) {
        (true, true) => return Err(misused("name at least one node, such as R2.A1")),
        (false, false) if !arguments.claim => {
            return Err(misused("nodes are for --claim and --release"));
        }
        _ => {}
    }
    let subject = LocalTools::new("tot next", work)?.subject()?;
    let agent = match agent {
        None if arguments.claim => {
            Some(subject.author()?.ok_or("git does not know your name: name the claimant with --as")?)
        }
        agent => agent.clone(),
    };
    if !nodes.is_empty() {
        let claimant = Claimant { agent_id: agent, minutes: *minutes };
        return done(claim::run(&subject, nodes, Some(&claimant).filter(|_| arguments.claim)));
    }
    let brief = if arguments.full { Brief::Full } else { Brief::Short };
    let asked = PlanRequest { max_tasks: Some(arguments.max_tasks), brief };
    let (session_id, claim) = (subject.id(), arguments.claim);
    let input = NextInput { session_id, asked, agent_id: agent, claim, ttl_minutes: *minutes };
    let planned = plan::run(subject.service(), input, &subject.caller()?);
    let planned = planned.map(|(shared, body, advice)| (shared, Advised { body, advice }));
    subject.tell(planned, |planned| lines(planned, subject.named()))
}

fn lines(Advised { body, advice }: &Advised<NextBody, NextAdvice>, named: Option<&str>) -> String {
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
    // The whole reply is wrapped later.
    let doubts = doubts(&advice.would_overturn, named, Screen { columns: None });
    if !doubts.is_empty() {
        text.push_str(&format!("Check it yourself:\n{doubts}"));
    }
    text
}

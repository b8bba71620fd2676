//! `tot commit`: stores results.

mod finding;

use std::process::ExitCode;

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::draft::{self, DraftFields, plain_text};
use super::work::{self, LocalTools, WorkArguments, WorkTarget, piped, transition_lines};
use super::{CommandResult, ExitResult, misused};
use crate::decide::commit::NodeResult;
use crate::decide::next::{needs, states_that_count};
use crate::domain::{Caller, Node, NodeId};
use crate::ruleset::{EffectiveRules, State};
use crate::service::Written;
use crate::service::reply::{Replied, ReplyFields, StoredResults};
use crate::text::one_line;
use finding::FindingArguments;

/// Store the results of pending nodes, or a finding in one line. All results are stored in one commit with your git identity as its
/// author. One with a fault of its own is left out and named, and the exit status is then 1.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct CommitArguments {
    /// Pending node to describe in your editor, or files with one result each; - for standard input. Default: the first pending
    /// node, or standard input unless it is a terminal
    #[arg(value_name = "NODE|FILE")]
    what: Vec<String>,
    #[command(flatten)]
    finding: FindingArguments,
    #[command(flatten)]
    work: WorkArguments,
}

const EXAMPLES: &str = "\
Examples:
  tot commit R2.A1                  in your editor
  tot commit R2.A1 found.md         from a file that need not name the node
  tot commit R2.A1.md R2.A2.md      two results in one commit
  tot commit - <result.md
  tot commit -m 'The planner picks another index after the upgrade'
  tot commit R1.A -m 'The disk is as fast as before' --state DEAD

A file is Markdown with a head of fields:

  ---
  nodeId: R2.A1
  state: EXPLORE                    one that tot util ruleset show lists
  headline: The plan changed        what was found, in one sentence
  ---
  The planner picks another index after the upgrade.

  ## References
  - logs/slow.log:120 - the query

Further fields: evidence, verificationMethod, alternativesConsidered (a list), caveats (a list: what a
confirmation did not try), refutes, commands, references, links, attachments, startedAt. YAML or JSON with the arguments of the tool
tot_commit is also accepted, and can contain several results.";

pub(super) fn run(arguments: &CommitArguments) -> ExitResult {
    let subject = LocalTools::new("tot commit", &arguments.work)?.subject()?;
    let what = arguments.what.as_slice();
    if let Some(text) = &arguments.finding.message {
        let named = match what {
            [] => None,
            [node] => Some(subject.node_id(node)?),
            _ => return Err(misused("with -m, give only a node")),
        };
        return finding::commit(&subject, &arguments.finding, text, named);
    }
    let (named, files) = match what.split_first() {
        Some((node, files)) if node.parse::<NodeId>().is_ok() => (node.parse::<NodeId>().ok(), files),
        _ => (None, what),
    };
    let piped = if what.is_empty() { piped("-m TEXT")? } else { None };
    let call = match (files, piped) {
        (_, Some(text)) => of_text(&text)?,
        ([_, ..], None) => of_files(&subject, files, named.as_ref())?,
        _ => return edit(&subject, pending(&subject, named.as_ref())?),
    };
    let replied = committed(&subject, call, &subject.caller()?);
    let is_whole = replied.as_ref().is_ok_and(|(_, body)| body.rejected.is_empty());
    let status = subject.tell(replied, lines)?;
    Ok(if is_whole { status } else { ExitCode::FAILURE })
}

/// The results in drafts.
#[derive(Deserialize, JsonSchema)]
struct Results {
    results: Vec<NodeResult>,
}

/// Stores the results in these fields.
fn committed(subject: &WorkTarget, call: DraftFields, caller: &Caller) -> Replied<StoredResults> {
    let Results { results } = work::understood(call)?;
    let written = subject.service().commit(&subject.id(), results, caller)?;
    Ok(stored(&written))
}

/// Describes stored results.
pub(super) fn stored(written: &Written) -> (ReplyFields, StoredResults) {
    (ReplyFields::written(written), StoredResults::of(&written.decision))
}

fn of_text(text: &str) -> Result<DraftFields, draft::DraftError> {
    draft::batch(text, "results", "findings")
}

/// Reads the results in all files into one call. A result that names no node belongs to the node on the command line.
fn of_files(subject: &WorkTarget, files: &[String], node: Option<&NodeId>) -> CommandResult<DraftFields> {
    let mut results = Vec::new();
    for file in files {
        let named = if file == "-" { String::new() } else { format!("{}: ", one_line(file)) };
        let mut call = of_text(&subject.read(file)?).map_err(|error| format!("{named}{error}"))?;
        match call.remove("results") {
            Some(Value::Array(more)) => results.extend(more),
            other => results.extend(other),
        }
    }
    match (node, results.as_mut_slice()) {
        (None, _) => {}
        (Some(node), [Value::Object(result)]) => {
            let own = result.entry("nodeId").or_insert_with(|| node.to_string().into());
            if *own != node.to_string() {
                let other = one_line(own.as_str().unwrap_or_default());
                return Err(format!("{node} was named, but the file is about {other}").into());
            }
        }
        (Some(node), _) => {
            return Err(format!("{node} was named, but the files contain several results").into());
        }
    }
    Ok(DraftFields::from_iter([("results".to_owned(), Value::Array(results))]))
}

/// Returns the pending node with this id. Without an id, returns the first pending node.
fn pending<'a>(subject: &'a WorkTarget, id: Option<&NodeId>) -> Result<&'a Node, String> {
    let all: Vec<&Node> = subject.investigation().pending().map(AsRef::as_ref).collect();
    let found = match id {
        Some(id) => {
            let found = subject.investigation().find(id.whole());
            if let Err(error) = &found
                && let Some(error) = error.ambiguous(id.as_str())
            {
                return Err(error.to_string());
            }
            found.ok().filter(|node| node.is_pending()).map(AsRef::as_ref)
        }
        None => all.first().copied(),
    };
    found.ok_or_else(|| match id {
        Some(id) if !all.is_empty() => {
            format!("{id} is not a pending proposal; pending: {}", listed(&all))
        }
        _ => {
            "nothing is proposed: propose a node with `tot propose`, or store a finding with `tot commit -m`"
                .to_owned()
        }
    })
}

/// Lists the first of these nodes.
fn listed(nodes: &[&Node]) -> String {
    nodes.iter().take(8).map(|node| node.id.as_str()).collect::<Vec<_>>().join(", ")
}

/// Opens an editor for a result.
fn edit(subject: &WorkTarget, node: &Node) -> ExitResult {
    let (investigation, rules) = (subject.investigation(), subject.loaded.rules());
    let parent = node.parent.as_ref().and_then(|id| investigation.node(id)).map(AsRef::as_ref);
    let states = states_that_count(investigation, &rules, parent);
    if states.is_empty() {
        let withdraw = subject.command("tot propose", &format!("--withdraw {}", node.id));
        return Err(format!(
            "{} can no longer be committed, because its parent is closed: `{withdraw}`",
            node.id
        )
        .into());
    }
    let action = Some(node.planned_action.trim()).filter(|text| !text.is_empty());
    let help = format!(
        "Your result for {}. Findings are Markdown; list sources below `## References`. One\n\
         alternative per line. Everything below this line is ignored. If unchanged, nothing is stored.\n\
         {}\nStates that count here:\n{}",
        node.id,
        action.map(|text| format!("\n{text}\n")).unwrap_or_default(),
        state_lines(&rules, &states),
    );
    let assessment = subject.loaded.assessment();
    // The draft for a node that may confirm an answer asks for caveats.
    let has_answer = node.parent.as_ref().is_some_and(|parent| {
        assessment.answer(parent).is_some() || assessment.awaiting.iter().any(|it| it.id == *parent)
    });
    let state = if let [only] = states.as_slice() { only.name.to_string() } else { String::new() };
    let mut fields = vec![("state", state.as_str()), ("headline", ""), ("evidence", "")];
    fields.push(("alternativesConsidered", ""));
    fields.extend(has_answer.then_some(("caveats", "")));
    fields.push(("findings", ""));
    let draft = plain_text(&format!("{} {}", node.id, one_line(&node.title)), &fields);
    let read = |text: &str| -> Result<DraftFields, String> {
        let mut result = draft::edited(text, Some(&node.id)).map_err(|error| error.to_string())?;
        // The clone may be synced meanwhile, and the short id then mean another node.
        if result.get("nodeId").is_none_or(|id| *id == node.id.to_string()) {
            result.insert("nodeId".to_owned(), json!(node.id.whole()));
        }
        let empty =
            [("state", "The line `State:` is empty."), ("findings", "The section `## Findings` is empty.")];
        let empty = empty.iter().filter(|(field, _)| !result.contains_key(*field)).map(|(_, text)| *text);
        match empty.collect::<Vec<_>>() {
            none if none.is_empty() => Ok(DraftFields::from_iter([("results".to_owned(), json!([result]))])),
            some => Err(some.join("\n")),
        }
    };
    let edited = subject.edit(("tot commit", ""), "TOT_COMMIT.md", &draft, &help)?;
    let caller = subject.caller()?;
    subject.call_edited(edited, |text| Ok::<_, String>(committed(subject, read(text)?, &caller)), lines)
}

/// Formats one line per state, with its meaning and requirements.
pub(super) fn state_lines(rules: &EffectiveRules<'_>, states: &[&State]) -> String {
    let line = |state: &&State| {
        let (name, meaning) = (state.name.to_string(), one_line(&state.meaning));
        format!("  {name:<12} {meaning}{}\n", needs(rules, state))
    };
    states.iter().map(line).collect()
}

/// Formats the reply to a commit.
pub(super) fn lines(stored: &StoredResults) -> String {
    let committed = stored.committed.iter().map(|it| {
        let asked = it.requested_state.as_ref().map(|state| format!(" ({state} was requested)"));
        let asked = asked.unwrap_or_default();
        one_line(&format!("committed {} as {}{asked}", it.node_id, it.state)) + "\n"
    });
    committed.collect::<String>() + &transition_lines(&stored.transitions)
}

//! `tot amend`: corrects a node or the conclusion, or accepts somebody's correction.

mod state;

use clap::Args;
use serde_json::json;
use state::StateArguments;

use super::caller::agent_name;
use super::comment::edits;
use super::draft::{self, DraftFields, plain_list, plain_text};
use super::end::Binding;
use super::work::{self, LocalTools, WorkArguments, WorkTarget, piped};
use super::{ExitResult, misused};
use crate::decide::amend::Amend;
use crate::domain::{Caller, NodeId};
use crate::service::reply::{self, AmendBody, Replied};
use crate::text::one_line;

/// Correct the text or the state of a committed node, or the conclusion. The previous text stays in the history. A changed answer has
/// to be confirmed again.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct AmendArguments {
    /// Node to change in your editor, or a file; - for standard input
    #[arg(value_name = "NODE|FILE")]
    what: Option<String>,
    /// Change the conclusion of an ended investigation: in your editor, or from a file or standard input
    #[arg(long)]
    conclusion: bool,
    /// Replace a passage of the findings or the conclusion, which contains it exactly once; can be given several times
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"])]
    edit: Vec<String>,
    /// Accept a correction by somebody else: its id or a part of the id
    #[arg(long, value_name = "COMMENT", conflicts_with_all = ["conclusion", "edit"])]
    accept: Option<String>,
    #[command(flatten)]
    binding: Binding,
    #[command(flatten)]
    state: StateArguments,
    /// Reason: what was wrong. With --state, the default is standard input, or your editor at a terminal
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    /// Name of the agent who makes the change, so that it is not taken for a person's
    #[arg(long, value_name = "NAME", value_parser = agent_name)]
    agent: Option<String>,
    #[command(flatten)]
    work: WorkArguments,
}

const EXAMPLES: &str = "\
Examples:
  tot amend R3.A1a                       in your editor
  tot amend R4.A1a1 --state EXPLORE -m 'The benchmark measured a warm cache.'
  tot amend R3.A1a --edit '12 lots' '14 lots' -m 'Two were cut off.'
  tot amend --accept 8f3a                a correction, as tot show lists it
  tot amend --conclusion
  tot amend --conclusion whole.md -m 'The figure was from another disk'
  tot amend --conclusion --answer R4.A1a1 -m 'It rests on this one'
  tot amend - -m 'A typo in the figure' <R3.A1a.md

A file is Markdown with a head of fields. Fields that are left out do not change:

  ---
  nodeId: R3.A1a                         not for the conclusion
  reason: The figure was from another disk
  headline: The plan changed             also title, evidence, alternativesConsidered, caveats, commands,
                                         references
  clear: [caveats]                       empties a list; an empty list alone does not
  ---
  The full findings, or the full conclusion.";

const HELP: &str = "\
After `Reason:`, state what was wrong and correct the text. Fields that you leave alone do not change.
Everything below this line is ignored. If unchanged, nothing is stored.";

pub(super) fn run(arguments: &AmendArguments) -> ExitResult {
    let subject = LocalTools::new("tot amend", &arguments.work)?.subject()?;
    let agent = arguments.agent.as_deref();
    if let Some(state) = &arguments.state.state {
        let node = arguments.what.as_ref().ok_or_else(|| misused("with --state, name a node"))?;
        let changed = (&subject.node_id(node)?, state.as_str());
        return state::change(&subject, &arguments.state, changed, (arguments.message.as_deref(), agent));
    }
    let node = arguments.what.as_ref().and_then(|what| what.parse::<NodeId>().ok());
    if let Some(part) = &arguments.accept {
        let mut call = DraftFields::from_iter([("correction".to_owned(), json!(part))]);
        call.extend(node.map(|node| ("nodeId".to_owned(), json!(node.to_string()))));
        return subject.tell(amended(&subject, call, arguments, &subject.caller_as(agent)?), lines);
    }
    if !arguments.edit.is_empty() {
        if node.is_some() == arguments.conclusion {
            return Err(misused("with --edit, name a node, or --conclusion"));
        }
        let mut call = DraftFields::from_iter([("edits".to_owned(), json!(edits(&arguments.edit)))]);
        call.extend(node.map(|node| ("nodeId".to_owned(), json!(node.to_string()))));
        return subject.tell(amended(&subject, call, arguments, &subject.caller_as(agent)?), lines);
    }
    let call = match (&arguments.what, node) {
        (None, _) if arguments.conclusion && arguments.binding.is_given() => DraftFields::default(),
        (None, _) if arguments.conclusion => match piped("a file")? {
            Some(text) => of_conclusion(&text)?,
            None => return edit(&subject, None, arguments),
        },
        (None, _) => match piped("a file")? {
            Some(text) => of_text(&text)?,
            None => return Err(misused("name a node, or --conclusion")),
        },
        (Some(word), Some(_)) => return edit(&subject, Some(&subject.node_id(word)?), arguments),
        (Some(file), None) if arguments.conclusion => of_conclusion(&work::read(file)?)?,
        (Some(file), None) => of_text(&subject.read(file)?)?,
    };
    subject.tell(amended(&subject, call, arguments, &subject.caller_as(agent)?), lines)
}

/// Makes the change in these fields and the options.
fn amended(
    subject: &WorkTarget,
    mut call: DraftFields,
    arguments: &AmendArguments,
    caller: &Caller,
) -> Replied<AmendBody> {
    if let Some(reason) = &arguments.message {
        call.insert("reason".to_owned(), json!(reason));
    }
    // The decision reports a missing reason.
    call.entry("reason").or_insert_with(|| json!(""));
    let mut request: Amend = work::understood(call)?;
    let Binding { not_covered, .. } = &arguments.binding;
    request.agent_id = arguments.agent.clone().or(request.agent_id);
    request.bottom_line = arguments.binding.bottom_line.clone().or(request.bottom_line);
    request.answers = Some(arguments.binding.answers()).filter(|it| !it.is_empty()).or(request.answers);
    request.not_covered = Some(not_covered.clone()).filter(|it| !it.is_empty()).or(request.not_covered);
    let named = (request.node_id.clone(), request.correction.clone());
    let written = subject.service().amend(&subject.id(), request, caller)?;
    Ok(reply::amended(&written, named))
}

/// Parses a draft. The text below the head becomes the findings if the head names a node, and the conclusion otherwise.
fn of_text(text: &str) -> Result<DraftFields, draft::DraftError> {
    let fields = draft::single(text, "findings")?;
    if fields.contains_key("nodeId") { Ok(fields) } else { draft::single(text, "conclusion") }
}

/// Parses a conclusion draft. Without a head, the entire text is the conclusion.
fn of_conclusion(text: &str) -> Result<DraftFields, draft::DraftError> {
    let whole = || DraftFields::from_iter([("conclusion".to_owned(), json!(text.trim()))]);
    Ok(draft::with_head(text, "conclusion")?.unwrap_or_else(whole))
}

/// Opens the texts in the user's editor and amends those that were changed.
fn edit(subject: &WorkTarget, node: Option<&NodeId>, arguments: &AmendArguments) -> ExitResult {
    let reason = arguments.message.as_deref().unwrap_or_default();
    let draft = match node {
        None => {
            let investigation = subject.investigation();
            let end = investigation.draft().or_else(|| investigation.end_in_force());
            let end = end.ok_or("the investigation has not ended, so there is no conclusion to amend")?;
            let text = end.conclusion.as_deref().unwrap_or_default();
            let fields = [("reason", reason), ("bottomLine", &end.bottom_line), ("conclusion", text)];
            plain_text(draft::CONCLUSION, &fields)
        }
        Some(id) => {
            let node = subject.investigation().committed_node(id);
            let found = node.and_then(|node| Some((node, node.classification.as_ref()?)));
            let (node, result) = found.ok_or_else(|| {
                format!("{id} is not a committed node; to change a proposal, propose it again")
            })?;
            let fields = [
                ("reason", reason),
                ("title", &node.title),
                ("headline", result.headline.as_deref().unwrap_or_default()),
                ("evidence", result.evidence.as_deref().unwrap_or_default()),
                ("alternativesConsidered", &plain_list(&result.alternatives_considered)),
                ("caveats", &plain_list(&result.caveats)),
                ("findings", &result.findings),
            ];
            plain_text(id.as_str(), &fields)
        }
    };
    let before = of_text(&draft)?;
    let read = |text: &str| -> Result<DraftFields, draft::DraftError> {
        let mut call = draft::edited(text, node)?;
        call.retain(|name, value| name == "reason" || before.get(name) != Some(value));
        // The person has removed all items.
        let emptied = call.iter().filter(|(_, value)| value.as_array().is_some_and(Vec::is_empty));
        let emptied: Vec<String> = emptied.map(|(name, _)| name.clone()).collect();
        if !emptied.is_empty() {
            call.insert("clear".to_owned(), json!(emptied));
        }
        if let Some(node) = node {
            call.insert("nodeId".to_owned(), json!(node.whole()));
        }
        Ok(call)
    };
    let edited = subject.edit(("tot amend", ""), "TOT_AMEND.md", &draft, HELP)?;
    let caller = subject.caller_as(arguments.agent.as_deref())?;
    let call = |text: &str| Ok::<_, draft::DraftError>(amended(subject, read(text)?, arguments, &caller));
    subject.call_edited(edited, call, lines)
}

fn lines(body: &AmendBody) -> String {
    match (&body.node_id, body.amended.as_slice()) {
        // The reply's message covers this case.
        (_, []) => String::new(),
        (None, parts) => format!("amended the {}\n", if parts == ["draft"] { "draft" } else { "conclusion" }),
        (Some(node), parts) => one_line(&format!("amended {node}: {}", parts.join(", "))) + "\n",
    }
}

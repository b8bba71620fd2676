//! `tot amend`: what a node says is corrected, or the conclusion.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};

use super::draft::{self, Fields};
use super::editor::Edited;
use super::end::Binding;
use super::misused;
use super::work::{self, Subject, Work, WorkArguments, Worked, fields, id_and_rest, list, piped, word};
use crate::domain::NodeId;
use crate::text::one_line;
use crate::yaml::Text;

/// Corrects what a committed node says, or the conclusion. What stood there before is kept; an answer is then to be confirmed
/// anew.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct AmendArguments {
    /// The investigation (an id, or the beginning or ending of one; not where there is only one), then the node, which you change
    /// in your editor, or a file, or - for standard input
    #[arg(value_names = ["ID", "NODE|FILE"], num_args = 0..=2)]
    what: Vec<String>,
    /// Change the conclusion of an ended investigation: in your editor, or to the text of a file or of standard input
    #[arg(long)]
    conclusion: bool,
    #[command(flatten)]
    binding: Binding,
    /// Why: what was wrong
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    #[command(flatten)]
    work: WorkArguments,
}

const EXAMPLES: &str = "\
Examples:
  tot amend R3.A1a                       in your editor
  tot amend --conclusion
  tot amend --conclusion whole.md -m 'The figure was of another disk'
  tot amend --conclusion --answer R4.A1a1 -m 'It rests on this one'
  tot amend 0196 - -m 'A typo in the figure' <R3.A1a.md

A file is Markdown with a head of fields, of which those that are left out stay as they are:

  ---
  nodeId: R3.A1a                         not for the conclusion
  reason: The figure was of another disk
  headline: The plan changed             also title, evidence, alternativesConsidered, caveats, commands,
                                         references
  ---
  The whole findings, or the whole conclusion.";

const HELP: &str = "\
Say in `reason` what was wrong, and mend the text; fields that you leave as they are stay. Quote
a field that has a colon in it. What stands below this line is left out; a text without a change
gives it up.";

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    #[serde(skip_serializing_if = "Option::is_none")]
    node_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    headline: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<Text>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    alternatives_considered: Vec<Text>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    caveats: Vec<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Text>,
}

pub(super) fn run(arguments: &AmendArguments) -> ExitCode {
    work::status("tot amend", amend(arguments))
}

fn amend(arguments: &AmendArguments) -> Worked {
    let (id, rest) = id_and_rest(&arguments.what);
    let subject = Work::new(&arguments.work).subject(id)?;
    let reason = arguments.message.as_deref();
    let (mut call, edited) = match rest {
        [] if arguments.conclusion && arguments.binding.is_given() => (Fields::default(), None),
        [] if arguments.conclusion => match piped()? {
            Some(text) => (of_conclusion(&text)?, None),
            None => edit(&subject, None, reason)?,
        },
        [file] if arguments.conclusion && file.parse::<NodeId>().is_err() => {
            (of_conclusion(&work::read(file)?)?, None)
        }
        [node] if node.parse::<NodeId>().is_ok() => edit(&subject, Some(&node.parse()?), reason)?,
        [file] => (of_text(&work::read(file)?)?, None),
        [] => match piped()? {
            Some(text) => (of_text(&text)?, None),
            None => return Err(misused("say which node, or --conclusion")),
        },
        _ => return Err(misused("give one node, or one file")),
    };
    call.extend(arguments.binding.fields());
    if let Some(reason) = reason {
        call.insert("reason".to_owned(), json!(reason));
    }
    // The tool says in its own words that there is none.
    call.entry("reason").or_insert_with(|| json!(""));
    subject.call("tot_amend", call, edited.as_ref(), lines)
}

/// The call that a text means: what stands below the head is of the node, or else the conclusion.
fn of_text(text: &str) -> Result<Fields, draft::DraftError> {
    let fields = draft::single(text, "findings")?;
    if fields.contains_key("nodeId") { Ok(fields) } else { draft::single(text, "conclusion") }
}

/// The call that a text means which is a conclusion: without a head it is that, whole.
fn of_conclusion(text: &str) -> Result<Fields, draft::DraftError> {
    let whole = || fields([("conclusion", json!(text.trim()))]);
    Ok(draft::with_head(text, "conclusion")?.unwrap_or_else(whole))
}

/// Has the user change the texts, and gives those that are others then.
fn edit(
    subject: &Subject,
    node: Option<&NodeId>,
    reason: Option<&str>,
) -> Result<(Fields, Option<Edited>), Box<dyn std::error::Error>> {
    let (head, body) = present(subject, node)?;
    let head = Head { reason: reason.map(draft::text), ..head };
    let mut blank = Vec::new();
    if node.is_some() {
        let absent = [
            ("headline", head.headline.is_none()),
            ("evidence", head.evidence.is_none()),
            ("alternativesConsidered", head.alternatives_considered.is_empty()),
            ("caveats", head.caveats.is_empty()),
        ];
        blank.extend(absent.into_iter().filter(|(_, is_absent)| *is_absent).map(|(name, _)| name));
    }
    blank.extend(reason.is_none().then_some("reason"));
    let template = draft::template(&head, &blank, &body)?;
    let before = of_text(&template)?;
    let written = subject.edit(("tot amend", ""), "TOT_AMEND.md", &template, HELP)?;
    // The node is the one that was named, whatever became of its line in the head.
    let mut call = match node {
        Some(node) => {
            let mut call = written.understood(draft::single(&written.text, "findings"))?;
            call.insert("nodeId".to_owned(), json!(node.to_string()));
            call
        }
        None => written.understood(draft::single(&written.text, "conclusion"))?,
    };
    call.retain(|name, value| {
        matches!(name.as_str(), "nodeId" | "reason") || before.get(name) != Some(value)
    });
    Ok((call, Some(written)))
}

/// What is there now.
fn present(subject: &Subject, node: Option<&NodeId>) -> Result<(Head, String), String> {
    let Some(id) = node else {
        let end =
            subject.investigation().end_in_force().ok_or("it has not ended, so there is no conclusion")?;
        return Ok((Head::default(), end.conclusion.clone().unwrap_or_default()));
    };
    let node = subject.investigation().committed_node(id);
    let found = node.and_then(|node| Some((node, node.classification.as_ref()?)));
    let (node, result) =
        found.ok_or_else(|| format!("{id} is no committed node; a proposal is proposed again"))?;
    let head = Head {
        node_id: Some(id.to_string()),
        title: Some(draft::text(&node.title)),
        headline: result.headline.as_deref().map(draft::text),
        evidence: result.evidence.as_deref().map(draft::text),
        alternatives_considered: result.alternatives_considered.iter().map(|it| draft::text(it)).collect(),
        caveats: result.caveats.iter().map(|it| draft::text(it)).collect(),
        ..Head::default()
    };
    Ok((head, result.findings.clone()))
}

fn lines(reply: &Value) -> String {
    let parts: Vec<&str> = list(reply, "amended").filter_map(Value::as_str).collect();
    let changed = match (word(reply, "nodeId"), parts.as_slice()) {
        // The message says so.
        (_, []) => String::new(),
        ("", _) => "amended the conclusion\n".to_owned(),
        (node, parts) => one_line(&format!("amended {node}: {}", parts.join(", "))) + "\n",
    };
    changed + &work::outcome(reply)
}

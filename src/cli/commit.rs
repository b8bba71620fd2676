//! `tot commit`: what was found.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use super::draft::{self, Fields};
use super::work::{self, Subject, Work, WorkArguments, Worked, id_and_rest, list, piped, word};
use crate::domain::{Node, NodeId};
use crate::text::one_line;

/// Stores what research of pending nodes found. All of it is one commit in the name that git has for you, or nothing.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct CommitArguments {
    /// The investigation (an id, or the beginning or ending of one; not where there is only one), then files with a result each,
    /// or - for standard input, or a pending node, of which you write in your editor. Without any of them the only pending node
    /// is meant, or standard input is read where that is no terminal
    #[arg(value_names = ["ID", "NODE|FILE"])]
    what: Vec<String>,
    #[command(flatten)]
    work: WorkArguments,
}

const EXAMPLES: &str = "\
Examples:
  tot commit R2.A1                  in your editor
  tot commit R2.A1 found.md         from a file, which need not name the node then
  tot commit R2.A1.md R2.A2.md      two results in one commit
  tot commit 0196 - <result.md

A file is Markdown with a head of fields:

  ---
  nodeId: R2.A1
  state: EXPLORE                    as tot ruleset show names it
  headline: The plan changed        what was found, in one sentence
  ---
  The planner takes another index since the upgrade.

  ## References
  - logs/slow.log:120 - the query

Further fields: evidence, verificationMethod, alternativesConsidered (a list), caveats (what a confirmation
did not try, a list), refutes, commands, references, links, attachments, startedAt. YAML or JSON as the tool tot_commit takes it is read, too, with many results.";

/// The fields that people fill in, beside the node and the state.
const BLANK: &[&str] = &["state", "headline", "evidence", "verificationMethod", "alternativesConsidered"];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    node_id: String,
}

pub(super) fn run(arguments: &CommitArguments) -> ExitCode {
    work::status("tot commit", commit(arguments))
}

fn commit(arguments: &CommitArguments) -> Worked {
    let (id, rest) = id_and_rest(&arguments.what);
    let subject = Work::new(&arguments.work).subject(id)?;
    let mut edited = None;
    let (named, files) = match rest.split_first() {
        Some((node, files)) if node.parse::<NodeId>().is_ok() => (node.parse::<NodeId>().ok(), files),
        _ => (None, rest),
    };
    let piped = if rest.is_empty() { piped()? } else { None };
    let call = match (files, piped) {
        (_, Some(text)) => of_text(&text)?,
        ([_, ..], None) => of_files(files, named.as_ref())?,
        _ => {
            let written = edited.insert(write(&subject, pending(&subject, named.as_ref())?)?);
            written.understood(of_text(&written.text))?
        }
    };
    subject.call("tot_commit", call, edited.as_ref(), lines)
}

fn of_text(text: &str) -> Result<Fields, draft::DraftError> {
    draft::batch(text, "results", "findings")
}

/// The results of all files, as those of one call. One that names no node is about the one that was named beside it.
fn of_files(files: &[String], node: Option<&NodeId>) -> Result<Fields, String> {
    let mut results = Vec::new();
    for file in files {
        let named = if file == "-" { String::new() } else { format!("{}: ", one_line(file)) };
        let mut call = of_text(&work::read(file)?).map_err(|error| format!("{named}{error}"))?;
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
                return Err(format!(
                    "{node} is named, and the file is about {}",
                    one_line(own.as_str().unwrap_or_default())
                ));
            }
        }
        (Some(node), _) => return Err(format!("{node} is named, and the files hold more than one result")),
    }
    Ok(Fields::from_iter([("results".to_owned(), Value::Array(results))]))
}

/// The pending node of that id, or the only one.
fn pending<'a>(subject: &'a Subject, id: Option<&NodeId>) -> Result<&'a Node, String> {
    let all: Vec<&Node> = subject.investigation().pending().map(AsRef::as_ref).collect();
    let names = all.iter().take(8).map(|node| node.id.to_string()).collect::<Vec<_>>().join(", ");
    let found = match id {
        Some(id) => all.iter().find(|node| node.id == *id).copied(),
        None => all.first().copied().filter(|_| all.len() == 1),
    };
    found.ok_or_else(|| match (id, all.len()) {
        (_, 0) => "nothing is proposed: tot propose, and then say what you found".to_owned(),
        (Some(id), _) => format!("{id} is no pending proposal; pending are {names}"),
        (None, _) => format!("say which node: pending are {names}"),
    })
}

/// Has the user write a result.
fn write(subject: &Subject, node: &Node) -> Result<super::editor::Edited, Box<dyn std::error::Error>> {
    let rules = subject.standing.rules();
    let states = rules.ruleset().states.iter();
    let states: String = states
        .map(|state| format!("  {:<12} {}\n", state.name.to_string(), one_line(&state.meaning)))
        .collect();
    let help = format!(
        "What you found on {}: fields between the lines ---, and below them the findings, in Markdown\n\
         with sources as a list under ## References. What stands below this line is left out; a text\n\
         without a change gives it up. Quote a field that has a colon in it.\n\n\
         {}\n{}\n\nStates:\n{states}",
        node.id,
        one_line(&node.title),
        node.planned_action.trim_end(),
    );
    let assessment = subject.standing.assessment();
    // What may confirm an answer is asked what it did not try.
    let has_answer = node.parent.as_ref().is_some_and(|parent| {
        assessment.answer(parent).is_some() || assessment.awaiting.iter().any(|it| it.id == *parent)
    });
    let blank = [BLANK, if has_answer { &["caveats"] } else { &[] }].concat();
    let template = draft::template(&Head { node_id: node.id.to_string() }, &blank, "")?;
    subject.edit(("tot commit", ""), "TOT_COMMIT.md", &template, &help)
}

fn lines(reply: &Value) -> String {
    let committed = list(reply, "committed").map(|it| {
        let asked = it["requestedState"].as_str().map(|state| format!(" ({state} was asked for)"));
        one_line(&format!(
            "committed {} as {}{}",
            word(it, "nodeId"),
            word(it, "state"),
            asked.unwrap_or_default()
        )) + "\n"
    });
    committed.collect::<String>() + &work::outcome(reply)
}

//! `tot end`: ends an investigation with a conclusion.

use std::convert::Infallible;

use clap::Args;

use super::caller::agent_name;
use super::work::{self, LocalTools, WorkArguments, WorkTarget};
use super::{CommandResult, ExitResult, ValueTable, one_of};
use crate::decide::end::{Bind, EarlyStop, End};
use crate::decide::{Rejection, blockers};
use crate::domain::{BoundAs, StopReason};
use crate::service::Refusal;
use crate::service::reply::{self, Advised, EndAdvice, EndAnswer, EndBody, NodeSummary};
use crate::text::{counted, one_line, shorten};

/// End an investigation with your conclusion, once no required steps remain. The commit gets a tag such as ended/1. To reopen the
/// investigation, propose a node with `tot propose --reopen`.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct EndArguments {
    /// File with the conclusion, or first a paragraph that begins with `Bottom line:`; - for standard input
    #[arg(conflicts_with = "message")]
    file: Option<String>,
    /// Conclusion in Markdown; default: the file, standard input, or your editor at a terminal
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    #[command(flatten)]
    binding: Binding,
    /// Store a draft of the conclusion, and end nothing; `tot end` then ends with it
    #[arg(long, conflicts_with = "stopped")]
    draft: bool,
    /// End before all required steps are done; every page says so and lists the skipped steps
    #[arg(long, value_name = "REASON", value_parser = one_of(REASONS))]
    stopped: Option<StopReason>,
    /// Explanation of why it ends early
    #[arg(long, value_name = "TEXT", requires = "stopped", conflicts_with = "draft")]
    note: Option<String>,
    /// Name of the agent who ends it, so that it is not taken for a person's work
    #[arg(long, value_name = "NAME", value_parser = agent_name)]
    agent: Option<String>,
    #[command(flatten)]
    work: WorkArguments,
}

const EXAMPLES: &str = "\
Examples:
  tot end                          in your editor, with the answers listed
  tot end conclusion.md
  tot end --answer R4.A1a1 --rival R3.B conclusion.md
  tot end --stopped budget --bottom-line 'The planner is the likely cause.' -m 'Two of three leads were followed.'";

/// The bottom line of a conclusion, the answers that it rests on, and what it does not cover.
#[derive(Args)]
pub(super) struct Binding {
    /// What to do, or what is so, in one or two sentences of at most 300 characters, for somebody who reads nothing else
    #[arg(long, value_name = "TEXT")]
    pub bottom_line: Option<String>,
    /// Answer that the conclusion rests on, if there are several; can be given several times, for a conclusion with
    /// several parts
    #[arg(long, value_name = "NODE")]
    answer: Vec<String>,
    /// Another possible answer
    #[arg(long, value_name = "NODE")]
    rival: Vec<String>,
    /// What the conclusion does not cover, in a sentence; can be given several times
    #[arg(long, value_name = "TEXT")]
    pub not_covered: Vec<String>,
}

impl Binding {
    /// Returns the answers that were given, each with its role.
    pub(super) fn answers(&self) -> Vec<Bind> {
        let alone = if self.answer.len() == 1 { BoundAs::Main } else { BoundAs::Part };
        let named = |ids: &[String], role| {
            ids.iter().map(|id| Bind::As { id: id.clone(), role: Some(role) }).collect()
        };
        let (answers, rivals): (Vec<Bind>, Vec<Bind>) =
            (named(&self.answer, alone), named(&self.rival, BoundAs::Rival));
        [answers, rivals].concat()
    }

    /// Returns whether any option was given.
    pub(super) fn is_given(&self) -> bool {
        !(self.answer.is_empty() && self.rival.is_empty() && self.not_covered.is_empty())
            || self.bottom_line.is_some()
    }
}

/// The reasons for ending early.
const REASONS: ValueTable<StopReason> = &[
    ("budget", "Out of time or money", StopReason::Budget),
    ("enough", "The findings suffice", StopReason::Enough),
    ("stuck", "No leads remain", StopReason::Stuck),
];

pub(super) fn run(arguments: &EndArguments) -> ExitResult {
    let subject = LocalTools::new("tot end", &arguments.work)?.subject()?;
    let stopped = arguments.stopped.map(|reason| EarlyStop { reason, note: arguments.note.clone() });
    let caller = subject.caller_as(arguments.agent.as_deref())?;
    let bottom_line = arguments.binding.bottom_line.as_ref();
    let call = |(line, text): (String, &str)| {
        let request = End {
            bottom_line: Some(line).filter(|line| !line.is_empty()).or(bottom_line.cloned()),
            conclusion: Some(text.trim().to_owned()),
            answers: arguments.binding.answers(),
            not_covered: arguments.binding.not_covered.clone(),
            agent_id: arguments.agent.clone(),
            draft: arguments.draft,
            stopped: stopped.clone(),
            asked: None,
        };
        let written = subject.service().end(&subject.id(), request, &caller)?;
        let (shared, body, advice) = reply::ended(subject.service(), &written);
        Ok((shared, Advised { body, advice }))
    };
    if let Some(text) = &arguments.message {
        return subject.tell(call((String::new(), &work::text(text)?)), lines);
    }
    let given = match &arguments.file {
        Some(file) => Some(work::read(file)?),
        None => work::standard_input("-m TEXT")?,
    };
    if let Some(text) = given {
        let (line, conclusion) = parts(&text);
        return subject.tell(call((bottom_line.cloned().unwrap_or(line), conclusion)), lines);
    }
    let stored = subject.investigation().draft();
    if stored.is_some() && !arguments.draft {
        return subject.tell(call((String::new(), "")), lines);
    }
    if !arguments.draft {
        may_end(&subject, arguments.stopped.is_some())?;
    }
    let reason = arguments.stopped.and_then(|it| REASONS.iter().find(|(.., reason)| *reason == it));
    let reason = reason.map(|(word, ..)| format!("--stopped {word}"));
    let reason = reason.or(arguments.draft.then(|| "--draft".to_owned()));
    let again = ("tot end", reason.as_deref().unwrap_or_default());
    let line = bottom_line.or(stored.map(|draft| &draft.bottom_line)).map(|line| one_line(line));
    let text = stored.and_then(|draft| draft.conclusion.as_deref()).unwrap_or_default();
    let draft = format!("{BOTTOM_LINE} {}\n\n{text}", line.unwrap_or_default());
    let edited = subject.edit(again, "TOT_CONCLUSION.md", &draft, &help(&subject))?;
    subject.call_edited(edited, |text| Ok::<_, Infallible>(call(parts(text))), lines)
}

/// The label of the bottom line, if it is the first paragraph of a text.
const BOTTOM_LINE: &str = "Bottom line:";

/// Returns the bottom line at the beginning of a text, and the conclusion below it.
fn parts(text: &str) -> (String, &str) {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let Some(rest) = text.strip_prefix(BOTTOM_LINE) else { return (String::new(), text) };
    let lines = rest.split_inclusive('\n').take_while(|line| !line.trim().is_empty());
    let (line, conclusion) = rest.split_at(lines.map(str::len).sum());
    (one_line(line).trim().to_owned(), conclusion)
}

/// Checks that the investigation may end, before the user writes a conclusion.
fn may_end(subject: &WorkTarget, stopped: bool) -> CommandResult {
    let (investigation, rules) = (subject.investigation(), subject.loaded.rules());
    if investigation.end_in_force().is_some_and(|end| end.conclusion.is_some()) {
        return Err("already ended: `tot amend --conclusion` changes the conclusion".into());
    }
    let errors = match (investigation.end_in_force(), stopped) {
        (Some(_), _) => Vec::new(),
        (None, true) => blockers::file_problems(investigation, &rules),
        (None, false) => blockers::blockers(investigation, &rules),
    };
    if errors.is_empty() { Ok(()) } else { Err(Refusal::from(Rejection { errors }).into()) }
}

fn help(subject: &WorkTarget) -> String {
    let assessment = subject.loaded.assessment();
    let answers = assessment.answers.iter();
    let answers: String = answers
        .map(|it| format!("  {} {} ({})\n", it.node.id, one_line(it.node.name()), it.words()))
        .collect();
    let answers = if answers.is_empty() { "  none\n".to_owned() } else { answers };
    format!(
        "First what to do, or what is so, in one or two sentences. Below a blank line, in Markdown, for the colleague\n\
         who asked: the question's parts in their order, what to do next, what was not covered. A link says how a\n\
         number is known: [29 windows](run:4c7d8f). `tot help method` has an example. Everything below this line is\n\
         ignored; to cancel, leave the text as it is.\n\n\
         {}\n\nAnswers:\n{answers}\n{} ruled out.",
        one_line(&subject.investigation().meta().title),
        counted(assessment.ruled_out().count(), "node"),
    )
}

fn lines(Advised { body, advice }: &Advised<EndBody, EndAdvice>) -> String {
    let line = |what: &str, node: &NodeSummary, verdict: &str| {
        one_line(&format!("{what} {} {}{verdict}", node.node_id, shorten(&node.title, 80))) + "\n"
    };
    let answers = |answers: &[EndAnswer], what: &str| {
        answers.iter().map(|it| line(what, &it.node, &format!(" ({})", it.verdict.words))).collect::<String>()
    };
    let theories: String = advice.theories.iter().map(|node| line("theory ", node, "")).collect();
    let tag = body.tag.as_ref().map(|tag| format!(", tag {}", one_line(tag))).unwrap_or_default();
    let (found, refuted) = (answers(&advice.answers, "answer "), answers(&advice.refuted, "refuted"));
    let what = if body.outcome.is_ended() { "ended" } else { "stored the draft" };
    format!("{found}{refuted}{theories}{}\n{what}{tag}\n", one_line(&body.sentence))
}

//! `tot start`: starts an investigation.

use clap::Args;

use super::print::{ask, tell};
use super::util::ruleset::RulesetFolder;
use super::work::{self, LocalTools, WorkArguments, piped};
use super::{CommandResult, ExitResult, editor};
use crate::decide::start::Start;
use crate::domain::Caller;
use crate::ruleset::builtin;
use crate::service::reply::{self, RelatedEntry, StartBody};
use crate::service::sharing::Sharing;
use crate::text::one_line;

/// Start an investigation: creates a git repository in the root, with the ruleset pinned in it. Settings can't be changed later.
#[derive(Args)]
#[command(after_long_help = EXAMPLES, mut_arg("investigation", |it| it.hide(true)))]
pub(super) struct StartArguments {
    /// Full question; default: standard input (also -), or your editor at a terminal
    query: Option<String>,
    /// Title for lists; default: the first line of the question
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Known context: versions, logs, constraints
    #[arg(long, value_name = "TEXT")]
    context: Option<String>,
    /// Ruleset, one of `tot util ruleset list`, or a file NAME.yaml; default: asked at a terminal, otherwise review
    #[arg(long, value_name = "NAME|FILE")]
    ruleset: Option<String>,
    #[command(flatten)]
    rulesets: RulesetFolder,
    /// Mode of the ruleset; default: its first mode
    #[arg(long, value_name = "NAME")]
    mode: Option<String>,
    /// Minimum number of roots in the first proposal, if the ruleset leaves that open
    #[arg(long, value_name = "N")]
    min_roots: Option<u32>,
    /// Minimum number of rounds before the investigation can end
    #[arg(long, value_name = "N")]
    min_rounds: Option<u32>,
    /// Keep states that are committed too early
    #[arg(long)]
    allow_early_terminal: bool,
    #[command(flatten)]
    work: WorkArguments,
}

const EXAMPLES: &str = "\
Examples:
  tot start 'Why did p99 latency double after the upgrade?'
  tot start 'Which queue should we use?' --ruleset review
  tot start --ruleset exhaust <question.md";

const HELP: &str = "\
The question to investigate, in Markdown: what to find out, and what an answer must
explain. Everything below the line is ignored; to cancel, leave the text empty.";

/// The choices at a terminal: name, description, ruleset. The first is the default.
const METHODS: [(&str, &str, &str); 2] = [
    ("quick", "answer at any depth, checked by someone else", RECOMMENDED),
    ("thorough", "breadth and depth first", builtin::DEFAULT),
];

/// The ruleset if nobody can be asked, or nobody chooses.
const RECOMMENDED: &str = "review";

pub(super) fn run(arguments: &StartArguments) -> ExitResult {
    let (library, ruleset) = arguments.rulesets.library_with(arguments.ruleset.as_deref())?;
    let mut work = LocalTools::new("tot start", &arguments.work)?;
    work.service.rulesets = library;
    work.service.sharing = Some(Sharing::to(None));
    work.service.root_note = work.place.note.clone();
    let ruleset = match ruleset {
        None if arguments.mode.is_none() && work.may_ask() => Some(method()?),
        // A mode belongs to a ruleset.
        None if arguments.mode.is_none() => Some(RECOMMENDED.to_owned()),
        ruleset => ruleset,
    };
    let (query, edited) = match (&arguments.query, piped) {
        (Some(query), _) => (work::text(query)?, None),
        (None, piped) => match piped("an argument")? {
            Some(text) => (text, None),
            None => {
                let edited = editor::write(
                    &std::env::temp_dir(),
                    "TOT_QUESTION.md",
                    "",
                    HELP,
                    "tot start <".to_owned(),
                )?;
                (edited.text.clone(), Some(edited))
            }
        },
    };
    let request = Start {
        query,
        title: arguments.title.clone(),
        context: arguments.context.clone(),
        mode: arguments.mode.clone(),
        min_roots: arguments.min_roots,
        min_rounds: arguments.min_rounds,
        allow_early_terminal: arguments.allow_early_terminal.then_some(true),
    };
    let replied = reply::start(&work.service, ruleset.as_deref(), request, &Caller::default());
    let id = replied.as_ref().map(|(_, body)| body.session_id.clone()).unwrap_or_default();
    let is_default = work.place.folder().is_ok_and(|path| path.ends_with(&id));
    work.tell(replied, edited.as_ref(), (!is_default).then(|| work.place.short(&id)), lines)
}

/// Asks for the ruleset.
fn method() -> CommandResult<String> {
    for (name, what, ruleset) in METHODS {
        tell(&format!("  {name:<10}{what} ({ruleset})"));
    }
    loop {
        let answer = ask("Quick or thorough? [Q/t]")?.ok_or("no answer, so nothing was started")?;
        let chosen = METHODS.iter().find(|(name, ..)| name.starts_with(&answer));
        if let Some((_, _, ruleset)) = chosen {
            return Ok((*ruleset).to_owned());
        }
    }
}

fn lines(body: &StartBody) -> String {
    let StartBody { session_id, repository, ruleset, mode, min_rounds, .. } = body;
    let (repository, ruleset, mode) = (one_line(repository), one_line(ruleset), one_line(mode));
    let mut text = format!(
        "{session_id}\n  in      {repository}\n  method  {ruleset}, {mode}, at least {min_rounds} rounds (tot util ruleset show {ruleset})\n"
    );
    for earlier in &body.related {
        let RelatedEntry { session_id, title, bottom_line, verdict } = earlier;
        let said = bottom_line.as_ref().map(|line| format!("\n          {line}")).unwrap_or_default();
        text.push_str(&format!("  related {session_id} {title}{said}\n          {verdict}\n"));
    }
    text
}

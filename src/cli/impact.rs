//! `tot impact`: names the conclusions that rest on what a change of the project touches. Runs nothing.

use std::collections::BTreeSet;

use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::place::Common;
use super::print::{columns, say, say_fields, tell};
use super::screen::{BOLD, DOUBT, NAME, QUIET, Screen, assessed, styled};
use super::{CommandError, CommandResult, ExitResult, is_person, passed, project_commit};
use crate::assess::{Assessment, CapturedRun, InputState, ProjectView as _, Touched};
use crate::base::parallel;
use crate::domain::Pin;
use crate::domain::run::Seconds;
use crate::domain::wording::command;
use crate::markdown::{Reader, code_span, literal};
use crate::report::Range;
use crate::service::project::{Project, ProjectFiles};
use crate::service::remote::GitProgram;
use crate::store::{Fault, Snapshot};
use crate::text::counted;

/// Name the conclusions in the root that rest on something that a change of the project touches, directly or through what they
/// depend on: which answer, through which file, and the command to recheck. Runs nothing.
///
/// Without a range, the project's files as they are now are compared with what each command read when it was last run. With
/// BASE..HEAD, the change is what HEAD adds to the last commit that it has in common with BASE.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct ImpactArguments {
    /// Commits of the project, such as main..HEAD
    #[arg(value_name = "BASE..HEAD", conflicts_with = "staged")]
    range: Option<Range>,
    /// What is staged for the next commit
    #[arg(long)]
    staged: bool,
    /// Print Markdown for one comment on a pull request
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Exit with status 1 if a conclusion is affected, if an investigation can't be read, or if the history is not here, as in a
    /// shallow clone
    #[arg(long)]
    strict: bool,
    /// Name the commands without declared inputs, too
    #[arg(long, conflicts_with = "markdown")]
    all: bool,
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
With --json: {base?, head, affected: [{sessionId, title, nodeId, answer, through: [{nodeId, files, runId?, command?, seconds?,
recheck}]}], notRecorded?: [{sessionId, title, nodeId, answer, through}], totalCommands, totalNotChecked,
unreadable: [{path, reason}]}

Examples:
  tot impact                           the work tree, against what the commands read
  tot impact --staged --strict         in a hook, before a commit
  tot impact main..HEAD --markdown     for a comment on a pull request";

/// The maximum number of commands and citations of an answer in a comment.
const ROWS: usize = 10;
/// The maximum number of files that a line names.
const FILES: usize = 3;
/// The maximum length of a comment, in bytes. GitHub takes 65,536 characters.
const COMMENT: usize = 60_000;

/// An answer that is affected.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AffectedAnswer {
    session_id: String,
    title: String,
    node_id: String,
    answer: String,
    through: Vec<AffectedThrough>,
}

/// Something on which an answer rests: a command, or the citations of a node.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AffectedThrough {
    node_id: String,
    files: Vec<String>,
    run_id: Option<String>,
    command: Option<String>,
    seconds: Option<Seconds>,
    recheck: String,
}

/// What was found in one investigation.
#[derive(Default)]
struct Impact {
    affected: Vec<AffectedAnswer>,
    not_recorded: Vec<AffectedAnswer>,
    commands: usize,
    not_checked: usize,
    /// Its path, if it or a file of it can't be read, and the reason.
    unreadable: Vec<(String, String)>,
}

pub(super) fn run(arguments: &ImpactArguments) -> ExitResult {
    let place = arguments.common.place()?;
    place.existing()?;
    let (files, base) = change(arguments)?;
    let (folders, _) = place.folders()?;
    let look = |folder: &std::path::PathBuf| {
        let (found, reason) = match place.store.load_tip(folder) {
            Ok(snapshot) => {
                let is_grave = |fault: &&Fault| fault.is_unreadable() || snapshot.ruleset.is_err();
                let fault = snapshot.all_faults().find(is_grave).map(ToString::to_string);
                (impact(&snapshot, &files, base.as_deref(), arguments.all), fault)
            }
            Err(error) => (Impact::default(), Some(CommandError::from(error).to_string())),
        };
        let unreadable = reason.map(|reason| (folder.display().to_string(), reason));
        Impact { unreadable: unreadable.into_iter().collect(), ..found }
    };
    let mut all = Impact::default();
    for found in parallel::each(&folders, parallel::cores(), look) {
        for (path, reason) in &found.unreadable {
            tell(&format!("tot impact: left out {path}: {reason}"));
        }
        all.unreadable.extend(found.unreadable);
        all.affected.extend(found.affected);
        all.not_recorded.extend(found.not_recorded);
        all.commands += found.commands;
        all.not_checked += found.not_checked;
    }
    if arguments.common.json {
        let unreadable = all.unreadable.iter().map(|(path, reason)| json!({"path": path, "reason": reason}));
        say_fields(&json!({
            "base": base,
            "head": files.commit(),
            "affected": all.affected,
            "notRecorded": arguments.all.then_some(&all.not_recorded),
            "totalCommands": all.commands,
            "totalNotChecked": all.not_checked,
            "unreadable": unreadable.collect::<Vec<_>>(),
        }))?;
    } else {
        let since = base.as_ref().map(|base| format!("{}..{}", short(base), short(&files.commit())));
        let what = match (since, arguments.staged) {
            (_, true) => "what is staged".to_owned(),
            (Some(range), false) => range,
            (None, false) => format!("what changed up to {} and the work tree", short(&files.commit())),
        };
        match arguments.markdown {
            true => say(&comment(&all, &what))?,
            false => say(&shown(&all, &what, Screen { columns: columns() }))?,
        }
    }
    // Nothing is known of a project whose history is not here. A squashed commit is in no clone.
    let is_checked = all.not_checked == 0 || !Project::here().is_some_and(|project| project.is_shallow());
    Ok(passed(!arguments.strict || all.affected.is_empty() && all.unreadable.is_empty() && is_checked))
}

/// Returns the project's files after the change, and the commit before it. Without one, the change is since each run.
fn change(arguments: &ImpactArguments) -> CommandResult<(ProjectFiles, Option<String>)> {
    let project = Project::here().ok_or("this is not in the repository of a project")?;
    let (git, root) = (GitProgram::find(is_person())?, project.root());
    let unreadable = || format!("the project {} has no commit yet, or it can't be read", root.display());
    if let Some(Range { from, to }) = &arguments.range {
        let (base, head) = (project_commit(&git, root, from)?, project_commit(&git, root, to)?);
        let base = git
            .merge_base(root, &base, &head)?
            .ok_or("these commits have no common ancestor here; in a shallow clone: git fetch --unshallow")?;
        return Ok((project.files(Some(&head)).ok_or_else(unreadable)?, Some(base)));
    }
    let files = project.files_now(&git, arguments.staged)?.ok_or_else(unreadable)?;
    let base = arguments.staged.then(|| files.commit());
    Ok((files, base))
}

/// Finds what a change touches in an investigation.
fn impact(snapshot: &Snapshot, files: &ProjectFiles, base: Option<&str>, all: bool) -> Impact {
    let investigation = &snapshot.investigation;
    let assessment = assessed(snapshot).with_inputs(Some(&files.inputs_since(investigation, base)));
    let since = base.and_then(|base| files.since(base));
    let is_lost = |pin: &Pin| {
        let is_here = || pin.commit.as_ref().is_some_and(|commit| files.since(commit).is_some());
        since.as_ref().is_none_or(|since| since.contains_key(&pin.path)) && is_here() && files.is_lost(pin)
    };
    let mut found = Impact::default();
    for (answer, touched) in assessment.touched(&is_lost) {
        let entry = |through: Vec<AffectedThrough>| AffectedAnswer {
            session_id: investigation.meta().id.to_string(),
            title: investigation.meta().title.clone(),
            node_id: answer.node.id.to_string(),
            answer: answer.node.name().to_owned(),
            through,
        };
        if !touched.is_empty() {
            found.affected.push(entry(touched.iter().map(|it| through(&assessment, it)).collect()));
        }
        let runs: Vec<&CapturedRun<'_>> = assessment.evidence(answer).collect();
        found.commands += runs.len();
        let is = |state: InputState| move |run: &&&CapturedRun<'_>| run.input_state.as_ref() == Some(&state);
        found.not_checked += runs.iter().filter(is(InputState::NotChecked)).count();
        let unknown = runs.iter().filter(is(InputState::NotRecorded)).filter_map(|run| {
            let node = run.run.node.as_ref().and_then(|id| investigation.node(id)).unwrap_or(answer.node);
            Some(through(&assessment, &Touched { node, files: Vec::new(), run: Some(run) })).filter(|_| all)
        });
        let unknown: Vec<AffectedThrough> = unknown.collect();
        found.not_recorded.extend((!unknown.is_empty()).then(|| entry(unknown)));
    }
    found
}

fn through(assessment: &Assessment<'_>, touched: &Touched<'_, '_>) -> AffectedThrough {
    let session = assessment.investigation.meta().id.to_string();
    let recheck = match touched.run {
        Some(run) => command("tot rerun", Some(&session), &format!("{} --at HEAD", run.run.id)),
        None => command("tot check", Some(&session), "--references"),
    };
    AffectedThrough {
        node_id: touched.node.id.to_string(),
        files: touched.files.clone(),
        run_id: touched.run.map(|run| run.run.id.to_string()),
        command: touched.run.map(CapturedRun::command),
        seconds: touched.run.map(|run| run.ran.seconds),
        recheck,
    }
}

fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}

/// Says how many answers are affected, and what is not known.
fn summary(all: &Impact, what: &str) -> Vec<String> {
    let first = match all.affected.len() {
        0 => format!("No answer rests on {what}, as far as the inputs are known."),
        1 => format!("1 answer rests on {what}: recheck it."),
        several => format!("{several} answers rest on {what}: recheck them."),
    };
    let left_out = (!all.unreadable.is_empty()).then(|| {
        format!("Left out, because not all can be read: {}.", counted(all.unreadable.len(), "investigation"))
    });
    [first].into_iter().chain(not_checked(all.not_checked, all.commands)).chain(left_out).collect()
}

/// Says how many commands are not checked, if any, and what to do.
pub(super) fn not_checked(number: usize, all: usize) -> Option<String> {
    let of = counted(all, "command");
    let why = "the recorded commit is missing. In a shallow clone: git fetch --unshallow";
    (number > 0).then(|| format!("{number} of {of} not checked here: {why}"))
}

/// Says what an answer rests on: changed files, and below each the commands that read it and the nodes that cite it, at most
/// `rows` of them. Then, how to recheck them. Each file is named once, and what is in `said` not again. `code` formats paths and
/// commands.
fn lines(
    answer: &AffectedAnswer,
    rows: usize,
    said: &mut BTreeSet<String>,
    code: &dyn Fn(&str) -> String,
) -> (Vec<(bool, String)>, Vec<String>) {
    let nodes = |of: &[&AffectedThrough]| {
        let mut nodes: Vec<&str> = of.iter().map(|it| it.node_id.as_str()).collect();
        nodes.dedup();
        nodes.join(", ")
    };
    let key = |it: &AffectedThrough| format!("{} {}", it.node_id, it.recheck);
    let (mut new, again): (Vec<_>, Vec<_>) = answer.through.iter().partition(|it| !said.contains(&key(it)));
    let more = new.split_off(rows.min(new.len())).len();
    said.extend(new.iter().map(|it| key(it)));
    let ids: Vec<&str> = new.iter().filter_map(|it| it.run_id.as_ref()?.rsplit('-').next()).collect();
    let rerun = (!ids.is_empty())
        .then(|| command("tot rerun", Some(&answer.session_id), &format!("{} --at HEAD", ids.join(" "))));
    let check = new.iter().find(|it| it.run_id.is_none()).map(|it| it.recheck.clone());
    new.sort_by_key(|it| (it.files.len(), &it.files, &it.command));
    let (mut lines, mut named) = (Vec::new(), BTreeSet::new());
    for of_files in new.chunk_by(|one, other| one.files == other.files) {
        let (first, before): (Vec<_>, Vec<_>) =
            of_files[0].files.iter().partition(|file| named.insert(*file));
        let number = |number, what| (number > 0).then(|| format!("{} {what}", counted(number, "file")));
        let names = first.iter().take(FILES).map(|file| code(file));
        let numbers =
            [number(first.len().saturating_sub(FILES), "more"), number(before.len(), "named above")];
        let names: Vec<String> = names.chain(numbers.into_iter().flatten()).collect();
        let unknown = names.is_empty().then(|| "inputs not recorded".to_owned());
        lines.push((true, unknown.unwrap_or_else(|| names.join(", "))));
        for alike in of_files.chunk_by(|one, other| one.command == other.command) {
            let milliseconds = alike.iter().filter_map(|it| it.seconds).map(|it| it.milliseconds).sum();
            let runs = if alike.len() > 1 { format!("{} runs, ", alike.len()) } else { String::new() };
            lines.push((
                false,
                match &alike[0].command {
                    Some(line) => {
                        format!("{}: {} ({runs}{})", nodes(alike), code(line), Seconds { milliseconds })
                    }
                    None => format!("cited by {}", nodes(alike)),
                },
            ));
        }
    }
    lines.extend((!again.is_empty()).then(|| (true, format!("{}: as above", nodes(&again)))));
    lines.extend((more > 0).then(|| (true, format!("and {more} more"))));
    (lines, rerun.into_iter().chain(check).collect())
}

/// Formats the answers for the terminal.
fn shown(all: &Impact, what: &str, screen: Screen) -> String {
    let mut said = BTreeSet::new();
    let answer = |it: &AffectedAnswer| {
        let AffectedAnswer { node_id, answer, title, .. } = it;
        let (lines, rechecks) = lines(it, usize::MAX, &mut said, &str::to_owned);
        let line = |(is_file, text): &(bool, String)| match is_file {
            true => format!("    {}\n", styled(DOUBT, &screen.rest(text, 4))),
            false => format!("      {}\n", screen.rest(text, 6)),
        };
        let lines: String = lines.iter().map(line).collect();
        let rechecks: String = rechecks.iter().map(|it| format!("    {}\n", styled(NAME, it))).collect();
        let head = styled(BOLD, &screen.rest(&format!("{node_id} {answer}"), 0));
        format!("{head}\n  {}\n{lines}{rechecks}\n", styled(QUIET, &screen.rest(title, 2)))
    };
    let found: String = all.affected.iter().chain(&all.not_recorded).map(answer).collect();
    let lines = summary(all, what).iter().flat_map(|line| screen.wrapped(line, 0)).collect::<Vec<_>>();
    format!("{found}{}\n", lines.join("\n"))
}

/// Formats the answers as a comment on a pull request. Text of an investigation has no effect in it.
fn comment(all: &Impact, what: &str) -> String {
    let plain = |text: &str| literal(text, 200, Reader::Comment).replace('|', "\\|");
    let mut said = BTreeSet::new();
    let answer = |it: &AffectedAnswer| {
        let AffectedAnswer { node_id, answer, title, .. } = it;
        let (lines, rechecks) = lines(it, ROWS, &mut said, &code_span);
        let line =
            |(is_file, text): &(bool, String)| format!("{}- {text}\n", if *is_file { "" } else { "  " });
        let lines: String = lines.iter().map(line).collect();
        let rechecks: String = rechecks.iter().map(|it| format!("\n{}\n", code_span(it))).collect();
        format!("**{node_id}** {} ({})\n\n{lines}{rechecks}\n", plain(answer), plain(title))
    };
    let (mut found, mut more) = (String::new(), all.affected.len());
    for text in all.affected.iter().map(answer) {
        if found.len() + text.len() > COMMENT {
            break;
        }
        found.push_str(&text);
        more -= 1;
    }
    let more =
        if more > 0 { format!("And {more} more: `tot impact` lists them.\n\n") } else { String::new() };
    format!("{}\n\n{found}{more}Nothing was run to know this.\n", summary(all, what).join(" "))
}

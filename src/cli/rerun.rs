//! `tot rerun`: reruns captured commands.
//!
//! 1. [`chosen`] selects the runs.
//! 2. Each command is shown in full and confirmed, unless `--yes` was given.
//! 3. The command runs in a temporary work tree of the project, or in place.
//! 4. All reruns of one call are stored in one commit.

mod chosen;
mod words;

use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use chosen::{Wanted, no_longer};
use clap::Args;
use serde_json::{Value, json};

use super::caller::{agent_name, caller_as};
use super::impact::not_checked;
use super::interrupt::Passed;
use super::place::{Common, named_id};
use super::print::{self, columns, say_fields, tell, warn, wrapped};
use super::review::pressed;
use super::run::system;
use super::{CommandResult, ExitResult, is_person, misused, project_commit, say};
use crate::assess::inputs::{is_outside, not_found, started_scripts, starts_git};
use crate::assess::lacking::{has_judged, lacking, lost_outside};
use crate::assess::{CapturedRun, InputState, ProjectInputs, ProjectView as _, Repetition};
use crate::base::world::World;
use crate::decide::run::{NewRun, NewRuns, captured, differing};
use crate::domain::run::{
    Ended, Expectation, Output, PROJECT, ProjectState, Ran, RunComparison, RunVariable,
};
use crate::domain::{Event, Investigation, Run, RunId, RunKind};
use crate::service::project::Project;
use crate::service::remote::GitProgram;
use crate::service::runs::{
    CaptureRequest, Captured, CommandInput, Expected, LaidOut, PLACE, Tracer, Workspace, capture, folder_in,
    in_project, own_names, plain_variables, project_state, remove_leftovers, sandbox, temporary_place,
    try_sandbox,
};
use crate::service::{Loaded, Refusal, Service, Written};
use crate::text::{causes, counted, one_line, shorten, visible};

/// The minimum time limit, in seconds, for a command captured without a time limit.
const LEAST_LIMIT: u64 = 600;
/// The time limit for a command captured without one, as a multiple of its first duration.
const TIMES: u64 = 10;
/// The maximum number of characters that a reason quotes of an output.
const SAID: usize = 200;
/// The exit status that shells report for a program ended by Ctrl-C.
const INTERRUPTED: u8 = 130;

/// Rerun captured commands, and report for each whether the result is the same, differs, or could not be obtained.
///
/// Without nodes, the commands that the conclusion's answers rest on are rerun: those of the answers, the paths to them
/// and their confirmations. Each is shown in full, and you are asked before it starts. It runs in a temporary work tree
/// of the project around the current folder, at the recorded commit and with the recorded changes. A run counts as the
/// same if it ends the same way and meets every expectation or, without expectations, prints the same output. The
/// results are stored as one commit, unless they say the same as the last ones in that state of the project: then only the
/// first same result of another person or machine is stored, and one after 30 days.
///
/// The exit status is 0 if each run is the same, or its evidence was judged to hold despite the difference. It is 1 if
/// any other run differs or could not run, and 2 for wrong usage.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct RerunArguments {
    /// Nodes whose commands to rerun, or single runs: the beginning or the end of a run's id is enough
    #[arg(value_name = "NODE|RUN", conflicts_with_all = ["all", "answers"])]
    nodes_or_runs: Vec<String>,
    /// Where to run: recorded, here (in place, with the files as they are now), or a commit, branch or tag of the project, such as
    /// HEAD
    #[arg(long, value_name = "WHERE", default_value = "recorded", hide_default_value = true)]
    at: String,
    /// Rerun every captured command
    #[arg(long, conflicts_with = "answers")]
    all: bool,
    /// Rerun the commands that the answers rest on; the default without nodes
    #[arg(long)]
    answers: bool,
    /// Rerun only the commands whose inputs changed since they were last run, and at HEAD unless --at says otherwise. With --all,
    /// also those whose inputs are not known
    #[arg(long)]
    changed: bool,
    /// With --changed: the inputs changed since this commit, branch or tag of the project
    #[arg(long, value_name = "REV", requires = "changed")]
    since: Option<String>,
    /// Run without asking, for CI
    #[arg(long)]
    yes: bool,
    /// Time limit for each command; default: its own limit, or ten times its first duration, but at least ten minutes
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    timeout: Option<u64>,
    /// Run in bubblewrap: no network, and only the work tree and an empty /tmp are writable
    #[arg(long)]
    sandbox: bool,
    /// Name of the agent that reruns the commands, so that the reruns are not taken for a person's
    #[arg(long, value_name = "NAME", value_parser = agent_name)]
    agent: Option<String>,
    /// Only report, and store nothing
    #[arg(long)]
    no_store: bool,
    /// Only show what would run
    #[arg(long)]
    dry_run: bool,
    /// Judge a difference, named by the rerun's id or a suffix of the id: the evidence still holds, or fails
    #[arg(long, num_args = 2, value_names = ["RUN", "holds|fails"], requires = "message",
          conflicts_with_all = OF_RUNS)]
    judge: Vec<String>,
    /// Reason for the judgment
    #[arg(short, long, value_name = "REASON", requires = "judge", conflicts_with_all = OF_RUNS)]
    message: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// The options for running commands, which a judgment does not take.
const OF_RUNS: [&str; 9] =
    ["at", "all", "answers", "changed", "yes", "timeout", "sandbox", "no_store", "dry_run"];

const EXAMPLES: &str = "\
Examples:
  tot rerun --dry-run                show what would run, and where
  tot rerun                          rerun what the conclusion rests on, after asking
  tot rerun --all --at HEAD --yes    check everything against the newest code, in CI
  tot rerun --changed --yes          only what a change of the project concerns
  tot rerun R2.A1 --sandbox          without network access
  tot rerun 4c7d8f --at HEAD         only this run
  tot rerun --judge 4c7d8f holds -m 'Only the order of the lines differs.'";

/// Where the commands run.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Where {
    /// At the recorded commit, with the recorded changes.
    Recorded,
    /// In place, in the project as it is now.
    Here,
    /// At this commit of the project.
    At(String),
}

/// A rerun of a captured command.
struct RerunResult<'a> {
    run: &'a Run,
    first: &'a Ran,
    at: Option<String>,
    again: Ran,
    verdict: RunComparison,
    /// What of the files that git does not track the first run had and this one lacked, in words.
    missing: Option<String>,
    /// Why the result says nothing about the project of the first run, and is not stored.
    elsewhere: Option<String>,
    /// The last rerun that differed in the same way.
    before: Option<&'a Repetition<'a>>,
    /// The stored rerun. `None` if it is not stored, or says the same as the last one.
    stored: Option<RunId>,
}

pub(super) fn run(arguments: &RerunArguments) -> ExitResult {
    let place = arguments.common.place()?;
    let path = place.folder()?;
    let session = place.store.id(&path)?.to_string();
    let world = World::here();
    let service = Service::new(place.store.root().to_owned(), world.clone(), None);
    let loaded = service.read(&session)?;
    let caller = || caller_as(arguments.agent.as_deref(), &place.store, &path);
    let request = |runs| NewRuns { runs, attachments: Vec::new(), agent_id: arguments.agent.clone() };
    let record = |runs| -> CommandResult<Written> {
        let written = service.record(&session, request(runs), &caller()?)?;
        warn("tot rerun", &written);
        Ok(written)
    };
    if let [named, judgement] = arguments.judge.as_slice() {
        let written = record(vec![judged(&loaded, named, judgement, arguments.message.clone())?])?;
        return print_results(arguments, &loaded, &[], None, Some(&written)).map(|()| ExitCode::SUCCESS);
    }
    let (mut nodes, mut runs) = (Vec::new(), Vec::new());
    for word in &arguments.nodes_or_runs {
        match captured(loaded.investigation(), word) {
            Ok(run) => runs.push(run.id),
            Err(_) => nodes.push(named_id(loaded.investigation(), word)?),
        }
    }
    if let Some(node) = nodes.iter().find(|node| loaded.investigation().node(node).is_none()) {
        return Err(format!("there is no node {node}").into());
    }
    let wanted = match arguments.nodes_or_runs.as_slice() {
        [] if arguments.all => Wanted::All,
        [] if arguments.changed => Wanted::Concluding,
        [] => Wanted::Answers,
        _ => Wanted::Of(&nodes, &runs),
    };
    let inputs = arguments.changed.then(|| inputs(arguments, loaded.investigation())).transpose()?;
    let assessment = loaded.assessment().with_inputs(inputs.as_ref());
    let mut chosen = chosen::chosen(&assessment, wanted);
    let all = chosen.len();
    let unchecked = chosen.iter().filter(|run| run.input_state == Some(InputState::NotChecked)).count();
    // A squashed commit is in no clone.
    let is_shallow = || Project::here().is_some_and(|project| project.is_shallow());
    let is_unknown = unchecked > 0 && is_shallow();
    if let Some(words) = not_checked(unchecked, all) {
        tell(&format!("tot rerun: {words}"));
    }
    if arguments.changed {
        chosen.retain(|run| chosen::is_due(run, arguments.all));
    }
    if chosen.is_empty() && all > 0 {
        let unknown =
            chosen::chosen(&assessment, wanted).into_iter().filter(|run| chosen::is_due(run, true)).count();
        let unknown = if unknown > 0 { "; --all also reruns those without known inputs" } else { "" };
        if unchecked < all {
            tell(&format!(
                "tot rerun: none of the inputs of {} is known to have changed{unknown}",
                counted(all - unchecked, "command")
            ));
        }
    } else if chosen.is_empty() {
        let all = chosen::chosen(&assessment, Wanted::All).len();
        tell(&nothing(all, wanted));
    }
    let again = Again::new(arguments, loaded.investigation(), world)?;
    if arguments.dry_run {
        let shown = chosen.iter().map(|it| words::description(loaded.investigation(), it, &again.place));
        if arguments.common.json {
            let runs: Vec<Value> = chosen.iter().map(|it| entry(it.run, it.ran, None)).collect();
            say_fields(&json!({"sessionId": session, "runs": runs}))?;
        } else {
            say(&shown.collect::<String>())?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let asks = !arguments.yes;
    if asks
        && !chosen.is_empty()
        && (arguments.common.json || !io::stdin().is_terminal() || !io::stdout().is_terminal())
    {
        return Err(misused("no terminal to ask on: check the commands with --dry-run, then give --yes"));
    }
    if !arguments.no_store && !chosen.is_empty() {
        let rerun = |it: &&CapturedRun<'_>| {
            let ran = Ran { output: Output::default(), expectations: Vec::new(), ..it.ran.clone() };
            let of = it.run.id;
            let what = RunKind::Repeated { of, at: None, verdict: RunComparison::CouldNotRun, ran };
            NewRun { node: None, note: None, what }
        };
        let rehearsed = service.rehearse(&session, request(chosen.iter().map(rerun).collect()), &caller()?);
        rehearsed.inspect_err(|_| {
            tell("tot rerun: no command started, because the reruns could not be stored");
        })?;
    }
    let mut repeated = Vec::new();
    // What has run is stored, even if the terminal is gone.
    let outcome = again.repeat(&chosen, asks, arguments.common.json, &mut repeated);
    let contesting = repeated.iter().filter(|it| it.is_contesting()).map(|it| it.run.id);
    let no_longer = no_longer(&assessment, contesting);
    let stored = repeated.iter().filter(|it| it.elsewhere.is_none() && !arguments.no_store);
    let stored: Vec<NewRun> = stored.map(RerunResult::record).collect();
    let written = (!stored.is_empty()).then(|| record(stored)).transpose();
    let (written, failure) = match written {
        Ok(written) => (written, None),
        Err(error) => (None, Some(error)),
    };
    if let Some(Event::Ran { runs, .. }) = written.as_ref().and_then(|it| it.decision.event.as_ref()) {
        for result in &mut repeated {
            let stored = runs.iter().find(|run| run.of() == Some(result.run.id));
            result.stored = stored.map(|run| run.id);
        }
    }
    let said = print_results(arguments, &loaded, &repeated, no_longer, written.as_ref());
    if let Some(error) = failure {
        tell("tot rerun: nothing was stored");
        return Err(error);
    }
    let is_interrupted = outcome?;
    let is_stored = written.is_some_and(|it| it.decision.event.is_some());
    if is_stored {
        print::stored(said)?
    } else {
        said?
    }
    if is_interrupted {
        tell(&format!(
            "tot rerun: interrupted; {} of {} commands came to their end",
            repeated.len(),
            chosen.len()
        ));
    }
    let holds = |it: &RerunResult<'_>| it.holds() || it.verdict == RunComparison::Same && !is_shallow();
    Ok(match repeated.iter().all(holds) {
        _ if is_interrupted => ExitCode::from(INTERRUPTED),
        true if !is_unknown => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// Returns what became of the inputs of the commands since each was last run, or since the given commit.
fn inputs(arguments: &RerunArguments, investigation: &Investigation) -> CommandResult<ProjectInputs> {
    let none = || misused("--changed: this is not in the repository of a project that has a commit");
    let project = Project::here().ok_or_else(none)?;
    let git = GitProgram::find(is_person())?;
    let commit = |name: &str| project_commit(&git, project.root(), name);
    let files = match arguments.at.as_str() {
        "recorded" => project.files(None),
        "here" => project.files_now(&git, false)?,
        name => project.files(Some(&commit(name)?)),
    };
    let base = arguments.since.as_deref().map(commit).transpose()?;
    Ok(files.ok_or_else(none)?.inputs_since(investigation, base.as_deref()))
}

/// Explains why nothing runs.
fn nothing(all: usize, wanted: Wanted<'_>) -> String {
    let none = "tot rerun: `tot run` captured no commands";
    match (all, wanted) {
        (0, _) | (_, Wanted::All) => none.to_owned(),
        (_, Wanted::Of(..)) => format!("{none} for these nodes; --all runs every command"),
        (_, Wanted::Answers | Wanted::Concluding) => {
            format!("{none} that the answers rest on; --all runs every command")
        }
    }
}

/// Returns the record of a judgment.
fn judged(loaded: &Loaded, named: &str, judgement: &str, reason: Option<String>) -> CommandResult<NewRun> {
    let holds = match judgement {
        "holds" => true,
        "fails" => false,
        _ => return Err(misused("judge with `holds` or `fails`")),
    };
    let of = differing(loaded.investigation(), named).map_err(Refusal::from)?;
    Ok(NewRun { node: of.node.clone(), note: reason, what: RunKind::Judged { of: of.id, holds } })
}

/// Prints the results.
fn print_results(
    arguments: &RerunArguments,
    loaded: &Loaded,
    repeated: &[RerunResult<'_>],
    no_longer: Option<String>,
    written: Option<&Written>,
) -> CommandResult {
    let head = |it: &Written| it.loaded.snapshot.head.to_string();
    let commit = written.filter(|it| it.decision.event.is_some()).map(head);
    if arguments.common.json {
        let id = loaded.investigation().meta().id.to_string();
        let runs: Vec<Value> = repeated.iter().map(|it| entry(it.run, &it.again, Some(it))).collect();
        return say_fields(&json!({"sessionId": id, "runs": runs, "noLonger": no_longer, "commit": commit}));
    }
    let mut text = String::new();
    for result in repeated.iter().filter(|it| it.is_contesting() && it.judged().is_none()) {
        if let Some(id) = result.stored.or(result.before.map(|it| it.run.id)) {
            let node = result.run.node.as_ref().map(|node| format!(" of {node}")).unwrap_or_default();
            say(&format!("Judge the difference{node}: tot rerun --judge {id} holds|fails -m WHY\n"))?;
        }
    }
    if !repeated.is_empty() {
        text.push_str(&format!("{}\n", words::summary(repeated)));
    }
    text.extend(no_longer.map(|sentence| format!("{sentence}\n")));
    let stored = repeated.iter().filter(|it| it.stored.is_some()).count();
    match (&commit, repeated.iter().filter(|it| it.elsewhere.is_none()).count() - stored) {
        (Some(commit), unstored) => {
            let unstored = if unstored > 0 {
                format!("; same as before and not stored: {unstored}")
            } else {
                String::new()
            };
            text.push_str(&format!("commit {}{unstored}\n", &commit[..10]));
        }
        (None, 1..) if written.is_some() => text.push_str("same as before; nothing stored\n"),
        _ => {}
    }
    say(&wrapped(&text, columns()))
}

/// The settings of a rerun.
struct Again<'a> {
    arguments: &'a RerunArguments,
    investigation: &'a Investigation,
    world: World,
    place: Where,
    /// Git and the project around the current folder.
    project: Option<(GitProgram, Project)>,
    /// The current state of the project, if commands run in place.
    state: Option<ProjectState>,
    here: PathBuf,
    signals: Passed,
}

impl<'a> Again<'a> {
    fn new(
        arguments: &'a RerunArguments,
        investigation: &'a Investigation,
        world: World,
    ) -> CommandResult<Again<'a>> {
        let project = Project::here();
        let project = project.map(|it| GitProgram::find(is_person()).map(|git| (git, it))).transpose()?;
        let place = match (arguments.at.as_str(), &project) {
            ("recorded", Some((git, project))) if arguments.changed => {
                Where::At(git.resolve(project.root(), "HEAD")?.unwrap_or_default())
            }
            ("recorded", _) => Where::Recorded,
            ("here", _) => Where::Here,
            (name, Some((git, project))) => Where::At(project_commit(git, project.root(), name)?),
            (name, None) => {
                let name = one_line(name);
                return Err(misused(format!(
                    "{name} is a commit of the project, but this is not a repository"
                )));
            }
        };
        let state = match (&place, &project) {
            (Where::Here, Some((git, project))) => Some(project_state(git, project, &[])?),
            _ => None,
        };
        let here = std::env::current_dir()?;
        if arguments.sandbox && !arguments.dry_run {
            try_sandbox(&here)?;
        }
        let signals = Passed::watch()?;
        Ok(Again { arguments, investigation, world, place, project, state, here, signals })
    }

    /// Reruns the commands one after another. Returns whether the user interrupted them. Finished reruns are added to `repeated`.
    fn repeat<'r>(
        &self,
        chosen: &[&'r CapturedRun<'r>],
        mut asks: bool,
        is_quiet: bool,
        repeated: &mut Vec<RerunResult<'r>>,
    ) -> CommandResult<bool> {
        if let Some((git, project)) = &self.project {
            remove_leftovers(git, project.root());
        }
        for captured @ CapturedRun { run, ran: first, .. } in chosen.iter().copied() {
            if asks {
                say(&words::description(self.investigation, captured, &self.place))?;
                match self.key()? {
                    'r' => {}
                    'a' => asks = false,
                    's' => continue,
                    _ => break,
                }
            }
            let elsewhere = self.elsewhere(first)?;
            let (at, again, is_interrupted) = self.once(captured)?;
            if is_interrupted {
                return Ok(true);
            }
            let verdict = match again.verdict(first, &captured.later) {
                RunComparison::Differs if elsewhere.is_some() => RunComparison::CouldNotRun,
                verdict => verdict,
            };
            let before = captured.as_before(&again);
            let state = again.project.as_ref().filter(|_| self.place != Where::Here);
            let missing = state.and_then(ProjectState::lacks);
            let repetition =
                RerunResult { run, first, at, again, verdict, missing, elsewhere, before, stored: None };
            if !is_quiet {
                // If it can't be printed, neither can the summary, which reports the error once everything is stored.
                let _ = say(&words::result_lines(&repetition));
            }
            repeated.push(repetition);
        }
        Ok(false)
    }

    fn key(&self) -> CommandResult<char> {
        say("[r]un [s]kip [a]ll [q]uit? ")?;
        loop {
            let key = self.signals.waiting(pressed)?;
            let key = if key == 'y' { 'r' } else { key };
            if "rsaq".contains(key) {
                say(&format!("{}\n", visible(key)))?;
                return Ok(key);
            }
        }
    }

    /// Returns why this is not known to be the project in which a command was captured.
    fn elsewhere(&self, first: &Ran) -> CommandResult<Option<String>> {
        let Some(commit) = first.project.as_ref().and_then(|state| state.commit.as_ref()) else {
            let unknown =
                "not checked: no commit of a project was recorded; rerun it in its folder with --at here";
            return Ok((self.place != Where::Here).then(|| unknown.to_owned()));
        };
        let Some((git, project)) = &self.project else {
            return Ok(Some("this is not its project".to_owned()));
        };
        let is_here = git.resolve(project.root(), commit)?.is_some();
        let commit = shorten(&one_line(commit), 12);
        Ok((!is_here).then(|| {
            format!("not checked: the recorded commit {commit} is not here; for a shallow clone: git fetch --unshallow")
        }))
    }

    /// Reruns a command. Returns the commit at which it ran, the result, and whether the user interrupted it.
    fn once(&self, captured: &CapturedRun<'_>) -> CommandResult<(Option<String>, Ran, bool)> {
        let of = captured;
        let CapturedRun { ran: first, later, .. } = of;
        let differs = of.counts().filter(|it| it.verdict == RunComparison::Differs);
        let differs_at = differs.and_then(|it| it.at);
        let started_at = self.world.now()?;
        let limit = first.timeout.unwrap_or_else(|| {
            let took = first.seconds.milliseconds.div_ceil(1_000);
            took.saturating_mul(TIMES).max(LEAST_LIMIT)
        });
        let limit = self.arguments.timeout.unwrap_or(limit);
        let ran = self.captured(captured, Duration::from_secs(limit));
        let (mut project, mut captured, workspace) =
            ran.unwrap_or_else(|reason| (None, Captured::not_run(reason), None));
        let traced = captured.traced.take();
        let at = project.as_ref().and_then(|state| state.commit.clone());
        if let (Some(state), Some(at), Some(other), Some((git, here))) =
            (&mut project, &at, differs_at, &self.project)
        {
            state.behind = !git.contains(here.root(), at, other)?;
        }
        let mut again = Ran {
            folder: first.folder.clone(),
            project,
            seconds: captured.seconds,
            timeout: Some(limit),
            ended: captured.ended,
            expected_exit: first.expected_exit,
            output: captured.output,
            expectations: captured.expectations,
            system: system(),
            plain: first.plain,
            ..Ran::new(first.command.clone(), started_at)
        };
        if let (Some(traced), Some((_, here)), Some(at)) = (traced, &self.project, &at)
            && let Some(files) = here.files(Some(at))
        {
            // Where not all is known, the inputs stay those of the first run.
            again.traced = files.trace(&traced, &mut again).is_ok_and(|unknown| unknown.is_empty());
        }
        if let Some((_, here)) = &self.project {
            again.refs = here.refs(first.refs.iter().map(|it| it.name.as_str()));
        }
        let is_unset = |it: &&RunVariable| it.value.is_none() && std::env::var_os(&it.name).is_none();
        let unset = first.variables.iter().find(is_unset);
        let unset =
            unset.map(|it| format!("{} is not set here, and its value was not stored", one_line(&it.name)));
        let lacked = not_found(&again, first, self.place == Where::Here);
        let lacked = lacked.map(|path| format!("{} is not stored in the run", one_line(&path)));
        let lost = || lost_outside(&again, first).filter(|path| !self.is_own(path));
        let lost = || lost().map(|path| format!("{} is not there", one_line(&path)));
        if again.verdict(first, later) == RunComparison::Differs {
            let lack =
                || unset.or(lacked).or_else(lost).or_else(|| self.lack(first, &again, workspace.as_ref()));
            let asks_otherwise = of.asks_otherwise(&again.refs);
            let lack = asks_otherwise.or_else(|| if has_judged(&again, first) { None } else { lack() });
            let lack = lack.or_else(|| self.lost_history(first));
            again.ended = lack.map_or(again.ended, Ended::NotRun);
        }
        Ok((at, again, captured.interrupted.is_some()))
    }

    /// Returns whether an absolute path, as earlier versions stored it, leads into the project: there, that a file is gone is a
    /// difference.
    fn is_own(&self, path: &str) -> bool {
        let mut roots = self.project.iter().flat_map(|(_, project)| own_names(project.root()));
        !path.contains("..") && roots.any(|root| Path::new(path).starts_with(root))
    }

    /// Says what a command of git that differs may have lacked: in a shallow clone, the history.
    fn lost_history(&self, first: &Ran) -> Option<String> {
        let (_, project) = self.project.as_ref()?;
        let is_lost = starts_git(first) && project.is_shallow();
        is_lost.then(|| "it asks git, and this clone is shallow: git fetch --unshallow".to_owned())
    }

    /// Says what a repetition that differs lacked: files as a checkout would give them, or what its output says is missing.
    fn lack(&self, first: &Ran, again: &Ran, workspace: Option<&Workspace<'_>>) -> Option<String> {
        let (git, project) = self.project.as_ref()?;
        let state = again.project.as_ref()?;
        let unfiltered = match workspace {
            Some(workspace) => {
                workspace.unfiltered().map(|files| format!("{files}: rerun it with --at here"))
            }
            None => git.not_checked_out(project.root(), &|path| first.reads(path)),
        };
        let root = workspace.map_or(project.root().to_owned(), Workspace::root);
        // What the command itself should have made is no lack.
        let is_installed = |path: &str| {
            let first = path.split('/').next().unwrap_or_default();
            first.starts_with('.')
                || path.split('/').any(|part| ["node_modules", "venv", "vendor"].contains(&part))
                || project.root().join(path).exists()
        };
        let lacks = |path: &str| {
            let place = root.join(path);
            let is_known = || {
                state.unknown().any(|it| it == path || it.ends_with('/') && path.starts_with(it.as_str()))
                    || is_installed(path) && git.ignores(&root, path)
            };
            let is_annexed =
                || fs::read_link(&place).is_ok_and(|to| to.to_string_lossy().contains(".git/annex/"));
            !place.exists() && (is_annexed() || workspace.is_some() && is_known())
        };
        let commit = first.project.as_ref().and_then(|state| state.commit.as_deref());
        let then = commit.and_then(|commit| project.files(Some(commit)));
        let then = then.as_ref().and_then(|it| it.files());
        // As of a program that is gone, nothing was judged.
        let mut scripts = then.into_iter().flat_map(|files| started_scripts(first, files));
        let gone = scripts.find(|path| !root.join(path).exists());
        let gone = gone.map(|path| format!("the script {} was removed or renamed", one_line(&path)));
        unfiltered.or(gone).or_else(|| lacking(again, first, then, &lacks))
    }

    /// Reruns a command in the place that the options specify. Returns the project state there, and the work tree.
    fn captured(
        &self,
        run: &CapturedRun<'_>,
        limit: Duration,
    ) -> Result<(Option<ProjectState>, Captured, Option<Workspace<'_>>), String> {
        let first = run.ran;
        let Some(recorded) = &first.project else {
            // Elsewhere, the result says nothing and is not stored.
            return Ok((None, self.run_in(&self.here, None, (run.ran, &run.later), None, limit)?, None));
        };
        let Some((git, project)) = &self.project else {
            return Err("this is not a repository: rerun it in a clone of the project".to_owned());
        };
        let state =
            |commit: &str| ProjectState { commit: Some(commit.to_owned()), ..ProjectState::default() };
        let (mut state, workspace) = match &self.place {
            Where::Here => {
                let folder = first.folder.as_deref();
                let mut state = self.state.clone();
                if let Some(state) = &mut state {
                    state.ignored =
                        project.ignored(git, first, state).map_err(|error| one_line(&causes(&error)))?;
                    state
                        .untracked
                        .extend(missing(&recorded.untracked, project.root()).filter(|it| is_outside(it)));
                }
                let captured = self.run_in(project.root(), folder, (run.ran, &run.later), None, limit)?;
                return Ok((state, captured, None));
            }
            Where::At(commit) => {
                let workspace = Workspace::new(git, project.root(), commit, None)?;
                workspace.add_included(recorded.patch.as_deref().unwrap_or_default());
                (state(commit), workspace)
            }
            Where::Recorded => {
                let Some(commit) = &recorded.commit else {
                    return Err("the project had no commit yet".to_owned());
                };
                if let Some(files) =
                    recorded.not_stored().filter(|_| recorded.patch.is_none() && !recorded.changed.is_empty())
                {
                    return Err(format!("not stored in the run: {files}"));
                }
                let workspace = Workspace::new(git, project.root(), commit, recorded.patch.as_deref())?;
                // The recorded changes are those of the first run.
                (ProjectState { changed: recorded.changed.clone(), ..state(commit) }, workspace)
            }
        };
        let root = workspace.root();
        let folder = first.folder.as_deref();
        if let Some(interrupted) = self.set_up(&root, first, &workspace, limit)? {
            return Ok((Some(state), interrupted, Some(workspace)));
        }
        state.untracked = missing(&recorded.untracked, &root).collect();
        state.ignored = missing(&recorded.ignored, &root).collect();
        let captured = self.run_in(&root, folder, (first, &run.later), Some(&workspace), limit)?;
        Ok((Some(state), captured, Some(workspace)))
    }

    /// Prepares a work tree as the run says. Returns the outcome if the user interrupted it.
    fn set_up(
        &self,
        root: &Path,
        first: &Ran,
        workspace: &Workspace<'_>,
        limit: Duration,
    ) -> Result<Option<Captured>, String> {
        let Some(line) = &first.setup else { return Ok(None) };
        if line.contains(PROJECT) && !needs_no_quotes(root) {
            return Err("the path of the project here needs quotes, which the setup lacks".to_owned());
        }
        let command = vec!["sh".to_owned(), "-c".to_owned(), line.clone()];
        let variables = first.variables.clone();
        let setup = Ran { variables, plain: true, ..Ran::new(command, first.started_at) };
        let limit = limit.max(Duration::from_secs(LEAST_LIMIT));
        let done = self.run_in(root, first.folder.as_deref(), (&setup, &[]), Some(workspace), limit)?;
        let said = done.output.end.as_ref().unwrap_or(&done.output.text);
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no output");
        match done.ended {
            _ if done.interrupted.is_some() => Ok(Some(done)),
            Ended::Exit(0) => Ok(None),
            ref ended => {
                let (line, last) = (one_line(line), shorten(&one_line(last), SAID));
                Err(format!("its setup `{line}` failed, {ended}: {last}"))
            }
        }
    }

    fn run_in(
        &self,
        root: &Path,
        folder: Option<&str>,
        (first, later): (&Ran, &[(&Arc<Run>, &Expectation)]),
        workspace: Option<&Workspace<'_>>,
        limit: Duration,
    ) -> Result<Captured, String> {
        let Some(place) = folder_in(root, folder) else {
            let folder = one_line(folder.unwrap_or_default());
            return Err(format!("the folder {folder} does not exist"));
        };
        let expected = first.expectations.iter().chain(later.iter().map(|it| it.1));
        let place_names = self.project.iter().flat_map(|(_, project)| own_names(project.root()));
        let roots: Vec<String> =
            [root.to_string_lossy().into_owned()].into_iter().chain(place_names).collect();
        let expected = expected.map(|it| Ok(Expected::from_stored(it)?.within(roots.clone())));
        let expected = expected.collect::<Result<Vec<_>, String>>()?;
        let files = match first.files.as_slice() {
            [] => None,
            files => Some(LaidOut::new(files, |file| self.investigation.content(file))?),
        };
        let starter = match self.arguments.sandbox {
            true => {
                let git = self.project.iter().map(|(_, project)| project.root().join(".git"));
                sandbox(root, &place, files.iter().map(LaidOut::folder).chain(git))
            }
            false => Vec::new(),
        };
        // Earlier versions stored no name for the project.
        let named = |text: &str| if first.plain { in_project(text, root) } else { text.to_owned() };
        let is_in_line = |word: &String| word.contains(PROJECT) && word.contains(char::is_whitespace);
        if first.plain && !needs_no_quotes(root) && first.command.iter().any(is_in_line) {
            return Err("the path of the project here needs quotes, which the command lacks".to_owned());
        }
        let mut command: Vec<String> = first.command.iter().map(|word| named(word)).collect();
        if let Some(workspace) = workspace {
            let moved = workspace.command(&command)?;
            // What names the project leads there already.
            let words = command.into_iter().zip(moved).zip(&first.command);
            command = words.map(|((own, moved), word)| if own == *word { moved } else { own }).collect();
        }
        if let Some(files) = &files {
            command = files.command(&command);
        }
        let variables = workspace.map(Workspace::variables).unwrap_or_default().into_iter();
        let value = |it: &RunVariable| Some((it.name.clone(), Some(named(it.value.as_ref()?))));
        let stored = first.variables.iter().filter_map(value);
        let input = files.as_ref().and_then(LaidOut::input);
        // Without a trace, the run counts, but the inputs stay those of the first run.
        let is_traced = first.traced && workspace.is_some() && !self.arguments.sandbox;
        let others = self.project.as_ref().filter(|_| is_traced);
        let others = others.and_then(|(git, project)| git.worktrees(project.root()).ok()).unwrap_or_default();
        let tracer = is_traced.then(|| Tracer::new((root, &others), &place, &command, &[]).ok()).flatten();
        // Earlier versions stored the path of the project.
        let named_roots = if first.plain { &roots[..] } else { &roots[..1] };
        let name = if first.plain { PROJECT } else { &roots[roots.len() - 1] };
        let known = named_roots.iter().filter(|_| self.project.is_some());
        let places = known.map(|root| (PathBuf::from(root), name.to_owned()));
        let places = places.chain(files.iter().map(|it| (it.folder(), PLACE.to_owned())));
        let request = CaptureRequest {
            command: &command,
            starter: &starter,
            tracer,
            folder: &place,
            // What was captured before they were set is repeated without them.
            variables: plain_variables(&first.variables)
                .filter(|_| first.plain)
                .chain(variables)
                .chain(files.iter().map(LaidOut::variable))
                .chain(stored)
                .collect(),
            input: input.as_deref().map_or(CommandInput::Nothing, CommandInput::File),
            sinks: [None, None],
            places: places.chain(temporary_place()).collect(),
            expected,
            timeout: Some(limit),
            kills_background: true,
        };
        Ok(capture(request, &mut || self.signals.take()))
    }
}

impl<'a> RerunResult<'a> {
    /// Returns whether the result contests what rests on the command.
    fn is_contesting(&self) -> bool {
        self.verdict == RunComparison::Differs && self.dirty().is_none() && !self.holds()
    }

    /// Returns the state of the project, if it had uncommitted changes besides those of the first run.
    fn dirty(&self) -> Option<&ProjectState> {
        let state = self.again.project.as_ref();
        state.filter(|state| state.is_dirty(self.first.project.as_ref()))
    }

    /// Returns whether the evidence holds: the result is the same, or the evidence was judged to hold despite the
    /// difference.
    fn holds(&self) -> bool {
        self.verdict == RunComparison::Same && self.elsewhere.is_none()
            || self.judged().is_some_and(|(_, holds)| holds)
    }

    /// Returns an earlier judgment of the same difference, and whether it found that the evidence holds.
    fn judged(&self) -> Option<(&Run, bool)> {
        self.before?.judged()
    }

    fn record(&self) -> NewRun {
        let what = RunKind::Repeated {
            of: self.run.id,
            at: self.at.clone(),
            verdict: self.verdict,
            ran: self.again.clone(),
        };
        NewRun { node: self.run.node.clone(), note: None, what }
    }
}

/// Returns the paths at which nothing is, seen from a folder.
fn missing<'a>(paths: &'a [String], root: &'a Path) -> impl Iterator<Item = String> + use<'a> {
    paths.iter().filter(|path| fs::symlink_metadata(root.join(path)).is_err()).cloned()
}

/// Returns a run as JSON, with its result unless it was only shown.
fn entry(run: &Run, ran: &Ran, result: Option<&RerunResult<'_>>) -> Value {
    let differs = result.filter(|it| it.verdict != RunComparison::Same);
    json!({
        "runId": run.id,
        "nodeId": run.node,
        "comparison": result.map(|it| it.verdict),
        // The commit of the project at which the command ran.
        "projectCommit": result.and_then(|it| it.at.as_deref()),
        // An earlier judgment of the same difference.
        "holds": result.and_then(RerunResult::judged).map(|(_, holds)| holds),
        // The differences from the first run.
        "reasons": differs.map_or_else(Vec::new, words::reasons),
        // The record of this rerun. Null if it is not stored, such as one that says the same as the last one.
        "rerunId": result.and_then(|it| it.stored),
        "ran": ran,
    })
}

/// Returns whether a path can stand in a command line without quotes.
fn needs_no_quotes(path: &Path) -> bool {
    path.to_string_lossy().chars().all(|c| c.is_alphanumeric() || "/._+-@,:\\".contains(c))
}

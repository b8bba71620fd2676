//! `tot run`: runs a command as evidence.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::num::NonZero;
use std::path::{Path, PathBuf, absolute};
use std::process::{self, ExitCode};
use std::thread::available_parallelism;
use std::time::Duration;

use clap::Args;

use super::caller::{agent_name, caller_as};
use super::interrupt::Passed;
use super::place::PlaceArguments;
use super::print::{tell, warn};
use super::{CommandError, CommandResult, ExitResult, attach, is_person, misused};
use crate::assess::inputs::{from_root, may_read, named};
use crate::assess::refs::ref_names;
use crate::base::platform::{input, input_left, is_input_open, private_folder};
use crate::base::world::World;
use crate::decide::attach::NewAttachment;
use crate::decide::run::{NewRun, NewRuns, any_run, captured};
use crate::domain::run::{
    Ended, Expectation, InputFile, PROJECT, ProjectState, Ran, RunVariable, STDIN, System,
};
use crate::domain::wording::command;
use crate::domain::{AttachmentName, Caller, Code, Event, NodeId, RunKind};
use crate::ruleset::ATTACHMENT_MAX;
use crate::service::project::{Project, ProjectFiles};
use crate::service::remote::GitProgram;
use crate::service::runs::{
    CaptureRequest, Captured, CommandInput, Expected, LaidOut, PLACE, Sink, Tracer, capture, named_outside,
    named_variables, own_names, plain_variables, project_state, stored_command, stored_project,
    temporary_place, timed_line, took_a_part,
};
use crate::service::{Refusal, Service};
use crate::text::{counted, one_line, shell_line};
use crate::yaml;

/// The exit status that shells report for a missing command.
const NOT_RUN: i32 = 127;
/// The exit status that shells report for a command ended by a signal, before the signal's number is added.
const SIGNALLED: i32 = 128;
/// The exit status that timeout(1) reports after the time limit.
const TIMED_OUT: i32 = 124;
/// The exit status of timeout(1) and env(1) for their own failure.
const NOT_STORED: u8 = 125;
/// The maximum size of a file to store with a run.
const FILE_MAX: u64 = 256 << 10;
const LOST_INPUT: &str = "standard input is not stored, so a rerun can't run: give it as a file of at most 256 KiB, as in `< FILE`";
/// The prefix of the folder for a run that could not be stored.
const KEPT: &str = "tot-run-";

/// Run a command and store its output and exit status, as evidence that anyone can rerun with tot rerun.
///
/// The command runs as it would without tot run, and its exit status is passed on. A run that could not be stored, as
/// during a merge, is refused before it starts. If storing fails afterwards, the status is 125, and standard error says
/// where the run is kept. If the command can't be started, the status is 127, and nothing is stored. It is 124 after the
/// time limit, and 128 plus the number for a signal. A failing command is evidence too. tot run stores the command, the folder, the project's commit
/// and uncommitted changes to tracked files, the names of untracked files, the first and last 32 KiB of the output, and
/// its checksum.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct RunArguments {
    /// Node that the run is evidence for; without a node, it belongs to the whole investigation until a result names it
    node: Option<String>,
    /// Program and its arguments, after --
    #[arg(value_name = "COMMAND", last = true, required_unless_present_any = ["retract", "of"])]
    command: Vec<String>,
    /// Regular expression that a line of the output must match; with 'REGEX in LOW..HIGH', the number that the group in
    /// REGEX captures from the last matching line must be in the range
    #[arg(long, value_name = "REGEX")]
    expect: Vec<String>,
    /// Expected exit status; default for reruns: the actual one
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    exit: Option<i32>,
    /// Time limit in seconds, after which the command and everything it started are ended
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    timeout: Option<u64>,
    /// Untracked file of the project whose content to store with the run, so that a rerun has it; of other untracked files,
    /// only the names are stored
    #[arg(long, value_name = "FILE")]
    include: Vec<String>,
    /// File from outside the project, such as a script, to store with the run. It is laid out for the run and each rerun in
    /// the folder $TOT_FILES; an argument that names it becomes its path there
    #[arg(long = "with", value_name = "FILE")]
    files: Vec<String>,
    /// File, folder or pattern of the project that the command reads, such as 'src/**/*.py'. While each of them is as it was, a
    /// change of the project does not concern the run
    #[arg(long = "input", value_name = "PATH", conflicts_with = "pinned")]
    inputs: Vec<String>,
    /// Find out with strace what the command reads of the project, and store it as its inputs, only on Linux. The command runs
    /// slower, so a range of its time means nothing
    #[arg(long, conflicts_with_all = ["inputs", "pinned"])]
    trace: bool,
    /// The command reads fixed revisions only, so no change of the project concerns the run
    #[arg(long)]
    pinned: bool,
    /// Environment variable whose value to store with the run, and to set for each rerun
    #[arg(long = "env", value_name = "NAME")]
    variables: Vec<String>,
    /// Line for a shell that prepares a work tree, such as 'npm ci'. It is stored with the run, and each rerun in a work tree runs
    /// it first, in the same folder
    #[arg(long, value_name = "LINE")]
    setup: Option<String>,
    /// File to attach to the node after the command has ended, such as a plot that it writes
    #[arg(long, value_name = "FILE", requires = "node")]
    attach: Vec<String>,
    /// Captured run, by the beginning or the end of its id, to judge on its stored output by --expect, as your own word: nothing
    /// runs, and each rerun is judged so, too
    #[arg(long, value_name = "RUN", requires = "expect", conflicts_with_all = ["node", "command", "exit", "timeout", "include", "files", "inputs", "trace", "pinned", "variables", "setup", "attach"])]
    of: Option<String>,
    /// Run, rerun or later expectation to take back, by the beginning or the end of its id: it stays in the history, and counts for nothing. Needs
    /// a reason (-m), unless it is your own
    #[arg(long, value_name = "RUN", conflicts_with_all = ["of", "node", "command", "expect", "exit", "timeout", "include", "files", "inputs", "trace", "pinned", "variables", "setup", "attach"])]
    retract: Option<String>,
    /// Note on the run, or the reason for taking it back
    #[arg(short, long, value_name = "NOTE")]
    message: Option<String>,
    /// Store nothing if the output looks like it contains a credential, even if the ruleset only warns
    #[arg(long)]
    reject_secrets: bool,
    /// Name of the agent that runs the command, so that the run is not taken for a person's
    #[arg(long, value_name = "NAME", value_parser = agent_name)]
    agent: Option<String>,
    #[command(flatten)]
    place: PlaceArguments,
}

const EXAMPLES: &str = "\
Examples:
  tot run R2.A1 -- python3 load.py --seconds 55
  tot run R2.A1 --expect 'p99 ([0-9.]+) ms in 0..50' -- ./bench
  tot run R2.A1 --exit 1 --expect 'database is locked' -m 'Fails at once.' -- ./two-writers
  tot run R2.A1 --include data.csv -- python3 plot.py data.csv
  tot run R2.A1 --with /tmp/load.py -- python3 /tmp/load.py
  tot run R2.A1 --input src --input 'data/*.csv' -- python3 src/plot.py
  tot run R2.A1 --trace -- python3 -m pytest tests/test_queue.py
  tot run R2.A1 --setup 'npm ci' -- npm test
  tot run --timeout 60 -- sh -c 'cargo test 2>&1 | tail -20'
  tot run --expect 'p99 [0-9]+ ms' --of 4c7d8f
  tot run --retract 4c7d8f -m 'It measured the wrong branch.'";

pub(super) fn run(arguments: &RunArguments) -> ExitResult {
    if let Some(named) = arguments.retract.as_ref().or(arguments.of.as_ref()) {
        return add(arguments, named);
    }
    let (mut prepared, expected) = prepare(arguments)?;
    let sinks: [Option<Sink>; 2] = [Some(Box::new(io::stdout())), Some(Box::new(io::stderr()))];
    let files = match prepared.ran.files.as_slice() {
        [] => None,
        files => Some(LaidOut::new(files, InputFile::content)?),
    };
    let command = files.as_ref().map(|it| it.command(&prepared.command));
    let places = files.iter().map(|files| (files.folder(), PLACE.to_owned()));
    let places = places.chain(prepared.names.iter().map(|name| (PathBuf::from(name), PROJECT.to_owned())));
    let request = CaptureRequest {
        command: command.as_ref().unwrap_or(&prepared.command),
        starter: &[],
        tracer: prepared.tracer.take(),
        folder: &prepared.folder,
        variables: plain_variables(&prepared.ran.variables)
            .chain(files.iter().map(LaidOut::variable))
            .collect(),
        input: CommandInput::Own,
        sinks,
        places: places.chain(temporary_place()).collect(),
        expected,
        timeout: arguments.timeout.map(Duration::from_secs),
        kills_background: false,
    };
    let mut captured = capture(request, &mut || prepared.signals.take());
    // A command that left all in the pipe has no input.
    let left = input_left();
    let length = |it: &InputFile| {
        (it.name.as_str() == STDIN).then(|| it.content()).flatten().map(|content| content.len() as u64)
    };
    prepared.ran.files.retain(|file| left.is_none() || length(file) != left);
    for length in prepared.ran.files.iter().filter_map(length) {
        tell(&format!(
            "tot run: standard input is stored ({})",
            counted(usize::try_from(length).unwrap_or(usize::MAX), "byte")
        ));
    }
    if prepared.may_get_input && !is_input_open() {
        tell(&format!("tot run: {LOST_INPUT}"));
        prepared.lost_input = InputFile::lost_input();
    }
    // What a group takes of a number by mistake says nothing of the output.
    for part in captured.expectations.extract_if(.., |it| took_a_part(it)) {
        let (pattern, found) = (&part.pattern, one_line(part.found.as_deref().unwrap_or_default()));
        let how = "nothing is expected of it: mend the pattern, and add it with --of";
        tell(&format!("tot run: the group in `{pattern}` took {found}, so {how}"));
    }
    let status = status(&captured.ended);
    let traced = captured.traced.take();
    // git needs a current folder, but the command may have removed this one.
    if std::env::current_dir().is_err() {
        let _ = std::env::set_current_dir(&prepared.root);
    }
    if let Ended::NotRun(reason) = &captured.ended {
        tell(&format!("tot run: {reason}, so nothing is stored{}", form(&arguments.command)));
        return Ok(status);
    }
    if let (Some(traced), Some((project, before))) = (traced, &prepared.before) {
        let git = GitProgram::find(is_person())?;
        if let Err(error) = project.trace(&git, &traced, before, &mut prepared.ran) {
            tell(&format!("tot run: the inputs are not recorded: {error}"));
        }
        let unknown = prepared.ran.project.iter().flat_map(|state| &state.ignored);
        tell_unknown(unknown, "commit it, or declare the inputs with --input");
    }
    Ok(if prepared.store(arguments, captured) { status } else { ExitCode::from(NOT_STORED) })
}

/// Returns how to write a command that was given in the syntax of a shell. Pure.
fn form(command: &[String]) -> String {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let form = match command {
        [line] if line.contains(|c: char| c.is_whitespace() || "|&;<>()$`*?=".contains(c)) => {
            ["sh", "-c", line].map(str::to_owned).to_vec()
        }
        [first, ..] if first.split_once('=').is_some_and(|(name, _)| is_name(name)) => {
            [&["env".to_owned()], command].concat()
        }
        _ => return String::new(),
    };
    format!("; in the syntax of a shell: tot run … -- {}", shell_line(&form))
}

/// Takes back a record, or adds what is expected of a captured run.
fn add(arguments: &RunArguments, named: &str) -> ExitResult {
    let names = Project::here().map(|project| own_names(project.root())).unwrap_or_default();
    let expected = expected(arguments, &names)?;
    let place = arguments.place.place()?;
    let path = place.folder()?;
    let session = place.store.id(&path)?.to_string();
    let service = Service::new(place.store.root().to_owned(), World::here(), None);
    let loaded = service.read(&session)?;
    let (what, done) = if arguments.retract.is_some() {
        let of = any_run(loaded.investigation(), named).map_err(Refusal::from)?.id;
        (RunKind::Retracted { of }, format!("took back {of}"))
    } else {
        let run = captured(loaded.investigation(), named).map_err(Refusal::from)?;
        let judged = expected.into_iter().zip(run.ran()).map(|(it, ran)| it.judge(ran));
        let expectations: Vec<Expectation> = judged.collect();
        for missed in expectations.iter().filter(|it| !it.held).map(missed) {
            tell(&format!("tot run: {missed}"));
        }
        (RunKind::Expected { of: run.id, expectations }, format!("stored what you expect of {}", run.id))
    };
    let run = NewRun { node: None, note: arguments.message.clone(), what };
    let agent_id = arguments.agent.clone();
    let caller = caller_as(agent_id.as_deref(), &place.store, &path)?;
    let written =
        service.record(&session, NewRuns { runs: vec![run], attachments: Vec::new(), agent_id }, &caller)?;
    warn("tot run", &written);
    tell(&format!("tot run: {done}, commit {}", &written.loaded.snapshot.head.to_string()[..10]));
    Ok(ExitCode::SUCCESS)
}

/// Returns the exit status that a shell would report.
fn status(ended: &Ended) -> ExitCode {
    let status = match ended {
        Ended::Exit(status) => *status,
        Ended::Signal(signal) => SIGNALLED + signal,
        Ended::TimedOut => TIMED_OUT,
        Ended::NotRun(_) => NOT_RUN,
    };
    // Statuses on Windows can be larger.
    u8::try_from(status).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Everything that is checked and gathered before the command runs.
struct Prepared {
    session: String,
    caller: Caller,
    service: Service,
    /// The command, in which the stored files are named as in `ran`.
    command: Vec<String>,
    /// The run as far as it is known. A program in the project is named by its path from the folder.
    ran: Ran,
    /// The paths of the project's root.
    names: Vec<String>,
    /// The standard input, if it can't be stored.
    lost_input: Option<InputFile>,
    /// True if nothing had been written to the standard input, but somebody still may.
    may_get_input: bool,
    /// What the command names outside of the project, seen from its root.
    outside: Vec<String>,
    /// The investigations folder.
    root: PathBuf,
    node: Option<NodeId>,
    folder: PathBuf,
    signals: Passed,
    tracer: Option<Tracer>,
    /// The project with its files before the command ran, for a trace.
    before: Option<(Project, ProjectFiles)>,
}

fn expected(arguments: &RunArguments, names: &[String]) -> CommandResult<Vec<Expected>> {
    let parse = |text: &String| Expected::parse(&Expected::anywhere(text, names)).map_err(misused);
    arguments.expect.iter().map(|text| Ok(parse(text)?.within(names.to_owned()))).collect()
}

/// Prepares the run. All errors are reported before the command starts, because it may run for a long time.
fn prepare(arguments: &RunArguments) -> CommandResult<(Prepared, Vec<Expected>)> {
    let project = Project::here();
    let names = project.as_ref().map(|project| own_names(project.root())).unwrap_or_default();
    let expected = expected(arguments, &names)?;
    let place = arguments.place.place()?;
    let path = place.folder()?;
    let node = arguments.node.as_ref().map(|word| place.node_id(&path, word)).transpose()?;
    let session = place.store.id(&path)?.to_string();
    let world = World::here();
    let started_at = world.now()?;
    // The command may remove the current folder.
    let root = absolute(place.store.root())?;
    let mut service = Service::new(root.clone(), world, None);
    service.reject_secrets = arguments.reject_secrets;
    let loaded = service.read(&session)?;
    if let Some(node) = node.as_ref().filter(|node| loaded.investigation().node(node).is_none()) {
        let advice = "propose it first, or run without a node and cite the run in a result";
        return Err(format!("there is no node {node}: {advice}").into());
    }
    let mut command = arguments.command.clone();
    if let (Some(project), Some(program)) = (&project, command.first_mut()) {
        *program = project.relative_program(program).unwrap_or_else(|| program.clone());
    }
    let folder = std::env::current_dir()?;
    let around = project.as_ref().map_or(folder.clone(), |project| project.root().to_owned());
    if project.is_none() {
        tell(
            "tot run: this is not in a project (a git repository), so only a rerun here, with --at here, says anything",
        );
    }
    let files = arguments.files.iter().map(|file| with(file)).collect::<CommandResult<Vec<_>>>()?;
    for file in arguments.files.iter().filter(|file| project.as_ref().is_some_and(|it| it.tracks(file))) {
        tell(&format!(
            "tot run: {} is in the project, so each rerun has it without --with, which stores and runs a copy",
            one_line(file)
        ));
    }
    command = stored_command(&command, &files);
    let mut files: Vec<InputFile> = files.into_iter().map(|(_, file)| file).collect();
    let mut lost_input = None;
    match input(FILE_MAX) {
        Some(Ok(content)) if !content.is_empty() => files.push(InputFile::new(STDIN.parse()?, content)),
        Some(Err(error)) => {
            tell(&format!("tot run: {LOST_INPUT}: {error}"));
            lost_input = InputFile::lost_input();
        }
        _ => {}
    }
    let mut variables = variables(&arguments.variables, &command)?;
    for value in variables.iter_mut().filter_map(|it| it.value.as_mut()) {
        *value = stored_project(value, &names);
    }
    let stored: Vec<String> = command.iter().map(|word| stored_project(word, &names)).collect();
    for (number, InputFile { name, .. }) in files.iter().enumerate() {
        if files[..number].iter().any(|it| it.name.without_case() == name.without_case()) {
            return Err(misused(format!("--with: two files are named {name}: rename one")));
        }
    }
    let outside = named_outside(&command, &around);
    for path in outside.iter().map(|path| one_line(path)) {
        let how = if path.ends_with('/') {
            "its files with --with".to_owned()
        } else {
            format!("it with --with {path}")
        };
        tell(&format!(
            "tot run: {path} is not in the project, and missing in a rerun elsewhere: store {how}"
        ));
    }
    let named = arguments.include.iter().map(|file| {
        let path = project.as_ref().and_then(|project| project.path_of(file));
        path.ok_or_else(|| misused(format!("--include: {} is not a file of the project", one_line(file))))
    });
    let named = named.collect::<Result<Vec<_>, _>>()?;
    let state = project.as_ref().and_then(|project| match state(project, &named) {
        Ok(state) => Some(state),
        Err(error) => {
            tell(&format!("tot run: the project's state is not stored with the run: {error}"));
            None
        }
    });
    let mut ran = Ran {
        folder: project.as_ref().filter(|_| state.is_some()).and_then(Project::folder),
        project: state,
        timeout: arguments.timeout,
        expected_exit: arguments.exit,
        files,
        variables,
        setup: arguments.setup.as_ref().map(|line| stored_project(line, &names)),
        pinned: arguments.pinned,
        system: system(),
        plain: true,
        ..Ran::new(stored, started_at)
    };
    ran.folder = ran.folder.filter(|folder| !folder.is_empty());
    ran.refs = project.as_ref().map(|project| project.refs(ref_names(&ran.command))).unwrap_or_default();
    let outside = outside.iter().map(|path| {
        let (named, end) = (stored_project(path, &names), if path.ends_with('/') { "/" } else { "" });
        from_root(ran.folder.as_deref().unwrap_or_default(), &named).map_or(named, |seen| seen + end)
    });
    let outside = outside.collect();
    if !arguments.inputs.is_empty() {
        let known = project.as_ref().filter(|_| ran.project.is_some());
        let known = known.ok_or_else(|| misused("--input: this is not in a repository that can be read"))?;
        let declare = known.declare(&GitProgram::find(is_person())?, &arguments.inputs, &mut ran);
        declare.map_err(|error| misused(format!("--input: {error}")))?;
        let unknown = ran.project.iter().flat_map(ProjectState::unknown);
        tell_unknown(unknown.filter(|file| may_read(&ran, file)), "commit it, or declare less");
    }
    let caller = caller_as(arguments.agent.as_deref(), &place.store, &path)?;
    let (tracer, before) = match arguments.trace {
        true => {
            let refused = |error: String| misused(format!("--trace: {error}"));
            let known = project.filter(|_| ran.project.is_some());
            let known =
                known.ok_or_else(|| refused("this is not in a repository that can be read".to_owned()))?;
            let others = GitProgram::find(is_person())?.worktrees(known.root())?;
            let tracer =
                Tracer::new((known.root(), &others), &folder, &command, &expected).map_err(refused)?;
            let state = ran.project.clone().unwrap_or_default();
            let before =
                known.files_then(&GitProgram::find(is_person())?, &state, &|_| true).map_err(refused)?;
            (Some(tracer), Some((known, before)))
        }
        false => (None, None),
    };
    let signals = Passed::watch()?;
    let may_get_input = lost_input.is_none() && is_input_open();
    let prepared = Prepared {
        names,
        session,
        caller,
        service,
        command,
        ran,
        outside,
        lost_input,
        may_get_input,
        root,
        node,
        folder,
        signals,
        tracer,
        before,
    };
    // The command may take hours, and its run must then be stored.
    let outcome = prepared.ran(Captured::not_run(String::new()));
    let rehearsed =
        prepared.service.rehearse(&prepared.session, prepared.request(arguments, outcome), &prepared.caller);
    rehearsed.inspect_err(|_| {
        tell("tot run: the command did not start, because the run could not be stored");
    })?;
    Ok((prepared, expected))
}

/// Names what a command may read and git does not track.
fn tell_unknown<'a>(unknown: impl Iterator<Item = &'a String>, remedy: &str) {
    let unknown: Vec<String> = unknown.cloned().collect();
    let are = if unknown.len() == 1 { "is" } else { "are" };
    if !unknown.is_empty() {
        let files = named(&unknown);
        tell(&format!(
            "tot run: {files} {are} not tracked, so the inputs never count as unchanged: {remedy}"
        ));
    }
}

/// Returns the variables to store: those that the user named with their values, and those that only the command names without.
fn variables(named: &[String], command: &[String]) -> CommandResult<Vec<RunVariable>> {
    let value = |name: &String| match std::env::var(name) {
        Ok(value) => Ok(RunVariable { name: name.clone(), value: Some(value) }),
        Err(error) => Err(misused(format!("--env {}: {error}", one_line(name)))),
    };
    let mut variables = named.iter().map(value).collect::<Result<Vec<_>, _>>()?;
    for name in named_variables(command).into_iter().filter(|name| !named.contains(name)) {
        tell(&format!(
            "tot run: the value of {name} is not stored, and a rerun may lack it: store it with --env {name}"
        ));
        variables.push(RunVariable { name, value: None });
    }
    Ok(variables)
}

/// Reads a file to store with the run. Returns it with its path.
fn with(file: &str) -> CommandResult<(PathBuf, InputFile)> {
    if fs::metadata(file).is_ok_and(|about| about.len() > FILE_MAX) {
        let most = FILE_MAX >> 10;
        return Err(misused(format!("--with: {} has more than {most} KiB: commit it", one_line(file))));
    }
    let NewAttachment { name, content } = attach::read(file, None, FILE_MAX)?;
    let name = AttachmentName::of_file(&name).map_err(|error| misused(format!("--with: {error}")))?;
    if name.as_str() == STDIN {
        return Err(misused(format!("--with: {STDIN} is the name of the standard input: rename the file")));
    }
    Ok((PathBuf::from(file), InputFile::new(name, content)))
}

fn state(project: &Project, named: &[String]) -> CommandResult<ProjectState> {
    Ok(project_state(&GitProgram::find(is_person())?, project, named)?)
}

/// Describes this machine.
pub(super) fn system() -> System {
    System {
        os: std::env::consts::OS.to_owned(),
        architecture: std::env::consts::ARCH.to_owned(),
        cpus: available_parallelism().map_or(1, NonZero::get),
    }
}

impl Prepared {
    /// Stores the run, and tells the result. Returns false if it should have been stored and could not be.
    fn store(&self, arguments: &RunArguments, captured: Captured) -> bool {
        for reason in unmet(&captured, arguments.exit) {
            tell(&format!("tot run: {reason}"));
        }
        let without = |error: CommandError| {
            tell(&format!("tot run: stored without the attachment: {error}"));
        };
        let state = self.ran.project.as_ref();
        if let Some(files) = state.and_then(ProjectState::not_stored) {
            let around = Project::here().map(|project| project.root().to_owned()).unwrap_or_default();
            let is_submodule = |path: &String| around.join(path).is_dir();
            let how = match state {
                Some(it) if it.commit.is_none() => ": the project has no commit yet",
                Some(it) if !it.untracked.is_empty() => "; see --include",
                Some(it) if it.changed.iter().any(is_submodule) => ": commit what changed in the submodule",
                _ => ": a patch can't hold them; commit them",
            };
            tell(&format!("tot run: not stored, and missing in a rerun: {files}{how}"));
        }
        let read = |file: &String| attach::read(file, None, ATTACHMENT_MAX).map_err(without).ok();
        let attachments: Vec<NewAttachment> = arguments.attach.iter().filter_map(read).collect();
        let ran = self.ran(captured);
        let request = self.request(arguments, ran.clone());
        let stored = match attachments.is_empty() {
            true => self.record(request),
            // An unsuitable file is no reason to lose the run.
            false => self.record(NewRuns { attachments, ..request.clone() }).or_else(|refusal| {
                without(refusal.into());
                self.record(request)
            }),
        };
        let Err(refusal) = stored else { return true };
        let is_secret = refusal.errors.iter().any(|error| error.code == Code::SecretSuspected);
        tell(&format!("tot run: nothing was stored: {}", CommandError::from(refusal)));
        if !is_secret {
            self.keep(&ran);
        }
        is_secret
    }

    /// Returns the run as it will be stored.
    fn ran(&self, captured: Captured) -> Ran {
        let mut project = self.ran.project.clone();
        if let Some(state) = &mut project {
            state.untracked.extend_from_slice(&self.outside);
        }
        Ran {
            files: self.ran.files.iter().chain(&self.lost_input).cloned().collect(),
            project,
            seconds: captured.seconds,
            ended: captured.ended,
            output: captured.output,
            expectations: captured.expectations,
            ..self.ran.clone()
        }
    }

    fn request(&self, arguments: &RunArguments, ran: Ran) -> NewRuns {
        let run =
            NewRun { node: self.node.clone(), note: arguments.message.clone(), what: RunKind::Captured(ran) };
        NewRuns { runs: vec![run], attachments: Vec::new(), agent_id: arguments.agent.clone() }
    }

    fn record(&self, request: NewRuns) -> Result<(), Refusal> {
        let written = self.service.record(&self.session, request, &self.caller)?;
        warn("tot run", &written);
        if let Some(Event::Ran { runs, .. }) = &written.decision.event {
            let commit = written.loaded.snapshot.head.to_string();
            for run in runs {
                let node = run.node.as_ref().map(|node| format!(" of {node}")).unwrap_or_default();
                let how = run.ran().map(early_end).unwrap_or_default();
                tell(&format!("tot run: stored as {}{node}, commit {}{how}", run.id, &commit[..10]));
                if let Some(line) = run.ran().and_then(timed_line) {
                    let how = format!("say what matters with tot run --expect REGEX --of {}", run.id);
                    tell(&format!("tot run: a rerun with another time than `{line}` differs: {how}"));
                }
            }
        }
        Ok(())
    }

    /// Writes a run that could not be stored to a file that only the user can read, and tells how to attach it. If
    /// no folder can be written, prints the run.
    fn keep(&self, ran: &Ran) {
        let text = yaml::to_text(ran).unwrap_or_default();
        let write = |parent: &Path| -> io::Result<PathBuf> {
            let folder = absolute(parent)?.join(format!("{KEPT}{}", process::id()));
            private_folder().create(&folder)?;
            let file = folder.join("run.yaml");
            File::create_new(&file)
                .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
                .inspect_err(|_| drop(fs::remove_dir_all(&folder)))?;
            Ok(file)
        };
        match [std::env::temp_dir(), self.folder.clone()].iter().find_map(|parent| write(parent).ok()) {
            Some(file) => {
                let node = self.node.as_ref().map_or("NODE", NodeId::as_str);
                let file = file.display();
                tell(&format!("tot run: the run is kept in {file}"));
                let later = command("tot attach", Some(&self.session), &format!("{node} '{file}'"));
                tell(&format!("tot run: attach it later: {later}"));
            }
            None => tell(&format!("tot run: the run, which could not be kept either:\n{text}")),
        }
    }
}

/// Returns what ended the command before it exited by itself, as the end of a line. Pure.
fn early_end(ran: &Ran) -> String {
    let by = match (&ran.ended, ran.timeout) {
        (Ended::Signal(signal), _) => format!("signal {signal}"),
        (Ended::TimedOut, Some(limit)) => format!("the limit of {limit} s"),
        _ => return String::new(),
    };
    let expects = !ran.expectations.is_empty() || ran.expected_exit.is_some();
    let unmet = if expects { ", so no expectation was met" } else { "" };
    format!("; {by} ended the command{unmet}")
}

/// Returns a line for each expectation that the command, which exited by itself, did not meet. Pure.
fn unmet(captured: &Captured, exit: Option<i32>) -> Vec<String> {
    if matches!(captured.ended, Ended::Signal(_) | Ended::TimedOut) {
        return Vec::new();
    }
    let ended = exit.filter(|exit| captured.ended != Ended::Exit(*exit));
    let ended = ended.map(|exit| format!("expected exit {exit}, got: {}", captured.ended));
    let missed = captured.expectations.iter().filter(|it| !it.held).map(missed);
    ended.into_iter().chain(missed).collect()
}

/// Describes an unmet expectation and the actual result. Pure.
pub(super) fn missed(expectation: &Expectation) -> String {
    let pattern = &expectation.pattern;
    match (&expectation.found, &expectation.range) {
        (Some(found), Some(range)) => {
            format!("`{pattern}`: expected a number in {range}, got: {}", one_line(found))
        }
        _ => format!("`{pattern}`: no line of the output matches"),
    }
}

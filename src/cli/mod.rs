//! The command lines of the three binaries: argument parsing and exit statuses. No other part of the library prints to stdout.
//!
//! # Adding a command
//!
//! 1. `src/cli/attach.rs` is a small command to start from: its arguments, examples, and the code that runs it. Logic that a
//!    tool could also use belongs in [`crate::service`].
//! 2. `src/cli/mod.rs`: declare the module, and add the variant and its call.
//! 3. `src/cli/help.rs`: the group in which `tot help` lists it.
//! 4. `tests/it/sessions/all__each_command.md`: a call in the session that runs every command. What a command prints is in the
//!    sessions that begin with its name.

mod amend;
mod approve;
mod attach;
mod caller;
mod check;
pub mod client_config;
mod clone;
mod comment;
mod commit;
pub mod demo;
mod diff;
mod draft;
mod editor;
mod end;
mod error;
mod export;
mod help;
mod impact;
mod import;
mod interrupt;
mod list;
mod log;
mod merge;
mod misplaced;
mod next;
mod place;
mod print;
mod programs;
mod propose;
mod remote;
mod report;
mod rerun;
mod review;
mod root;
mod run;
mod screen;
mod search;
mod serve;
mod serving;
mod setup;
mod show;
mod start;
mod status;
mod sync;
mod topics;
mod util;
mod work;

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clap::builder::{
    NonEmptyStringValueParser, PossibleValue, PossibleValuesParser, StyledStr, TypedValueParser,
};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};
use error::CommandError;
use misplaced::Misplaced;
use print::say;
use serde_json::json;

use crate::report::{ReadOptions, SiteOptions};
use crate::service::project::Project;
use crate::service::remote::{GitProgram, RemoteError, is_address};
use crate::text::{counted, made_visible, one_line, shell_line, shorten};

/// Investigations by AI agents, kept as git repositories.
#[derive(Parser)]
#[command(name = "tot", version, disable_help_subcommand = true)]
struct Tot {
    /// Investigations folder; also accepted after the command
    // Not global, as -i: only the commands that use these options accept them.
    #[arg(long, value_name = "DIR", value_parser = root::path())]
    root: Option<PathBuf>,
    /// Investigation; also accepted after the command
    #[arg(short, long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    investigation: Vec<String>,
    /// When to print in color. `auto` means at a terminal, unless NO_COLOR is set, or always with CLICOLOR_FORCE
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto", hide_default_value = true, help_heading = place::EVERYWHERE)]
    color: ColorChoice,
    #[command(subcommand)]
    command: TotCommand,
}

// Each command is documented on its arguments. A comment here would replace that documentation in `--help`.
#[derive(Subcommand)]
enum TotCommand {
    Amend(amend::AmendArguments),
    Approve(approve::ApproveArguments),
    Attach(attach::AttachArguments),
    Check(check::CheckArguments),
    Clone(clone::CloneArguments),
    Comment(comment::CommentArguments),
    Commit(commit::CommitArguments),
    /// Play a complete investigation through the MCP server, and render its report
    Demo(DemoArguments),
    Diff(diff::DiffArguments),
    End(end::EndArguments),
    Export(export::ExportArguments),
    Help(topics::HelpArguments),
    Impact(impact::ImpactArguments),
    Import(import::ImportArguments),
    List(list::ListArguments),
    Log(log::LogArguments),
    #[command(hide = true)]
    Merge(merge::MergeArguments),
    #[command(hide = true)]
    MergeFile(merge::MergeFileArguments),
    /// Run the MCP server, as the command tot-mcp does
    Mcp(serving::McpArguments),
    Next(next::NextArguments),
    Object(comment::ObjectArguments),
    Propose(propose::ProposeArguments),
    Remote(remote::RemoteArguments),
    Report(Box<report::ReportArguments>),
    Rerun(rerun::RerunArguments),
    Resolve(comment::ResolveArguments),
    Review(review::ReviewArguments),
    Run(run::RunArguments),
    Search(search::SearchArguments),
    /// Configure an MCP client for this server: print the configuration, or write it
    Setup(setup::SetupArguments),
    Show(show::ShowArguments),
    Start(start::StartArguments),
    Status(status::StatusArguments),
    Sync(sync::SyncArguments),
    /// Print shell completions, write manual pages, or list, show and check rulesets
    #[command(subcommand, after_long_help = util::EXAMPLES)]
    Util(util::UtilCommand),
}

#[derive(Args)]
#[command(after_long_help = DEMO_EXAMPLES)]
struct DemoArguments {
    /// Folder for the investigation and its site; default: tot-demo, or tot-demo-2 and so on if that exists
    dir: Option<PathBuf>,
}

const DEMO_EXAMPLES: &str = "\
Examples:
  tot demo            creates ./tot-demo
  tot demo /tmp/demo  then: tot --root /tmp/demo/investigations show";

/// The MCP server of Tree of Thoughts, over stdio or HTTP.
///
/// Agents start investigations, propose nodes, commit findings and end with a conclusion. Each investigation is a git repository
/// in the root folder, and each call that writes creates one commit. Over stdio, standard output carries only the protocol; the log goes to
/// standard error. When its input ends, or on SIGTERM or Ctrl-C, the server finishes the calls in progress and exits with status 0.
#[derive(Parser)]
#[command(name = "tot-mcp", version)]
struct McpCommand {
    #[command(flatten)]
    arguments: serving::McpArguments,
}

/// Runs the command `tot`.
pub fn tot(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let misplaced = Misplaced::find(command(), &arguments);
    let (name, tot, is_json) = match parse_tot(arguments, misplaced.as_ref()) {
        Ok(parsed) => parsed,
        Err(status) => return status,
    };
    let worked = unless_misplaced(misplaced, || run(tot.command));
    worked.unwrap_or_else(|error| finish(&format!("tot{name}"), is_json, error))
}

/// Runs a command, unless one of its arguments is an investigation's id. Any part of an id counts if the argument turned out to
/// be nothing else.
fn unless_misplaced(misplaced: Option<Misplaced>, run: impl FnOnce() -> ExitResult) -> ExitResult {
    let refused = |is_any| misplaced.as_ref().filter(|it| it.is_id(is_any)).map(|it| misused(it.advice()));
    match refused(false) {
        Some(error) => Err(error),
        None => run().map_err(|error| match error {
            CommandError::Misused(_) => error,
            _ => refused(true).unwrap_or(error),
        }),
    }
}

fn run(command: TotCommand) -> ExitResult {
    match command {
        TotCommand::Amend(arguments) => amend::run(&arguments),
        TotCommand::Approve(arguments) => done(approve::run(&arguments)),
        TotCommand::Attach(arguments) => done(attach::run(&arguments)),
        TotCommand::Check(arguments) => check::run(&arguments),
        TotCommand::Clone(arguments) => clone::run(&arguments),
        TotCommand::Comment(arguments) => done(comment::comment(&arguments)),
        TotCommand::Commit(arguments) => commit::run(&arguments),
        TotCommand::Demo(arguments) => done(run_demo(&arguments)),
        TotCommand::Diff(arguments) => done(diff::run(&arguments)),
        TotCommand::End(arguments) => end::run(&arguments),
        TotCommand::Export(arguments) => done(export::run(&arguments)),
        TotCommand::Help(arguments) => topics::run(&arguments),
        TotCommand::Impact(arguments) => impact::run(&arguments),
        TotCommand::Import(arguments) => import::run(&arguments),
        TotCommand::List(arguments) => done(list::run(&arguments)),
        TotCommand::Log(arguments) => done(log::run(&arguments)),
        TotCommand::Merge(arguments) => done(merge::run(&arguments)),
        TotCommand::MergeFile(arguments) => done(merge::run_file(&arguments)),
        TotCommand::Mcp(arguments) => done(serving::run(arguments)),
        TotCommand::Next(arguments) => next::run(&arguments),
        TotCommand::Object(arguments) => done(comment::object(&arguments)),
        TotCommand::Propose(arguments) => propose::run(&arguments),
        TotCommand::Remote(arguments) => done(remote::run(&arguments)),
        TotCommand::Report(arguments) => report::run(&arguments),
        TotCommand::Rerun(arguments) => rerun::run(&arguments),
        TotCommand::Resolve(arguments) => done(comment::resolve(&arguments)),
        TotCommand::Review(arguments) => done(review::run(&arguments)),
        TotCommand::Run(arguments) => run::run(&arguments),
        TotCommand::Search(arguments) => search::run(&arguments),
        TotCommand::Setup(arguments) => setup::run(&arguments),
        TotCommand::Show(arguments) => done(show::run(&arguments)),
        TotCommand::Start(arguments) => start::run(&arguments),
        TotCommand::Status(arguments) => done(status::run(&arguments)),
        TotCommand::Sync(arguments) => sync::run(&arguments),
        TotCommand::Util(command) => done(util::run(command)),
    }
}

/// Runs the command `tot-mcp`.
pub fn mcp(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    match parse::<McpCommand>(arguments, None) {
        Ok(command) => {
            done(serving::run(command.arguments)).unwrap_or_else(|error| finish("tot-mcp", false, error))
        }
        Err(status) => status,
    }
}

/// Runs the command `tot-report`.
pub fn report(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let misplaced = Misplaced::find(report::ReportCommand::command(), &arguments);
    match parse::<report::ReportCommand>(arguments, misplaced.as_ref()) {
        Ok(command) => unless_misplaced(misplaced, || report::run(&command.arguments))
            .unwrap_or_else(|error| finish("tot-report", false, error)),
        Err(status) => status,
    }
}

/// The result of a command or of a part of it.
type CommandResult<T = ()> = Result<T, CommandError>;

/// The exit status of a command, or its error.
type ExitResult = CommandResult<ExitCode>;

/// Returns the exit status for a command that either succeeds or fails with an error.
fn done(result: CommandResult) -> ExitResult {
    result.map(|()| ExitCode::SUCCESS)
}

/// The values of an option, each with its word, a line of help and its meaning.
type ValueTable<T> = &'static [(&'static str, &'static str, T)];

/// Parses one of the words.
fn one_of<T: Clone + Send + Sync>(table: ValueTable<T>) -> impl TypedValueParser<Value = T> {
    let value = |(word, help, _): &(&'static str, &'static str, T)| match *help {
        "" => PossibleValue::new(*word),
        help => PossibleValue::new(*word).help(help),
    };
    let meant = |word: String| table.iter().find(|(known, ..)| *known == word).map(|(.., it)| it.clone());
    PossibleValuesParser::new(table.iter().map(value)).try_map(move |word| meant(word).ok_or("unknown"))
}

/// Returns the exit status for a command that reports problems.
fn passed(is_ok: bool) -> ExitCode {
    if is_ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns the clap command for `tot`, with the help text from [`help`].
fn command() -> clap::Command {
    on_screen(Tot::command().help_template(help::template()).mut_subcommands(help::with_other_checks))
}

/// Sets the help width to the terminal width. In a pipe, each paragraph is one line.
fn on_screen(command: clap::Command) -> clap::Command {
    command.term_width(print::columns().unwrap_or(0))
}

/// Parses the arguments and sets the color mode. Returns the names of the command and its subcommands, the parsed arguments, and
/// whether `--json` was given.
fn parse_tot(
    arguments: Vec<OsString>,
    misplaced: Option<&Misplaced>,
) -> Result<(String, Tot, bool), ExitCode> {
    let parsed = command().try_get_matches_from(&arguments).and_then(|matches| {
        let tot = Tot::from_arg_matches(&matches)?;
        let name = matches.subcommand_name().unwrap_or_default();
        let takes = |option: &str| {
            let is_taken = |of: &clap::Command| {
                of.get_arguments().any(|it| it.get_long() == Some(option) && !it.is_hide_set())
            };
            command().find_subcommand(name).is_some_and(is_taken)
        };
        let taken = [("root", usize::from(tot.root.is_some())), ("investigation", tot.investigation.len())];
        for (option, taken) in taken.into_iter().filter(|(_, taken)| *taken > 0) {
            if !takes(option) {
                let reason = format!("`tot {name}` does not accept --{option}");
                return Err(command().error(ErrorKind::UnknownArgument, reason));
            }
            // Of values before the command and after it, clap takes those after it.
            if times(&arguments, option) > taken {
                let reason = format!("give --{option} before the command or after it, not both");
                return Err(command().error(ErrorKind::ArgumentConflict, reason));
            }
        }
        Ok((names(&matches), tot, wants_json(&matches)))
    });
    let parsed = parsed.map_err(|error| advised(error, misplaced))?;
    print::set_colour(parsed.1.color);
    Ok(parsed)
}

/// Returns how often one of the options `--root` and `--investigation` is given.
fn times(arguments: &[OsString], option: &str) -> usize {
    let words = arguments.iter().map(|word| word.to_string_lossy()).take_while(|word| word != "--");
    let is_it = |word: &str| {
        let long = word.strip_prefix("--").and_then(|long| long.split('=').next());
        long == Some(option) || option == "investigation" && word.starts_with("-i")
    };
    words.filter(|word| is_it(word)).count()
}

/// Returns the names of the command and its subcommands, each after a space.
fn names(matches: &clap::ArgMatches) -> String {
    let Some((name, of_command)) = matches.subcommand() else { return String::new() };
    format!(" {name}{}", names(of_command))
}

/// Returns whether `--json` was given to the command or its subcommand.
fn wants_json(matches: &clap::ArgMatches) -> bool {
    let Some((_, of_command)) = matches.subcommand() else { return false };
    of_command.try_get_one::<bool>("json").ok().flatten() == Some(&true) || wants_json(of_command)
}

fn parse<T: Parser>(
    arguments: impl IntoIterator<Item = OsString>,
    misplaced: Option<&Misplaced>,
) -> Result<T, ExitCode> {
    let parsed = on_screen(T::command()).try_get_matches_from(arguments);
    parsed.and_then(|matches| T::from_arg_matches(&matches)).map_err(|error| advised(error, misplaced))
}

/// Prints clap's message, with advice if an argument is an investigation's id, and returns the exit status.
fn advised(mut error: clap::Error, misplaced: Option<&Misplaced>) -> ExitCode {
    if let Some(misplaced) = misplaced.filter(|it| error.use_stderr() && it.is_id(false)) {
        let tip = StyledStr::from(misplaced.advice());
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    explained(error)
}

/// Commands, options and values of earlier versions, each with what to use instead.
const REMOVED: [(&str, &str, &str); 21] = [
    ("--as-new", "", "bundles keep their ids, and `tot import` reads only bundles"),
    ("--dimension", "", "name the combinations in the titles of what you propose"),
    ("--format <FORMAT>", "csv", "`--format json` has the same data"),
    ("--format <FORMAT>", "html", "`tot report --single-file FILE` writes this page"),
    ("--html", "", "`tot help TOPIC`, or `tot util man DIR` for all of them as manual pages"),
    ("--hub", "", "`tot clone URL --root DIR`, then `tot report DIR --out SITE`"),
    ("--index", "", "`tot report` writes an index of all investigations"),
    ("--max-connections-per-address", "", "limit connections per address in the proxy before the server"),
    ("--max-rate", "", "limit requests per client in the proxy before the server"),
    ("--strategy", "", "`tot next` first shows what is required, then what would overturn an answer"),
    ("claim", "", "`tot next --claim NODE`, with the same options"),
    ("completions", "", "`tot util completions SHELL`"),
    ("doctor", "", "`tot setup --check`"),
    ("man", "", "`tot util man DIR`"),
    ("note", "", "`tot commit -m TEXT`, with the same options"),
    ("open", "", "`tot report --open`, which also takes a node"),
    ("reclassify", "", "`tot amend NODE --state STATE`, with the same options"),
    ("release", "", "`tot next --release NODE`"),
    ("ruleset", "", "`tot util ruleset`, with the same subcommands and options"),
    ("use", "", "`-i ID` with any command, or TOT_INVESTIGATION"),
    ("verify", "", "`tot check --signatures`, with the same options"),
];

/// Returns what to use instead of an option or a value of an earlier version.
fn instead(name: &str, value: &str) -> Option<&'static str> {
    REMOVED.iter().find(|(removed, of, _)| (*removed, *of) == (name, value)).map(|(.., instead)| *instead)
}

/// Returns what to say about a command of an earlier version.
fn removed(command: &str) -> Option<String> {
    Some(format!("`tot {command}` was removed in this version: {}", instead(command, "")?))
}

/// Adds to the error about a command, an option or a value of an earlier version what to use instead.
fn with_replacement(mut error: clap::Error) -> clap::Error {
    let of = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    };
    if let Some(reason) = removed(&of(ContextKind::InvalidSubcommand)) {
        return command().error(ErrorKind::InvalidSubcommand, reason);
    }
    if let Some(instead) = instead(&of(ContextKind::InvalidArg), &of(ContextKind::InvalidValue)) {
        let tip = StyledStr::from(format!("removed in this version: {instead}"));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

/// Prints clap's message and returns the exit status.
fn explained(error: clap::Error) -> ExitCode {
    let error = with_replacement(error);
    // Help and version are not errors and go to stdout; clap distinguishes them.
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Returns a usage error.
fn misused(reason: impl ToString) -> CommandError {
    CommandError::Misused(reason.to_string())
}

/// Returns the id of a commit that the user named, in the project at `root`.
fn project_commit(git: &GitProgram, root: &Path, name: &str) -> CommandResult<String> {
    let unknown = || misused(format!("the project {} has no commit {}", root.display(), one_line(name)));
    git.resolve(root, name)?.ok_or_else(unknown)
}

/// Returns the exit status of an error. Prints it and its causes on stderr, and if `is_json` is true also as JSON.
fn finish(name: &str, is_json: bool, error: CommandError) -> ExitCode {
    let code = match &error {
        CommandError::Misused(reason) => return explained(usage(name, reason)),
        CommandError::Refused(errors) => errors.first().map(|it| it.code.to_string()),
        CommandError::Unchanged | CommandError::Failed(..) => None,
    };
    print::tell(&format!("{name}: {error}"));
    if is_json {
        let error = json!({"message": error.message(), "suggestion": error.hint(), "code": code});
        // If nobody reads stdout, the exit status still reports the failure.
        let _ = print::say_fields(&json!({"error": error}));
    }
    ExitCode::FAILURE
}

/// Returns a usage error in clap's format.
fn usage(name: &str, reason: &str) -> clap::Error {
    let mut all = command();
    all.build();
    let named = name.split(' ').skip(1).try_fold(&all, |it, word| it.find_subcommand(word));
    named.unwrap_or(&all).clone().error(ErrorKind::ValueValidation, made_visible(reason))
}

fn remote_address(text: &str) -> Result<String, RemoteError> {
    is_address(text).map(|()| text.to_owned())
}

fn run_demo(arguments: &DemoArguments) -> CommandResult {
    let dir = match &arguments.dir {
        Some(dir) => dir.clone(),
        None => free_name("tot-demo"),
    };
    let progress = Progress::new();
    let played = demo::play(&dir, |step| progress.show(step)).map_err(error::failed)?;
    progress.show("rendering the site");
    let site = dir.join("site");
    let reading = ReadOptions { project: Project::around(&dir).ok(), ..ReadOptions::default() };
    report::render_one(played.repository.clone(), reading, &SiteOptions::default(), &site, &progress)?;
    progress.clear();
    let name = played.repository.file_name().unwrap_or_default().to_string_lossy();
    let repository = format!("investigations/{name}");
    say(&format!(
        "An investigation of {} nodes, played by {} calls of its tools and {} command runs: {} commits, and {} rejected.\n\
         (Its timestamps are fictional.)\n\n\
         The site            {}\n\
         The project         {}\n\
         The investigation   {}\n\n\
         Change one word of the project, and the answer falls (needs python3):\n\
         \x20 cd {}\n\
         \x20 # In src/queue/db.py, line 31, write BEGIN instead of BEGIN IMMEDIATE.\n\
         \x20 git -c user.name=You -c user.email=you@localhost commit --all --message 'Take the lock later'\n\
         \x20 tot impact HEAD~1..HEAD          names the answer, and what to recheck\n\
         \x20 tot rerun --changed R4.A1a1      runs its shortest command again\n\
         \x20 tot report --out site            writes the page again\n\n\
         Look at the investigation with git, in the same folder:\n\
         \x20 git -C {repository} log --oneline              all commits\n\
         \x20 git -C {repository} log -p -- '{}'  one node, with all its changes\n\
         \x20 git -C {repository} log --oneline -- 'nodes/*/R*.A1-*' 'nodes/*/R*.A1[a-z]*'  one branch\n\
         \x20 git -C {repository} log --grep='^Warning:'     all warnings\n\
         \x20 git -C {repository} show {}               its conclusion\n",
        played.nodes,
        played.calls,
        played.runs,
        played.commits,
        counted(played.rejected, "call"),
        site.join("index.html").display(),
        dir.display(),
        played.repository.display(),
        shell_line(&[dir.display().to_string()]),
        played.a_node,
        played.tag,
    ))
}

/// Returns the first of `name`, `name-2`, `name-3`, … that does not exist yet.
fn free_name(name: &str) -> PathBuf {
    let numbered = (2..).map(|number| PathBuf::from(format!("{name}-{number}")));
    std::iter::once(PathBuf::from(name)).chain(numbered).find(|path| !path.exists()).unwrap_or_default()
}

/// Returns whether the folder is a git repository, with a work tree or bare.
fn is_repository(path: &Path) -> bool {
    path.join(".git").exists() || (path.join("HEAD").is_file() && path.join("objects").is_dir())
}

/// Returns whether a person at a terminal can be asked for a password.
fn is_person() -> bool {
    std::io::stdin().is_terminal() || std::io::stderr().is_terminal()
}

/// A progress line on a terminal. Prints nothing in a pipe.
struct Progress {
    terminal: bool,
    shown: Mutex<Option<Instant>>,
}

impl Progress {
    /// The minimum time for which a line is shown: nobody reads faster, and terminals are slow.
    const MINIMUM: Duration = Duration::from_millis(100);

    fn new() -> Self {
        Progress { terminal: std::io::stderr().is_terminal(), shown: Mutex::new(None) }
    }

    fn show(&self, what: &str) {
        if self.terminal {
            let what = shorten(&one_line(what), 78);
            let mut shown = self.shown();
            let _ = write!(std::io::stderr(), "\r\x1b[K{what}");
            *shown = Some(Instant::now());
        }
    }

    /// Shows a line, unless the previous one was shown a moment ago.
    fn count(&self, what: impl FnOnce() -> String) {
        if self.terminal && self.shown().is_none_or(|shown| shown.elapsed() >= Self::MINIMUM) {
            self.show(&what());
        }
    }

    fn shown(&self) -> MutexGuard<'_, Option<Instant>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn clear(&self) {
        if self.terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

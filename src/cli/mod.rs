//! The command lines of the three binaries: arguments in, an exit status out. The only part of the library that
//! prints to stdout.

mod check;
mod ruleset;
mod serving;

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Parser, Subcommand};
use ruleset::{Folder, RulesetArguments};
use serving::{HttpArguments, LogArguments};

use crate::demo;
use crate::mcp::{self, Server, Service};
use crate::report::{self, Input, Options, Templates};
use crate::store::{Durability, Store};
use crate::world::World;

/// Investigations of AI agents, kept as git repositories.
#[derive(Parser)]
#[command(name = "tot", version)]
struct Tot {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Says what is wrong with investigations: files, rules, ids, history. Exit status 1 where there is an error
    Check(check::CheckArguments),
    /// Plays a whole investigation through the MCP server and renders its report
    Demo(DemoArguments),
    /// The same as the command tot-mcp
    Mcp(McpArguments),
    /// The same as the command tot-report
    Report(ReportArguments),
    /// Lists, shows and checks rulesets: the methods of investigation
    Ruleset(RulesetArguments),
}

#[derive(Args)]
struct DemoArguments {
    /// Where the investigation and its site go; without it tot-demo, or tot-demo-2 … where that exists
    dir: Option<PathBuf>,
}

/// The MCP server of Tree of Thoughts, over stdio or HTTP.
///
/// Agents start investigations, propose nodes, commit findings and end with an answer; each investigation is a git
/// repository in the root folder, each writing call one commit. Over stdio, standard output carries the protocol only;
/// the log goes to standard error. The server ends, with status 0, when its input ends or at SIGTERM or Ctrl-C, after the
/// calls in flight.
#[derive(Parser)]
#[command(name = "tot-mcp", version, after_long_help = serving::EXAMPLES)]
struct McpCommand {
    #[command(flatten)]
    arguments: McpArguments,
}

#[derive(Args)]
struct McpArguments {
    /// The folder of the investigations; made with the first one
    #[arg(long, value_name = "DIR", default_value = "investigations")]
    root: PathBuf,
    /// Offer only the tools that read, and write nothing: no commit, no lock, no recovery
    #[arg(long)]
    read_only: bool,
    /// The least rounds of new investigations: raises a ruleset's own number, and a start that asks for fewer is refused
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20))]
    min_rounds: Option<u32>,
    /// Refuse texts that hold what looks like a credential, where the ruleset only warns of them
    #[arg(long)]
    reject_secrets: bool,
    #[command(flatten)]
    rulesets: Folder,
    /// Answer a call that writes only once the disk holds it, with fsync: slower, and safe from a power cut. Without
    /// it, git's settings decide (core.fsync), and a killed process loses nothing either
    #[arg(long)]
    durable: bool,
    #[command(flatten)]
    log: LogArguments,
    #[command(flatten)]
    http: HttpArguments,
    /// Read the time from this file instead of the clock: for replays and tests
    #[arg(long, value_name = "FILE", hide = true)]
    clock_file: Option<PathBuf>,
}

/// Renders investigations as a static site: one page set each, and an index over several.
///
/// The site opens from disk, needs no JavaScript and loads nothing from elsewhere. It shows the committed state.
#[derive(Parser)]
#[command(name = "tot-report", version)]
struct ReportCommand {
    #[command(flatten)]
    arguments: ReportArguments,
}

#[derive(Args)]
struct ReportArguments {
    /// Folders of investigations (bare clones too), or a folder that holds several
    #[arg(value_name = "INVESTIGATION", required_unless_present = "dump_template")]
    investigations: Vec<PathBuf>,
    /// Where the site goes; an earlier site there is replaced
    #[arg(long, value_name = "DIR", required_unless_present = "dump_template")]
    out: Option<PathBuf>,
    /// Show the state at this commit, branch or tag (for one investigation)
    #[arg(long, value_name = "REV")]
    rev: Option<String>,
    /// A folder whose files replace those of the built-in template
    #[arg(long, value_name = "DIR")]
    template: Option<PathBuf>,
    /// Write the built-in template into this folder, as a start for one of your own
    #[arg(long, value_name = "DIR")]
    dump_template: Option<PathBuf>,
}

/// The command `tot`.
pub fn tot(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    match parse::<Tot>(arguments).map(|tot| tot.command) {
        Ok(Command::Check(arguments)) => check::run(&arguments),
        Ok(Command::Demo(arguments)) => finish("tot", run_demo(&arguments)),
        Ok(Command::Mcp(arguments)) => finish("tot mcp", run_mcp(arguments)),
        Ok(Command::Report(arguments)) => finish("tot report", run_report(&arguments)),
        Ok(Command::Ruleset(arguments)) => finish("tot ruleset", ruleset::run(arguments)),
        Err(status) => status,
    }
}

/// The command `tot-mcp`.
pub fn mcp(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    match parse::<McpCommand>(arguments) {
        Ok(command) => finish("tot-mcp", run_mcp(command.arguments)),
        Err(status) => status,
    }
}

/// The command `tot-report`.
pub fn report(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    match parse::<ReportCommand>(arguments) {
        Ok(command) => finish("tot-report", run_report(&command.arguments)),
        Err(status) => status,
    }
}

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn parse<T: Parser>(arguments: impl IntoIterator<Item = OsString>) -> Result<T, ExitCode> {
    T::try_parse_from(arguments).map_err(|error| {
        // Help and version are no errors and go to stdout; clap knows which is which.
        let _ = error.print();
        ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
    })
}

/// The exit status, with the error and what caused it on stderr.
fn finish(name: &str, outcome: Outcome) -> ExitCode {
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    // A reader that went away, say `head`, is no failure.
    if error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    {
        return ExitCode::SUCCESS;
    }
    eprintln!("{name}: {}", chain(error.as_ref()));
    ExitCode::FAILURE
}

/// An error with what caused it.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

fn run_mcp(arguments: McpArguments) -> Outcome {
    let log = arguments.log.log();
    let http = arguments.http.options(&log)?;
    log.take_panics();
    let world = arguments.clock_file.map_or(World::Machine, World::File);
    let durability = if arguments.durable { Durability::Full } else { Durability::Configured };
    let service = Service::new(arguments.root, world, arguments.min_rounds)
        .with_rulesets(arguments.rulesets.library()?)
        .with_durability(durability)
        .rejecting_secrets(arguments.reject_secrets)
        .reading_only(arguments.read_only);
    let service = Arc::new(service);
    let server = Server::new(mcp::tools::instructions(&service), mcp::tools::all(&service))
        .with_log(log)
        .reading_only(arguments.read_only);
    match http {
        Some(options) => Ok(mcp::serve_http(server, options)?),
        None => Ok(mcp::serve_stdio(server)?),
    }
}

fn run_demo(arguments: &DemoArguments) -> Outcome {
    let dir = match &arguments.dir {
        Some(dir) => dir.clone(),
        None => free_name("tot-demo"),
    };
    let progress = Progress::new();
    let played = demo::play(&dir, |step| progress.show(step))?;
    progress.show("rendering the site");
    let site = dir.join("site");
    render(std::slice::from_ref(&played.repository), None, &Options::default(), &site, &progress)?;
    progress.clear();
    let repository = played.repository.display();
    say(&format!(
        "An investigation of {} nodes, played by {} calls through tot-mcp: {} commits, and {} rejected.\n\
         (The times in it are those of the story.)\n\n\
         The site            {}\n\
         The investigation   {repository}\n\n\
         Look at it with git:\n\
         \x20 git -C {repository} log --oneline              the story of the work\n\
         \x20 git -C {repository} log -p -- {}    one node, from proposal to end\n\
         \x20 git -C {repository} log --oneline -- 'nodes/*/R*.A1.yaml' 'nodes/*/R*.A1[a-z]*'  one branch\n\
         \x20 git -C {repository} log --grep='^Warning:'     what was warned of\n\
         \x20 git -C {repository} show {}               how it ended\n",
        played.nodes,
        played.calls,
        played.commits,
        match played.rejected {
            1 => "1 call".to_owned(),
            many => format!("{many} calls"),
        },
        site.join("index.html").display(),
        played.a_node,
        played.tag,
    ))
}

/// The first of `name`, `name-2`, `name-3` … that does not exist yet.
fn free_name(name: &str) -> PathBuf {
    let numbered = (2..).map(|number| PathBuf::from(format!("{name}-{number}")));
    std::iter::once(PathBuf::from(name)).chain(numbered).find(|path| !path.exists()).unwrap_or_default()
}

fn run_report(arguments: &ReportArguments) -> Outcome {
    let options = Options { template: arguments.template.clone(), ..Options::default() };
    if let Some(dir) = &arguments.dump_template {
        report::dump_template(dir)?;
        say(&format!("The template stands in {}; give it back with --template.\n", dir.display()))?;
    }
    let Some(out) = &arguments.out else { return Ok(()) };
    let progress = Progress::new();
    let rev = arguments.rev.as_deref();
    if rev.is_some() && arguments.investigations.len() != 1 {
        return Err("--rev goes with one investigation: its commits are not those of another".into());
    }
    let number = render(&arguments.investigations, rev, &options, out, &progress)?;
    progress.clear();
    let what = if number == 1 { "1 investigation".to_owned() } else { format!("{number} investigations") };
    say(&format!("{what}: {}\n", out.join("index.html").display()))
}

/// Renders investigations into a folder, and says how many there were.
fn render(
    paths: &[PathBuf],
    rev: Option<&str>,
    options: &Options,
    out: &Path,
    progress: &Progress,
) -> Result<usize, Box<dyn std::error::Error>> {
    let mut inputs = Vec::new();
    for path in paths {
        let store = Store::new(path);
        let folders = if is_repository(path) { vec![path.clone()] } else { store.folders() };
        if folders.is_empty() {
            let reason = if path.exists() { "holds no investigation" } else { "does not exist" };
            return Err(format!(
                "{} {reason}: give the folder of one, or a folder of several",
                path.display()
            )
            .into());
        }
        for folder in folders {
            progress.show(&format!("reading {}", folder.display()));
            let snapshot = match rev {
                Some(rev) => store.load_at(&folder, rev)?,
                None => store.load(&folder)?,
            };
            let history = store.history(&snapshot)?;
            inputs.push(Input { snapshot, history });
        }
    }
    progress.show("rendering");
    let site = report::site(&inputs, &Templates::load(options)?)?;
    progress.show(&format!("writing {} files", site.len()));
    report::write(&site, out)?;
    Ok(inputs.len())
}

/// Whether the folder is a git repository itself: one with a work tree, or a bare one.
fn is_repository(path: &Path) -> bool {
    path.join(".git").exists() || (path.join("HEAD").is_file() && path.join("objects").is_dir())
}

/// Prints to stdout.
fn say(text: &str) -> Outcome {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}

/// One line on a terminal that says what is being done; nothing in a pipe.
struct Progress {
    terminal: bool,
}

impl Progress {
    fn new() -> Self {
        Progress { terminal: std::io::stderr().is_terminal() }
    }

    fn show(&self, what: &str) {
        if self.terminal {
            let what: String = what.chars().filter(|c| !c.is_control()).take(78).collect();
            eprint!("\r\x1b[K{what}");
        }
    }

    fn clear(&self) {
        if self.terminal {
            eprint!("\r\x1b[K");
        }
    }
}

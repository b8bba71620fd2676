//! Finds and starts the programs of others: the clients' own commands, and the servers that clients' files name.
//!
//! Never starts a program in the project, which may come from a stranger: neither one that a file of the project names, nor
//! one from an entry of PATH that is relative or in the project. All programs get a time limit and no terminal.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::client_config::is_of_one_version;
use super::root::written_path;
use crate::base::platform;
use crate::domain::run::Ended;
use crate::service::project::Project;
use crate::service::runs::{CaptureRequest, Captured, CommandInput, capture};

/// The time limit for a client's own command. Some take seconds to start.
const CLIENT_LIMIT: Duration = Duration::from_secs(60);
/// The time limit for a server's first reply.
const SERVER_LIMIT: Duration = Duration::from_secs(10);

/// The maximum length of what a program said, in characters.
const SHOWN: usize = 200;

const OURS: &str = env!("CARGO_PKG_VERSION");

/// A client's first request.
const HELLO: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"#,
    r#""clientInfo":{"name":"tot-doctor","version":""#,
    env!("CARGO_PKG_VERSION"),
    "\"}}}\n"
);

/// Finds a program on PATH by name.
pub(super) fn on_path(program: &str) -> Option<PathBuf> {
    all_on_path(program).into_iter().next()
}

fn all_on_path(program: &str) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders =
        std::env::split_paths(&path).filter(|folder| folder.is_absolute() && !is_in_project(folder));
    folders.filter_map(|folder| executable(&folder.join(program))).collect()
}

/// Returns the file of a program. On Windows, its name may lack the suffix.
fn executable(path: &Path) -> Option<PathBuf> {
    let with = |suffix: &&str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let whole = path.extension().map(|_| path.to_owned());
    whole.into_iter().chain(platform::PROGRAM_SUFFIXES.iter().map(with)).find(|file| file.is_file())
}

/// Returns whether a folder is in the project around the current folder. A project around the home folder does not count,
/// because it contains all of the user's programs.
fn is_in_project(folder: &Path) -> bool {
    let real = |path: PathBuf| path.canonicalize().ok();
    let Some(here) = std::env::current_dir().ok().and_then(real) else { return false };
    let project = Project::work_tree_around(&here).map_or(here.as_path(), |(top, _)| top);
    let is_home = std::env::home_dir().and_then(real).is_some_and(|home| home.starts_with(project));
    !is_home && real(folder.to_owned()).is_some_and(|folder| folder.starts_with(project))
}

/// Runs a client's own command. Returns what went wrong.
pub(super) fn run_client(words: &[String]) -> Result<(), String> {
    let ran = run(words, CommandInput::Nothing, Path::new("."), CLIENT_LIMIT);
    match ran.ended {
        Ended::Exit(0) => Ok(()),
        ended => Err(format!("{ended}. {}", ran.output.text.trim())),
    }
}

/// Finds the program that a client's file names, as far as it may be started here. Returns `None` for a program in the project
/// or on another machine, and for a path that only the client can complete.
pub(super) fn named(program: &str) -> Result<Option<PathBuf>, String> {
    if program.starts_with("\\\\") || program.contains("${") && written_path(program.into()).is_err() {
        return Ok(None);
    }
    let path = written_path(program.into())?;
    if path.components().count() == 1 {
        return on_path(program).map(Some).ok_or_else(|| "is not on PATH".to_owned());
    }
    let path = std::path::absolute(path).map_err(|error| error.to_string())?;
    let file = executable(&path).ok_or("does not exist")?;
    Ok(Some(file).filter(|file| !file.parent().is_some_and(is_in_project)))
}

/// Starts a server as a client does, outside the project. Returns what is wrong with it.
pub(super) fn greet(words: &[String]) -> Result<(), String> {
    let ran = run(words, CommandInput::Given(HELLO), &std::env::temp_dir(), SERVER_LIMIT);
    let replies = ran.output.text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let server = replies.map(|reply| reply["result"]["serverInfo"].clone()).find(|server| !server.is_null());
    let said = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let server = server.map(|server| (said(&server["name"]), said(&server["version"])));
    match (server, ran.ended) {
        (Some((name, _)), _) if name != "tot-mcp" => Err(format!("is another server, {name}")),
        (Some((_, version)), _) if version != OURS => {
            Err(format!("is version {version}, and this is {OURS}"))
        }
        (Some(_), _) => Ok(()),
        (None, Ended::NotRun(reason)) => Err(format!("can't be started: {reason}")),
        (None, Ended::TimedOut) => Err(format!("does not answer within {} s", SERVER_LIMIT.as_secs())),
        (None, ended) => {
            let last: String =
                ran.output.text.lines().next_back().unwrap_or_default().chars().take(SHOWN).collect();
            Err(format!("does not speak MCP; it ended with {ended}. {last}").trim_end().to_owned())
        }
    }
}

fn run(words: &[String], input: CommandInput, folder: &Path, limit: Duration) -> Captured {
    let request = CaptureRequest {
        command: words,
        starter: &[],
        tracer: None,
        folder,
        variables: Vec::new(),
        input,
        sinks: [None, None],
        places: Vec::new(),
        expected: Vec::new(),
        timeout: Some(limit),
        kills_background: true,
    };
    capture(request, &mut || None)
}

/// Returns the program that starts this server, and its arguments. Prefers a path that an upgrade keeps, such as a link in a
/// folder of PATH, to a path with a version in it.
pub(super) fn own_server() -> Result<(PathBuf, &'static [&'static str]), String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    // Some systems resolve the links to the running program.
    let called = std::env::args_os().next().map(PathBuf::from).filter(|path| path.components().count() > 1);
    let called = called.and_then(|path| {
        let path = std::path::absolute(path).ok()?;
        // A path through the current folder would end with it.
        let is_winding = path.components().any(|part| part == Component::ParentDir);
        if is_winding {
            Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
        } else {
            Some(path)
        }
    });
    let mut fallback = None;
    for (name, arguments) in [("tot-mcp", &[][..]), ("tot", &["mcp"])] {
        let beside = |path: &PathBuf| executable(&path.with_file_name(name));
        let Some(ours) = beside(&own) else { continue };
        let starts_ours = |file: &PathBuf| {
            let words = std::iter::once(file.to_str().unwrap_or_default()).chain(arguments.iter().copied());
            file.canonicalize().ok() == ours.canonicalize().ok()
                || greet(&words.map(str::to_owned).collect::<Vec<_>>()).is_ok()
        };
        let places = called.iter().filter_map(beside).chain(all_on_path(name)).chain([ours.clone()]);
        let mut kept = places.filter(|file| !is_of_one_version(file));
        if let Some(file) = kept.find(starts_ours) {
            return Ok((file, arguments));
        }
        fallback.get_or_insert((ours, arguments));
    }
    Ok(fallback.unwrap_or((own, &["mcp"])))
}

//! `tot setup`: this server in the configuration of an MCP client, printed or written.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::{Outcome, say};
use crate::setup::{Client, ConfigFile, Edit, ServerEntry, alone, put};

#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct SetupArguments {
    /// The client
    #[arg(value_enum)]
    client: Known,
    /// Write the file, in the current folder where it belongs to a project; all else in it stays
    #[arg(long)]
    write: bool,
    /// Replace another entry of that name without asking
    #[arg(long, requires = "write")]
    replace: bool,
    /// The server's name in the client
    #[arg(long, value_name = "NAME", default_value = "tot", value_parser = name)]
    name: String,
    /// The folder of the investigations, if not `investigations` in the folder where the client starts the server
    #[arg(long, value_name = "DIR", global = true)]
    root: Option<PathBuf>,
    /// Further options of tot-mcp, such as `-- --min-rounds 5`
    #[arg(last = true, value_name = "OPTION")]
    options: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  tot setup claude-code            what goes into .mcp.json of the project
  tot setup claude-code --write    the same, written
  tot setup codex --write --root ~/investigations -- --min-rounds 5";

/// The clients, as they are called on the command line.
#[derive(Clone, Copy, ValueEnum)]
enum Known {
    /// Claude Code: .mcp.json in the project
    ClaudeCode,
    /// VS Code: .vscode/mcp.json in the project
    Vscode,
    /// Cursor: .cursor/mcp.json in the project
    Cursor,
    /// Codex: config.toml in ~/.codex
    Codex,
    /// Claude Desktop: its settings of this user
    ClaudeDesktop,
}

impl Known {
    fn client(self) -> Client {
        match self {
            Known::ClaudeCode => Client::ClaudeCode,
            Known::Vscode => Client::VsCode,
            Known::Cursor => Client::Cursor,
            Known::Codex => Client::Codex,
            Known::ClaudeDesktop => Client::ClaudeDesktop,
        }
    }
}

/// What all clients take as a server's name.
fn name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if text.is_empty() || text.len() > 64 || !text.chars().all(fits) {
        return Err("a name has 1 to 64 letters, digits, `-` and `_`".to_owned());
    }
    Ok(text.to_owned())
}

pub(super) fn run(arguments: &SetupArguments) -> Outcome {
    let client = arguments.client.client();
    let (file, shared) = match client.place() {
        ConfigFile::Project(path) => (PathBuf::from(path), true),
        ConfigFile::CodexHome(path) => (codex_home()?.join(path), false),
        ConfigFile::Settings(path) => (settings()?.join(path), false),
    };
    let entry = entry(arguments, client, shared)?;
    let what = client.name();
    if !arguments.write {
        return say(&format!(
            "For {what}, put this into {}, beside what is there; the same command with --write does so.\n\n{}",
            file.display(),
            alone(client, &entry)
        ));
    }
    let present = read(&file)?;
    let fault = |error| {
        format!(
            "{}: {error}. Nothing was written; mend it, or put this in by hand:\n\n{}",
            file.display(),
            alone(client, &entry)
        )
    };
    let mut change = put(client, present.as_deref(), &entry, arguments.replace).map_err(fault)?;
    if let Edit::Taken(there) = &change {
        if !may_replace(&file, &entry.name, there)? {
            return say("Nothing was changed.\n");
        }
        change = put(client, present.as_deref(), &entry, true).map_err(fault)?;
    }
    let Edit::Write(text) = change else {
        return say(&format!("{} has it already; nothing was changed.\n", file.display()));
    };
    write(&file, &text)?;
    say(&format!("{what} has the server `{}` now, by {}. {}\n", entry.name, file.display(), hint(client)))
}

/// What is left to do in the client.
fn hint(client: Client) -> &'static str {
    match client {
        Client::ClaudeCode => "It asks once, when it starts in this folder, whether it may use it.",
        Client::VsCode => "Start it there: `MCP: List Servers` in the command palette.",
        Client::Cursor => "Switch it on in Cursor's settings, under MCP.",
        Client::Codex => "It starts it with the next session.",
        Client::ClaudeDesktop => "Restart it.",
    }
}

/// The server as the client shall start it.
fn entry(
    arguments: &SetupArguments,
    client: Client,
    shared: bool,
) -> Result<ServerEntry, Box<dyn std::error::Error>> {
    let (command, mut words) = program(shared)?;
    let root = match &arguments.root {
        // A file that is shared says what is true in every clone; settings of a user, what is true in every folder.
        Some(root) if shared => Some(root.clone()),
        Some(root) => Some(std::path::absolute(root)?),
        // It starts servers in no folder of the user's.
        None if client == Client::ClaudeDesktop => Some(home()?.join("investigations")),
        None => None,
    };
    if let Some(root) = root {
        words.extend(["--root".to_owned(), text(&root)?]);
    }
    words.extend(arguments.options.iter().cloned());
    Ok(ServerEntry { name: arguments.name.clone(), command, arguments: words })
}

/// The program to start: by its name in a file that others share, if it can be found by that; else with its path, since
/// what is started from a desktop has not the PATH of a shell.
fn program(shared: bool) -> Result<(String, Vec<String>), Box<dyn std::error::Error>> {
    let server = format!("tot-mcp{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::var_os("PATH").unwrap_or_default();
    if shared && std::env::split_paths(&path).any(|folder| folder.join(&server).is_file()) {
        return Ok(("tot-mcp".to_owned(), Vec::new()));
    }
    let own = std::env::current_exe()?;
    let beside = own.with_file_name(&server);
    if beside.is_file() {
        return Ok((text(&beside)?, Vec::new()));
    }
    Ok((text(&own)?, vec!["mcp".to_owned()]))
}

/// A path as a text, which is all that a configuration can hold.
fn text(path: &Path) -> Result<String, String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| {
        format!("{} is no Unicode text, and a configuration can hold nothing else", path.display())
    })
}

fn home() -> Result<PathBuf, &'static str> {
    std::env::home_dir()
        .filter(|home| !home.as_os_str().is_empty())
        .ok_or("there is no home folder to find the settings in: set HOME")
}

/// Where Codex keeps its settings.
fn codex_home() -> Result<PathBuf, &'static str> {
    match std::env::var_os("CODEX_HOME").filter(|folder| !folder.is_empty()) {
        Some(folder) => Ok(folder.into()),
        None => Ok(home()?.join(".codex")),
    }
}

/// Where applications keep their settings of this user.
fn settings() -> Result<PathBuf, &'static str> {
    if cfg!(target_os = "macos") {
        return Ok(home()?.join("Library/Application Support"));
    }
    let variable = if cfg!(windows) { "APPDATA" } else { "XDG_CONFIG_HOME" };
    match std::env::var_os(variable).map(PathBuf::from).filter(|folder| folder.is_absolute()) {
        Some(folder) => Ok(folder),
        None if cfg!(windows) => Ok(home()?.join("AppData/Roaming")),
        None => Ok(home()?.join(".config")),
    }
}

/// The file's text; `None` where there is no file.
fn read(file: &Path) -> Result<Option<String>, String> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("can't read {}: {error}", file.display())),
    }
}

/// Asks on a terminal; elsewhere no one can be asked, and the answer is an error that says how to go on.
fn may_replace(file: &Path, name: &str, there: &str) -> Result<bool, Box<dyn std::error::Error>> {
    let question = format!("{} has another server `{name}` already:\n\n{there}\n", file.display());
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(format!(
            "{question}\nNothing was changed. Replace it with --replace, or take another name with --name"
        )
        .into());
    }
    eprint!("{question}\nReplace it? [y/N] ");
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Writes the file aside and renames it into place, so that it is never half there. A link stays a link, and a file
/// keeps its permissions.
fn write(file: &Path, text: &str) -> Result<(), String> {
    let fault = |error: std::io::Error| format!("can't write {}: {error}", file.display());
    let target = if file.exists() { file.canonicalize().map_err(fault)? } else { file.to_owned() };
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(folder).map_err(fault)?;
    let mut aside = target.as_os_str().to_owned();
    aside.push(format!(".{}.tmp", std::process::id()));
    let aside = PathBuf::from(aside);
    let written = (|| {
        let mut output = std::fs::OpenOptions::new().write(true).create_new(true).open(&aside)?;
        if let Ok(present) = std::fs::metadata(&target) {
            output.set_permissions(present.permissions())?;
        }
        output.write_all(text.as_bytes())?;
        output.sync_all()?;
        std::fs::rename(&aside, &target)
    })();
    if written.is_err() {
        // What is left of it is ours alone.
        let _ = std::fs::remove_file(&aside);
    }
    written.map_err(fault)
}

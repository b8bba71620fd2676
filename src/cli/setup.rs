//! `tot setup`: prints or writes this server's entry in the configuration of an MCP client, the skill that teaches agents the
//! method, and the paragraph in `AGENTS.md`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::print::{self, can_ask};
use super::{CommandResult, misused, say, value_name};
use crate::base::platform;
use crate::base::temporary::replace_file;
use crate::cli::client_config::{
    Client, ConfigFile, Edit, SKILL, ServerEntry, add_entry, add_paragraph, new_file, servers,
};

/// The server's default name in clients.
pub(super) const NAME: &str = "tot";

#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct SetupArguments {
    /// MCP client to configure; without it, lists the installed ones, and asks for each at a terminal
    #[arg(value_enum)]
    client: Option<ClientName>,
    /// Write the entry into the client's file, in the current folder for project files; everything else in it stays
    /// unchanged
    #[arg(long)]
    write: bool,
    /// Also write the skill that teaches the method, into the project folder where this client looks for skills
    #[arg(long, requires = "write")]
    skill: bool,
    /// Replace an existing entry of the same name without asking
    #[arg(long, requires = "write")]
    replace: bool,
    /// Name of the server in the client
    #[arg(long, value_name = "NAME", default_value = NAME, value_parser = name)]
    name: String,
    /// Investigations folder; default: `investigations` in the project where the client starts the server
    #[arg(long, value_name = "DIR", global = true)]
    root: Option<PathBuf>,
    /// More options for tot-mcp, such as `-- --min-rounds 5`
    #[arg(last = true, value_name = "OPTION")]
    options: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  tot setup                          finds installed clients, and asks
  tot setup claude-code              prints what to add to .mcp.json of the project
  tot setup claude-code --write      writes it
  tot setup gemini --write --skill   also installs the skill
  tot setup agents-md --write        adds a paragraph to AGENTS.md, which most agents read
  tot setup codex --write --root ~/investigations -- --min-rounds 5";

/// The clients, as named on the command line.
#[derive(Clone, Copy, ValueEnum)]
enum ClientName {
    /// Claude Code: .mcp.json in the project
    ClaudeCode,
    /// VS Code: .vscode/mcp.json in the project
    Vscode,
    /// Cursor: .cursor/mcp.json in the project
    Cursor,
    /// Codex: config.toml in ~/.codex
    Codex,
    /// Claude Desktop: its settings for this user
    ClaudeDesktop,
    /// OpenCode: opencode.json in the project
    Opencode,
    /// Windsurf: mcp_config.json in ~/.codeium/windsurf
    Windsurf,
    /// Gemini CLI: .gemini/settings.json in the project
    Gemini,
    /// GitHub Copilot CLI: .github/mcp.json in the project
    Copilot,
    /// Any agent that reads AGENTS.md: a paragraph on when to investigate; the client needs its own entry too
    AgentsMd,
}

impl ClientName {
    /// Returns the client, or `None` for `AGENTS.md`.
    fn client(self) -> Option<Client> {
        match self {
            ClientName::ClaudeCode => Some(Client::ClaudeCode),
            ClientName::Vscode => Some(Client::VsCode),
            ClientName::Cursor => Some(Client::Cursor),
            ClientName::Codex => Some(Client::Codex),
            ClientName::ClaudeDesktop => Some(Client::ClaudeDesktop),
            ClientName::Opencode => Some(Client::OpenCode),
            ClientName::Windsurf => Some(Client::Windsurf),
            ClientName::Gemini => Some(Client::GeminiCli),
            ClientName::Copilot => Some(Client::CopilotCli),
            ClientName::AgentsMd => None,
        }
    }
}

/// Checks a server name, which all clients must accept.
fn name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if text.is_empty() || text.len() > 64 || !text.chars().all(fits) {
        return Err("use 1 to 64 letters, digits, `-` and `_`".to_owned());
    }
    Ok(text.to_owned())
}

pub(super) fn run(arguments: &SetupArguments) -> CommandResult {
    match arguments.client.map(ClientName::client) {
        None => all(arguments),
        Some(None) if arguments.skill => {
            Err(misused("--skill needs a client: tot setup CLIENT --write --skill"))
        }
        Some(None) => agents_md(arguments),
        Some(Some(client)) if arguments.write => {
            if arguments.skill && client.skill().is_none() {
                let reason =
                    format!("{} does not load skills from a folder: leave out --skill", client.name());
                return Err(misused(reason));
            }
            write_entry(arguments, client)?;
            match client.skill().filter(|_| arguments.skill) {
                Some(place) => write_skill(client, place, arguments.replace),
                None => Ok(()),
            }
        }
        Some(Some(client)) => say(&format!(
            "For {}, add this to {}, or run the same command with --write.\n\n{}",
            client.name(),
            file(client)?.display(),
            new_file(client, &entry(arguments, client)?)
        )),
    }
}

/// Handles all installed clients. At a terminal, asks about each; otherwise prints the command for each.
fn all(arguments: &SetupArguments) -> CommandResult {
    let clients = ClientName::value_variants().iter().filter_map(|known| Some((*known, known.client()?)));
    let mut found = Vec::new();
    for (known, client) in clients {
        if is_installed(client)? {
            found.push((known, client));
        }
    }
    if found.is_empty() {
        let known: Vec<String> =
            ClientName::value_variants().iter().map(|known| value_name(*known)).collect();
        return Err(format!(
            "no known client was found. Name one: `tot setup CLIENT`, where CLIENT is one of {}",
            known.join(", ")
        )
        .into());
    }
    if !can_ask() {
        let mut text =
            "Found these clients. Each command writes the server into the client's file:\n\n".to_owned();
        for (known, client) in found {
            text += &format!(
                "  tot setup {} --write\n      {}: {}\n",
                value_name(known),
                client.name(),
                file(client)?.display()
            );
        }
        text += "  tot setup agents-md --write\n      a paragraph in AGENTS.md on when to investigate\n";
        return say(&text);
    }
    for (_, client) in found {
        if ask(&format!("{}: add the server to {}?", client.name(), file(client)?.display()), true)? {
            write_entry(arguments, client)?;
            if let Some(skill) = client.skill()
                && !Path::new(skill).exists()
                && ask(&format!("Install the skill that teaches the method in {skill}?"), true)?
            {
                write_skill(client, skill, false)?;
            }
        }
    }
    if ask("Add a paragraph on when to investigate to this folder's AGENTS.md?", false)? {
        write_paragraph(arguments, Path::new("AGENTS.md"))?;
    }
    Ok(())
}

/// Returns whether the client's program or folder exists on this machine.
fn is_installed(client: Client) -> Result<bool, &'static str> {
    Ok(client.program().and_then(on_path).is_some() || resolve(client.folder())?.is_dir())
}

/// Finds a program on PATH by name.
pub(super) fn on_path(program: &str) -> Option<PathBuf> {
    let suffixes = platform::PROGRAM_SUFFIXES;
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .flat_map(|folder| suffixes.iter().map(move |suffix| folder.join(format!("{program}{suffix}"))))
        .find(|file| file.is_file())
}

fn agents_md(arguments: &SetupArguments) -> CommandResult {
    let file = Path::new("AGENTS.md");
    if arguments.write {
        return write_paragraph(arguments, file);
    }
    let Edit::Write(text) = add_paragraph(None, &arguments.name, &root_text(arguments)?, false) else {
        return Ok(());
    };
    say(&format!("Add this to AGENTS.md, or run the same command with --write.\n\n{text}"))
}

fn root_text(arguments: &SetupArguments) -> Result<String, String> {
    arguments.root.as_deref().map_or_else(|| Ok("investigations/".to_owned()), text)
}

fn write_paragraph(arguments: &SetupArguments, file: &Path) -> CommandResult {
    let root = root_text(arguments)?;
    let present = read(file)?;
    let put = |replace| Ok(add_paragraph(present.as_deref(), &arguments.name, &root, replace));
    let said = format!("{} now tells agents when and how to investigate.\n", file.display());
    change(file, arguments.replace, "paragraph", put, &said)
}

/// Writes the result of `put` and prints `said`. An existing `what` that differs is replaced only with `--replace` or after
/// asking.
fn change(
    file: &Path,
    replace: bool,
    what: &str,
    put: impl Fn(bool) -> CommandResult<Edit>,
    said: &str,
) -> CommandResult {
    let mut edit = put(replace)?;
    if let Edit::Conflict(there) = &edit {
        if !may_replace(&format!("{} already has another {what}:\n\n{there}\n", file.display()))? {
            return say("Nothing was changed.\n");
        }
        edit = put(true)?;
    }
    let Edit::Write(text) = edit else {
        return say(&format!("{} is already up to date; nothing was changed.\n", file.display()));
    };
    write(file, &text)?;
    say(said)
}

fn write_skill(client: Client, place: &str, replace: bool) -> CommandResult {
    let file = Path::new(place);
    match read(file)? {
        Some(there) if there == SKILL => {
            return say(&format!("{place} already contains the skill; nothing was changed.\n"));
        }
        Some(_) if !replace && !may_replace(&format!("{place} already has different content.\n"))? => {
            return say("Nothing was changed.\n");
        }
        _ => write(file, SKILL)?,
    }
    say(&format!("{} now has the skill `investigate` in {place}.\n", client.name()))
}

fn write_entry(arguments: &SetupArguments, client: Client) -> CommandResult {
    let (file, entry) = (file(client)?, entry(arguments, client)?);
    let present = read(&file)?;
    let put = |replace| {
        add_entry(client, present.as_deref(), &entry, replace).map_err(|error| {
            format!(
                "{}: {error}. Nothing was written; fix the file, or add this manually:\n\n{}",
                file.display(),
                new_file(client, &entry)
            )
            .into()
        })
    };
    let (who, name) = (client.name(), &entry.name);
    let said = format!("{who} now has the server `{name}`, in {}. {}\n", file.display(), hint(client));
    change(&file, arguments.replace, &format!("server `{name}`"), put, &said)
}

/// Returns the client's configuration file.
fn file(client: Client) -> Result<PathBuf, &'static str> {
    resolve(client.place())
}

fn resolve(place: ConfigFile) -> Result<PathBuf, &'static str> {
    Ok(match place {
        ConfigFile::Project(paths) => {
            PathBuf::from(paths.iter().find(|path| Path::new(path).exists()).unwrap_or(&paths[0]))
        }
        ConfigFile::Home(path) => home()?.join(path),
        ConfigFile::CodexHome(path) => codex_home()?.join(path),
        ConfigFile::Settings(path) => settings()?.join(path),
    })
}

/// A client, with the servers that it starts.
pub(super) struct SetUp {
    pub name: &'static str,
    /// The client's name in `tot setup`.
    pub word: String,
    pub file: PathBuf,
    pub is_installed: bool,
    /// The servers in the client's file, or the error from reading it.
    pub servers: Result<Vec<ServerEntry>, String>,
}

/// Returns the state of all clients for this folder and this user.
pub(super) fn clients() -> Vec<SetUp> {
    let of = |known: &ClientName| {
        let client = known.client()?;
        let file = file(client).ok()?;
        let servers = read(&file)
            .and_then(|text| servers(client, &text.unwrap_or_default()).map_err(|error| error.to_string()));
        let is_installed = is_installed(client).unwrap_or(false);
        Some(SetUp { name: client.name(), word: value_name(*known), is_installed, servers, file })
    };
    ClientName::value_variants().iter().filter_map(of).collect()
}

/// Returns the step that remains to be done in the client.
fn hint(client: Client) -> &'static str {
    match client {
        Client::ClaudeCode => "It asks for permission once, when it starts in this folder.",
        Client::VsCode => "Start it there: `MCP: List Servers` in the command palette.",
        Client::Cursor => "Enable it in Cursor's settings, under MCP.",
        Client::Codex => "The server starts with the next session.",
        Client::ClaudeDesktop => "Restart Claude Desktop.",
        Client::OpenCode | Client::GeminiCli => "The server starts with the next session in this folder.",
        Client::Windsurf => "Refresh the servers in its MCP panel, or restart it.",
        Client::CopilotCli => "It starts the server in this folder once you trust the folder.",
    }
}

/// Returns the entry with which the client starts the server.
fn entry(arguments: &SetupArguments, client: Client) -> CommandResult<ServerEntry> {
    let shared = matches!(client.place(), ConfigFile::Project(_));
    let (command, mut words) = program(shared)?;
    let root = match &arguments.root {
        // A shared file must be valid in every clone, and user settings in every folder.
        Some(root) if shared => Some(root.clone()),
        Some(root) => Some(std::path::absolute(root)?),
        // The client does not start servers in the user's project.
        None if !client.starts_in_project() => Some(home()?.join("investigations")),
        None => None,
    };
    if let Some(root) = root {
        words.extend(["--root".to_owned(), text(&root)?]);
    }
    words.extend(arguments.options.iter().cloned());
    Ok(ServerEntry { name: arguments.name.clone(), command, arguments: words })
}

/// Returns the program to start and its arguments. In a shared file, the program is a bare name if it is on PATH. Otherwise, it
/// is a path, because desktop programs do not inherit the shell's PATH.
fn program(shared: bool) -> CommandResult<(String, Vec<String>)> {
    let server = format!("tot-mcp{}", std::env::consts::EXE_SUFFIX);
    if shared && on_path("tot-mcp").is_some() {
        return Ok(("tot-mcp".to_owned(), Vec::new()));
    }
    let own = std::env::current_exe()?;
    let beside = own.with_file_name(&server);
    if beside.is_file() {
        return Ok((text(&beside)?, Vec::new()));
    }
    Ok((text(&own)?, vec!["mcp".to_owned()]))
}

/// Returns a path as text, the only form that a configuration can contain.
fn text(path: &Path) -> Result<String, String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| format!("{} must be valid Unicode for the configuration", path.display()))
}

fn home() -> Result<PathBuf, &'static str> {
    std::env::home_dir()
        .filter(|home| !home.as_os_str().is_empty())
        .ok_or("no home folder to find the settings in: set HOME")
}

/// Returns the Codex settings folder.
fn codex_home() -> Result<PathBuf, &'static str> {
    match std::env::var_os("CODEX_HOME").filter(|folder| !folder.is_empty()) {
        Some(folder) => Ok(folder.into()),
        None => Ok(home()?.join(".codex")),
    }
}

/// Returns this user's application settings folder.
fn settings() -> Result<PathBuf, &'static str> {
    let (variable, in_home) = platform::SETTINGS;
    let named = variable.and_then(std::env::var_os).map(PathBuf::from).filter(|folder| folder.is_absolute());
    match named {
        Some(folder) => Ok(folder),
        None => Ok(home()?.join(in_home)),
    }
}

/// Reads a file. Returns `None` if it does not exist.
fn read(file: &Path) -> Result<Option<String>, String> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("can't read {}: {error}", file.display())),
    }
}

/// Asks a yes-or-no question. An empty answer means `default`; the end of input means no.
fn ask(question: &str, default: bool) -> std::io::Result<bool> {
    let answer = print::ask(&format!("{question} [{}]", if default { "Y/n" } else { "y/N" }))?;
    Ok(answer.is_some_and(|answer| match answer.as_str() {
        "" => default,
        answer => matches!(answer, "y" | "yes"),
    }))
}

/// Asks whether to replace `what`. Without a terminal, returns an error that names the options.
fn may_replace(what: &str) -> CommandResult<bool> {
    if !can_ask() {
        return Err(format!(
            "{what}\nNothing was changed. Replace it with --replace, or use another name with --name"
        )
        .into());
    }
    Ok(ask(&format!("{what}\nReplace it?"), false)?)
}

/// Replaces a file, and creates its folder.
fn write(file: &Path, text: &str) -> Result<(), String> {
    let folder = file.parent().map_or(Ok(()), std::fs::create_dir_all);
    let written = folder.and_then(|()| replace_file(file, text.as_bytes()));
    written.map_err(|error| format!("can't write {}: {error}", file.display()))
}

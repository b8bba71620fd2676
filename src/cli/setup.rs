//! `tot setup`: adds this server to MCP clients, by their own commands or by a new file, and writes the skill that teaches agents
//! the method, and the paragraph in `AGENTS.md`.

mod check;

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};

use super::place::{EVERYWHERE, RootArgument};
use super::print::{self, can_ask, tell};
use super::programs::{on_path, own_server, run_client};
use super::{CommandResult, ExitResult, done, misused, root, say};
use crate::base::platform;
use crate::base::temporary::replace_file;
use crate::cli::client_config::{
    CLIENTS, Client, ConfigFile, Edit, FETCHERS, OwnCommand, ServerEntry, add_paragraph, fetched_by, fetcher,
    is_of_one_version, new_file, put_skill,
};
use crate::text::shell_line;

/// The server's default name in clients.
const NAME: &str = "tot";

/// The word for `AGENTS.md` in place of a client.
const AGENTS_MD: &str = "agents-md";

/// The arguments for adding a server, which `--check` and its `--json` do not take.
const ADDING: [&str; 7] = ["client", "write", "skill", "replace", "by", "name", "options"];

#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct SetupArguments {
    /// MCP client to configure; without it, lists the installed ones, and asks for each at a terminal
    #[arg(value_parser = clients())]
    client: Option<String>,
    /// Have the client add the server with its own command or, without one, write the client's file if there is none yet. An
    /// existing file is never edited
    #[arg(long)]
    write: bool,
    /// Also write the skill that teaches the method, into the project folder where this client looks for skills
    #[arg(long, requires = "write")]
    skill: bool,
    /// Replace a server of the same name, an edited skill or an edited paragraph without asking
    #[arg(long, requires = "write")]
    replace: bool,
    /// Program that fetches this server from PyPI or npm and starts it, instead of a path of this machine. Clients can use it
    /// after upgrades and on other machines. Default: the program that fetched this one, if any
    #[arg(long, value_name = "PROGRAM", value_parser = PossibleValuesParser::new(FETCHERS))]
    by: Option<String>,
    /// Name of the server in the client
    #[arg(long, value_name = "NAME", default_value = NAME, value_parser = name)]
    name: String,
    /// Investigations folder; default: `investigations` in the project where the client starts the server
    #[arg(long, value_name = "DIR", global = true, value_parser = root::path(), help_heading = EVERYWHERE)]
    root: Option<PathBuf>,
    /// Check git, your name and signing key, the server, the clients' configurations and the root instead, and suggest fixes. Writes
    /// nothing. Exits with status 1 if something is wrong
    #[arg(long, conflicts_with_all = ADDING)]
    check: bool,
    /// Print one JSON document
    #[arg(long, requires = "check", conflicts_with_all = ADDING, help_heading = EVERYWHERE)]
    json: bool,
    /// More options for tot-mcp, such as `-- --min-rounds 5`
    #[arg(last = true, value_name = "OPTION")]
    options: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  tot setup                          finds installed clients, and asks
  tot setup claude-code              prints the command or the text that adds the server
  tot setup claude-code --write      adds it
  tot setup cursor --write --by uvx  has the client start it with uvx
  tot setup gemini --write --skill   also installs the skill
  tot setup agents-md --write        adds a paragraph to AGENTS.md, which most agents read
  tot setup codex --write --root ~/investigations -- --min-rounds 5
  tot setup --check --json | jq '.checks[] | select(.status == \"wrong\")'";

/// Returns the clients as values of the argument.
fn clients() -> PossibleValuesParser {
    let about = |client: &Client| match (&client.own, client.program) {
        (Some(_), Some(program)) => format!("{}, by `{program}` itself if it is on PATH", client.name),
        _ => client.name.to_owned(),
    };
    let clients = CLIENTS.iter().map(|client| PossibleValue::new(client.word).help(about(client)));
    let paragraph =
        "Any agent that reads AGENTS.md: a paragraph on when to investigate; the client needs the server too";
    clients.chain([PossibleValue::new(AGENTS_MD).help(paragraph)]).collect::<Vec<_>>().into()
}

/// Checks a server name, which all clients must accept.
fn name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if text.is_empty() || text.len() > 64 || !text.chars().all(fits) {
        return Err("use 1 to 64 letters, digits, `-` and `_`".to_owned());
    }
    Ok(text.to_owned())
}

pub(super) fn run(arguments: &SetupArguments) -> ExitResult {
    match arguments.check {
        true => check::run(&RootArgument::new(arguments.root.clone()), arguments.json),
        false => done(configure(arguments)),
    }
}

fn configure(arguments: &SetupArguments) -> CommandResult {
    let Some(word) = arguments.client.as_deref() else { return all(arguments) };
    let Some(client) = CLIENTS.iter().find(|client| client.word == word) else {
        if arguments.skill {
            return Err(misused("--skill needs a client: tot setup CLIENT --write --skill"));
        }
        return agents_md(arguments, arguments.write);
    };
    let plan = SetupPlan::of(arguments, client)?;
    if !arguments.write {
        return say(&plan.by_hand());
    }
    if arguments.skill && client.skill.is_none() {
        let reason = format!("{} does not load skills from a folder: leave out --skill", client.name);
        return Err(misused(reason));
    }
    plan.carry_out(arguments.replace)?;
    match client.skill.filter(|_| arguments.skill) {
        Some(place) => write_skill(client, place, arguments.replace),
        None => Ok(()),
    }
}

/// Handles all installed clients. At a terminal, asks about each; otherwise prints the command for each.
fn all(arguments: &SetupArguments) -> CommandResult {
    let mut found = Vec::new();
    for client in &CLIENTS {
        if is_installed(client)? {
            found.push((client, SetupPlan::of(arguments, client)?));
        }
    }
    if found.is_empty() {
        let known: Vec<&str> = CLIENTS.iter().map(|client| client.word).chain([AGENTS_MD]).collect();
        return Err(format!(
            "no known client was found. Name one: `tot setup CLIENT`, where CLIENT is one of {}",
            known.join(", ")
        )
        .into());
    }
    if !can_ask() {
        let mut text = "Found these clients. Each command adds the server:\n\n".to_owned();
        for (client, plan) in found {
            text += &format!("  tot setup {} --write\n      {}: {}\n", client.word, client.name, plan.how());
        }
        text += "  tot setup agents-md --write\n      a paragraph in AGENTS.md on when to investigate\n";
        return say(&text);
    }
    for (client, plan) in found {
        if ask(&format!("{}: add the server ({})?", client.name, plan.how()), true)? {
            // The next client may work.
            if let Err(error) = plan.carry_out(arguments.replace) {
                tell(&format!("{}: {error}", client.name));
            }
            if let Some(skill) = client.skill
                && !Path::new(skill).exists()
                && ask(&format!("Install the skill that teaches the method in {skill}?"), true)?
            {
                write_skill(client, skill, false)?;
            }
        }
    }
    if ask("Add a paragraph on when to investigate to this folder's AGENTS.md?", false)? {
        agents_md(arguments, true)?;
    }
    Ok(())
}

/// Returns whether the client's program or folder exists on this machine.
pub(super) fn is_installed(client: &Client) -> Result<bool, &'static str> {
    Ok(client.program.and_then(on_path).is_some() || resolve(client.folder)?.is_dir())
}

/// The way in which a client gets the server.
struct SetupPlan {
    client: &'static Client,
    entry: ServerEntry,
    /// The file that will name the server.
    file: PathBuf,
    /// The client's own command, with the path of its program.
    own: Option<(String, &'static OwnCommand)>,
}

impl SetupPlan {
    fn of(arguments: &SetupArguments, client: &'static Client) -> CommandResult<SetupPlan> {
        let own = client.own.as_ref().zip(client.program.and_then(on_path));
        let own = own.map(|(own, program)| text(&program).map(|program| (program, own))).transpose()?;
        let place = own.as_ref().map_or(client.file, |(_, own)| own.file);
        let is_shared = matches!(place, ConfigFile::Project(_));
        let entry = entry(arguments, is_shared, client.starts_at_home && !is_shared)?;
        Ok(SetupPlan { client, entry, file: resolve(place)?, own })
    }

    /// Returns the command line, or the name of the file.
    fn how(&self) -> String {
        let Some((_, own)) = &self.own else { return self.file.display().to_string() };
        let words = own.filled(own.add, &self.entry);
        format!("{} {}", self.client.program.unwrap_or_default(), shell_line(&words))
    }

    /// Describes how a person adds the server.
    fn by_hand(&self) -> String {
        let (name, how) = (self.client.name, self.how());
        let or = "or run the same command with --write";
        match self.own {
            Some(_) => format!("For {name}, run this, {or}.\n\n  {how}\n"),
            None => format!("For {name}, add this to {how}, {or}.\n\n{}", new_file(self.client, &self.entry)),
        }
    }

    fn carry_out(&self, replace: bool) -> CommandResult {
        let (who, name, file) = (self.client.name, &self.entry.name, self.file.display());
        let there = read(&self.file)?;
        let is_named = there.as_ref().is_some_and(|there| self.entry.is_named_in(there));
        // Under another name, a server that is to have a name of its own is another one.
        let is_meant = is_named || *name == NAME;
        if is_meant && there.as_ref().is_some_and(|there| self.entry.is_in(there)) {
            return say(&format!("{file} already has this server; nothing was changed.\n"));
        }
        let text = new_file(self.client, &self.entry);
        let by = match (&self.own, there) {
            (Some((program, own)), _) => {
                // Some clients would replace the server without asking.
                if is_named && !replace {
                    let what = format!("{file} already names a server `{name}`");
                    return Err(format!("{what}: replace it with --replace, or choose another --name").into());
                }
                let run = |words| {
                    let words = own.filled(words, &self.entry);
                    run_client(&std::iter::once(program.clone()).chain(words).collect::<Vec<_>>())
                };
                if let Some(remove) = own.remove.filter(|_| is_named) {
                    // If this fails, so does the addition.
                    let _ = run(remove);
                }
                run(own.add).map_err(|error| {
                    format!(
                        "{} failed: {error}\nRun it by hand, or add this to {file}:\n\n{text}",
                        self.how()
                    )
                })?;
                format!("by `{}`", self.how())
            }
            (None, None) => {
                write(&self.file, &text)?;
                format!("in {file}")
            }
            (None, Some(_)) => {
                return Err(
                    format!("{file} exists, and tot does not edit it. Add this to it:\n\n{text}").into()
                );
            }
        };
        let note = match is_of_one_version(Path::new(&self.entry.command)) {
            true => " The path is that of one version: repeat this after an upgrade, or use --by.",
            false => "",
        };
        say(&format!("{who} now has the server `{name}`, {by}. {}{note}\n", self.client.hint))
    }
}

/// Prints the paragraph for `AGENTS.md`, or puts it there.
fn agents_md(arguments: &SetupArguments, is_writing: bool) -> CommandResult {
    let root = arguments.root.as_deref().map_or_else(|| Ok("investigations/".to_owned()), text)?;
    let put = |there: &str| add_paragraph(there, &arguments.name, &root);
    if !is_writing {
        let text = put("").text;
        return say(&format!("Add this to AGENTS.md, or run the same command with --write.\n\n{text}"));
    }
    let said = "AGENTS.md now tells agents when and how to investigate.\n";
    change(Path::new("AGENTS.md"), "paragraph", put, arguments.replace, said)
}

fn write_skill(client: &Client, place: &str, replace: bool) -> CommandResult {
    let said = format!("{} now has the skill `investigate` in {place}.\n", client.name);
    change(Path::new(place), "skill", put_skill, replace, &said)
}

/// Writes the result of `put` and prints `said`. An existing `what` that differs is replaced only if `replace` is true.
fn change(file: &Path, what: &str, put: impl Fn(&str) -> Edit, replace: bool, said: &str) -> CommandResult {
    let name = file.display();
    let there = read(file)?.unwrap_or_default();
    let edit = put(&there);
    if edit.text == there {
        return say(&format!("{name} is already up to date; nothing was changed.\n"));
    }
    if edit.replaces && !replace {
        return Err(format!("{name} already has another {what}, which --replace replaces").into());
    }
    write(file, &edit.text)?;
    say(said)
}

/// Returns a file or folder of a client.
pub(super) fn resolve(place: ConfigFile) -> Result<PathBuf, &'static str> {
    let (variable, in_home, path) = match place {
        ConfigFile::Project(paths) => {
            return Ok(paths.iter().find(|path| Path::new(path).exists()).unwrap_or(&paths[0]).into());
        }
        ConfigFile::Home(path) => (None, "", path),
        ConfigFile::CodexHome(path) => (Some("CODEX_HOME"), ".codex", path),
        ConfigFile::Settings(path) => (platform::SETTINGS.0, platform::SETTINGS.1, path),
    };
    // The XDG specification ignores a relative path.
    let is_usable =
        |folder: &PathBuf| folder.is_absolute() || variable == Some("CODEX_HOME") && *folder != Path::new("");
    let named = variable.and_then(std::env::var_os).map(PathBuf::from).filter(is_usable);
    let folder = if let Some(folder) = named { folder } else { home()?.join(in_home) };
    Ok(folder.join(path))
}

/// Returns the entry with which a client starts the server. In a shared file, the program is a bare name if it is on PATH.
/// Otherwise, it is a path, because desktop programs do not inherit the shell's PATH.
fn entry(arguments: &SetupArguments, is_shared: bool, is_at_home: bool) -> CommandResult<ServerEntry> {
    let own_fetcher = || fetcher(&std::env::current_exe().ok()?);
    let (command, words) = match arguments.by.as_deref().or_else(own_fetcher) {
        Some(program) => {
            let words = fetched_by(program, platform::PROGRAM_SUFFIXES.contains(&".cmd"));
            (words[0].to_owned(), &words[1..])
        }
        None if is_shared && on_path("tot-mcp").is_some() => ("tot-mcp".to_owned(), &[][..]),
        None => own_server().and_then(|(program, words)| Ok((text(&program)?, words)))?,
    };
    let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let root = match &arguments.root {
        // A shared file must be valid in every clone, and user settings in every folder.
        Some(root) if is_shared => Some(root.clone()),
        Some(root) => Some(std::path::absolute(root)?),
        None if is_at_home => Some(home()?.join("investigations")),
        None => None,
    };
    if let Some(root) = root {
        words.extend(["--root".to_owned(), text(&root)?]);
    }
    words.extend(arguments.options.iter().cloned());
    Ok(ServerEntry { name: arguments.name.clone(), command, arguments: words })
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

/// Reads a file. Returns `None` if it does not exist.
pub(super) fn read(file: &Path) -> Result<Option<String>, String> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("can't read {}: {error}", file.display())),
    }
}

/// Asks a yes-or-no question. An empty answer means `default`; the end of input ends the command.
fn ask(question: &str, default: bool) -> CommandResult<bool> {
    let answer = print::ask(&format!("{question} [{}]", if default { "Y/n" } else { "y/N" }))?;
    Ok(match answer.ok_or("no answer, so nothing more was set up")?.as_str() {
        "" => default,
        answer => matches!(answer, "y" | "yes"),
    })
}

/// Replaces a file, and creates its folder.
fn write(file: &Path, text: &str) -> Result<(), String> {
    let folder = file.parent().map_or(Ok(()), std::fs::create_dir_all);
    let written = folder.and_then(|()| replace_file(file, text.as_bytes()));
    written.map_err(|error| format!("can't write {}: {error}", file.display()))
}

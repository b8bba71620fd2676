//! What this program knows about MCP clients: their files, and the commands with which they add servers themselves.
//!
//! The module is pure: it maps text to text. It also contains the skill that teaches agents the method, and a paragraph for
//! `AGENTS.md`.
//!
//! Clients differ in how they write their files, and change it. So their own commands edit these files. Without such a
//! command, [`new_file`] is for a missing file, and a person adds the entry to an existing one.
//!
//! The table follows each client's documentation. All clients read skills from `.agents/skills`, except Claude Code, which
//! uses `.claude/skills`, and Claude Desktop, which does not read skills from a folder.

use std::iter::once;
use std::path::Path;

use serde_json::json;

use ConfigFile::{CodexHome, Home, Project, Settings};

/// A program that starts MCP servers for an agent.
#[derive(Debug)]
pub struct Client {
    /// The name on the command line.
    pub word: &'static str,
    /// The display name.
    pub name: &'static str,
    /// The terminal program, if there is one. Its presence shows that the client is installed.
    pub program: Option<&'static str>,
    /// The folder that the client creates on its first run. Its presence shows the same.
    pub folder: ConfigFile,
    /// The way in which the program adds a server itself, if it has one that asks nothing.
    pub own: Option<OwnCommand>,
    /// The configuration file, in the project if the client reads one there.
    pub file: ConfigFile,
    /// Other files in which the client looks for servers.
    pub others: &'static [ConfigFile],
    /// The form of an entry.
    form: Form,
    /// True if the client starts the servers of this user outside the project.
    pub starts_at_home: bool,
    /// The path of the skill in a project, or `None` if the client does not read skills from a folder.
    pub skill: Option<&'static str>,
    /// The step that remains to be done in the client.
    pub hint: &'static str,
}

/// A client's own command for adding a server. In its words, `NAME`, `COMMAND` and `ARGUMENTS` stand for those of the entry,
/// and `JSON` for all of them.
#[derive(Debug)]
pub struct OwnCommand {
    /// The arguments that add a server.
    pub add: &'static [&'static str],
    /// The arguments that remove one, which some clients need before they add another of the same name.
    pub remove: Option<&'static [&'static str]>,
    /// The file that the command edits.
    pub file: ConfigFile,
}

/// The location of a client's file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigFile {
    /// Candidate paths in the project folder. The first one that exists is used, or the first one if none exists. The
    /// file is shared by everyone who works on the project.
    Project(&'static [&'static str]),
    /// A path in the user's home folder.
    Home(&'static str),
    /// A path in the Codex settings folder.
    CodexHome(&'static str),
    /// A path in the user's application settings folder.
    Settings(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// JSON, with the servers below this key.
    Plain(&'static str),
    /// TOML.
    Codex,
    /// JSON with one list for the program and its arguments. Versions up to 1.18.21 do not start with `mcp.servers`.
    OpenCode,
    /// JSON with the tools to use. Every example in the documentation has `args`.
    Copilot,
}

/// What most clients have in common.
const MOST: Client = Client {
    word: "",
    name: "",
    program: None,
    folder: Home(""),
    own: None,
    file: Home(""),
    others: &[],
    form: Form::Plain("mcpServers"),
    starts_at_home: false,
    skill: Some(".agents/skills/investigate/SKILL.md"),
    hint: "The server starts with the next session in this folder.",
};

/// The known clients.
pub const CLIENTS: [Client; 9] = [
    Client {
        word: "claude-code",
        name: "Claude Code",
        program: Some("claude"),
        folder: Home(".claude"),
        own: Some(OwnCommand {
            add: &["mcp", "add", "--scope", "project", "NAME", "--", "COMMAND", "ARGUMENTS"],
            remove: Some(&["mcp", "remove", "--scope", "project", "NAME"]),
            file: Project(&[".mcp.json"]),
        }),
        file: Project(&[".mcp.json"]),
        others: &[Home(".claude.json")],
        skill: Some(".claude/skills/investigate/SKILL.md"),
        hint: "It asks for permission once, when it starts in this folder.",
        ..MOST
    },
    Client {
        word: "vscode",
        name: "VS Code",
        program: Some("code"),
        folder: Home(".vscode"),
        own: Some(OwnCommand {
            add: &["--add-mcp", "JSON"],
            remove: None,
            file: Settings("Code/User/mcp.json"),
        }),
        file: Project(&[".vscode/mcp.json"]),
        form: Form::Plain("servers"),
        // It replaces `${workspaceFolder}` only in a project's file.
        starts_at_home: true,
        hint: "Start it there: `MCP: List Servers` in the command palette.",
        ..MOST
    },
    Client {
        word: "cursor",
        name: "Cursor",
        program: Some("cursor"),
        folder: Home(".cursor"),
        file: Project(&[".cursor/mcp.json"]),
        others: &[Home(".cursor/mcp.json")],
        hint: "Enable it in Cursor's settings, under MCP.",
        ..MOST
    },
    Client {
        word: "codex",
        name: "Codex",
        program: Some("codex"),
        folder: CodexHome(""),
        own: Some(OwnCommand {
            add: &["mcp", "add", "NAME", "--", "COMMAND", "ARGUMENTS"],
            remove: Some(&["mcp", "remove", "NAME"]),
            file: CodexHome("config.toml"),
        }),
        file: CodexHome("config.toml"),
        others: &[Project(&[".codex/config.toml"])],
        form: Form::Codex,
        hint: "The server starts with the next session.",
        ..MOST
    },
    Client {
        word: "claude-desktop",
        name: "Claude Desktop",
        folder: Settings("Claude"),
        file: Settings("Claude/claude_desktop_config.json"),
        starts_at_home: true,
        skill: None,
        hint: "Restart Claude Desktop.",
        ..MOST
    },
    Client {
        // Most versions of `opencode mcp add` ask questions.
        word: "opencode",
        name: "OpenCode",
        program: Some("opencode"),
        folder: Home(".config/opencode"),
        file: Project(&["opencode.json", "opencode.jsonc"]),
        others: &[Home(".config/opencode/opencode.json"), Home(".config/opencode/opencode.jsonc")],
        form: Form::OpenCode,
        ..MOST
    },
    Client {
        word: "windsurf",
        name: "Windsurf",
        program: Some("windsurf"),
        folder: Home(".codeium/windsurf"),
        file: Home(".codeium/windsurf/mcp_config.json"),
        starts_at_home: true,
        hint: "Refresh the servers in its MCP panel, or restart it.",
        ..MOST
    },
    Client {
        word: "gemini",
        name: "Gemini CLI",
        program: Some("gemini"),
        folder: Home(".gemini"),
        // With `--scope project`, it removes all other settings from the file of a folder that it does not trust.
        own: Some(OwnCommand {
            add: &["mcp", "add", "--scope", "user", "NAME", "COMMAND", "--", "ARGUMENTS"],
            remove: Some(&["mcp", "remove", "--scope", "user", "NAME"]),
            file: Home(".gemini/settings.json"),
        }),
        file: Project(&[".gemini/settings.json"]),
        ..MOST
    },
    Client {
        word: "copilot",
        name: "GitHub Copilot CLI",
        program: Some("copilot"),
        folder: Home(".copilot"),
        own: Some(OwnCommand {
            add: &["mcp", "add", "NAME", "--", "COMMAND", "ARGUMENTS"],
            remove: Some(&["mcp", "remove", "NAME"]),
            file: Home(".copilot/mcp-config.json"),
        }),
        file: Project(&[".github/mcp.json"]),
        form: Form::Copilot,
        hint: "It starts the server in this folder once you trust the folder.",
        ..MOST
    },
];

impl Client {
    /// Returns the files in which the client looks for servers.
    pub fn files(&self) -> impl Iterator<Item = ConfigFile> {
        let own = self.own.as_ref().map(|own| own.file).filter(|file| *file != self.file);
        once(self.file).chain(own).chain(self.others.iter().copied())
    }
}

impl OwnCommand {
    /// Returns the words of one of the two commands, for an entry.
    pub fn filled(&self, words: &[&str], entry: &ServerEntry) -> Vec<String> {
        let fill = |word: &&str| match *word {
            "NAME" => vec![entry.name.clone()],
            "COMMAND" => vec![entry.command.clone()],
            "ARGUMENTS" => entry.arguments.clone(),
            "JSON" => vec![
                json!({"name": entry.name, "command": entry.command, "args": entry.arguments}).to_string(),
            ],
            word => vec![word.to_owned()],
        };
        words.iter().flat_map(fill).collect()
    }
}

/// The server, as a client starts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerEntry {
    /// The server's name in the client.
    pub name: String,
    /// The program to run.
    pub command: String,
    /// The program's arguments.
    pub arguments: Vec<String>,
}

impl ServerEntry {
    /// Returns whether a configuration file already starts this program with these arguments.
    pub fn is_in(&self, text: &str) -> bool {
        let words: Vec<&String> = once(&self.command).chain(&self.arguments).collect();
        let values = values(text);
        let is_whole = |at: usize| values.get(at + words.len()).is_none_or(|next| !next.starts_with('-'));
        let same = |at: &usize| values[*at..].iter().zip(&words).all(|(value, word)| value == *word);
        (0..(values.len() + 1).saturating_sub(words.len())).any(|at| same(&at) && is_whole(at))
    }

    /// Returns whether a configuration file names a server so.
    pub fn is_named_in(&self, text: &str) -> bool {
        [format!("\"{}\"", self.name), format!(".{}]", self.name)].iter().any(|name| text.contains(name))
    }
}

/// Returns the text of a configuration file that contains only the entry.
pub fn new_file(client: &Client, entry: &ServerEntry) -> String {
    let ServerEntry { name, command, arguments } = entry;
    let file = match client.form {
        Form::Plain(key) => json!({key: {name: {"command": command, "args": arguments}}}),
        Form::OpenCode => {
            let words: Vec<&String> = once(command).chain(arguments).collect();
            json!({"mcp": {name: {"type": "local", "command": words}}})
        }
        Form::Copilot => {
            let entry = json!({"type": "local", "command": command, "args": arguments, "tools": ["*"]});
            json!({"mcpServers": {name: entry}})
        }
        // JSON's strings and lists are TOML's too.
        Form::Codex => {
            let (command, arguments) = (json!(command), json!(arguments));
            return format!("[mcp_servers.{name}]\ncommand = {command}\nargs = {arguments}\n");
        }
    };
    format!("{file:#}\n")
}

/// Returns the words that start this server, each time a configuration file names it, possibly behind a wrapper. They are
/// empty if another program fetches it first: a container, `uvx` or `npx`.
pub fn ours(text: &str) -> Vec<Vec<String>> {
    let values = values(text);
    let found = values.iter().enumerate().filter_map(|(at, word)| {
        let name = file_name(word);
        // Between a fetcher and the name stand only options, or also the package's name. Otherwise, it fetches another server.
        let is_fetched = || {
            let from = values[..at].iter().rposition(|word| FETCHERS.contains(&file_name(word)));
            let between = from.map(|from| &values[from + 1..at]);
            !word.contains(['/', '\\'])
                && between.is_some_and(|words| {
                    words.iter().all(|word| word.starts_with('-'))
                        || words.iter().any(|word| word.split('@').next() == Some("tot-mcp"))
                })
        };
        match name.split([':', '@', '=']).next()? {
            "tot-mcp" if name == "tot-mcp" && !is_fetched() => Some(vec![word.clone()]),
            "tot" if values.get(at + 1).is_some_and(|next| next == "mcp") => {
                Some(vec![word.clone(), "mcp".to_owned()])
            }
            "tot-mcp" | "tree-of-thoughts" => Some(Vec::new()),
            _ => None,
        }
    });
    found.collect()
}

/// Programs that fetch this server from a registry and start it.
pub const FETCHERS: [&str; 2] = ["uvx", "npx"];

/// Returns the one of these programs in whose cache a path is.
pub fn fetcher(path: &Path) -> Option<&'static str> {
    let caches = ["archive-v0", "_npx"].into_iter().zip(FETCHERS);
    caches.into_iter().find_map(|(cache, by)| path.iter().any(|folder| folder == cache).then_some(by))
}

/// Returns the words with which such a program starts this server. On Windows, `npx` is a script of the shell, which most
/// clients can't start by its name.
pub fn fetched_by(program: &str, on_windows: bool) -> &'static [&'static str] {
    match program {
        // It would ask before the first download.
        "npx" if on_windows => &["cmd", "/c", "npx", "-y", "tot-mcp"],
        "npx" => &["npx", "-y", "tot-mcp"],
        _ => &["uvx", "tot-mcp"],
    }
}

/// Returns the last part of a path of any system, without the suffix of a program.
fn file_name(path: &str) -> &str {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    file.trim_end_matches(".exe").trim_end_matches(".cmd")
}

/// Returns the strings in JSON or TOML that are no keys. The text is not parsed, so errors in it do not matter.
fn values(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let is_comment = c == '#' || rest.starts_with("//");
        let length = match c {
            _ if is_comment => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' | '\'' => {
                let mut is_escaped = false;
                let is_end = |other| {
                    let is_end = other == c && !is_escaped;
                    is_escaped = c == '"' && other == '\\' && !is_escaped;
                    is_end
                };
                let length = rest[1..].find(is_end).map_or(rest.len(), |end| end + 2);
                let (string, after) = rest.split_at(length);
                if !after.trim_start().starts_with([':', '=']) {
                    // A literal string of TOML has no escapes.
                    let plain = || string.trim_matches(c).to_owned();
                    found.push(serde_json::from_str(string).unwrap_or_else(|_| plain()));
                }
                length
            }
            c => c.len_utf8(),
        };
        rest = &rest[length..];
    }
    found
}

/// Returns whether a path leads through a folder of one version, such as `Cellar/tot/0.1.0`, or through a cache. The next
/// upgrade may remove such a folder.
pub fn is_of_one_version(path: &Path) -> bool {
    let is_number = |text: &str| {
        let bytes = text.as_bytes();
        bytes.windows(3).any(|it| it[0].is_ascii_digit() && it[1] == b'.' && it[2].is_ascii_digit())
    };
    let stores = ["Cellar", "_npx", "archive-v0", ".cache", "Caches"];
    let folders = path.parent().into_iter().flatten().map(|folder| folder.to_string_lossy());
    path.starts_with("/nix/store")
        || path.starts_with("/gnu/store")
        || folders.into_iter().any(|folder| stores.contains(&&*folder) || is_number(&folder))
}

/// The skill that teaches agents the method, shared by all clients and the Claude Code plugin.
pub const SKILL: &str = include_str!("../../.packaging/claude-code/skills/investigate/SKILL.md");

/// A text that is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The whole new text.
    pub text: String,
    /// True if it replaces a text that a user may have edited.
    pub replaces: bool,
}

/// Puts the skill in the place of the text of its file.
pub fn put_skill(present: &str) -> Edit {
    Edit { text: with_endings_of(present, SKILL), replaces: !present.is_empty() }
}

/// Returns text with the line endings of another text.
fn with_endings_of(other: &str, text: &str) -> String {
    let is_dos = other.matches("\r\n").count() * 2 > other.matches('\n').count();
    if is_dos { text.replace('\n', "\r\n") } else { text.to_owned() }
}

const BEGIN: &str = "<!-- tree-of-thoughts: by `tot setup agents-md` -->";
const END: &str = "<!-- /tree-of-thoughts -->";

/// Puts the paragraph about investigations into the text of an `AGENTS.md`, with the line endings of that text. `server` is the
/// server's name in the clients, and `root` is the investigations folder.
pub fn add_paragraph(present: &str, server: &str, root: &str) -> Edit {
    let paragraph = paragraph(server, root);
    // Uses the last start mark before the end mark. An earlier start mark without an end mark belongs to the user's
    // text.
    let old = present.find(END).and_then(|end| Some(present[..end].rfind(BEGIN)?..end + END.len()));
    let replaces = old.is_some();
    let text = if let Some(old) = old {
        [&present[..old.start], &with_endings_of(present, &paragraph), &present[old.end..]].concat()
    } else {
        let before = present.trim_end();
        let gap = if before.is_empty() { "" } else { "\n\n" };
        before.to_owned() + &with_endings_of(present, &format!("{gap}{paragraph}\n"))
    };
    Edit { text, replaces }
}

fn paragraph(server: &str, root: &str) -> String {
    format!(
        "{BEGIN}
## Investigations

For a question that one search or one look at the code does not settle (a root cause, a choice between designs, research
with several possible answers), run an investigation with the MCP server `{server}`. First check with `tot_list` whether
there already is one. Start with `tot_start`, the question and everything you were given; then do what `tot_next` asks
for, until `tot_end`. Instructions in a reply override this text. Each finding names what was really run, read or
measured.

The investigations are in `{root}`, each in its own git repository. Do not edit their files by hand: `tot check` detects
that. `tot list` shows them to people, `tot report` turns them into pages.
{END}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(words: &[&str]) -> ServerEntry {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        ServerEntry { name: "tot".to_owned(), command: words[0].clone(), arguments: words[1..].to_vec() }
    }

    #[test]
    fn the_program_in_a_new_file_is_found_again() {
        for client in &CLIENTS {
            for words in [&["tot-mcp"][..], &[r#"C:\Program Files\"tot"\tot-mcp.exe"#, "--root", "a\tb\u{1}"]]
            {
                let text = new_file(client, &entry(words));
                assert_eq!(ours(&text), [[words[0].to_owned()]], "{text}");
                assert!(entry(words).is_in(&text) && entry(words).is_named_in(&text), "{text}");
                assert!(!entry(&["tot-mcp", "--sync"]).is_in(&text), "{text}");
                assert!(!entry(&["tot-mcp"]).is_in(&new_file(client, &entry(&["tot-mcp", "--sync"]))));
            }
        }
    }

    #[test]
    fn our_programs_are_found_in_any_text() {
        for (text, found) in [
            (r#"{"a": {"command": "env", "args": ["X=1", "/opt/tot-mcp"]}"#, vec![vec!["/opt/tot-mcp"]]),
            ("[mcp_servers.x]\nargs = ['mcp']\ncommand = 'C:\\tot.exe'\n", vec![]),
            ("[mcp_servers.x]\ncommand = 'C:\\tot.exe'\nargs = ['mcp']\n", vec![vec![r"C:\tot.exe", "mcp"]]),
            (r#"{"command": ["docker", "run", "-i", "ghcr.io/x/tree-of-thoughts:1"],"#, vec![vec![]]),
            (r#"{"command": "npx.cmd", "args": ["-y", "tot-mcp"]}"#, vec![vec![]]),
            (&json!(fetched_by("npx", true)).to_string(), vec![vec![]]),
            ("[mcp_servers.x]\ncommand = 'uvx'\nargs = ['tot-mcp@latest', '--sync']\n", vec![vec![]]),
            ("{\n  // \"tot-mcp\"\n  /* 'tot-mcp' */ \"tot-mcp\": {\"command\": \"x\"}\n}", vec![]),
            ("# command = \"tot-mcp\"\n\"tot-mcp\" = 1", vec![]),
            ("\"tot-mcp", vec![vec!["tot-mcp"]]),
            ("'é\\", vec![]),
        ] {
            assert_eq!(ours(text), found, "{text}");
        }
    }

    #[test]
    fn a_folder_of_one_version_is_recognized() {
        for path in [
            "/usr/local/Cellar/tot/0.1.0/bin/tot-mcp",
            "/home/linuxbrew/.linuxbrew/Cellar/tot/HEAD/bin/tot-mcp",
            "/nix/store/abc-tot/bin/tot-mcp",
            "/home/ada/.local/share/mise/installs/tot/0.1.0/bin/tot-mcp",
            "/home/ada/.npm/_npx/1f/node_modules/.bin/tot-mcp",
            "/opt/tot-v1.2/tot-mcp",
        ] {
            assert!(is_of_one_version(Path::new(path)), "{path}");
            assert_eq!(fetcher(Path::new(path)), path.contains("_npx").then_some("npx"), "{path}");
        }
        for path in ["/usr/local/bin/tot-mcp", "/home/ada/.cargo/bin/tot-mcp", "/opt/tot/current/tot-mcp-1.2"]
        {
            assert!(!is_of_one_version(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn the_paragraph_is_appended_once() {
        let put = |text: &str| add_paragraph(text, "tot", "investigations");
        let Edit { text, replaces } = put("# Ours\n\n\n");
        assert!(text.starts_with("# Ours\n\n<!-- tree-of-thoughts") && !replaces, "{text}");
        assert_eq!(put(&text).text, text);
        let changed = text.replace("First check", "Never check") + "after\n";
        assert_eq!(put(&changed), Edit { text: text.clone() + "after\n", replaces: true });
        // If an end mark was removed, the text before the next start mark belongs to the user.
        let two = format!("{}mine\n{text}", text.replace(END, ""));
        assert!(put(&two).text.contains("mine\n# Ours"));
        // A start mark without an end mark belongs to the user's text.
        let cut = "<!-- tree-of-thoughts: by `tot setup agents-md` -->\nmine\n";
        assert!(put(cut).text.starts_with(cut));
    }

    #[test]
    fn line_endings_are_kept_and_make_no_difference() {
        let dos = |text: &str| text.replace('\n', "\r\n");
        let unix = "# Ours\n\nBe kind.\n";
        let put = |text: &str, root| add_paragraph(text, "tot", root).text;
        let (text, other) = (put(unix, "r"), put(unix, "s"));
        assert_eq!(put(&dos(unix), "r"), dos(&text));
        assert_eq!(put(&dos(&text), "r"), dos(&text));
        assert_eq!(put(&dos(&text), "s"), dos(&other));
        assert_eq!(put_skill("mine\r\n"), Edit { text: dos(SKILL), replaces: true });
        assert_eq!(put_skill(""), Edit { text: SKILL.to_owned(), replaces: false });
    }
}

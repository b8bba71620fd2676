//! Registers this server with MCP clients.
//!
//! This module knows where each client stores its configuration, and how to add an entry to an existing file. It also
//! contains the skill that teaches agents the method, and a paragraph for `AGENTS.md`.
//!
//! The module is pure: it maps text to text. Existing content is preserved, including comments and order. An existing
//! entry with the same name is replaced only on request.
//!
//! The paths and formats follow each client's documentation. All clients read skills from `.agents/skills`, except Claude
//! Code, which uses `.claude/skills`, and Claude Desktop, which does not read skills from a folder.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode};
use serde_json::Value;
use toml_edit::{Array, DocumentMut, Item, Table, TableLike};

/// A program that starts MCP servers for an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// Claude Code, configured per project.
    ClaudeCode,
    /// VS Code, configured per project.
    VsCode,
    /// Cursor, configured per project.
    Cursor,
    /// Codex, configured per user.
    Codex,
    /// Claude Desktop, configured per user.
    ClaudeDesktop,
    /// OpenCode, configured per project.
    OpenCode,
    /// Windsurf, configured per user.
    Windsurf,
    /// Gemini CLI, configured per project.
    GeminiCli,
    /// GitHub Copilot CLI, configured per project.
    CopilotCli,
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

impl Client {
    /// Returns the display name.
    pub fn name(self) -> &'static str {
        match self {
            Client::ClaudeCode => "Claude Code",
            Client::VsCode => "VS Code",
            Client::Cursor => "Cursor",
            Client::Codex => "Codex",
            Client::ClaudeDesktop => "Claude Desktop",
            Client::OpenCode => "OpenCode",
            Client::Windsurf => "Windsurf",
            Client::GeminiCli => "Gemini CLI",
            Client::CopilotCli => "GitHub Copilot CLI",
        }
    }

    /// Returns the location of the configuration file.
    pub fn place(self) -> ConfigFile {
        match self {
            Client::ClaudeCode => ConfigFile::Project(&[".mcp.json"]),
            Client::VsCode => ConfigFile::Project(&[".vscode/mcp.json"]),
            Client::Cursor => ConfigFile::Project(&[".cursor/mcp.json"]),
            Client::Codex => ConfigFile::CodexHome("config.toml"),
            Client::ClaudeDesktop => ConfigFile::Settings("Claude/claude_desktop_config.json"),
            Client::OpenCode => ConfigFile::Project(&["opencode.json", "opencode.jsonc"]),
            Client::Windsurf => ConfigFile::Home(".codeium/windsurf/mcp_config.json"),
            Client::GeminiCli => ConfigFile::Project(&[".gemini/settings.json"]),
            Client::CopilotCli => ConfigFile::Project(&[".github/mcp.json"]),
        }
    }

    /// Returns the client's terminal program, if it has one. Its presence shows that the client is installed.
    pub fn program(self) -> Option<&'static str> {
        match self {
            Client::ClaudeCode => Some("claude"),
            Client::VsCode => Some("code"),
            Client::Cursor => Some("cursor"),
            Client::Codex => Some("codex"),
            Client::ClaudeDesktop => None,
            Client::OpenCode => Some("opencode"),
            Client::Windsurf => Some("windsurf"),
            Client::GeminiCli => Some("gemini"),
            Client::CopilotCli => Some("copilot"),
        }
    }

    /// Returns the folder that the client creates on its first run. Its presence shows that the client is installed.
    pub fn folder(self) -> ConfigFile {
        match self {
            Client::ClaudeCode => ConfigFile::Home(".claude"),
            Client::VsCode => ConfigFile::Home(".vscode"),
            Client::Cursor => ConfigFile::Home(".cursor"),
            Client::Codex => ConfigFile::CodexHome(""),
            Client::ClaudeDesktop => ConfigFile::Settings("Claude"),
            Client::OpenCode => ConfigFile::Home(".config/opencode"),
            Client::Windsurf => ConfigFile::Home(".codeium/windsurf"),
            Client::GeminiCli => ConfigFile::Home(".gemini"),
            Client::CopilotCli => ConfigFile::Home(".copilot"),
        }
    }

    /// Returns the path of the skill in a project, or `None` if the client does not read skills from a folder.
    pub fn skill(self) -> Option<&'static str> {
        match self {
            Client::ClaudeCode => Some(".claude/skills/investigate/SKILL.md"),
            Client::ClaudeDesktop => None,
            _ => Some(".agents/skills/investigate/SKILL.md"),
        }
    }

    /// Returns whether the client starts servers in the project folder, where the relative path `investigations` works.
    pub fn starts_in_project(self) -> bool {
        !matches!(self, Client::ClaudeDesktop | Client::Windsurf)
    }

    /// Returns the nested keys that lead to the server map in the configuration file.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Client::VsCode => &["servers"],
            Client::Codex => &["mcp_servers"],
            Client::OpenCode => &["mcp", "servers"],
            _ => &["mcpServers"],
        }
    }
}

/// A server entry in a client's configuration.
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
    /// Returns whether the entry starts this server: `tot-mcp`, `tot mcp` or the image, directly or through a wrapper.
    pub fn is_ours(&self) -> bool {
        let words = std::iter::once(&self.command).chain(&self.arguments).map(|word| {
            let file = word.rsplit(['/', '\\']).next().unwrap_or(word);
            file.trim_end_matches(".exe").trim_end_matches(".cmd")
        });
        let words: Vec<&str> = words.collect();
        let is_image = |word: &&str| word.split(':').next() == Some("tree-of-thoughts");
        words.contains(&"tot-mcp")
            || words.windows(2).any(|two| two == ["tot", "mcp"])
            || words.iter().any(is_image)
    }
}

/// An edit to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// No change: the file already has the entry.
    None,
    /// The new text of the file.
    Write(String),
    /// No change: the file has a different entry with the same name. Contains the text of that entry.
    Conflict(String),
}

/// The reason why an entry can't be added to a file.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The file is not valid JSON.
    #[error("it is not valid JSON: {0}")]
    Json(String),
    /// The file is not valid TOML.
    #[error("it is not valid TOML: {0}")]
    Toml(#[from] toml_edit::TomlError),
    /// A key occurs twice. Clients differ in which occurrence they use.
    #[error("it has `{0}` twice")]
    DuplicateKey(String),
    /// The value of the server key is not a map.
    #[error("its `{0}` is not a map of server names to servers")]
    NotATable(&'static str),
}

/// Adds an entry to the text of a configuration file.
///
/// `present` is the current text, or `None` if the file does not exist. An entry with the same name is replaced only if
/// `replace` is true.
///
/// # Errors
///
/// Returns an error if the text is invalid, a key occurs twice, or the value of the server key is not a map.
pub fn add_entry(
    client: Client,
    present: Option<&str>,
    entry: &ServerEntry,
    replace: bool,
) -> Result<Edit, SetupError> {
    match client {
        Client::Codex => add_toml_entry(client, present.unwrap_or_default(), entry, replace),
        _ => add_json_entry(client, present.unwrap_or_default(), entry, replace),
    }
}

/// Returns the text of a configuration file that contains only the entry.
pub fn new_file(client: Client, entry: &ServerEntry) -> String {
    match add_entry(client, None, entry, false) {
        Ok(Edit::Write(text)) => text,
        // Adding an entry to an empty file neither fails nor conflicts.
        Ok(Edit::None | Edit::Conflict(_)) | Err(_) => String::new(),
    }
}

/// Returns the servers listed in the text of a client's configuration file.
///
/// # Errors
///
/// Returns an error if the text is invalid.
pub fn servers(client: Client, present: &str) -> Result<Vec<ServerEntry>, SetupError> {
    if client == Client::Codex {
        let file: DocumentMut = present.parse()?;
        let servers = file.get(client.keys()[0]).and_then(Item::as_table_like);
        let entry = |(name, item): (&str, &Item)| {
            let table = item.as_table_like()?;
            let command = table.get("command")?.as_str()?.to_owned();
            let arguments = table.get("args").and_then(words).unwrap_or_default();
            Some(ServerEntry { name: name.to_owned(), command, arguments })
        };
        return Ok(servers.into_iter().flat_map(|servers| servers.iter()).filter_map(entry).collect());
    }
    let entry = |member: CstObjectProp| {
        let server = member.to_serde_value()?;
        let words = |key: &str| -> Vec<String> {
            match &server[key] {
                Value::String(word) => vec![word.clone()],
                list => {
                    let words = list.as_array().into_iter().flatten().filter_map(Value::as_str);
                    words.map(str::to_owned).collect()
                }
            }
        };
        let mut arguments = [words("command"), words("args")].concat();
        let command = if arguments.is_empty() { None } else { Some(arguments.remove(0)) };
        Some(ServerEntry { name: member.name()?.decoded_value().ok()?, command: command?, arguments })
    };
    let (_, _root, servers) = json_servers(client, present)?;
    Ok(servers.properties().into_iter().filter_map(entry).collect())
}

/// Parses a JSON file. Returns the byte order mark, the root and the server map, which is created if missing.
fn json_servers(client: Client, present: &str) -> Result<(&'static str, CstRootNode, CstObject), SetupError> {
    // Some editors write a byte order mark. Clients accept it, so it is preserved.
    let (mark, text) = match present.strip_prefix('\u{feff}') {
        Some(text) => ("\u{feff}", text),
        None => ("", present),
    };
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    // Editors allow comments and trailing commas in these files, but no other extensions.
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let root = CstRootNode::parse(text, &options).map_err(|error| SetupError::Json(error.to_string()))?;
    let object = root.object_value();
    let mut servers = object.ok_or_else(|| SetupError::Json("it is not an object `{…}`".into()))?;
    for key in client.keys() {
        if maps_servers(client, &servers) {
            break;
        }
        reject_duplicate(&servers, key)?;
        servers = servers.object_value_or_create(key).ok_or(SetupError::NotATable(key))?;
    }
    Ok((mark, root, servers))
}

fn add_json_entry(
    client: Client,
    present: &str,
    entry: &ServerEntry,
    replace: bool,
) -> Result<Edit, SetupError> {
    let (mark, root, servers) = json_servers(client, present)?;
    reject_duplicate(&servers, &entry.name)?;
    let members = json_entry(client, entry);
    match servers.get(&entry.name) {
        None => {
            let input = members.iter().map(|(name, value)| ((*name).to_owned(), json_input(value))).collect();
            servers.append(&entry.name, CstInputValue::Object(input));
            servers.ensure_multiline();
        }
        Some(present) => {
            let existing = present.to_serde_value().unwrap_or(Value::Null);
            let is_same = |(name, value): &(&str, Value)| existing.get(name) == Some(value);
            let contradicts =
                |key: &&&str| existing.get(key).is_some() && !members.iter().any(|(name, _)| name == *key);
            if members.iter().all(is_same) && !CONTRADICTING.iter().any(|key| contradicts(&key)) {
                return Ok(Edit::None);
            }
            if !replace {
                return Ok(Edit::Conflict(existing.to_string()));
            }
            let server = present.object_value_or_set();
            for key in CONTRADICTING.iter().filter(contradicts) {
                server.get(key).into_iter().for_each(CstObjectProp::remove);
            }
            for (name, value) in members.iter().filter(|member| !is_same(member)) {
                match server.get(name) {
                    Some(member) => member.set_value(json_input(value)),
                    None => drop(server.append(name, json_input(value))),
                }
            }
        }
    }
    Ok(Edit::Write(format!("{mark}{root}")))
}

/// Keys that specify how and where an existing entry starts the server. They contradict the new entry, so they are
/// removed. Other keys, such as environment variables, are preserved.
const CONTRADICTING: &[&str] = &[
    "type",
    "args",
    "url",
    "httpUrl",
    "serverUrl",
    "headers",
    "http_headers",
    "env_http_headers",
    "bearer_token_env_var",
];

/// Returns an error if the object contains the key twice, because programs interpret duplicates differently.
fn reject_duplicate(object: &CstObject, key: &str) -> Result<(), SetupError> {
    let is_it = |member: &CstObjectProp| {
        member.name().and_then(|name| name.decoded_value().ok()).is_some_and(|name| name == key)
    };
    match object.properties().iter().filter(|member| is_it(member)).count() {
        0 | 1 => Ok(()),
        _ => Err(SetupError::DuplicateKey(key.to_owned())),
    }
}

/// Returns whether this object maps names directly to servers, as in OpenCode 1. OpenCode 2 reads such files too, but a
/// file can't mix the two formats.
fn maps_servers(client: Client, place: &CstObject) -> bool {
    client == Client::OpenCode
        && place.properties().iter().any(|member| {
            member.object_value().is_some_and(|server| {
                ["local", "remote"].iter().any(|kind| {
                    server.get("type").and_then(|kind| kind.to_serde_value()) == Some(Value::from(*kind))
                })
            })
        })
}

/// Returns the JSON members of the entry.
fn json_entry(client: Client, entry: &ServerEntry) -> Vec<(&'static str, Value)> {
    let command = Value::from(entry.command.as_str());
    let mut members = Vec::new();
    match client {
        Client::VsCode => members.push(("type", Value::from("stdio"))),
        Client::OpenCode | Client::CopilotCli => members.push(("type", Value::from("local"))),
        _ => {}
    }
    if client == Client::OpenCode {
        // OpenCode has a single list for the program and its arguments.
        let words =
            std::iter::once(command).chain(entry.arguments.iter().map(|word| Value::from(word.as_str())));
        members.push(("command", words.collect()));
    } else {
        members.push(("command", command));
        // Every example in the Copilot CLI documentation has `args`.
        if !entry.arguments.is_empty() || client == Client::CopilotCli {
            members.push(("args", Value::from(entry.arguments.clone())));
        }
    }
    if client == Client::CopilotCli {
        members.push(("tools", Value::from(vec!["*"])));
    }
    members
}

/// Converts a string or a list of strings to a [`CstInputValue`].
fn json_input(value: &Value) -> CstInputValue {
    match value {
        Value::Array(items) => CstInputValue::Array(items.iter().map(json_input).collect()),
        other => CstInputValue::String(other.as_str().unwrap_or_default().to_owned()),
    }
}

fn add_toml_entry(
    client: Client,
    present: &str,
    entry: &ServerEntry,
    replace: bool,
) -> Result<Edit, SetupError> {
    let key = client.keys()[0];
    let mut file: DocumentMut = present.parse()?;
    let servers = file
        .entry(key)
        .or_insert_with(|| {
            // An implicit table avoids an empty `[mcp_servers]` header, since it contains only tables.
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        })
        .as_table_like_mut()
        .ok_or(SetupError::NotATable(key))?;
    let program = toml_edit::value(entry.command.as_str());
    let arguments = toml_edit::value(entry.arguments.iter().collect::<Array>());
    match servers.get_mut(&entry.name) {
        None => {
            let mut table = Table::new();
            table.insert("command", program);
            if !entry.arguments.is_empty() {
                table.insert("args", arguments);
            }
            servers.insert(&entry.name, Item::Table(table));
        }
        Some(existing) => {
            if existing.as_table_like().is_some_and(|existing| has_entry(existing, entry)) {
                return Ok(Edit::None);
            }
            if !replace {
                return Ok(Edit::Conflict(existing.to_string().trim().to_owned()));
            }
            if !existing.is_table_like() {
                *existing = Item::Table(Table::new());
            }
            if let Some(existing) = existing.as_table_like_mut() {
                CONTRADICTING.iter().for_each(|key| drop(existing.remove(key)));
                existing.insert("command", program);
                if !entry.arguments.is_empty() {
                    existing.insert("args", arguments);
                }
            }
        }
    }
    let text = file.to_string();
    // The library writes Unix line endings.
    let is_dos = present.contains('\n') && present.matches('\n').count() == present.matches("\r\n").count();
    Ok(Edit::Write(if is_dos { text.replace("\r\n", "\n").replace('\n', "\r\n") } else { text }))
}

/// Returns whether a table has the entry's values and no contradicting keys.
fn has_entry(existing: &dyn TableLike, entry: &ServerEntry) -> bool {
    let arguments = existing.get("args").map_or_else(|| Some(Vec::new()), words);
    let contradicts = |key: &&str| *key != "args" && existing.contains_key(key);
    existing.get("command").and_then(Item::as_str) == Some(&entry.command)
        && arguments.as_ref() == Some(&entry.arguments)
        && !CONTRADICTING.iter().any(contradicts)
}

/// Returns the item as a list of strings, if it is one.
fn words(item: &Item) -> Option<Vec<String>> {
    item.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect()
}

/// The skill that teaches agents the method, shared by all clients and the Claude Code plugin.
pub const SKILL: &str = include_str!("../../.packaging/claude-code/skills/investigate/SKILL.md");

const BEGIN: &str = "<!-- tree-of-thoughts: by `tot setup agents-md` -->";
const END: &str = "<!-- /tree-of-thoughts -->";

/// Adds the paragraph about investigations to the text of an `AGENTS.md`. `server` is the server's name in the clients,
/// and `root` is the investigations folder.
///
/// Returns [`Edit::Conflict`] if the text between the marks differs and `replace` is false, since a user may have
/// edited it.
pub fn add_paragraph(present: Option<&str>, server: &str, root: &str, replace: bool) -> Edit {
    let present = present.unwrap_or_default();
    let paragraph = paragraph(server, root);
    // Uses the last start mark before the end mark. An earlier start mark without an end mark belongs to the user's
    // text.
    let range = present.find(END).and_then(|end| {
        let begin = present[..end].rfind(BEGIN)?;
        Some(begin..end + END.len())
    });
    match range {
        Some(range) if present[range.clone()] == paragraph => Edit::None,
        Some(range) if !replace => Edit::Conflict(present[range].to_owned()),
        Some(range) => {
            let mut text = present.to_owned();
            text.replace_range(range, &paragraph);
            Edit::Write(text)
        }
        None if present.trim().is_empty() => Edit::Write(format!("{paragraph}\n")),
        None => Edit::Write(format!("{}\n\n{paragraph}\n", present.trim_end())),
    }
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

    const ALL: [Client; 9] = [
        Client::ClaudeCode,
        Client::VsCode,
        Client::Cursor,
        Client::Codex,
        Client::ClaudeDesktop,
        Client::OpenCode,
        Client::Windsurf,
        Client::GeminiCli,
        Client::CopilotCli,
    ];

    fn entry(arguments: &[&str]) -> ServerEntry {
        ServerEntry {
            name: "tot".to_owned(),
            command: "tot-mcp".to_owned(),
            arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
        }
    }

    fn written(client: Client, present: &str, entry: &ServerEntry, replace: bool) -> String {
        match add_entry(client, Some(present), entry, replace).unwrap() {
            Edit::Write(text) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_new_file_contains_only_the_entry() {
        insta::assert_snapshot!(new_file(Client::ClaudeCode, &entry(&[])), @r#"
        {
          "mcpServers": {
            "tot": {
              "command": "tot-mcp"
            }
          }
        }
        "#);
        insta::assert_snapshot!(new_file(Client::VsCode, &entry(&["--root", "notes"])), @r#"
        {
          "servers": {
            "tot": {
              "type": "stdio",
              "command": "tot-mcp",
              "args": ["--root", "notes"]
            }
          }
        }
        "#);
        insta::assert_snapshot!(new_file(Client::Codex, &entry(&["--root", "notes"])), @r#"
        [mcp_servers.tot]
        command = "tot-mcp"
        args = ["--root", "notes"]
        "#);
    }

    #[test]
    fn each_client_uses_its_documented_format() {
        let entry = entry(&["--root", "notes"]);
        insta::assert_snapshot!(new_file(Client::OpenCode, &entry), @r#"
        {
          "mcp": {
            "servers": {
              "tot": {
                "type": "local",
                "command": ["tot-mcp", "--root", "notes"]
              }
            }
          }
        }
        "#);
        insta::assert_snapshot!(new_file(Client::CopilotCli, &entry), @r#"
        {
          "mcpServers": {
            "tot": {
              "type": "local",
              "command": "tot-mcp",
              "args": ["--root", "notes"],
              "tools": ["*"]
            }
          }
        }
        "#);
        let plain = new_file(Client::ClaudeCode, &entry);
        for client in [Client::Cursor, Client::ClaudeDesktop, Client::Windsurf, Client::GeminiCli] {
            assert_eq!(new_file(client, &entry), plain, "{client:?}");
        }
    }

    #[test]
    fn opencode_1_files_keep_their_format() {
        let present = r#"{"mcp": {"other": {"type": "local", "command": ["x"], "enabled": true}}}"#;
        let text = written(Client::OpenCode, present, &entry(&[]), false);
        let file: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(file["mcp"]["tot"]["command"], serde_json::json!(["tot-mcp"]), "{text}");
        assert_eq!(add_entry(Client::OpenCode, Some(&text), &entry(&[]), false).unwrap(), Edit::None);
    }

    #[test]
    fn the_paragraph_is_appended_once() {
        let Edit::Write(text) = add_paragraph(Some("# Ours\n\n\n"), "tot", "investigations", false) else {
            panic!()
        };
        assert!(text.starts_with("# Ours\n\n<!-- tree-of-thoughts"), "{text}");
        assert_eq!(add_paragraph(Some(&text), "tot", "investigations", false), Edit::None);
        let changed = text.replace("First check", "Never check") + "after\n";
        assert!(
            matches!(add_paragraph(Some(&changed), "tot", "investigations", false), Edit::Conflict(existing) if existing.contains("Never"))
        );
        assert_eq!(
            add_paragraph(Some(&changed), "tot", "investigations", true),
            Edit::Write(text.clone() + "after\n")
        );
        // If an end mark was removed, the text before the next start mark belongs to the user.
        let two = format!("{}mine\n{text}", text.replace(END, ""));
        assert!(
            matches!(add_paragraph(Some(&two), "x", "investigations", true), Edit::Write(text) if text.contains("mine\n# Ours"))
        );
        // A start mark without an end mark belongs to the user's text.
        let cut = "<!-- tree-of-thoughts: by `tot setup agents-md` -->\nmine\n";
        assert!(
            matches!(add_paragraph(Some(cut), "tot", "investigations", true), Edit::Write(text) if text.starts_with(cut))
        );
    }

    #[test]
    fn other_json_content_is_preserved() {
        let present = "{\n    // ours\n    \"inputs\": [1,2],\n    \"servers\": {\n        \"other\": {\"command\": \"x\"}, // kept\n    },\n}\n";
        insta::assert_snapshot!(written(Client::VsCode, present, &entry(&[]), false), @r#"
        {
            // ours
            "inputs": [1,2],
            "servers": {
                "other": {"command": "x"}, // kept
                "tot": {
                    "type": "stdio",
                    "command": "tot-mcp",
                },
            },
        }
        "#);
    }

    #[test]
    fn other_toml_content_is_preserved() {
        let present =
            "# mine\nmodel = \"o\"   # good\n\n[mcp_servers.other]\ncommand = \"x\"\n\n[tui]\ntheme = 1\n";
        insta::assert_snapshot!(written(Client::Codex, present, &entry(&[]), false), @r#"
        # mine
        model = "o"   # good

        [mcp_servers.other]
        command = "x"

        [mcp_servers.tot]
        command = "tot-mcp"

        [tui]
        theme = 1
        "#);
    }

    #[test]
    fn the_same_entry_changes_nothing() {
        for client in ALL {
            let entry = entry(&["--min-rounds", "5"]);
            assert_eq!(
                add_entry(client, Some(&new_file(client, &entry)), &entry, false).unwrap(),
                Edit::None
            );
        }
    }

    #[test]
    fn a_different_entry_is_replaced_only_on_request() {
        for client in ALL {
            let present = new_file(client, &entry(&["--root", "old"]));
            let change = add_entry(client, Some(&present), &entry(&[]), false).unwrap();
            assert!(matches!(&change, Edit::Conflict(text) if text.contains("old")), "{client:?} {change:?}");
            let replaced = written(client, &present, &entry(&[]), true);
            assert_eq!(add_entry(client, Some(&replaced), &entry(&[]), false).unwrap(), Edit::None);
            assert!(!replaced.contains("old"), "{replaced}");
        }
    }

    #[test]
    fn crlf_line_endings_are_preserved() {
        let present = "model = \"o\"\r\n\r\n[mcp_servers.tot]\r\ncommand = \"x\"\r\n";
        let text = written(Client::Codex, present, &entry(&[]), true);
        assert_eq!(text, present.replace("\"x\"", "\"tot-mcp\""));
        let present = "{\r\n  \"a\": 1\r\n}\r\n";
        let text = written(Client::ClaudeCode, present, &entry(&[]), false);
        assert!(
            text.contains("tot-mcp") && text.matches('\n').count() == text.matches("\r\n").count(),
            "{text:?}"
        );
    }

    #[test]
    fn replacing_an_entry_preserves_its_environment() {
        let present = "[mcp_servers.tot]\ncommand = \"old\" # mine\nargs = [\"x\"]\nstartup_timeout_sec = 20\nurl = \"http://x\"\n\n\
                       [mcp_servers.tot.env]\nTOT_ROOT = \"/r\"\n";
        let text = written(Client::Codex, present, &entry(&[]), true);
        insta::assert_snapshot!(text, @r#"
            [mcp_servers.tot]
            command = "tot-mcp"
            startup_timeout_sec = 20

            [mcp_servers.tot.env]
            TOT_ROOT = "/r"
            "#);
        assert_eq!(add_entry(Client::Codex, Some(&text), &entry(&[]), false).unwrap(), Edit::None);
        let present = r#"{
  "mcpServers": {
    // mine
    "tot": {"type": "http", "url": "http://x", "env": {"TOT_ROOT": "/r"}, "disabled": true}
  }
}
"#;
        let text = written(Client::Cursor, present, &entry(&["--sync"]), true);
        insta::assert_snapshot!(text, @r#"
            {
              "mcpServers": {
                // mine
                "tot": {
                  "env": {"TOT_ROOT": "/r"},
                  "disabled": true,
                  "command": "tot-mcp",
                  "args": ["--sync"]
                }
              }
            }
            "#);
        assert_eq!(add_entry(Client::Cursor, Some(&text), &entry(&["--sync"]), false).unwrap(), Edit::None);
    }

    #[test]
    fn windows_paths_survive() {
        for client in ALL {
            let entry = ServerEntry {
                command: r#"C:\Program Files\"tot"\tot-mcp.exe"#.to_owned(),
                ..entry(&["--root", "a\tb\u{1}"])
            };
            let text = new_file(client, &entry);
            assert_eq!(add_entry(client, Some(&text), &entry, false).unwrap(), Edit::None, "{text}");
        }
    }

    #[test]
    fn invalid_files_are_rejected() {
        for (client, text) in [
            (Client::Cursor, "{\"mcpServers\": {"),
            (Client::Cursor, "[1]"),
            (Client::Cursor, "{\"mcpServers\": 3}"),
            (Client::Cursor, "{'mcpServers': {}}"),
            (Client::Codex, "a = "),
            (Client::Codex, "mcp_servers = 3"),
        ] {
            assert!(add_entry(client, Some(text), &entry(&[]), true).is_err(), "{text}");
        }
    }
}

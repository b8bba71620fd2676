//! Registers this server with MCP clients: where each reads its configuration, and how an entry is added to an
//! existing file. Also the texts that teach an agent the method: a skill, and a paragraph for `AGENTS.md`.
//!
//! Pure: texts in, texts out. Everything else in a file is kept, comments and order included; an entry of the same
//! name is replaced only on request.
//!
//! The files and their shapes are those of the clients' documentation: `.mcp.json` of Claude Code, `.vscode/mcp.json`,
//! `.cursor/mcp.json`, `config.toml` of Codex, `claude_desktop_config.json`, `opencode.json`, `mcp_config.json` of
//! Windsurf, `.gemini/settings.json`, `.github/mcp.json` of Copilot's CLI. Skills are read from `.agents/skills` by all of
//! them but Claude Code, which has `.claude/skills`, and Claude Desktop, which has none in a folder.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode};
use serde_json::Value;
use toml_edit::{Array, DocumentMut, Item, Table, TableLike};

/// A program that starts MCP servers for an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// Claude Code, for everyone who works on the project.
    ClaudeCode,
    /// VS Code, for everyone who works on the project.
    VsCode,
    /// Cursor, for everyone who works on the project.
    Cursor,
    /// Codex, for this user in all projects.
    Codex,
    /// Claude Desktop, for this user.
    ClaudeDesktop,
    /// OpenCode, for everyone who works on the project.
    OpenCode,
    /// Windsurf, for this user in all projects: it has no file in a project.
    Windsurf,
    /// Gemini CLI, for everyone who works on the project.
    GeminiCli,
    /// GitHub Copilot's CLI, for everyone who works on the project.
    CopilotCli,
}

/// The location of a client's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigFile {
    /// In the folder of the project: the first of these paths that exists, or else the first. It is shared with
    /// everyone who works on the project.
    Project(&'static [&'static str]),
    /// In the home folder of this user, with this path.
    Home(&'static str),
    /// In the settings folder of Codex.
    CodexHome(&'static str),
    /// In the folder of this user's application settings.
    Settings(&'static str),
}

impl Client {
    /// All clients.
    pub const ALL: [Client; 9] = [
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

    /// Its name for people.
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

    /// The location of its configuration file.
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

    /// The program whose presence shows that the client is installed, if it has one for a terminal.
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

    /// The folder that it creates on its first run, which shows the same.
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

    /// The folder of its skills in a project; `None` if it reads none from a folder.
    pub fn skill(self) -> Option<&'static str> {
        match self {
            Client::ClaudeCode => Some(".claude/skills/investigate/SKILL.md"),
            Client::ClaudeDesktop => None,
            _ => Some(".agents/skills/investigate/SKILL.md"),
        }
    }

    /// Whether it starts servers in the folder of the project, so that the relative path `investigations` is in the project.
    pub fn starts_in_project(self) -> bool {
        !matches!(self, Client::ClaudeDesktop | Client::Windsurf)
    }

    /// The keys in the file that lead to the servers.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Client::VsCode => &["servers"],
            Client::Codex => &["mcp_servers"],
            Client::OpenCode => &["mcp", "servers"],
            _ => &["mcpServers"],
        }
    }
}

/// An entry for the server in a client's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerEntry {
    /// The server's name in the client.
    pub name: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
}

impl ServerEntry {
    /// Whether it starts this program's server: `tot-mcp` or `tot mcp`, directly or by a wrapper, or its image.
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

/// The change of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// None: the file already has the entry.
    None,
    /// The file's new text.
    Write(String),
    /// The file has another entry of that name, with this text; it is kept unless it may be replaced.
    Taken(String),
}

/// Why an entry can't be added to a file.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The file is not valid JSON.
    #[error("it is not valid JSON: {0}")]
    Json(String),
    /// The file is not valid TOML.
    #[error("it is not valid TOML: {0}")]
    Toml(#[from] toml_edit::TomlError),
    /// A key is duplicated: a client would use one of the two without saying which.
    #[error("it has `{0}` twice")]
    Twice(String),
    /// The key of the servers has another kind of value.
    #[error("its `{0}` is not a map of servers by name")]
    NotATable(&'static str),
}

/// Returns the text of a file with the entry, and everything in `present` before it.
///
/// `present` is the file's text, `None` without a file; with `replace`, an entry of the same name is replaced.
///
/// # Errors
///
/// The text is invalid, or the key of the servers has another kind of value.
pub fn put(
    client: Client,
    present: Option<&str>,
    entry: &ServerEntry,
    replace: bool,
) -> Result<Edit, SetupError> {
    match client {
        Client::Codex => put_toml(client, present.unwrap_or_default(), entry, replace),
        _ => put_json(client, present.unwrap_or_default(), entry, replace),
    }
}

/// The text of a file that contains only the entry.
pub fn alone(client: Client, entry: &ServerEntry) -> String {
    match put(client, None, entry, false) {
        Ok(Edit::Write(text)) => text,
        // An empty file can have neither a fault nor an entry.
        Ok(Edit::None | Edit::Taken(_)) | Err(_) => String::new(),
    }
}

/// The servers in the text of a client's file.
///
/// # Errors
///
/// As [`put`].
pub fn servers(client: Client, present: &str) -> Result<Vec<ServerEntry>, SetupError> {
    let servers = match client {
        Client::Codex => {
            let file: DocumentMut = present.parse()?;
            let servers = file.get(client.keys()[0]).and_then(Item::as_table_like);
            let entry = |(name, item): (&str, &Item)| {
                let table = item.as_table_like()?;
                let arguments = table.get("args").and_then(words).unwrap_or_default();
                Some((name.to_owned(), table.get("command")?.as_str()?.to_owned(), arguments))
            };
            servers.map(|servers| servers.iter().filter_map(entry).collect()).unwrap_or_default()
        }
        _ => {
            let (_, root) = json_file(present)?;
            let mut place = root.object_value();
            for key in client.keys() {
                place = match place {
                    Some(place) if !holds_servers(client, &place) => {
                        refuse_twice(&place, key)?;
                        place.object_value(key)
                    }
                    place => place,
                };
            }
            let entry = |member: CstObjectProp| {
                let server = member.value()?.to_serde_value()?;
                let strings = |value: &Value| -> Vec<String> {
                    let list = value.as_array().into_iter().flatten();
                    list.filter_map(Value::as_str).map(str::to_owned).collect()
                };
                let arguments = strings(&server["args"]);
                let mut command = match &server["command"] {
                    Value::String(command) => vec![command.clone()],
                    list => strings(list),
                };
                command.extend(arguments);
                let program = if command.is_empty() { None } else { Some(command.remove(0)) };
                Some((member.name()?.decoded_value().ok()?, program?, command))
            };
            place.map(|place| place.properties().into_iter().filter_map(entry).collect()).unwrap_or_default()
        }
    };
    let servers: Vec<(String, String, Vec<String>)> = servers;
    Ok(servers
        .into_iter()
        .map(|(name, command, arguments)| ServerEntry { name, command, arguments })
        .collect())
}

/// Parses a JSON file. Returns its byte order mark, too.
fn json_file(present: &str) -> Result<(&'static str, CstRootNode), SetupError> {
    // Some editors write a byte order mark; clients accept it, and it is kept.
    let (mark, text) = match present.strip_prefix('\u{feff}') {
        Some(text) => ("\u{feff}", text),
        None => ("", present),
    };
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    // Editors allow comments and trailing commas in such files. Anything else is a fault.
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
    Ok((mark, root))
}

fn put_json(client: Client, present: &str, entry: &ServerEntry, replace: bool) -> Result<Edit, SetupError> {
    let (mark, root) = json_file(present)?;
    let file = root.object_value().ok_or_else(|| SetupError::Json("it is not an object `{…}`".into()))?;
    let mut servers = file;
    for key in client.keys() {
        if holds_servers(client, &servers) {
            break;
        }
        refuse_twice(&servers, key)?;
        servers = servers.object_value_or_create(key).ok_or(SetupError::NotATable(key))?;
    }
    refuse_twice(&servers, &entry.name)?;
    let members = json_entry(client, entry);
    match servers.get(&entry.name) {
        None => {
            let input = members.iter().map(|(name, value)| ((*name).to_owned(), json_input(value))).collect();
            servers.append(&entry.name, CstInputValue::Object(input));
            servers.ensure_multiline();
        }
        Some(present) => {
            let there = present.to_serde_value().unwrap_or(Value::Null);
            let is_same = |(name, value): &(&str, Value)| there.get(name) == Some(value);
            let contradicts =
                |key: &&&str| there.get(key).is_some() && !members.iter().any(|(name, _)| name == *key);
            if members.iter().all(is_same) && !CONTRADICTING.iter().any(|key| contradicts(&key)) {
                return Ok(Edit::None);
            }
            if !replace {
                return Ok(Edit::Taken(there.to_string()));
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

/// Keys of another server of the same name that contradict ours: how and where it is started. Others, such as its
/// environment, are kept.
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

/// Refuses a duplicate key, which each program reads differently.
fn refuse_twice(object: &CstObject, key: &str) -> Result<(), SetupError> {
    let is_it = |member: &CstObjectProp| {
        member.name().and_then(|name| name.decoded_value().ok()).is_some_and(|name| name == key)
    };
    match object.properties().iter().filter(|member| is_it(member)).count() {
        0 | 1 => Ok(()),
        _ => Err(SetupError::Twice(key.to_owned())),
    }
}

/// Whether OpenCode's servers are directly here, by their names, as up to its version 1. Version 2 reads such files, too,
/// and a file has one form.
fn holds_servers(client: Client, place: &CstObject) -> bool {
    client == Client::OpenCode
        && place.properties().iter().any(|member| {
            member.object_value().is_some_and(|server| {
                ["local", "remote"].iter().any(|kind| {
                    server.get("type").and_then(|kind| kind.to_serde_value()) == Some(Value::from(*kind))
                })
            })
        })
}

/// The members of the entry as JSON.
fn json_entry(client: Client, entry: &ServerEntry) -> Vec<(&'static str, Value)> {
    let command = Value::from(entry.command.as_str());
    let mut members = Vec::new();
    match client {
        Client::VsCode => members.push(("type", Value::from("stdio"))),
        Client::OpenCode | Client::CopilotCli => members.push(("type", Value::from("local"))),
        _ => {}
    }
    if client == Client::OpenCode {
        // The program and its arguments are one list.
        let words =
            std::iter::once(command).chain(entry.arguments.iter().map(|word| Value::from(word.as_str())));
        members.push(("command", words.collect()));
    } else {
        members.push(("command", command));
        // Every example of Copilot's CLI has them.
        if !entry.arguments.is_empty() || client == Client::CopilotCli {
            members.push(("args", Value::from(entry.arguments.clone())));
        }
    }
    if client == Client::CopilotCli {
        members.push(("tools", Value::from(vec!["*"])));
    }
    members
}

/// A string, or a list of strings.
fn json_input(value: &Value) -> CstInputValue {
    match value {
        Value::Array(items) => CstInputValue::Array(items.iter().map(json_input).collect()),
        other => CstInputValue::String(other.as_str().unwrap_or_default().to_owned()),
    }
}

fn put_toml(client: Client, present: &str, entry: &ServerEntry, replace: bool) -> Result<Edit, SetupError> {
    let key = client.keys()[0];
    let mut file: DocumentMut = present.parse()?;
    let servers = file
        .entry(key)
        .or_insert_with(|| {
            // No line `[mcp_servers]` of its own: it contains only tables.
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
        Some(there) => {
            if there.as_table_like().is_some_and(|there| says(there, entry)) {
                return Ok(Edit::None);
            }
            if !replace {
                return Ok(Edit::Taken(there.to_string().trim().to_owned()));
            }
            if !there.is_table_like() {
                *there = Item::Table(Table::new());
            }
            if let Some(there) = there.as_table_like_mut() {
                CONTRADICTING.iter().for_each(|key| drop(there.remove(key)));
                there.insert("command", program);
                if !entry.arguments.is_empty() {
                    there.insert("args", arguments);
                }
            }
        }
    }
    let text = file.to_string();
    // The library writes Unix line ends.
    let is_dos = present.contains('\n') && present.matches('\n').count() == present.matches("\r\n").count();
    Ok(Edit::Write(if is_dos { text.replace("\r\n", "\n").replace('\n', "\r\n") } else { text }))
}

/// Whether a table has the values of the entry, and none that contradict it.
fn says(there: &dyn TableLike, entry: &ServerEntry) -> bool {
    let arguments = there.get("args").map_or_else(|| Some(Vec::new()), words);
    let contradicts = |key: &&str| *key != "args" && there.contains_key(key);
    there.get("command").and_then(Item::as_str) == Some(&entry.command)
        && arguments.as_ref() == Some(&entry.arguments)
        && !CONTRADICTING.iter().any(contradicts)
}

/// The item as a list of words, if it is one.
fn words(item: &Item) -> Option<Vec<String>> {
    item.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect()
}

/// The skill that teaches an agent the method: the same text for all clients, and for the plugin of Claude Code.
pub const SKILL: &str = include_str!("../.packaging/claude-code/skills/investigate/SKILL.md");

const BEGIN: &str = "<!-- tree-of-thoughts: by `tot setup agents-md` -->";
const END: &str = "<!-- /tree-of-thoughts -->";

/// Returns the text of an `AGENTS.md` with everything in `present`, and then the paragraph on investigations. `server`
/// is the name of the server in the clients, `root` the folder of the investigations.
///
/// A different text between the marks of an earlier paragraph is [`Edit::Taken`], since somebody may have changed it.
pub fn put_paragraph(present: Option<&str>, server: &str, root: &str, replace: bool) -> Edit {
    let present = present.unwrap_or_default();
    let paragraph = paragraph(server, root);
    // From the last start mark before an end mark: one without its end is somebody's text.
    let there = present.find(END).and_then(|end| {
        let begin = present[..end].rfind(BEGIN)?;
        Some(begin..end + END.len())
    });
    match there {
        Some(there) if present[there.clone()] == paragraph => Edit::None,
        Some(there) if !replace => Edit::Taken(present[there].to_owned()),
        Some(there) => {
            let mut text = present.to_owned();
            text.replace_range(there, &paragraph);
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

    fn entry(arguments: &[&str]) -> ServerEntry {
        ServerEntry {
            name: "tot".to_owned(),
            command: "tot-mcp".to_owned(),
            arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
        }
    }

    fn written(client: Client, present: &str, entry: &ServerEntry, replace: bool) -> String {
        match put(client, Some(present), entry, replace).unwrap() {
            Edit::Write(text) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_new_file_holds_the_entry_alone() {
        insta::assert_snapshot!(alone(Client::ClaudeCode, &entry(&[])), @r#"
        {
          "mcpServers": {
            "tot": {
              "command": "tot-mcp"
            }
          }
        }
        "#);
        insta::assert_snapshot!(alone(Client::VsCode, &entry(&["--root", "notes"])), @r#"
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
        insta::assert_snapshot!(alone(Client::Codex, &entry(&["--root", "notes"])), @r#"
        [mcp_servers.tot]
        command = "tot-mcp"
        args = ["--root", "notes"]
        "#);
    }

    #[test]
    fn each_client_has_the_form_of_its_documentation() {
        let entry = entry(&["--root", "notes"]);
        insta::assert_snapshot!(alone(Client::OpenCode, &entry), @r#"
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
        insta::assert_snapshot!(alone(Client::CopilotCli, &entry), @r#"
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
        let plain = alone(Client::ClaudeCode, &entry);
        for client in [Client::Cursor, Client::ClaudeDesktop, Client::Windsurf, Client::GeminiCli] {
            assert_eq!(alone(client, &entry), plain, "{client:?}");
        }
    }

    #[test]
    fn a_file_of_the_first_opencode_stays_one() {
        let present = r#"{"mcp": {"other": {"type": "local", "command": ["x"], "enabled": true}}}"#;
        let text = written(Client::OpenCode, present, &entry(&[]), false);
        let file: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(file["mcp"]["tot"]["command"], serde_json::json!(["tot-mcp"]), "{text}");
        assert_eq!(put(Client::OpenCode, Some(&text), &entry(&[]), false).unwrap(), Edit::None);
    }

    #[test]
    fn a_paragraph_comes_once_and_behind_what_is_there() {
        let Edit::Write(text) = put_paragraph(Some("# Ours\n\n\n"), "tot", "investigations", false) else {
            panic!()
        };
        assert!(text.starts_with("# Ours\n\n<!-- tree-of-thoughts"), "{text}");
        assert_eq!(put_paragraph(Some(&text), "tot", "investigations", false), Edit::None);
        let changed = text.replace("First check", "Never check") + "after\n";
        assert!(
            matches!(put_paragraph(Some(&changed), "tot", "investigations", false), Edit::Taken(there) if there.contains("Never"))
        );
        assert_eq!(
            put_paragraph(Some(&changed), "tot", "investigations", true),
            Edit::Write(text.clone() + "after\n")
        );
        // If an end mark was removed, the text before the next start mark is somebody's.
        let two = format!("{}mine\n{text}", text.replace(END, ""));
        assert!(
            matches!(put_paragraph(Some(&two), "x", "investigations", true), Edit::Write(text) if text.contains("mine\n# Ours"))
        );
        // A start mark without its end is somebody's text.
        let cut = "<!-- tree-of-thoughts: by `tot setup agents-md` -->\nmine\n";
        assert!(
            matches!(put_paragraph(Some(cut), "tot", "investigations", true), Edit::Write(text) if text.starts_with(cut))
        );
    }

    #[test]
    fn what_else_is_in_a_json_file_stays_as_it_is() {
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
    fn what_else_is_in_a_toml_file_stays_as_it_is() {
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
        for client in Client::ALL {
            let entry = entry(&["--min-rounds", "5"]);
            assert_eq!(put(client, Some(&alone(client, &entry)), &entry, false).unwrap(), Edit::None);
        }
    }

    #[test]
    fn another_entry_of_that_name_is_replaced_only_when_asked() {
        for client in Client::ALL {
            let present = alone(client, &entry(&["--root", "old"]));
            let change = put(client, Some(&present), &entry(&[]), false).unwrap();
            assert!(matches!(&change, Edit::Taken(text) if text.contains("old")), "{client:?} {change:?}");
            let replaced = written(client, &present, &entry(&[]), true);
            assert_eq!(put(client, Some(&replaced), &entry(&[]), false).unwrap(), Edit::None);
            assert!(!replaced.contains("old"), "{replaced}");
        }
    }

    #[test]
    fn lines_keep_the_ending_of_dos() {
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
    fn what_replaces_an_entry_keeps_its_environment() {
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
        assert_eq!(put(Client::Codex, Some(&text), &entry(&[]), false).unwrap(), Edit::None);
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
        assert_eq!(put(Client::Cursor, Some(&text), &entry(&["--sync"]), false).unwrap(), Edit::None);
    }

    #[test]
    fn a_windows_path_survives() {
        for client in Client::ALL {
            let entry = ServerEntry {
                command: r#"C:\Program Files\"tot"\tot-mcp.exe"#.to_owned(),
                ..entry(&["--root", "a\tb\u{1}"])
            };
            let text = alone(client, &entry);
            assert_eq!(put(client, Some(&text), &entry, false).unwrap(), Edit::None, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for (client, text) in [
            (Client::Cursor, "{\"mcpServers\": {"),
            (Client::Cursor, "[1]"),
            (Client::Cursor, "{\"mcpServers\": 3}"),
            (Client::Cursor, "{'mcpServers': {}}"),
            (Client::Codex, "a = "),
            (Client::Codex, "mcp_servers = 3"),
        ] {
            assert!(put(client, Some(text), &entry(&[]), true).is_err(), "{text}");
        }
    }
}

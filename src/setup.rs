//! How MCP clients are told of this server: where each looks, and how an entry goes into a file that is already there.
//!
//! Pure: texts in, texts out. What else a file holds stays as it is, comments and order included; an entry of the same
//! name is never replaced unless that is asked for.
//!
//! The files and their shapes are those of the clients' documentation: `.mcp.json` of Claude Code, `.vscode/mcp.json`,
//! `.cursor/mcp.json`, `config.toml` of Codex, `claude_desktop_config.json`.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
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
}

/// Where a client's file lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigFile {
    /// In the folder of the project, with this path; it is shared with those who work on it.
    Project(&'static str),
    /// In the folder that Codex keeps its settings in.
    CodexHome(&'static str),
    /// In the folder where applications keep the settings of this user.
    Settings(&'static str),
}

impl Client {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Client::ClaudeCode => "Claude Code",
            Client::VsCode => "VS Code",
            Client::Cursor => "Cursor",
            Client::Codex => "Codex",
            Client::ClaudeDesktop => "Claude Desktop",
        }
    }

    /// The file that it reads.
    pub fn place(self) -> ConfigFile {
        match self {
            Client::ClaudeCode => ConfigFile::Project(".mcp.json"),
            Client::VsCode => ConfigFile::Project(".vscode/mcp.json"),
            Client::Cursor => ConfigFile::Project(".cursor/mcp.json"),
            Client::Codex => ConfigFile::CodexHome("config.toml"),
            Client::ClaudeDesktop => ConfigFile::Settings("Claude/claude_desktop_config.json"),
        }
    }

    /// The key of the file below which the servers stand.
    fn key(self) -> &'static str {
        match self {
            Client::VsCode => "servers",
            Client::Codex => "mcp_servers",
            Client::ClaudeCode | Client::Cursor | Client::ClaudeDesktop => "mcpServers",
        }
    }
}

/// The server as a client starts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerEntry {
    /// The server's name in the client.
    pub name: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// What becomes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// It says so already.
    None,
    /// The file's new text.
    Write(String),
    /// It has another entry of that name, which is this text; nothing changes unless it may be replaced.
    Taken(String),
}

/// Why an entry can't be put into a file.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The file is not JSON.
    #[error("it is not JSON that can be read: {0}")]
    Json(String),
    /// The file is not TOML.
    #[error("it is not TOML that can be read: {0}")]
    Toml(#[from] toml_edit::TomlError),
    /// Something else stands where the servers should.
    #[error("`{0}` in it is not a list of servers by name")]
    NotATable(&'static str),
}

/// The text of a file that holds the entry and, before it, all that `present` held.
///
/// `present` is the file's text, `None` where there is no file; with `replace`, an entry of the same name gives way.
///
/// # Errors
///
/// A text that can't be read, or in which the place of the servers is taken by something else.
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

/// The text of a file that holds nothing but the entry.
pub fn alone(client: Client, entry: &ServerEntry) -> String {
    match put(client, None, entry, false) {
        Ok(Edit::Write(text)) => text,
        // An empty file has no fault and no entry.
        Ok(Edit::None | Edit::Taken(_)) | Err(_) => String::new(),
    }
}

fn put_json(client: Client, present: &str, entry: &ServerEntry, replace: bool) -> Result<Edit, SetupError> {
    // A mark that some editors put first; clients accept it, and it stays.
    let (mark, text) = match present.strip_prefix('\u{feff}') {
        Some(text) => ("\u{feff}", text),
        None => ("", present),
    };
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    // Comments and a comma too many are what editors allow in such files. What no editor takes is a fault.
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
    let file =
        root.object_value().ok_or_else(|| SetupError::Json("it holds something else than `{…}`".into()))?;
    let key = client.key();
    let servers = file.object_value_or_create(key).ok_or(SetupError::NotATable(key))?;
    let (input, value) = json_entry(client, entry);
    match servers.get(&entry.name) {
        None => {
            add(&servers, &entry.name, input);
        }
        Some(present) => {
            let there = present.to_serde_value().unwrap_or(Value::Null);
            if there == value {
                return Ok(Edit::None);
            }
            if !replace {
                return Ok(Edit::Taken(there.to_string()));
            }
            present.set_value(input);
        }
    }
    Ok(Edit::Write(format!("{mark}{root}")))
}

/// Adds a member on lines of its own.
fn add(servers: &CstObject, name: &str, value: CstInputValue) {
    servers.append(name, value);
    servers.ensure_multiline();
}

/// The entry as JSON: to write, and to compare with.
fn json_entry(client: Client, entry: &ServerEntry) -> (CstInputValue, Value) {
    let mut members = Vec::new();
    if client == Client::VsCode {
        members.push(("type", Value::from("stdio")));
    }
    members.push(("command", Value::from(entry.command.as_str())));
    if !entry.arguments.is_empty() {
        members.push(("args", Value::from(entry.arguments.clone())));
    }
    let input = members.iter().map(|(name, value)| ((*name).to_owned(), json_input(value))).collect();
    let value = members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    (CstInputValue::Object(input), Value::Object(value))
}

/// A string, or a list of strings.
fn json_input(value: &Value) -> CstInputValue {
    match value {
        Value::Array(items) => CstInputValue::Array(items.iter().map(json_input).collect()),
        other => CstInputValue::String(other.as_str().unwrap_or_default().to_owned()),
    }
}

fn put_toml(client: Client, present: &str, entry: &ServerEntry, replace: bool) -> Result<Edit, SetupError> {
    let key = client.key();
    let mut file: DocumentMut = present.parse()?;
    let servers = file
        .entry(key)
        .or_insert_with(|| {
            // No line `[mcp_servers]` of its own: it has nothing but tables below it.
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        })
        .as_table_like_mut()
        .ok_or(SetupError::NotATable(key))?;
    if let Some(there) = servers.get(&entry.name) {
        if there.as_table_like().is_some_and(|there| says(there, entry)) {
            return Ok(Edit::None);
        }
        if !replace {
            return Ok(Edit::Taken(there.to_string().trim().to_owned()));
        }
    }
    let mut table = Table::new();
    table.insert("command", toml_edit::value(entry.command.as_str()));
    if !entry.arguments.is_empty() {
        table.insert("args", toml_edit::value(entry.arguments.iter().collect::<Array>()));
    }
    servers.insert(&entry.name, Item::Table(table));
    Ok(Edit::Write(file.to_string()))
}

/// Whether a table says just what the entry does.
fn says(there: &dyn TableLike, entry: &ServerEntry) -> bool {
    let arguments: Option<Vec<&str>> = match there.get("args") {
        None => Some(Vec::new()),
        Some(item) => item.as_array().and_then(|items| items.iter().map(|item| item.as_str()).collect()),
    };
    let keys = 1 + usize::from(there.contains_key("args"));
    there.get("command").and_then(Item::as_str) == Some(&entry.command)
        && arguments.is_some_and(|arguments| arguments == entry.arguments)
        && there.len() == keys
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENTS: [Client; 5] =
        [Client::ClaudeCode, Client::VsCode, Client::Cursor, Client::Codex, Client::ClaudeDesktop];

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
        for client in CLIENTS {
            let entry = entry(&["--min-rounds", "5"]);
            assert_eq!(put(client, Some(&alone(client, &entry)), &entry, false).unwrap(), Edit::None);
        }
    }

    #[test]
    fn another_entry_of_that_name_is_replaced_only_when_asked() {
        for client in CLIENTS {
            let present = alone(client, &entry(&["--root", "old"]));
            let change = put(client, Some(&present), &entry(&[]), false).unwrap();
            assert!(matches!(&change, Edit::Taken(text) if text.contains("old")), "{client:?} {change:?}");
            let replaced = written(client, &present, &entry(&[]), true);
            assert_eq!(put(client, Some(&replaced), &entry(&[]), false).unwrap(), Edit::None);
            assert!(!replaced.contains("old"), "{replaced}");
        }
    }

    #[test]
    fn a_windows_path_survives() {
        for client in CLIENTS {
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

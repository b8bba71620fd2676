//! `tot setup`: client configurations, through the real command.

use std::process::Output;

use serde_json::{Value, json};

use crate::support::{Sandbox, TOT};

fn setup(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    // A PATH without tot-mcp, so that the program next to this one is used wherever the tests run.
    sandbox.command(TOT).env("PATH", "").arg("setup").args(arguments).output().unwrap()
}

fn printed(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The messages about client files that are left unchanged.
fn refused(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let output = setup(sandbox, arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn json_of(sandbox: &Sandbox, file: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(sandbox.path(file)).unwrap()).unwrap()
}

#[test]
fn without_write_nothing_is_written() {
    let sandbox = Sandbox::new();
    for client in [
        "claude-code",
        "vscode",
        "cursor",
        "codex",
        "claude-desktop",
        "opencode",
        "windsurf",
        "gemini",
        "copilot",
        "agents-md",
    ] {
        let text = printed(setup(&sandbox, &[client]));
        assert!(text.contains(if client == "agents-md" { "tot_start" } else { "tot-mcp" }), "{text}");
        assert!(text.contains("--write"), "{text}");
    }
    assert!(!sandbox.path("AGENTS.md").exists());
    assert_eq!(std::fs::read_dir(sandbox.path("home")).unwrap().count(), 0);
    assert!(!sandbox.path(".mcp.json").exists());
}

#[test]
fn what_is_written_starts_the_server() {
    let sandbox = Sandbox::new();
    printed(setup(&sandbox, &["cursor", "--write", "--root", "notes", "--", "--min-rounds", "5"]));
    let server = &json_of(&sandbox, ".cursor/mcp.json")["mcpServers"]["tot"];
    assert_eq!(server["args"], json!(["--root", "notes", "--min-rounds", "5"]));
    let started = sandbox
        .command(server["command"].as_str().unwrap())
        .args(server["args"].as_array().unwrap().iter().map(|argument| argument.as_str().unwrap()))
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
}

#[test]
fn each_client_finds_it_where_it_looks() {
    let sandbox = Sandbox::new();
    let desktop = if cfg!(target_os = "macos") {
        "home/Library/Application Support/Claude/claude_desktop_config.json"
    } else {
        "home/Claude/claude_desktop_config.json"
    };
    for (client, file) in [
        ("claude-code", ".mcp.json"),
        ("vscode", ".vscode/mcp.json"),
        ("cursor", ".cursor/mcp.json"),
        ("codex", "home/.codex/config.toml"),
        ("claude-desktop", desktop),
        ("opencode", "opencode.json"),
        ("windsurf", "home/.codeium/windsurf/mcp_config.json"),
        ("gemini", ".gemini/settings.json"),
        ("copilot", ".github/mcp.json"),
    ] {
        if cfg!(windows) && client == "claude-desktop" {
            continue;
        }
        assert!(printed(setup(&sandbox, &[client, "--write"])).contains("now has the server `tot`"));
        let text = std::fs::read_to_string(sandbox.path(file)).unwrap();
        assert!(text.contains("tot-mcp"), "{text}");
        let again = printed(setup(&sandbox, &[client, "--write"]));
        assert!(again.contains("nothing was changed"), "{again}");
        assert_eq!(std::fs::read_to_string(sandbox.path(file)).unwrap(), text);
    }
    // This client starts servers outside the user's folders.
    if !cfg!(windows) {
        let root = &json_of(&sandbox, desktop)["mcpServers"]["tot"]["args"][1];
        assert_eq!(root, sandbox.path("home/investigations").to_str().unwrap());
    }
}

#[test]
fn a_client_that_reads_the_other_file_of_opencode_finds_it_there() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("opencode.jsonc"), "{\n  // ours\n  \"model\": \"x\"\n}\n").unwrap();
    printed(setup(&sandbox, &["opencode", "--write"]));
    let text = std::fs::read_to_string(sandbox.path("opencode.jsonc")).unwrap();
    assert!(text.contains("// ours") && text.contains("tot-mcp"), "{text}");
    assert!(!sandbox.path("opencode.json").exists());
}

/// All clients get the same text, in the folder that each client reads.
#[test]
fn the_skill_goes_where_the_client_looks() {
    let sandbox = Sandbox::new();
    let skill = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/.packaging/claude-code/skills/investigate/SKILL.md"
    ))
    .unwrap();
    for (client, folder) in [("claude-code", ".claude"), ("gemini", ".agents"), ("copilot", ".agents")] {
        printed(setup(&sandbox, &[client, "--write", "--skill"]));
        let file = sandbox.path(&format!("{folder}/skills/investigate/SKILL.md"));
        assert_eq!(std::fs::read_to_string(file).unwrap(), skill, "{client}");
    }
    std::fs::write(sandbox.path(".agents/skills/investigate/SKILL.md"), "mine").unwrap();
    refused(&sandbox, &["codex", "--write", "--skill"]);
    assert_eq!(std::fs::read_to_string(sandbox.path(".agents/skills/investigate/SKILL.md")).unwrap(), "mine");
    assert_eq!(setup(&sandbox, &["claude-desktop", "--write", "--skill"]).status.code(), Some(2));
}

#[test]
fn a_paragraph_joins_what_agents_md_says() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("AGENTS.md"), "# Ours\n").unwrap();
    printed(setup(&sandbox, &["agents-md", "--write", "--root", "notes"]));
    let text = std::fs::read_to_string(sandbox.path("AGENTS.md")).unwrap();
    assert!(text.starts_with("# Ours\n\n") && text.contains("`notes`"), "{text}");
    assert!(printed(setup(&sandbox, &["agents-md", "--write", "--root", "notes"])).contains("already"));
    assert!(refused(&sandbox, &["agents-md", "--write"]).contains("--replace"));
    printed(setup(&sandbox, &["agents-md", "--write", "--replace"]));
    assert_eq!(
        std::fs::read_to_string(sandbox.path("AGENTS.md")).unwrap(),
        text.replace("`notes`", "`investigations/`")
    );
}

/// If nobody can be asked, nothing is written.
#[test]
fn without_a_client_it_says_which_are_there() {
    let sandbox = Sandbox::new();
    assert!(refused(&sandbox, &[]).contains("claude-code, vscode, cursor"));
    std::fs::create_dir_all(sandbox.path("home/.gemini")).unwrap();
    std::fs::create_dir_all(sandbox.path("home/.codex")).unwrap();
    let text = printed(setup(&sandbox, &[]));
    assert!(text.contains("tot setup gemini --write") && text.contains("tot setup codex --write"), "{text}");
    assert!(!text.contains("cursor"), "{text}");
    assert!(!sandbox.path(".gemini").exists());
}

#[test]
fn what_cannot_be_read_and_an_entry_that_is_there_stay_as_they_are() {
    let sandbox = Sandbox::new();
    let mine = r#"{"mcpServers": {"tot": {"command": "mine"}}, "more": 1}"#;
    for (text, more, words) in [
        ("{\"mcpServers\": {\n", &["--replace"][..], &[".mcp.json", "manually"][..]),
        (r#"{"mcpServers": {"a": {"command": "x"}}, "mcpServers": {}}"#, &["--replace"], &["twice"]),
        (r#"{"mcpServers": {"tot": {"command": "x"}, "tot": {}}}"#, &["--replace"], &["twice"]),
        (mine, &[], &["mine", "--replace", "--name"]),
    ] {
        std::fs::write(sandbox.path(".mcp.json"), text).unwrap();
        let said = refused(&sandbox, &[&["claude-code", "--write"], more].concat());
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
        assert_eq!(std::fs::read_to_string(sandbox.path(".mcp.json")).unwrap(), text);
    }
    printed(setup(&sandbox, &["claude-code", "--write", "--name", "tot-2"]));
    let both = json_of(&sandbox, ".mcp.json");
    assert_eq!(both["mcpServers"]["tot"]["command"], "mine");
    assert!(both["mcpServers"]["tot-2"]["command"].as_str().unwrap().contains("tot-mcp"));
    assert_eq!(both["more"], 1);

    printed(setup(&sandbox, &["claude-code", "--write", "--replace"]));
    assert!(
        json_of(&sandbox, ".mcp.json")["mcpServers"]["tot"]["command"].as_str().unwrap().contains("tot-mcp")
    );
}

/// Linked settings stay linked, and their permissions are kept.
#[cfg(unix)]
#[test]
fn links_and_permissions_are_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("home/.codex")).unwrap();
    std::fs::create_dir(sandbox.path("dotfiles")).unwrap();
    let real = sandbox.path("dotfiles/config.toml");
    std::fs::write(&real, "model = \"o\"\n").unwrap();
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&real, sandbox.path("home/.codex/config.toml")).unwrap();
    printed(setup(&sandbox, &["codex", "--write"]));
    assert!(sandbox.path("home/.codex/config.toml").is_symlink());
    let text = std::fs::read_to_string(&real).unwrap();
    assert!(text.starts_with("model = \"o\"\n") && text.contains("[mcp_servers.tot]"), "{text}");
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(sandbox.path("dotfiles")).unwrap().count(), 1, "nothing is left aside");
}

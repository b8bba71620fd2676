//! What helps a person at a terminal, through the real command: `tot open`, `doctor`, `completions`, `man`, `help`; and the
//! session that the README shows.

use std::path::Path;
use std::process::{Output, Stdio};

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::{Sandbox, TOT, TOT_MCP};

fn run(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    // A PATH without tot-mcp and clients, wherever the tests run.
    let path = "/usr/bin:/bin";
    sandbox.command(TOT).env("PATH", path).args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

fn ok(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let output = run(sandbox, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(output.stderr));
    text(output.stdout)
}

#[test]
fn help_explains_topics_and_commands() {
    let sandbox = Sandbox::new();
    assert_snapshot!(ok(&sandbox, &["help"]));
    assert!(ok(&sandbox, &["help", "method"]).starts_with("# How an investigation works\n"));
    assert_eq!(ok(&sandbox, &["help", "ruleset", "show"]), ok(&sandbox, &["ruleset", "show", "--help"]));
    let unknown = run(&sandbox, &["help", "no\u{1b}[2Jne"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(unknown.stderr).starts_with("tot help: unknown topic or command `no␛[2Jne`\n"));
}

#[test]
fn help_is_as_wide_as_the_terminal() {
    let sandbox = Sandbox::new();
    let widest = |columns: &str, program: &str, arguments: &[&str]| {
        let mut command = sandbox.command(program);
        let output = command.args(arguments).arg("--help").env("COLUMNS", columns).output().unwrap();
        text(output.stdout).lines().map(|line| line.chars().count()).max().unwrap()
    };
    for arguments in [&["list"][..], &["reclassify"], &["remote", "add"], &["ruleset", "show"]] {
        assert!(widest("70", TOT, arguments) <= 70, "{arguments:?}");
        // If the width is unknown, the lines are wrapped by the program that shows them.
        assert!(widest("", TOT, arguments) > 80, "{arguments:?}");
    }
    assert!(widest("70", TOT_MCP, &[]) <= 70);
}

#[test]
fn rulesets_are_told_within_the_width_of_the_terminal() {
    let sandbox = Sandbox::new();
    for arguments in [&["ruleset", "list"][..], &["ruleset", "show", "review"]] {
        let output = sandbox.command(TOT).args(arguments).env("COLUMNS", "60").output().unwrap();
        let shown = text(output.stdout);
        shown.lines().for_each(|line| assert!(line.chars().count() <= 60, "{line}"));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_review_fits_the_terminal_and_goes_on_by_keys() {
    let sandbox = Sandbox::new();
    let bundle = Path::new(env!("CARGO_MANIFEST_DIR")).join("investigations/demo.bundle");
    ok(&sandbox, &["import", bundle.to_str().unwrap()]);
    let line = format!("printf 'npq' | script -q -e -c '{TOT} review' /dev/null");
    let mut command = sandbox.command("sh");
    command.args(["-c", &line]).env("COLUMNS", "80").env("TERM", "xterm");
    let shown = anstream::adapter::strip_str(&text(command.output().unwrap().stdout)).to_string();
    let shown = shown.replace('\r', "\n");
    assert!(shown.contains("(1/39)") && shown.contains("(2/39)"), "{shown}");
    shown.lines().for_each(|line| assert!(line.chars().count() <= 80, "{line}"));
}

#[test]
fn there_is_a_manual_page_for_each_command_and_topic() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("pages/man1")).unwrap();
    std::fs::write(sandbox.path("pages/man1/ls.1"), "a stranger's").unwrap();
    let said = ok(&sandbox, &["man", "pages"]);
    let page = |name: &str| {
        let section = name.rsplit('.').next().unwrap();
        std::fs::read_to_string(sandbox.path("pages").join(format!("man{section}/{name}"))).unwrap()
    };
    assert!(page("tot-commit.1").contains("nodeId: R2.A1"), "examples are there");
    assert!(page("tot-ruleset-show.1").contains("tot\\-ruleset\\-show"));
    let method = page("tot-method.7");
    assert!(method.contains(".SH Start\n") && method.contains("tot start"), "{method}");
    let files = |folder: &str| std::fs::read_dir(sandbox.path("pages").join(folder)).unwrap().count();
    // A stranger's page is not ours.
    let pages = files("man1") + files("man7") - 1;
    assert!(pages > 35, "{pages}");
    assert_eq!(said, format!("{pages} pages in pages: man -M pages tot\n"));
    std::fs::write(sandbox.path("file"), "").unwrap();
    assert_eq!(run(&sandbox, &["man", "file"]).status.code(), Some(1));
}

#[test]
fn each_shell_gets_a_script_that_knows_the_commands() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(ok(&sandbox, &["completions", shell]).contains("reclassify"), "{shell}");
    }
    assert_eq!(run(&sandbox, &["completions", "none"]).status.code(), Some(2));
}

#[test]
fn the_doctor_says_what_is_there_and_what_to_do() {
    let sandbox = Sandbox::new();
    let here = |out: String| {
        let version = out.lines().find_map(|line| line.strip_prefix("ok    git       ")).unwrap().to_owned();
        out.replace(&version, "VERSION").replace(&sandbox.path("").display().to_string(), "/here/")
    };
    assert_snapshot!(here(ok(&sandbox, &["doctor"])), @"
        ok    git       VERSION
        ok    identity  Tester <tester@localhost>, the author of your commits
        note  signing   no key is set; only tot approve needs one
                        git config --global gpg.format ssh && git config --global user.signingkey ~/.ssh/id_ed25519.pub
        note  server    tot-mcp is not on PATH
                        Agents can start it by its full path, which tot setup writes; or add its folder to PATH.
        note  client    no client is configured for this folder or user
                        tot setup finds the installed clients and configures them.
        note  root      /here/investigations does not exist yet
                        tot start creates it with the first investigation; --root DIR and TOT_ROOT name another.
        ");
    ok(&sandbox, &["start", "Why?"]);
    ok(&sandbox, &["setup", "claude-code", "--write"]);
    std::fs::create_dir(sandbox.path(".cursor")).unwrap();
    std::fs::write(sandbox.path(".cursor/mcp.json"), "{").unwrap();
    sandbox.git(&sandbox.path("home"), &["config", "--global", "user.signingkey", "KEY"]);
    ok(&sandbox, &["start", "What else?"]);
    let folders = std::fs::read_dir(sandbox.root()).unwrap().map(|entry| entry.unwrap().path());
    let broken = folders.filter(|path| path.is_dir()).max().unwrap();
    sandbox.git(&broken, &["update-ref", "-d", "HEAD"]);
    let output = run(&sandbox, &["doctor"]);
    assert_eq!(output.status.code(), Some(1));
    assert_snapshot!(here(text(output.stdout)), @"
        ok    git       VERSION
        ok    identity  Tester <tester@localhost>, the author of your commits
        ok    signing   a key (openpgp) is set, for tot approve
        note  server    tot-mcp is not on PATH
                        Agents can start it by its full path, which tot setup writes; or add its folder to PATH.
        ok    client    Claude Code starts the server per .mcp.json
        wrong client    Cursor: .cursor/mcp.json: it is not valid JSON: Unterminated object on line 1 column 1
                        Fix the file.
        wrong root      /here/investigations, 2 investigations, of which 1 can't be read
                        tot check says why.
        ");
    let output = run(&sandbox, &["doctor", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = document["checks"].as_array().unwrap();
    let of = |name: &str| checks.iter().find(|check| check["name"] == name).unwrap();
    assert_eq!(of("git")["status"], "ok");
    assert_eq!(of("root")["status"], "wrong");
    assert!(of("root")["advice"].is_string());
    let no_git = sandbox.command(TOT).env("PATH", "").arg("doctor").output().unwrap();
    assert_eq!(no_git.status.code(), Some(1));
    assert!(text(no_git.stdout).starts_with("wrong git       can't start the program git"));
}

#[test]
fn the_doctor_takes_no_other_server_for_ours_and_names_clients_without_it() {
    let sandbox = Sandbox::new();
    let clients = || {
        let said = ok(&sandbox, &["doctor"]);
        let lines: Vec<&str> = said.lines().skip_while(|line| !line.contains(" client ")).collect();
        let end = lines.iter().position(|line| line.contains(" root ")).unwrap();
        lines[..end].join("\n")
    };
    let write = |file: &str, text: &str| {
        let file = sandbox.path(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    write(".mcp.json", r#"{"mcpServers": {"tot": {"command": "totally-else", "args": ["x"]}}}"#);
    write("home/.codex/config.toml", "[mcp_servers.research]\ncommand = '/opt/tot-mcp'\n");
    write(
        "opencode.json",
        r#"{"mcp": {"servers": {"it": {"type": "local", "command": ["/opt/tot", "mcp"]}}}}"#,
    );
    write(".vscode/mcp.json", r#"{"servers": {"tot": {"command": "x"}}, "servers": {}}"#);
    write("home/.gemini/settings.json", "{}");
    write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"tot": {"command": "docker", "args": ["run", "-i", "tree-of-thoughts:1"]}}}"#,
    );
    let said = run(&sandbox, &["doctor"]);
    assert_eq!(said.status.code(), Some(1), "servers stand there twice");
    std::fs::remove_file(sandbox.path(".vscode/mcp.json")).unwrap();
    assert!(text(said.stdout).contains("wrong client    VS Code: .vscode/mcp.json: it has `servers` twice"));
    assert_snapshot!(clients().replace(&sandbox.path("").display().to_string(), "/here/"), @"
        note  client    Claude Code starts totally-else as tot per .mcp.json
                        tot setup claude-code --write --name NAME adds this server under another name; --replace replaces the existing entry.
        ok    client    Cursor starts the server per .cursor/mcp.json
        ok    client    Codex starts the server as research per /here/home/.codex/config.toml
        ok    client    OpenCode starts the server as it per opencode.json
        note  client    not configured in this folder or for this user: Gemini CLI
                        tot setup gemini --write.
        ");
}

#[test]
fn open_makes_the_site_and_says_where_it_is() {
    let sandbox = Sandbox::new();
    assert_eq!(run(&sandbox, &["open"]).status.code(), Some(1), "there is none");
    ok(&sandbox, &["start", "Why is the sky blue?"]);
    let page = ok(&sandbox, &["open"]);
    let page = Path::new(page.trim());
    assert!(std::fs::read_to_string(page).unwrap().contains("Why is the sky blue?"));
    ok(&sandbox, &["propose", "--next"]);
    let node: Value = serde_json::from_str(&ok(&sandbox, &["open", "R1.A", "--json"])).unwrap();
    let node = node["page"].as_str().unwrap();
    assert!(node.ends_with("/nodes/R1.A.html") && Path::new(node).is_file(), "made anew: {node}");
    let missing = run(&sandbox, &["open", "R2.A1"]);
    assert_eq!(text(missing.stderr), "tot open: there is no node R2.A1\n");
}

#[test]
fn open_does_not_write_a_site_that_a_server_is_writing() {
    let sandbox = Sandbox::new();
    ok(&sandbox, &["start", "Why is the sky blue?"]);
    let since = std::time::Instant::now();
    let page = ok(&sandbox, &["open"]);
    let taken = since.elapsed();
    let site = Path::new(page.trim()).parent().unwrap();
    let id = site.file_name().unwrap().to_str().unwrap();
    // Like a server that writes its report.
    let lock =
        std::fs::File::options().append(true).open(site.with_file_name(format!(".tot-report-{id}.lock")));
    let lock = lock.unwrap();
    lock.lock().unwrap();
    ok(&sandbox, &["propose", "--next"]);
    let mut command = sandbox.command(TOT);
    let command = command.args(["open", "R1.A"]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut open = command.spawn().unwrap();
    // Much longer than writing one takes.
    std::thread::sleep(taken * 3);
    assert!(open.try_wait().unwrap().is_none() && !site.join("nodes/R1.A.html").exists(), "it did not wait");
    lock.unlock().unwrap();
    assert!(open.wait().unwrap().success() && site.join("nodes/R1.A.html").exists());
}

/// Runs a shell command line at a terminal, provided by `script` from util-linux. Returns its status and output.
#[cfg(target_os = "linux")]
fn at_terminal(sandbox: &Sandbox, line: &str, environment: &[(&str, &str)]) -> (i32, String) {
    let mut command = sandbox.command("script");
    command
        .args(["-q", "-e", "-c", line, "/dev/null"])
        .env("TERM", "xterm")
        .envs(environment.iter().copied());
    let output = command.output().unwrap();
    (output.status.code().unwrap(), text(output.stdout).replace('\r', ""))
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_that_a_person_starts_says_what_it_waits_for() {
    let sandbox = Sandbox::new();
    let (status, said) = at_terminal(&sandbox, &format!("{TOT} mcp"), &[]);
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("tot setup configures one"), "{said}");
}

/// Like git's pager: the first of `GIT_PAGER`, `core.pager` and `PAGER`, with `LESS` if unset; none in a pipe.
#[cfg(target_os = "linux")]
#[test]
fn the_pager_is_the_one_that_git_would_take() {
    let sandbox = Sandbox::new();
    ok(&sandbox, &["start", "Why is the sky blue?"]);
    let shown = |environment: &[(&str, &str)]| {
        let (status, shown) = at_terminal(&sandbox, &format!("{TOT} list"), environment);
        assert_eq!(status, 0, "{shown}");
        shown
    };
    let pager = |name: &str| format!("echo by {name}, LESS=$LESS; cat");
    let (git, core, plain) = (pager("GIT_PAGER"), pager("core.pager"), pager("PAGER"));
    let by = |shown: &str, name: &str| {
        shown.starts_with(&format!("by {name}, LESS=")) && shown.contains("the sky")
    };
    assert!(by(&shown(&[("PAGER", &plain)]), "PAGER"));
    sandbox.git(&sandbox.path("home"), &["config", "--global", "core.pager", &core]);
    assert!(by(&shown(&[("PAGER", &plain)]), "core.pager"));
    let all = [("GIT_PAGER", git.as_str()), ("PAGER", &plain)];
    let by_git = shown(&all);
    assert!(by(&by_git, "GIT_PAGER") && by_git.contains("LESS=FRX\n"), "{by_git}");
    assert!(by_git.contains('\u{1b}'), "colours come through: {by_git}");
    let own = shown(&[all[0], ("LESS", "S")]);
    assert!(own.contains("LESS=S\n"), "what the user has set stays: {own}");
    assert!(!shown(&[all[0], ("NO_COLOR", "1")]).contains('\u{1b}'));
    // If the pager can't be started, the output is still shown.
    assert!(shown(&[("GIT_PAGER", "cat")]).contains("the sky"));
    // In a pipe, and with --json, no pager is used.
    let piped = sandbox.command(TOT).envs(all).arg("list").output().unwrap();
    assert!(!text(piped.stdout).contains("by GIT_PAGER"));
    let (_, document) = at_terminal(&sandbox, &format!("{TOT} list --json"), &all);
    assert!(document.starts_with('{'), "{document}");
}

/// To git, files that a stranger commits can be a bare repository with a configuration.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_of_a_cloned_investigation_names_no_pager() {
    let sandbox = Sandbox::new();
    ok(&sandbox, &["start", "Why is the sky blue?"]);
    let mut folders = std::fs::read_dir(sandbox.root()).unwrap();
    let trap = folders.next().unwrap().unwrap().path().join("data");
    sandbox.git(&sandbox.path("home"), &["init", "-q", "--bare", trap.to_str().unwrap()]);
    let marker = sandbox.path("marker");
    sandbox.git(&trap, &["config", "core.pager", &format!("touch {}; cat", marker.display())]);
    let line = format!("cd {} && {TOT} --root {} list", trap.display(), sandbox.root().display());
    let (status, shown) = at_terminal(&sandbox, &line, &[]);
    assert!(status == 0 && shown.contains("the sky"), "{shown}");
    assert!(!marker.exists());
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_in_a_pager_or_an_editor_does_not_end_what_waits_for_it() {
    let sandbox = Sandbox::new();
    ok(&sandbox, &["start", "Why is the sky blue?"]);
    // A terminal sends this signal to all its programs when the keys are pressed.
    let pager = "kill -INT $PPID; sleep 0.2; cat; echo at the end";
    let (status, shown) = at_terminal(&sandbox, &format!("{TOT} list"), &[("GIT_PAGER", pager)]);
    assert!(status == 0 && shown.ends_with("at the end\n"), "{status}: {shown}");
    let editor = "kill -INT $PPID; sleep 0.2; echo Measured. >";
    let (status, said) = at_terminal(&sandbox, &format!("{TOT} comment"), &[("GIT_EDITOR", editor)]);
    assert!(status == 0 && said.starts_with("comment "), "{status}: {said}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_export_to_a_terminal_commands_nothing_there() {
    let sandbox = Sandbox::new();
    ok(&sandbox, &["start", "Why \u{1b}]0;owned\u{7} is it \u{202e}blue?"]);
    for format in ["markdown", "json", "mermaid", "dot", "svg", "html"] {
        let line = format!("{TOT} export --format {format}");
        let (status, shown) = at_terminal(&sandbox, &line, &[]);
        assert_eq!(status, 0, "{shown}");
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{format}: {shown}");
    }
    // On other systems, the bytes are as written.
    let piped = ok(&sandbox, &["export", "--format", "markdown"]);
    ok(&sandbox, &["export", "--format", "markdown", "-o", "it.md"]);
    assert_eq!(std::fs::read_to_string(sandbox.path("it.md")).unwrap(), piped);
}

#[cfg(target_os = "linux")]
#[test]
fn open_starts_the_browser_that_the_environment_names() {
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, Instant};

    let sandbox = Sandbox::new();
    ok(&sandbox, &["start", "Why is the sky blue?"]);
    let browser = sandbox.path("browser.sh");
    std::fs::write(&browser, format!("#!/bin/sh\necho \"$1\" >{}\n", sandbox.path("opened").display()))
        .unwrap();
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (status, said) =
        at_terminal(&sandbox, &format!("{TOT} open"), &[("BROWSER", browser.to_str().unwrap())]);
    assert_eq!(status, 0, "{said}");
    // Nothing waits for it.
    let began = Instant::now();
    let opened = loop {
        let opened = std::fs::read_to_string(sandbox.path("opened")).unwrap_or_default();
        if opened.ends_with('\n') || began.elapsed() > Duration::from_secs(20) {
            break opened;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(!opened.is_empty() && said.ends_with(&opened), "{said}: {opened}");
}

/// The README's session: a complete investigation, with the files that it names.
const SESSION: &[&str] = &[
    "tot start 'Why did p99 latency double?' --ruleset review",
    "tot note 'Since the upgrade, one query scans the whole table'",
    "tot propose 'Bring the old plan back'",
    "tot commit R2.A1.md",
    "tot propose 'Drop the statistics again' --below R2.A1",
    "GIT_AUTHOR_NAME=Grace GIT_AUTHOR_EMAIL=grace@example.org tot commit R3.A1a.md",
    "tot end -m 'After an upgrade, run ANALYZE: p99 is 80 ms again.'",
];

const ANSWER: &str = "\
State: ANSWER
Headline: Fresh statistics bring the old plan back

## Evidence
p99 was 170 ms after the upgrade, and is 80 ms after ANALYZE, as before.

## Alternatives
A lock queue: pg_locks shows nobody waiting.
A cold cache: the hit rate is 99 %, as before.

## Findings
The planner had no statistics, and scanned the whole table.

## References
- logs/slow.log:120 - the plan without them
";

const CONFIRMATION: &str = "\
State: CONFIRMED
Headline: Without statistics it is slow again

## Evidence
Without statistics p99 is 169 ms; ANALYZE brings 80 ms back, three times.

## Findings
Three rounds, in turn.
";

/// The width of the picture, in characters.
const COLUMNS: usize = 100;

/// A picture of a terminal, dark on any page.
fn picture(session: &str) -> String {
    const LINE: usize = 19;
    const WIDTH: usize = 8;
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let lines: Vec<&str> = session.lines().collect();
    let (width, height) = (COLUMNS * WIDTH + 40, lines.len() * LINE + 36);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\" aria-label=\"A session of tot in a terminal\">\n\
         <style>text {{ font: 13px ui-monospace, Menlo, Consolas, monospace; fill: #d6deeb; white-space: pre }} \
         .typed {{ font-weight: bold; fill: #ffffff }}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#0b1c2c\"/>\n"
    );
    for (number, line) in lines.iter().enumerate() {
        let y = number * LINE + 30;
        let class = if line.starts_with("$ ") { " class=\"typed\"" } else { "" };
        // The columns stay aligned in any font.
        let length = line.chars().count() * WIDTH;
        if !line.is_empty() {
            svg.push_str(&format!(
                "<text x=\"20\" y=\"{y}\"{class} textLength=\"{length}\" xml:space=\"preserve\">{}</text>\n",
                escaped(line)
            ));
        }
    }
    svg + "</svg>\n"
}

/// `TOT_WRITE_SESSION=1` renews the picture.
#[cfg(unix)]
#[test]
fn the_session_in_the_readme_is_what_the_commands_print() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("R2.A1.md"), format!("# R2.A1\n\n{ANSWER}")).unwrap();
    std::fs::write(sandbox.path("R3.A1a.md"), format!("# R3.A1a\n\n{CONFIRMATION}")).unwrap();
    // The clock is stopped during a command.
    let tot = format!("tot() {{ '{TOT}' \"$@\" --clock-file {}; }}", sandbox.path("clock").display());
    let mut session = String::new();
    for line in SESSION {
        let mut command = sandbox.command("sh");
        command.env("COLUMNS", COLUMNS.to_string()).args(["-c", &format!("{tot}; {line}")]);
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{line}: {}", text(output.stderr));
        sandbox.sleep(60);
        session.push_str(&format!("$ {line}\n{}\n", text(output.stdout)));
    }
    let session = session.replace(&sandbox.path("").display().to_string(), "/home/ada/");
    let picture = picture(session.trim_end());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/session.svg");
    if std::env::var_os("TOT_WRITE_SESSION").is_some() {
        std::fs::write(&file, &picture).unwrap();
    }
    let there = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(there == picture, "it is another: write it anew with TOT_WRITE_SESSION=1");
}

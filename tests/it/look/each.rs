//! The output of each `tot` command, as text and as JSON, and the properties shared by all commands that read an
//! investigation.

use std::path::Path;

use insta::assert_snapshot;
use serde_json::Value;

use super::screens::shorten;
use super::{import_the_demo, tot, tot_in};
use crate::remote::hub;
use crate::support::Sandbox;

/// A session. Words are separated by spaces, with `_` for a space inside a word. The number is how many lines of each
/// output are kept.
const SESSION: &[(&str, usize)] = &[
    ("list", 9),
    ("show --depth 1 --all", 9),
    ("log -n 2", 9),
    ("diff HEAD~1..", 9),
    ("search BEGIN_IMMEDIATE", 9),
    ("review --print --since HEAD~3", 9),
    ("check", 9),
    ("comment R4.A1a1 -m Measured_on_one_disk_only.", 9),
    ("object R4.A1a1 -m The_cache_was_warm.", 9),
    ("resolve R4.A1a1 -m Run_again,_cold.", 9),
    ("attach R4.A1a1 timings.csv", 9),
    ("approve --unsigned -m Tried_it.", 9),
    ("verify", 9),
    ("amend amended.md", 9),
    ("reclassify R4.A4a1 EXPLORE -m The_timeout_was_not_set.", 9),
    ("amend amended.md", 9),
    ("remote", 9),
    ("remote add origin HUB", 9),
    ("sync", 9),
    ("--root other clone HUB", 9),
    ("merge --resolve", 9),
    ("--root other import DEMO", 9),
    ("export --format csv", 2),
    ("export --format mermaid", 4),
    ("report investigations --out site", 9),
    ("open R4.A1a1", 9),
    ("--root mine start Why_is_the_sky_blue? --mode smoke", 9),
    ("--root mine next", 9),
    ("--root mine propose --next", 9),
    ("--root mine claim R1.A --as ada --for 30", 9),
    ("--root mine release R1.A", 9),
    ("--root mine commit R1.A.md", 9),
    ("--root mine propose Look_at_the_sea --below R1.A", 9),
    ("--root mine note It_mirrors_the_sky. R2.A1", 9),
    ("--root mine use", 9),
    ("--root mine end --stopped enough -m It_scatters.", 9),
    ("ruleset list", 4),
    ("ruleset show review", 4),
    ("setup claude-code", 4),
    ("demo", 4),
    ("man pages", 9),
    ("completions bash", 2),
];

/// Commands whose output is tested elsewhere: `doctor` and `help` in terminal.rs, `run` and `rerun` in runs/, the
/// server in mcp/.
const ELSEWHERE: &[&str] = &["doctor", "help", "mcp", "rerun", "run"];

/// The commands that print JSON.
const WITHOUT_JSON: &[&str] = &["export", "report", "ruleset", "setup", "demo", "man", "completions"];

const RESULT: &str = "---\nnodeId: R1.A\nstate: EXPLORE\nheadline: It scatters\ncommands: [grep -r scatter notes]\n---\n\
                      Short waves scatter more.\n";

const AMENDED: &str =
    "---\nnodeId: R4.A1a1\nreason: The number was of another run\nevidence: 30,365 transactions\n---\n";

/// The files that the session needs, and its placeholders for them.
fn prepared(sandbox: &Sandbox) -> impl Fn(&str) -> Vec<String> + use<> {
    import_the_demo(sandbox);
    for (name, text) in [("R1.A.md", RESULT), ("amended.md", AMENDED), ("timings.csv", "run,ms\n1,12\n")] {
        std::fs::write(sandbox.path(name), text).unwrap();
    }
    let hub = hub(sandbox).to_str().unwrap().to_owned();
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("investigations/demo.bundle");
    move |line: &str| {
        let word = |word: &str| match word {
            "HUB" => hub.clone(),
            "DEMO" => demo.to_str().unwrap().to_owned(),
            word => word.replace('_', " "),
        };
        line.split(' ').map(word).collect()
    }
}

/// Replaces everything that differs between runs: ids, commits, times and paths.
fn masked(text: &str, sandbox: &Sandbox) -> String {
    let text = text.replace(&sandbox.path("").display().to_string(), "/here/");
    let text = text.replace(env!("CARGO_MANIFEST_DIR"), "/source");
    [
        ("hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh", "ID"),
        ("hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh", "COMMIT"),
        ("hhhhhhhhhhhh", "NUMBER"),
        ("hhhhhhhhhh", "COMMIT"),
        ("COMMIT-hhhh", "COMMIT-MORE"),
        ("dddd-dd-ddTdd:dd:dd.dddZ", "TIME"),
        ("dddd-dd-dd dd:dd", "TIME"),
    ]
    .into_iter()
    .fold(text, |text, (form, name)| replaced(&text, form, name))
}

/// Replaces each word of this form with the name. In the form, `h` is a hexadecimal digit and `d` a decimal digit.
fn replaced(text: &str, form: &str, name: &str) -> String {
    let fits = |(c, form): (char, char)| match form {
        'h' => c.is_ascii_hexdigit(),
        'd' => c.is_ascii_digit(),
        form => c == form,
    };
    let mut shown = String::new();
    let mut rest = text;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let is_it = rest.len() >= form.len()
            && !before.is_alphanumeric()
            && rest.chars().zip(form.chars()).all(fits)
            && !rest[form.len()..].starts_with(char::is_alphanumeric);
        let length = if is_it { form.len() } else { c.len_utf8() };
        before = rest[..length].chars().last().unwrap_or(' ');
        shown.push_str(if is_it { name } else { &rest[..length] });
        rest = &rest[length..];
    }
    shown
}

#[test]
fn each_command_says_what_it_did() {
    let sandbox = Sandbox::new();
    let words = prepared(&sandbox);
    let mut transcript = String::new();
    for (line, most) in SESSION {
        let arguments = words(line);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let ran = tot_in(&sandbox, &sandbox.path(""), &arguments, &[("COLUMNS", "120")]);
        assert!(!ran.out.contains('\u{1b}'), "{line}: colours in a pipe");
        let shown: Vec<&str> = ran.out.lines().take(*most).collect();
        let more = if ran.out.lines().count() > *most { "\n…" } else { "" };
        let status = if ran.status == 0 { String::new() } else { format!("\n(status {})", ran.status) };
        transcript.push_str(&format!("$ tot {line}\n{}{more}\n{}{status}\n", shown.join("\n"), ran.err));
    }
    assert_snapshot!("each", masked(&transcript, &sandbox));
}

#[test]
fn each_command_prints_one_document() {
    let sandbox = Sandbox::new();
    let words = prepared(&sandbox);
    let mut transcript = String::new();
    for (line, _) in
        SESSION.iter().filter(|(line, _)| !WITHOUT_JSON.iter().any(|name| line.starts_with(name)))
    {
        let mut arguments = words(line);
        arguments.push("--json".to_owned());
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let ran = tot(&sandbox, &arguments);
        let document = serde_json::from_str(&masked(&ran.out, &sandbox));
        let mut document: Value = document.unwrap_or_else(|error| panic!("{line}: {error}: {ran:#?}"));
        shorten(&mut document);
        let status = if ran.status == 0 { String::new() } else { format!("(status {})\n", ran.status) };
        transcript.push_str(&format!("$ tot {line} --json\n{document:#}\n{status}"));
    }
    assert_snapshot!("each_json", transcript);
}

#[test]
fn no_command_is_forgotten() {
    let sandbox = Sandbox::new();
    let help = tot(&sandbox, &["--help"]).out;
    let listed = help.lines().skip_while(|line| *line != "Look").take_while(|line| *line != "Options");
    let rows = listed.filter_map(|line| line.strip_prefix("  "));
    let names: Vec<&str> = rows.flat_map(|row| row.split("  ").next().unwrap().split(", ")).collect();
    assert!(names.len() > 35, "{names:?}");
    for name in names {
        let is_run = SESSION.iter().any(|(line, _)| line.split(' ').any(|word| word == name));
        assert!(is_run || ELSEWHERE.contains(&name), "tot {name} is in no snapshot");
        let help = tot(&sandbox, &[name, "--help"]);
        assert_eq!((help.status, help.err.as_str()), (0, ""), "{name}");
        assert!(help.out.contains("Usage: tot ") && help.out.contains("Examples:"), "{name}: {}", help.out);
        assert!(!help.out.contains('\u{1b}'), "{name}: colours in a pipe");
    }
}

/// Commands that read an investigation, with `ID` for its id.
const READERS: &[&str] = &[
    "amend ID amended.md",
    "approve ID --unsigned",
    "attach ID R4.A1a1 timings.csv",
    "check ID",
    "claim ID R9.Z --as ada",
    "comment ID -m Yes.",
    "commit ID R1.A.md",
    "diff ID HEAD~1..",
    "end ID -m Yes.",
    "export ID --format json",
    "log ID",
    "merge ID --resolve",
    "next ID",
    "note ID Yes.",
    "object ID R4.A1a1 -m No.",
    "open ID",
    "propose ID --next",
    "reclassify ID R2.A1 DEAD -m No.",
    "release ID R9.Z",
    "remote add origin HUB ID",
    "resolve ID R4.A1a1 -m Yes.",
    "review ID",
    "show ID",
    "sync ID",
    "use ID",
    "verify ID",
];

#[test]
fn each_reader_refuses_what_is_not_there_or_broken() {
    let sandbox = Sandbox::new();
    let words = prepared(&sandbox);
    let folder = |name: &str| {
        let path = sandbox.root().join(name);
        std::fs::create_dir_all(path.join(".git")).unwrap();
        name.to_owned()
    };
    // A folder that only looks like an investigation, and one whose only branch is gone.
    let hollow = folder("01a19b7c-0000-7000-8000-000000000001");
    let headless = "01a19b7c-0000-7000-8000-000000000002";
    sandbox.git(&sandbox.path("home"), &["init", "-q", sandbox.root().join(headless).to_str().unwrap()]);
    let before = std::fs::read_dir(sandbox.root()).unwrap().count();
    for line in READERS {
        let name = line.split(' ').next().unwrap();
        let refused = |root: Option<&str>, id: &str, reason: &str| {
            let mut arguments: Vec<String> =
                words(line).into_iter().map(|word| if word == "ID" { id.to_owned() } else { word }).collect();
            if let Some(root) = root {
                arguments.splice(0..0, ["--root".to_owned(), root.to_owned()]);
            }
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let ran = tot(&sandbox, &arguments);
            assert_eq!(
                (ran.status, ran.out.is_empty() || name == "check" || name == "sync"),
                (1, true),
                "{arguments:?}: {ran:#?}"
            );
            assert!(format!("{}{}", ran.err, ran.out).contains(reason), "{arguments:?}: {ran:#?}");
            assert!(!ran.err.contains("panicked"), "{arguments:?}: {ran:#?}");
        };
        refused(None, "zzzz", "`zzzz` not found in investigations");
        refused(None, "ffff", "`ffff` not found in investigations");
        refused(None, "01a19b7c", "several investigations match");
        refused(Some("nowhere"), "01a1", "folder nowhere not found");
        refused(None, &hollow, "");
        refused(None, headless, "");
    }
    assert_eq!(std::fs::read_dir(sandbox.root()).unwrap().count(), before, "nothing was made");
}

#[test]
fn each_reader_is_as_colourful_as_it_is_asked_to_be() {
    let sandbox = Sandbox::new();
    import_the_demo(&sandbox);
    for line in ["list", "show", "show R4.A1a1", "log", "diff HEAD~1..", "search lock"] {
        let arguments: Vec<&str> = line.split(' ').collect();
        let run = |more: &[&str], environment: &[(&str, &str)]| {
            let ran = tot_in(&sandbox, &sandbox.path(""), &[&arguments[..], more].concat(), environment);
            assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{line}");
            ran.out
        };
        let plain = run(&[], &[]);
        assert!(!plain.contains('\u{1b}'), "{line}: {plain}");
        let coloured = run(&["--color", "always"], &[]);
        assert_eq!(run(&[], &[("CLICOLOR_FORCE", "1")]), coloured, "{line}");
        assert_eq!(run(&["--color", "always"], &[("NO_COLOR", "1")]), coloured, "{line}");
        assert_eq!(run(&["--json", "--color", "always"], &[]), run(&["--json"], &[]), "{line}");
        assert!(coloured.contains('\u{1b}'), "{line}: {coloured}");
        assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), plain, "{line}");
        assert_eq!(run(&[], &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]), plain, "{line}");
        assert_eq!(run(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]), plain, "{line}");
    }
    let shown = |arguments: &[&str]| {
        let ran =
            tot_in(&sandbox, &sandbox.path(""), arguments, &[("COLUMNS", "80"), ("CLICOLOR_FORCE", "1")]);
        ran.out.replace('\u{1b}', "␛")
    };
    assert_snapshot!("coloured_list", shown(&["list"]));
    assert_snapshot!("coloured_show", shown(&["show", "--depth", "4"]));
    assert_snapshot!("coloured_node", shown(&["show", "R4.A2a1"]));
    assert_snapshot!("coloured_log", shown(&["log", "-n", "5"]));
    assert_snapshot!("coloured_diff", shown(&["diff", "HEAD~23..HEAD~19"]));
    assert_snapshot!("coloured_search", shown(&["search", "busy", "handler"]));
}

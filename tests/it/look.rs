//! The properties shared by all `tot` commands that read an investigation, their JSON, and their output for an attacker's texts.

use insta::assert_snapshot;
use serde_json::Value;

use crate::remote::hub;
use crate::sessions;
use crate::specimens::{hostile, payloads::payloads};
use crate::support::{Said, Sandbox, TOT, assert_ids_are_named, some};

/// Runs `tot` in the sandbox folder, 80 columns wide.
fn tot(sandbox: &Sandbox, arguments: &[&str]) -> Said {
    let mut command = sandbox.command(TOT);
    command.args(arguments).env("COLUMNS", "80").stdin(std::process::Stdio::null()).output().unwrap().into()
}

/// Keeps the field names and the types of their values: the first two entries of each list, and the beginning of each
/// string.
fn shorten(value: &mut Value) {
    match value {
        Value::String(text) => *text = text.chars().take(60).collect(),
        Value::Array(values) => {
            values.truncate(2);
            values.iter_mut().for_each(shorten);
        }
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

/// The commands that print no JSON.
const WITHOUT_JSON: [&str; 6] = ["export", "report", "setup", "demo", "merge-file", "util"];

#[test]
fn each_command_prints_one_document() {
    let session = sessions::read("all__each_command");
    let as_json = |line: &str| match line.strip_prefix("$ tot ") {
        Some(command) if WITHOUT_JSON.iter().any(|name| command.starts_with(name)) => String::new(),
        Some(command) => format!("$ tot {} --json\n", command.split(" | ").next().unwrap()),
        None => format!("{line}\n"),
    };
    let played = sessions::played(&session.lines().map(as_json).collect::<String>());
    let mut transcript = String::new();
    for command in played.split("\n$ ").filter(|command| command.starts_with("tot ")) {
        let (line, shown) = command.split_once('\n').unwrap();
        let is_document = |line: &&str| !line.starts_with("! ") && !line.starts_with('[');
        let shown: Vec<&str> = shown.split("\n```").next().unwrap().lines().collect();
        let document: String = shown.iter().copied().filter(is_document).collect();
        let mut document: Value = serde_json::from_str(&document).unwrap_or_else(|_| panic!("{command}"));
        assert_ids_are_named(&document);
        shorten(&mut document);
        transcript.push_str(&format!("$ {line}\n{document:#}\n"));
        transcript.extend(shown.last().filter(|line| line.starts_with('[')).map(|line| format!("{line}\n")));
    }
    assert_snapshot!("each_json", transcript);
}

/// Commands that read an investigation, with `ID` for its id.
const READERS: &str = "\
amend -i ID amended.md
approve -i ID --unsigned
attach -i ID R4.A1a1 timings.csv
check -i ID
next --claim -i ID R9.Z --as ada
comment -i ID -m Yes.
commit -i ID R1.A.md
diff -i ID HEAD~1..
end -i ID -m Yes.
export -i ID --format json
log -i ID
merge -i ID --resolve
next -i ID
commit -i ID -m Yes.
object -i ID R4.A1a1 -m No.
report --open -i ID
propose -i ID --next
amend -i ID R2.A1 --state DEAD -m No.
next --release -i ID R9.Z
remote add origin HUB -i ID
resolve -i ID R4.A1a1 -m Yes.
review -i ID
show -i ID
status -i ID
sync -i ID
check --signatures -i ID";

#[test]
fn each_reader_refuses_what_is_not_there_or_broken() {
    let sandbox = Sandbox::new();
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/investigations/demo.bundle");
    assert_eq!(tot(&sandbox, &["import", demo]).status, 0);
    for name in ["R1.A.md", "amended.md", "timings.csv"] {
        std::fs::write(sandbox.path(name), "nodeId: R1.A\n").unwrap();
    }
    let hub = hub(&sandbox);
    // A folder that only looks like an investigation, and one whose only branch is gone.
    let hollow = "01a19b7c-0000-7000-8000-000000000001";
    std::fs::create_dir_all(sandbox.root().join(hollow).join(".git")).unwrap();
    let headless = "01a19b7c-0000-7000-8000-000000000002";
    sandbox.git(&sandbox.path("home"), &["init", "-q", sandbox.root().join(headless).to_str().unwrap()]);
    let before = std::fs::read_dir(sandbox.root()).unwrap().count();
    for line in READERS.lines() {
        let prints_first = line.starts_with("check") || line.starts_with("sync");
        for (root, id, reason) in [
            ("investigations", "zzzz", "`zzzz` not found in investigations"),
            ("investigations", "ffff", "`ffff` not found in investigations"),
            ("investigations", "01a19b7c", "several investigations match"),
            ("nowhere", "01a1", "folder nowhere not found"),
            ("investigations", hollow, ""),
            ("investigations", headless, ""),
        ] {
            let line = line.replace("ID", id).replace("HUB", &hub.address);
            let ran = tot(&sandbox, &["--root", root].into_iter().chain(line.split(' ')).collect::<Vec<_>>());
            assert_eq!((ran.status, ran.out.is_empty() || prints_first), (1, true), "{line}: {ran:#?}");
            assert!(format!("{}{}", ran.err, ran.out).contains(reason), "{line}: {ran:#?}");
            assert!(!ran.err.contains("panicked"), "{line}: {ran:#?}");
        }
    }
    assert_eq!(std::fs::read_dir(sandbox.root()).unwrap().count(), before, "nothing was made");
}

#[test]
fn no_text_of_an_attacker_commands_a_terminal() {
    let sandbox = Sandbox::new();
    let all = hostile::write(&sandbox.root(), &some(payloads()));
    let check = |line: &str| {
        let ran = tot(&sandbox, &line.split(' ').collect::<Vec<_>>());
        let hidden = |c: char| (c.is_control() && c != '\n') || tree_of_thoughts::text::is_hidden(c);
        for text in ran.out.lines().chain(ran.err.lines()) {
            assert!(!text.contains(hidden), "{line}: {text:?}");
        }
        ran
    };
    assert_eq!(check("list").status, 0);
    check("search a");
    let document: Value = serde_json::from_str(&check("list --json").out).unwrap();
    let entries = document["investigations"].as_array().unwrap();
    assert_eq!(entries.len(), all.len());
    for (number, entry) in entries.iter().enumerate() {
        // The payloads that hide something, and some of the others. The lists above cover all of them.
        let hides =
            entry["title"].as_str().is_some_and(|title| title.contains(tree_of_thoughts::text::is_hidden));
        if !hides && !number.is_multiple_of(20) {
            continue;
        }
        let id = entry["sessionId"].as_str().unwrap();
        assert_eq!(check(&format!("show -i {id} --all")).status, 0, "{id}");
        assert_eq!(check(&format!("show -i {id} R1.A")).status, 0, "{id}");
        // A command that was run, with its output and a comment on it.
        let run = check(&format!("show -i {id} R2.A1"));
        assert!(run.status == 0 && run.out.contains("$ rm -rf '~' "), "{run:#?}");
        let asked = check(&format!("rerun -i {id} --all --dry-run"));
        let is_judged = !asked.err.contains("are unusable");
        assert!(!is_judged || (asked.status == 0 && asked.out.contains("rm -rf '~' ")), "{asked:#?}");
        for command in ["log", "review --print", "next", "check --signatures", "diff HEAD~1..HEAD"] {
            check(&format!("-i {id} {command}"));
        }
    }
}

//! The steps of common first tasks are listed in the docs of the module where each begins, with the files to change. An
//! example keeps each list accurate: the files of an existing feature.

use std::collections::BTreeSet;

use super::source::sources;
use super::{quoted, read};

/// The file with the list, the heading, and the most files that the list may name; the code that identifies the example's
/// files, and the files that only mention or use the example. The list must name every other file of the library and the
/// templates that contains it.
type Task = (&'static str, &'static str, usize, &'static str, &'static [&'static str]);

const TASKS: [Task; 6] = [
    // An error and the paragraph for `AGENTS.md` tell agents to call it.
    (
        "src/mcp/tools/mod.rs",
        "Adding a tool",
        3,
        "tot_list",
        &["src/service/mod.rs", "src/cli/client_config.rs"],
    ),
    ("src/cli/mod.rs", "Adding a command", 4, "AttachArguments", &[]),
    ("src/core/ruleset/rules/mod.rs", "Adding a rule kind", 4, "MissingEvidence", &[]),
    // The page is linked from here.
    ("src/report/mod.rs", "Adding a page", 4, "references.html", &["site-template/findings.html"]),
    // The file is linked from here.
    (
        "src/core/assess.rs",
        "Adding a surface of the verdict",
        4,
        "graph.mmd",
        &["site-template/base.html", "site-template/graph.html"],
    ),
    ("src/core/domain/node.rs", "Adding a stored field of a node", 4, "verification_method", &[]),
];

/// Returns the files in a task's list, which must exist.
fn named((file, heading, most, ..): Task) -> BTreeSet<String> {
    let text = read(file);
    let list = text.split(&format!("//! # {heading}\n")).nth(1);
    let list = list.unwrap_or_else(|| panic!("{file} does not say: {heading}"));
    let lines = list.lines().map_while(|line| line.strip_prefix("//!"));
    let section: String = lines.take_while(|line| !line.starts_with(" # ")).collect();
    let files: BTreeSet<String> =
        quoted(&section).into_iter().filter(|name| name.contains('/') || name == "README.md").collect();
    assert!((2..=most).contains(&files.len()), "{heading}: {files:?}");
    files.iter().for_each(|file| drop(read(file)));
    files
}

#[test]
fn the_lists_of_a_newcomer_are_short_and_complete() {
    for task in TASKS {
        let (list, heading, _, example, beside) = task;
        let named = named(task);
        let code = sources().iter().filter(|source| source.names(example)).map(|source| source.name.clone());
        let templates = super::files("site-template", &["html", "css", "js", "md"]);
        let templates = templates.iter().filter(|(_, text)| text.contains(example));
        let found: Vec<String> = code.chain(templates.map(|(path, _)| super::name(path))).collect();
        assert!(found.len() > 1, "nothing has {example}");
        for file in &found {
            let is_known = named.contains(file) || beside.contains(&file.as_str());
            assert!(is_known, "{list}, {heading}: {file} has {example}, too");
        }
        for file in beside {
            assert!(found.iter().any(|found| found == file), "{heading}: {file} has no {example}");
        }
    }
}

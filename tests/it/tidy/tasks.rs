//! The steps of common first tasks are listed in the docs of the module where each begins, with the files to change. An
//! example keeps each list accurate: the files of an existing feature.

use std::collections::BTreeSet;
use std::path::Path;

use super::quoted;
use super::source::sources;

struct Task {
    /// The file with the list.
    file: &'static str,
    heading: &'static str,
    /// The most files that the list may name.
    most: usize,
    /// The code that identifies the example's files. The list must name every file of the library and the templates
    /// that contains it.
    example: &'static str,
    /// Files that only mention or use the example.
    beside: &'static [&'static str],
}

const TASKS: [Task; 6] = [
    Task {
        file: "src/mcp/tools/mod.rs",
        heading: "Adding a tool",
        most: 3,
        example: "tot_list",
        // An error and the paragraph for `AGENTS.md` tell agents to call it.
        beside: &["src/service/mod.rs", "src/cli/client_config.rs"],
    },
    Task {
        file: "src/cli/mod.rs",
        heading: "Adding a command",
        most: 4,
        example: "ClaimArguments",
        beside: &[],
    },
    Task {
        file: "src/core/ruleset/rules/mod.rs",
        heading: "Adding a rule kind",
        most: 4,
        example: "MissingEvidence",
        beside: &[],
    },
    Task {
        file: "src/report/mod.rs",
        heading: "Adding a page",
        most: 4,
        example: "references.html",
        // The page is linked from here.
        beside: &["site-template/findings.html"],
    },
    Task {
        file: "src/core/assess.rs",
        heading: "Adding a surface of the verdict",
        most: 4,
        example: "graph.mmd",
        // The file is linked from here.
        beside: &["site-template/base.html", "site-template/graph.html"],
    },
    Task {
        file: "src/core/domain/node.rs",
        heading: "Adding a stored field of a node",
        most: 4,
        example: "verification_method",
        beside: &[],
    },
];

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Returns the files in a task's list, which must exist.
fn named(task: &Task) -> BTreeSet<String> {
    let text = read(task.file);
    let list = text.split(&format!("//! # {}\n", task.heading)).nth(1);
    let list = list.unwrap_or_else(|| panic!("{} does not say: {}", task.file, task.heading));
    let lines = list.lines().map_while(|line| line.strip_prefix("//!"));
    let section: String = lines.take_while(|line| !line.starts_with(" # ")).collect();
    let files: BTreeSet<String> =
        quoted(&section).into_iter().filter(|name| name.contains('/') || name == "README.md").collect();
    assert!((2..=task.most).contains(&files.len()), "{}: {files:?}", task.heading);
    files.iter().for_each(|file| drop(read(file)));
    files
}

#[test]
fn the_lists_of_a_newcomer_are_short_and_complete() {
    for task in &TASKS {
        let named = named(task);
        let code =
            sources().iter().filter(|source| source.names(task.example)).map(|source| source.name.clone());
        let templates = super::files("site-template", &["html", "css", "js", "md"]);
        let templates = templates.iter().filter(|(_, text)| text.contains(task.example));
        let found: Vec<String> = code.chain(templates.map(|(path, _)| super::name(path))).collect();
        assert!(found.len() > 1, "nothing has {}", task.example);
        for file in &found {
            let is_known = named.contains(file) || task.beside.contains(&file.as_str());
            assert!(is_known, "{}, {}: {file} has {}, too", task.file, task.heading, task.example);
        }
        for file in task.beside {
            assert!(
                found.iter().any(|found| found == file),
                "{}: {file} has no {}",
                task.heading,
                task.example
            );
        }
    }
}

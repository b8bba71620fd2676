//! The project's own rules, as far as a machine can hold them.

mod source;
mod tasks;
mod words;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use source::{Source, sources};

/// The file of the project, or all files below the folder, with one of these endings, with their text.
fn files(path: &str, endings: &[&str]) -> Vec<(PathBuf, String)> {
    fn walk(path: &Path, endings: &[&str], found: &mut Vec<(PathBuf, String)>) {
        if path.is_dir() {
            for entry in std::fs::read_dir(path).unwrap() {
                walk(&entry.unwrap().path(), endings, found);
            }
        } else if path.extension().is_some_and(|ending| endings.iter().any(|known| ending == *known)) {
            found.push((path.to_owned(), std::fs::read_to_string(path).unwrap()));
        }
    }
    let mut found = Vec::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join(path), endings, &mut found);
    found.sort();
    found
}

/// The path from the project's root, with `/`.
fn name(path: &Path) -> String {
    let path = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap();
    path.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// What a heading of lib.rs says in its list: for the names before each colon, the text after it.
fn listed(heading: &str) -> Vec<(Vec<String>, String)> {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/lib.rs")).unwrap();
    let section = text.split(&format!("//! # {heading}\n")).nth(1).unwrap().split("//! # ").next().unwrap();
    let section = section.lines().map_while(|line| line.strip_prefix("//!")).collect::<Vec<_>>().join("\n");
    let rows = section.split("\n - ").skip(1).map(|row| row.split("\n\n").next().unwrap());
    let rows: Vec<_> =
        rows.filter_map(|row| row.split_once(": ")).map(|(of, row)| (quoted(of), row.to_owned())).collect();
    assert!(!rows.is_empty(), "lib.rs has a list below {heading}");
    rows
}

/// What stands between backticks.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn ends_with(path: &[String], end: &[&str]) -> bool {
    path.len() >= end.len() && path[path.len() - end.len()..].iter().zip(end).all(|(part, end)| part == end)
}

#[test]
fn modules_know_only_those_that_lib_rs_says() {
    let rows = listed("Module dependencies");
    let row = |part: &str| rows.iter().find(|(of, _)| of.iter().any(|name| name == part));
    let parts: BTreeSet<&str> = sources().iter().map(Source::part).filter(|part| *part != "lib").collect();
    for source in sources() {
        let part = source.part();
        if part == "lib" {
            continue;
        }
        let (_, allowed) = row(part).unwrap_or_else(|| panic!("lib.rs does not say whom {part} may know"));
        let allowed = if allowed.starts_with("all") { None } else { Some(quoted(allowed)) };
        for path in &source.paths {
            if !["crate", "tree_of_thoughts"].contains(&path[0].as_str()) {
                continue;
            }
            let other = path.get(1).map_or("", String::as_str);
            assert!(parts.contains(other), "{} names all of the crate by {}", source.name, path.join("::"));
            let may =
                other == part || allowed.as_ref().is_none_or(|allowed| allowed.iter().any(|it| it == other));
            assert!(may, "{} names {}, which {part} may not know", source.name, path.join("::"));
        }
    }
    for (of, _) in &rows {
        of.iter().for_each(|name| assert!(parts.contains(name.as_str()), "lib.rs speaks of {name}"));
    }
}

/// The libraries that Cargo.toml names for the crate itself.
fn dependencies() -> Vec<String> {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap();
    let (mut is_one, mut found) = (false, Vec::new());
    for line in text.lines() {
        if line.starts_with('[') {
            is_one = line.ends_with("dependencies]") && line != "[dev-dependencies]";
        } else if let (true, Some((name, _))) = (is_one && !line.starts_with('#'), line.split_once(" = ")) {
            found.push(name.trim_end_matches(".workspace").to_owned());
        }
    }
    assert!(found.len() > 20);
    found
}

/// What paths into a library begin with.
fn root_of(library: &str) -> String {
    // The one library whose package has another name.
    if library == "layout-rs" { "layout".to_owned() } else { library.replace('-', "_") }
}

#[test]
fn each_library_stands_behind_the_wall_that_lib_rs_says() {
    let rows = listed("Walls");
    for library in dependencies() {
        let row = rows.iter().find(|(of, _)| of.contains(&library));
        let (_, walls) = row.unwrap_or_else(|| panic!("lib.rs names no wall for {library}"));
        if walls.starts_with("everywhere") {
            continue;
        }
        let walls = quoted(walls);
        let root = root_of(&library);
        for source in sources() {
            // A module of ours of the same name, imported or declared.
            let is_ours = |path: &Vec<String>| path[0] == "crate" && path.contains(&root);
            if source.paths.iter().any(is_ours) || sources().iter().any(|child| child.is_child(&root, source))
            {
                continue;
            }
            let used = source.paths.iter().find(|path| path[0] == root && path.len() > 1);
            let may = walls.iter().any(|wall| source.is_in(wall));
            assert!(used.is_none() || may, "{} names {used:?}, which stands behind {walls:?}", source.name);
        }
    }
}

#[test]
fn every_wall_that_lib_rs_names_is_there() {
    let libraries = dependencies();
    for (of, walls) in listed("Walls") {
        for library in of {
            assert!(libraries.contains(&library), "{library} is no longer in Cargo.toml");
            for wall in quoted(&walls) {
                let root = root_of(&library);
                let mut inside = sources().iter().filter(|source| source.is_in(&wall));
                let is_named = inside.any(|source| source.paths.iter().any(|path| path[0] == root));
                assert!(is_named, "nothing in {wall} names {library}");
            }
        }
    }
}

#[test]
fn pure_modules_touch_no_file_clock_or_process() {
    let rows = listed("Invariants");
    let (pure, _) = rows.iter().find(|(_, row)| row.starts_with("pure")).unwrap();
    assert!(pure.len() > 5);
    for source in sources().iter().filter(|source| pure.iter().any(|module| source.is_in(module))) {
        for path in &source.paths {
            let impure = ["fs", "env", "process", "net", "thread"]
                .iter()
                .any(|part| path.starts_with(&["std".into(), (*part).into()]))
                || path.contains(&"SystemTime".to_owned())
                || path.contains(&"Instant".to_owned());
            assert!(!impure, "{} uses {}", source.name, path.join("::"));
        }
    }
}

#[test]
fn the_time_is_read_in_one_place() {
    let rows = listed("Invariants");
    let (_, measuring) = rows.iter().find(|(of, _)| of == &["Instant"]).unwrap();
    let measuring = quoted(measuring);
    for source in sources() {
        for path in &source.paths {
            let is_time = [
                ["SystemTime", "now"],
                ["Timestamp", "now"],
                ["Zoned", "now"],
                ["Uuid", "now_v7"],
                ["Uuid", "new_v4"],
                ["hash_map", "RandomState"],
            ];
            let is_time = is_time.iter().any(|end| ends_with(path, end));
            assert!(!is_time || source.is_in("world"), "{} uses {}", source.name, path.join("::"));
            let may = measuring.iter().any(|module| source.is_in(module));
            assert!(!ends_with(path, &["Instant", "now"]) || may, "{} measures time", source.name);
        }
    }
}

#[test]
fn programs_are_started_only_where_lib_rs_says() {
    let rows = listed("Invariants");
    let (_, starting) = rows.iter().find(|(of, _)| of == &["Command"]).unwrap();
    let starting = quoted(starting);
    for source in sources() {
        let command = ["std", "process", "Command"].map(str::to_owned);
        let may = starting.iter().any(|module| source.is_in(module));
        assert!(
            !source.paths.iter().any(|path| path.starts_with(&command)) || may,
            "{} starts programs",
            source.name
        );
    }
}

#[test]
fn systems_differ_only_where_lib_rs_says() {
    let rows = listed("Invariants");
    let (_, asking) = rows.iter().find(|(of, _)| of == &["cfg"]).unwrap();
    let asking = quoted(asking);
    let has_asked = |source: &Source| source.asks_for_the_system();
    for source in sources() {
        let may = asking.iter().any(|module| source.is_in(module));
        assert!(may || !has_asked(source), "{} asks which system it is built for", source.name);
        let os = ["std", "os"].map(str::to_owned);
        assert!(may || !source.paths.iter().any(|path| path.starts_with(&os)), "{} names one", source.name);
    }
    // So the question is seen where it is.
    assert!(sources().iter().any(has_asked));
}

#[test]
fn only_the_command_lines_print_to_stdout() {
    for source in sources() {
        let name = &source.name;
        assert!(!source.calls("println") && !source.calls("print"), "{name} prints to stdout");
        let stdout = source.paths.iter().any(|path| ends_with(path, &["io", "stdout"]));
        assert!(!stdout || source.is_in("cli"), "{name} takes hold of stdout");
    }
}

#[test]
fn no_ruleset_is_named_in_code() {
    for source in sources() {
        if source.is_in("ruleset::builtin") {
            continue;
        }
        // Comments count too: those of the tools are what agents read.
        for ruleset in ["single-root", "multi-gate", "found-verify", "\"drill\"", "\"exhaust\""] {
            assert!(!source.says(ruleset, true), "{} names the ruleset {ruleset}", source.name);
        }
    }
}

#[test]
fn no_state_of_a_ruleset_is_named_in_code() {
    let states = ["EXPLORE", "FOUND", "VERIFY", "EXHAUST", "DEAD", "DRILL", "VALID"];
    for source in sources() {
        if !["domain", "ruleset", "decide", "format", "store", "check", "report"].contains(&source.part()) {
            continue;
        }
        for state in states {
            let state = format!("\"{state}\"");
            assert!(!source.says(&state, false), "{} names the state {state}", source.name);
        }
    }
}

/// Where one grades for itself, two places differ sooner or later.
#[test]
fn nothing_but_assess_grades_an_answer() {
    let graded = [
        "rules.grade(",
        "rules().grade(",
        "rules.confirming(",
        "rules().confirming(",
        "rules.refuted_by(",
        "rules().refuted_by(",
        "rules.answers(",
        "rules().answers(",
        ".label()==",
        ".label()!=",
        "Grade::None",
        "Grade::SelfChecked",
        "Grade::SecondAgent",
        "Grade::Independent",
        ".role(state)==",
        ".role(state)!=",
        "==Role::Solution",
    ];
    let spells =
        |of: &str, code: &str| sources().iter().any(|source| source.part() == of && source.spells(code));
    // So the question is seen where it is.
    assert!(spells("ruleset", "Grade::SelfChecked") && spells("assess", "rules.confirming("));
    for source in sources() {
        // `decide` judges calls by the rules, and `assess` says what comes of them.
        if ["assess", "decide", "ruleset"].contains(&source.part()) {
            continue;
        }
        for code in graded {
            assert!(!source.spells(code), "{} grades for itself: {code}", source.name);
        }
    }
}

#[test]
fn every_test_file_is_a_module() {
    let binaries = ["tests/it", "tests/faults", "tests/load"];
    for (path, _) in binaries.into_iter().chain(["tests/support"]).flat_map(|folder| files(folder, &["rs"])) {
        let file = path.file_stem().unwrap().to_string_lossy().into_owned();
        if ["main", "mod"].contains(&file.as_str()) {
            continue;
        }
        // Who declares it: `main.rs` or `mod.rs` beside it, or the file with its folder's name.
        let folder = path.parent().unwrap();
        let owners = [folder.join("main.rs"), folder.join("mod.rs"), folder.with_extension("rs")];
        let texts = owners.iter().filter_map(|owner| std::fs::read_to_string(owner).ok());
        let declared = format!("mod {file};");
        let is_known = texts
            .into_iter()
            .any(|text| text.lines().any(|line| line.trim_start_matches("pub ") == declared));
        assert!(is_known, "{} is in no module", name(&path));
    }
    for folder in binaries {
        let main =
            std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join("main.rs"));
        assert!(main.unwrap().contains("mod support;"), "{folder} has the common support");
    }
}

#[test]
fn nothing_promises_work_that_is_not_done() {
    for folder in ["src", "tests", "site-template"] {
        for (path, text) in files(folder, &["rs", "html", "css", "js", "yaml", "md"]) {
            if path.ends_with("tests/it/tidy.rs") {
                continue;
            }
            for word in ["TODO", "FIXME", "XXX", "todo!(", "unimplemented!("] {
                assert!(!text.contains(word), "{} says {word}", name(&path));
            }
        }
    }
}

//! The project's own rules, as far as a program can check them.

mod source;
mod tasks;
mod words;

use std::path::{Path, PathBuf};

use source::{Source, sources};

/// Returns a file of the project, or all files below a folder with one of these extensions, with their content.
pub fn files(path: &str, endings: &[&str]) -> Vec<(PathBuf, String)> {
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

/// Returns the text of a file of the project.
pub fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Returns the path from the project's root, with `/`.
fn name(path: &Path) -> String {
    let path = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap();
    path.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// Returns the list below a heading of lib.rs: for the names before each colon, the text after it.
fn listed(heading: &str) -> Vec<(Vec<String>, String)> {
    let text = read("src/lib.rs");
    let section = text.split(&format!("//! # {heading}\n")).nth(1).unwrap().split("//! # ").next().unwrap();
    let section = section.lines().map_while(|line| line.strip_prefix("//!")).collect::<Vec<_>>().join("\n");
    let rows = section.split("\n - ").skip(1).map(|row| row.split("\n\n").next().unwrap());
    let rows: Vec<_> =
        rows.filter_map(|row| row.split_once(": ")).map(|(of, row)| (quoted(of), row.to_owned())).collect();
    assert!(!rows.is_empty(), "lib.rs has a list below {heading}");
    rows
}

/// Returns the words between backticks.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Returns the modules that lib.rs lists for one of its invariants.
fn listed_for(name: &str) -> Vec<String> {
    let rows = listed("Invariants");
    quoted(&rows.iter().find(|(of, _)| of == &[name]).unwrap().1)
}

fn begins_with(path: &[String], begin: &[&str]) -> bool {
    path.get(..begin.len()).is_some_and(|first| first == begin)
}

fn ends_with(path: &[String], end: &[&str]) -> bool {
    path.len().checked_sub(end.len()).is_some_and(|at| &path[at..] == end)
}

#[test]
fn modules_use_only_the_layers_above_them() {
    let rows = listed("Layers");
    let layers: Vec<&String> = rows.iter().map(|(layer, _)| &layer[0]).collect();
    let place = |module: &str| layers.iter().position(|layer| *layer == module);
    for source in sources().iter().filter(|source| source.part() != "lib") {
        let part = source.part();
        let own = place(part).unwrap_or_else(|| panic!("lib.rs has no layer {part}"));
        let (_, text) = &rows[own];
        let never = text.split_once("never").map_or_else(Vec::new, |(_, never)| quoted(never));
        for path in &source.paths {
            if !["crate", "tree_of_thoughts"].contains(&path[0].as_str()) {
                continue;
            }
            let other = path.get(1).map_or("", String::as_str);
            let other = place(other).unwrap_or_else(|| panic!("{} names {}", source.name, path.join("::")));
            let may = other <= own && !never.contains(layers[other]);
            assert!(may, "{} names {}, which {part} may not use", source.name, path.join("::"));
        }
    }
    for layer in layers {
        assert!(
            sources().iter().any(|source| source.part() == layer),
            "lib.rs has a layer {layer} without code"
        );
    }
}

/// A dependency of one of the two packages, with the modules that may use it.
struct Library {
    name: String,
    modules: Vec<String>,
    is_core: bool,
}

/// Returns the dependencies in both manifests. A comment after each lists its modules.
fn libraries() -> Vec<Library> {
    let mut found: Vec<Library> = Vec::new();
    for (manifest, is_core) in [("Cargo.toml", false), ("src/core/Cargo.toml", true)] {
        let text = read(manifest);
        let mut is_one = false;
        for line in text.lines() {
            if line.starts_with('[') {
                is_one = line.ends_with("dependencies]")
                    && !["[dev-dependencies]", "[workspace.dependencies]"].contains(&line);
            } else if let (true, Some((name, rest))) =
                (is_one && !line.starts_with('#'), line.split_once(" = "))
            {
                let (_, modules) = rest
                    .rsplit_once(" # ")
                    .unwrap_or_else(|| panic!("{manifest} names no module for {name}"));
                let modules = modules.split(", ").map(str::to_owned).collect();
                found.push(Library {
                    name: name.trim_end_matches(".workspace").to_owned(),
                    modules,
                    is_core,
                });
            }
        }
    }
    assert!(found.len() > 40);
    found
}

/// Returns the first segment of paths into a library.
fn root_of(library: &str) -> String {
    // The only library whose package has a different name.
    if library == "layout-rs" { "layout".to_owned() } else { library.replace('-', "_") }
}

#[test]
fn libraries_are_named_only_where_cargo_toml_says() {
    for library in libraries() {
        let root = root_of(&library.name);
        let is_everywhere = library.modules == ["everywhere"];
        let is_nowhere = library.modules == ["nowhere"];
        let mut used = vec![false; library.modules.len()];
        for source in
            sources().iter().filter(|source| source.name.starts_with("src/core/") == library.is_core)
        {
            // Not one of our modules with the same name, imported or declared.
            let is_ours = |path: &Vec<String>| path[0] == "crate" && path.contains(&root);
            if source.paths.iter().any(is_ours) || sources().iter().any(|child| child.is_child(&root, source))
            {
                continue;
            }
            let names = |path: &Vec<String>| path[0] == root && path.len() > 1;
            let Some(path) = source.paths.iter().find(|path| names(path)) else { continue };
            let module = library.modules.iter().position(|module| source.is_in(module));
            module.into_iter().for_each(|module| used[module] = true);
            let may = is_everywhere || module.is_some();
            assert!(may, "{} names {}, which is for {:?}", source.name, path.join("::"), library.modules);
        }
        for (module, used) in library.modules.iter().zip(used) {
            assert!(used || is_everywhere || is_nowhere, "nothing in {module} names {}", library.name);
        }
    }
}

#[test]
fn pure_modules_touch_no_file_clock_or_process() {
    let rows = listed("Invariants");
    let (impure, _) = rows.iter().find(|(_, row)| row.starts_with("may use files")).unwrap();
    let (pure, _) = rows.iter().find(|(_, row)| row.starts_with("pure too")).unwrap();
    let is_pure = |source: &&Source| {
        !impure.iter().any(|module| source.is_in(module)) || pure.iter().any(|module| source.is_in(module))
    };
    assert!(sources().iter().filter(is_pure).count() > 100);
    for source in sources().iter().filter(is_pure) {
        for path in &source.paths {
            let impure = ["fs", "env", "process", "net", "thread"]
                .iter()
                .any(|part| begins_with(path, &["std", part]))
                || path.contains(&"SystemTime".to_owned())
                || path.contains(&"Instant".to_owned());
            assert!(!impure, "{} uses {}", source.name, path.join("::"));
        }
    }
}

#[test]
fn the_time_is_read_in_one_place() {
    let measuring = listed_for("Instant");
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
            assert!(!is_time || source.is_in("base::world"), "{} uses {}", source.name, path.join("::"));
            let may = measuring.iter().any(|module| source.is_in(module));
            assert!(!ends_with(path, &["Instant", "now"]) || may, "{} measures time", source.name);
        }
    }
}

#[test]
fn programs_and_the_server_are_named_only_where_lib_rs_says() {
    for (name, path, part) in
        [("Command", &["std", "process", "Command"][..], None), ("mcp", &["crate", "mcp"], Some("cli"))]
    {
        let may = listed_for(name);
        for source in sources().iter().filter(|source| part.is_none_or(|part| source.is_in(part))) {
            let is_named = source.paths.iter().any(|named| begins_with(named, path));
            assert!(
                !is_named || may.iter().any(|module| source.is_in(module)),
                "{} names {name}",
                source.name
            );
        }
    }
}

#[test]
fn systems_differ_only_where_lib_rs_says() {
    let asking = listed_for("cfg");
    let has_asked = |source: &Source| source.asks_for_the_system();
    for source in sources() {
        let may = asking.iter().any(|module| source.is_in(module));
        assert!(may || !has_asked(source), "{} asks which system it is built for", source.name);
        let names_one = source.paths.iter().any(|path| begins_with(path, &["std", "os"]));
        assert!(may || !names_one, "{} names one", source.name);
    }
    // So that the question is visible there.
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
fn no_ruleset_and_no_state_of_one_is_named_in_code() {
    const JUDGING: [&str; 7] = ["domain", "ruleset", "decide", "format", "store", "service", "report"];
    for source in sources() {
        // Comments count too, since agents read those of the tools.
        for ruleset in ["single-root", "multi-gate", "found-verify", "\"drill\"", "\"exhaust\""] {
            let is_named = !source.is_in("ruleset::builtin") && source.says(ruleset, true);
            assert!(!is_named, "{} names the ruleset {ruleset}", source.name);
        }
        for state in ["EXPLORE", "FOUND", "VERIFY", "EXHAUST", "DEAD", "DRILL", "VALID"] {
            let is_named = JUDGING.contains(&source.part()) && source.says(&format!("\"{state}\""), false);
            assert!(!is_named, "{} names the state {state}", source.name);
        }
    }
}

/// If another module graded answers itself, two places would soon differ.
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
    // So that the question is visible there.
    assert!(spells("ruleset", "Grade::SelfChecked") && spells("assess", "rules.premises("));
    for source in sources() {
        // `decide` judges calls by the rules, and `assess` determines the consequences.
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
        // Returns the file that declares the module: `main.rs` or `mod.rs` next to it, or the file named after its
        // folder.
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
        let main = read(&format!("{folder}/main.rs"));
        assert!(main.contains("mod support;"), "{folder} has the common support");
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

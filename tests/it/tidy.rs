//! The project's own rules, as far as a machine can hold them.

use std::path::{Path, PathBuf};

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

/// Code without its comments and without the unit tests at its end.
fn code(text: &str) -> String {
    let text = text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap()
        .replace("eprintln!", "")
        .replace("eprint!", "");
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

#[test]
fn each_library_stands_behind_one_wall() {
    let walls = [
        ("gix::", "src/store/git"),
        ("sha1::", "src/store/git"),
        ("rmcp::", "src/mcp/"),
        ("hyper::", "src/mcp/http/"),
        ("hyper_util::", "src/mcp/http/"),
        ("serde_yaml::", "src/yaml.rs"),
        ("pulldown_cmark::", "src/markdown/"),
        ("ammonia::", "src/markdown/"),
        ("linkify::", "src/markdown/"),
        ("layout::backends", "src/graph/draw.rs"),
        ("layout::core", "src/graph/draw.rs"),
        ("minijinja::", "src/report/templates.rs"),
        ("axum::", "src/report/serve.rs"),
        ("similar::", "src/report/difference.rs"),
        ("clap::", "src/cli"),
        ("jsonc_parser::", "src/setup.rs"),
        ("toml_edit::", "src/setup.rs"),
        ("uuid::", "src/domain/id.rs, src/world.rs"),
        ("jiff::", "src/domain/time.rs"),
        ("SystemTime::now", "src/world.rs, src/store/git"),
        ("Timestamp::now", ""),
        ("now_v7", ""),
    ];
    for (path, text) in files("src", &["rs"]) {
        let (name, code) = (name(&path), code(&text));
        for (library, allowed) in walls {
            let used = code.contains(library);
            let may = allowed.split(", ").any(|wall| !wall.is_empty() && name.starts_with(wall));
            assert!(!used || may, "{name} names {library}, which stands behind {allowed}");
        }
    }
}

#[test]
fn modules_know_only_those_below_them() {
    let below: [(&str, &[&str]); 12] = [
        ("domain", &["domain"]),
        ("yaml.rs", &[]),
        ("markdown", &[]),
        ("world.rs", &["domain"]),
        ("ruleset", &["domain", "yaml"]),
        ("secrets.rs", &[]),
        ("setup.rs", &[]),
        ("decide", &["domain", "ruleset", "markdown", "secrets"]),
        ("format", &["domain", "ruleset", "yaml"]),
        ("graph", &["domain", "ruleset"]),
        ("store", &["domain", "ruleset", "format", "yaml"]),
        ("check", &["domain", "ruleset", "decide", "format", "secrets", "store"]),
    ];
    for (path, text) in files("src", &["rs"]) {
        let (name, code) = (name(&path), code(&text));
        let module = name.strip_prefix("src/").unwrap().split('/').next().unwrap();
        let Some((_, allowed)) = below.iter().find(|(known, _)| *known == module) else { continue };
        for (at, _) in code.match_indices("crate::") {
            let other: String =
                code[at + 7..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let own = module.trim_end_matches(".rs");
            assert!(other == own || allowed.contains(&other.as_str()), "{name} uses crate::{other}");
        }
    }
}

#[test]
fn pure_modules_touch_no_file_clock_or_process() {
    for folder in [
        "src/domain",
        "src/ruleset",
        "src/decide",
        "src/format",
        "src/graph",
        "src/markdown",
        "src/check",
        "src/setup.rs",
    ] {
        for (path, text) in files(folder, &["rs"]) {
            if path.ends_with("tests.rs") {
                continue;
            }
            let code = code(&text);
            for impure in
                ["std::fs", "std::env", "std::process", "std::net", "std::time::SystemTime", "Instant::now"]
            {
                assert!(!code.contains(impure), "{} uses {impure}", name(&path));
            }
        }
    }
}

#[test]
fn only_the_command_lines_print_to_stdout() {
    for (path, text) in files("src", &["rs"]) {
        let name = name(&path);
        if name.ends_with("/tests.rs") {
            continue;
        }
        let code = code(&text);
        assert!(!code.contains("println!") && !code.contains("print!("), "{name} prints to stdout");
        let stdout = code.contains("io::stdout()") && !name.starts_with("src/cli");
        assert!(!stdout, "{name} takes hold of stdout");
    }
}

#[test]
fn no_ruleset_is_named_in_code() {
    let names = ["single-root", "multi-gate", "found-verify", "\"drill\"", "\"exhaust\""];
    for (path, text) in files("src", &["rs"]) {
        let file = name(&path);
        if file == "src/ruleset/builtin.rs" || file.contains("/tests") || file.ends_with("samples.rs") {
            continue;
        }
        // Comments count too: those of the tools are what agents read.
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for ruleset in names {
            assert!(!text.contains(ruleset), "{file} names the ruleset {ruleset}");
        }
    }
}

#[test]
fn no_state_of_a_ruleset_is_named_in_code() {
    for folder in ["src/domain", "src/decide", "src/format", "src/store", "src/check", "src/report"] {
        for (path, text) in files(folder, &["rs"]) {
            let file = name(&path);
            if file.contains("tests") {
                continue;
            }
            for state in [
                "\"EXPLORE\"",
                "\"FOUND\"",
                "\"VERIFY\"",
                "\"EXHAUST\"",
                "\"DEAD\"",
                "\"DRILL\"",
                "\"VALID\"",
            ] {
                assert!(!code(&text).contains(state), "{file} names the state {state}");
            }
        }
    }
}

#[test]
fn every_test_file_is_a_module() {
    for (path, _) in
        [files("tests/it", &["rs"]), files("tests/faults", &["rs"]), files("tests/load", &["rs"])].concat()
    {
        let file = path.file_stem().unwrap().to_string_lossy().into_owned();
        let parent = path.parent().unwrap();
        let owner = match file.as_str() {
            "main" | "mod" => continue,
            _ if ["it", "faults", "load"].iter().any(|folder| parent.ends_with(folder)) => {
                parent.join("main.rs")
            }
            _ => parent.join("mod.rs"),
        };
        let owner = std::fs::read_to_string(&owner).unwrap_or_default();
        assert!(owner.contains(&format!("mod {file};")), "{} is in no module", name(&path));
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

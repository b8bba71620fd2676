//! What `.packaging/` says about this project must be true of it. That clients accept it is checked with the clients
//! themselves, by `tests/clients/packaging.py`.

use std::collections::BTreeSet;

use serde_json::Value;
use tree_of_thoughts::cli::client_config::{SKILL, add_paragraph};

use crate::support::all_tools;
use crate::tidy::read as text;

fn json(path: &str) -> Value {
    serde_json::from_str(&text(path)).unwrap()
}

#[test]
fn every_package_has_the_version_of_the_crate() {
    let version = env!("CARGO_PKG_VERSION");
    for plugin in json(".claude-plugin/marketplace.json")["plugins"].as_array().unwrap() {
        assert_eq!(plugin["version"], version);
    }
    assert_eq!(json(".packaging/mcpb/manifest.json")["version"], version);
}

/// The registry's own conditions: a name below an account, at most 100 characters of description, and the name in each
/// package, for crates.io in a visible line of its README.
#[test]
fn the_registry_would_take_the_entry() {
    let server = json(".packaging/server.json");
    let name = server["name"].as_str().unwrap();
    let (account, rest) = name.split_once('/').unwrap();
    assert!(account.starts_with("io.github.") && !rest.is_empty() && !rest.contains('/'), "{name}");
    assert!(server["description"].as_str().unwrap().chars().count() <= 100);
    for (file, before, after) in [("README.md", "`", "`"), (".packaging/pypi/README.md", "<!-- ", " -->")] {
        assert!(text(file).contains(&format!("{before}mcp-name: {name}{after}")), "{file}");
    }
    assert_eq!(json(".packaging/npm/package.json")["mcpName"], name);
    let types = server["packages"].as_array().unwrap().iter().map(|package| &package["registryType"]);
    assert_eq!(types.collect::<Vec<_>>(), ["cargo", "pypi", "npm", "mcpb", "mcpb", "mcpb", "mcpb", "mcpb"]);
}

/// A skill that names a tool which is not there leads an agent astray, and so does the paragraph of AGENTS.md.
#[test]
fn the_skill_names_only_tools_that_there_are() {
    let taught = SKILL.to_owned() + &add_paragraph("", "tot", "investigations").text;
    let words = taught.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let named: BTreeSet<&str> = words.filter(|word| word.starts_with("tot_") && word.len() > 4).collect();
    let known: BTreeSet<&str> = all_tools().iter().map(|tool| tool.about().name).collect();
    assert!(named.len() >= 5 && named.is_subset(&known), "{named:?} {known:?}");
}

/// What is packed, what is built and what `cargo binstall` looks for have one list of targets and one form of name.
#[test]
fn a_release_has_every_target_that_its_files_name() {
    let names = text(".packaging/release.py");
    let targets: BTreeSet<&str> =
        names.lines().filter_map(|line| Some(line.strip_prefix("    \"")?.split_once("\": \"")?.0)).collect();
    assert_eq!(targets.len(), 5);
    let workflow = text(".github/workflows/release.yml");
    let built =
        workflow.lines().filter_map(|line| line.trim().strip_prefix("- { target: ")?.split(',').next());
    assert_eq!(built.collect::<BTreeSet<_>>(), targets);
    let templates = ["homebrew/tree-of-thoughts.rb", "scoop/tree-of-thoughts.json", "server.json"];
    let templates = templates.map(|name| text(&format!(".packaging/{name}"))).concat();
    for target in targets {
        for word in ["ARCHIVE", "SHA256", "BUNDLE", "BUNDLESHA256"] {
            assert!(
                templates.contains(&format!("@{word} {target}@")),
                "no template has the {word} of {target}"
            );
        }
    }
}

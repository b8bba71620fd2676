//! Each rule of each ruleset: a case in which it fires, with its message as a reader sees it, and one in which it is
//! silent. On the pure decisions.

mod cheat;
mod claims;
mod contested;
mod drill;
mod every;
mod exhaust;
mod found_verify;
mod honest;
mod kinds;
mod multi_gate;
mod objections;
mod random;
mod review;
mod single_root;
mod vectors;
mod verdict;

use tree_of_thoughts::domain::Code;

/// A snapshot in this module contains every code used by the decisions.
#[test]
fn no_code_is_forgotten() {
    let folder = |path: &str| -> String {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        files
            .filter(|path| path.extension().is_some_and(|ending| ending == "rs"))
            .map(|path| std::fs::read_to_string(path).unwrap())
            // Text after it may name a command's codes.
            .map(|text| text.split("#[cfg(test)]").next().unwrap().to_owned())
            .collect()
    };
    let source = folder("src/core/decide") + &folder("src/core/ruleset/rules");
    let names: Vec<&str> = source.split(|c: char| !c.is_alphanumeric()).collect();
    let used = |code: &&Code| names.contains(&format!("{code:?}").as_str());
    let mut known: Vec<String> = Code::ALL.iter().filter(used).map(ToString::to_string).collect();
    known.extend(["R2_BREADTH".to_owned(), "INCOMPLETE_EXPLORE".to_owned()]);
    assert!(known.len() > 30, "{known:?}");
    for file in tree_of_thoughts::ruleset::builtin::all() {
        let codes = file.ruleset.early_states.iter().filter_map(|rule| rule.code.clone());
        known.extend(codes);
    }
    let tests = folder("tests/it/rules");
    for code in known {
        // In a list of codes, each is quoted.
        let in_snapshot = [":", " "].iter().any(|next| tests.contains(&format!("{code}{next}")));
        assert!(in_snapshot, "{code} stands in no snapshot of tests/it/rules");
    }
}

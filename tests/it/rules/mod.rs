//! Each rule of each ruleset: a case in which it fires, with its message as a reader sees it, and one in which it is
//! silent. On the pure decisions.

mod cheat;
mod every;
mod kinds;
mod random;
pub mod table;
mod transcripts;

use tree_of_thoughts::domain::Code;

/// A transcript, snapshot or fixture in this folder contains every code of the decisions.
#[test]
fn no_code_is_forgotten() {
    let folder = |path: &str| -> String {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        files
            .filter(|path| path.is_file())
            .map(|path| std::fs::read_to_string(path).unwrap())
            // Text after it may name a command's codes, or codes that only `tot check` reports.
            .map(|text| text.split("#[cfg(test)]").next().unwrap().to_owned())
            .map(|text| text.split("\nfn stored_checks(").next().unwrap().to_owned())
            .collect()
    };
    let source = folder("src/core/decide") + &folder("src/core/ruleset/rules");
    let names: Vec<&str> = source.split(|c: char| !c.is_alphanumeric()).collect();
    let used = |code: &&Code| names.contains(&format!("{code:?}").as_str());
    let mut known: Vec<String> = Code::ALL.iter().filter(used).map(ToString::to_string).collect();
    known.push("R2_BREADTH".to_owned());
    assert!(known.len() > 30, "{known:?}");
    for file in tree_of_thoughts::ruleset::builtin::all() {
        known.extend(file.ruleset.early_states.iter().filter_map(|rule| rule.code.clone()));
    }
    let told = folder("tests/it/rules/transcripts")
        + &folder("tests/it/rules/snapshots")
        + include_str!("kinds.yaml");
    for code in known {
        let is_told = [":", " ", "\n"].iter().any(|next| told.contains(&format!(": {code}{next}")));
        assert!(is_told, "no transcript contains {code}");
    }
}

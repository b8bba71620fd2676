//! The built-in rulesets. No other module may refer to them by name.

use std::sync::LazyLock;

use super::RulesetFile;

/// The default ruleset.
pub const DEFAULT: &str = "single-root";

/// The name and text of each built-in ruleset, the default first.
pub const TEXTS: [(&str, &str); 6] = [
    ("single-root", include_str!("builtin/single-root.yaml")),
    ("drill", include_str!("builtin/drill.yaml")),
    ("multi-gate", include_str!("builtin/multi-gate.yaml")),
    ("found-verify", include_str!("builtin/found-verify.yaml")),
    ("exhaust", include_str!("builtin/exhaust.yaml")),
    ("review", include_str!("builtin/review.yaml")),
];

static FILES: LazyLock<Vec<RulesetFile>> =
    LazyLock::new(|| TEXTS.iter().filter_map(|(_, text)| RulesetFile::parse(text).ok()).collect());

/// Returns all built-in rulesets, the default first.
pub fn all() -> &'static [RulesetFile] {
    &FILES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_ruleset_is_valid_and_named_as_its_file() {
        for (name, text) in TEXTS {
            let file = RulesetFile::parse(text).unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
            assert_eq!(file.ruleset.name, name);
        }
        assert_eq!(all().len(), TEXTS.len());
        assert_eq!(all()[0].ruleset.name, DEFAULT);
    }

    #[test]
    fn every_ruleset_file_is_registered() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/ruleset/builtin");
        for entry in std::fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if let Some(name) = name.strip_suffix(".yaml") {
                assert!(TEXTS.iter().any(|(known, _)| *known == name), "{name}.yaml is not registered");
            }
        }
    }
}

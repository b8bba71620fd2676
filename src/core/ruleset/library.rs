//! The rulesets for new investigations: built-in rulesets, and those in the operator's folder.

use std::fmt;

use super::{RulesetError, RulesetFile, builtin};

/// The extension of a ruleset file, `NAME.yaml`.
pub const ENDING: &str = ".yaml";

/// Rulesets by name, the default first.
///
/// The built-in rulesets are parsed on first use, so a server can start without them.
#[derive(Clone, Debug, Default)]
pub struct Library {
    /// The operator's own rulesets.
    own: Vec<RulesetFile>,
}

/// A problem in a ruleset file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileProblem {
    /// The file path, as given.
    pub file: String,
    /// The problem.
    pub error: RulesetError,
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.error.line.map(|line| format!(":{line}")).unwrap_or_default();
        write!(f, "{}{line}: {}", self.file, self.error.without_line())
    }
}

impl Library {
    /// Returns the built-in rulesets and those in `files`, given as (path, text) pairs.
    ///
    /// # Errors
    ///
    /// Returns the problems in all files: errors from [`RulesetFile::parse`], file names that differ from the ruleset
    /// name, and ruleset names that are already in use.
    pub fn with<'a>(
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Library, Vec<FileProblem>> {
        let mut library = Library::default();
        let mut problems = Vec::new();
        for (path, text) in files {
            let mut problem = |error| problems.push(FileProblem { file: path.to_owned(), error });
            match RulesetFile::parse(text) {
                Ok(file) => match library.misnamed(path, &file) {
                    None => library.own.push(file),
                    Some(error) => problem(error),
                },
                Err(errors) => errors.into_iter().for_each(problem),
            }
        }
        if problems.is_empty() { Ok(library) } else { Err(problems) }
    }

    /// Returns all rulesets, the default first.
    pub fn all(&self) -> impl Iterator<Item = &RulesetFile> {
        builtin::all().iter().chain(&self.own)
    }

    /// Returns the ruleset with this name, if any.
    pub fn get(&self, name: &str) -> Option<&RulesetFile> {
        self.all().find(|file| file.ruleset.name == name)
    }

    /// Returns all ruleset names, the default first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let own = self.own.iter().map(|file| file.ruleset.name.as_str());
        builtin::TEXTS.iter().map(|(name, _)| *name).chain(own)
    }

    /// Returns all ruleset names as a list for messages.
    pub fn name_list(&self) -> String {
        super::effective::list(self.names())
    }

    fn misnamed(&self, path: &str, file: &RulesetFile) -> Option<RulesetError> {
        let name = &file.ruleset.name;
        let line = file.text.lines().position(|line| line.starts_with("name:")).map(|at| at as u64 + 1);
        let error = |reason: String, suggestion: String| {
            Some(RulesetError { line, reason, suggestion: Some(suggestion) })
        };
        let file_name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        if builtin::TEXTS.iter().any(|(built_in, _)| built_in == name) {
            return error(
                format!("{name} is the name of a built-in ruleset, which can't be replaced"),
                "rename yours: both `name` and the file".into(),
            );
        }
        if self.get(name).is_some() {
            return error(
                format!("{name} is the name of another ruleset here"),
                "choose another name".into(),
            );
        }
        if file_name.strip_suffix(ENDING) != Some(name.as_str()) {
            return error(
                format!("the file is called {file_name}, but its ruleset is called {name}"),
                format!("call the file {name}{ENDING}"),
            );
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "\
version: 1
name: own
summary: A method of our own.
states:
- {name: GO, meaning: Go on, role: open, colour: lightblue, children: [{min: 1}]}
- {name: STOP, meaning: Stop, role: deadEnd, colour: red, terminal: true}
end: {minRounds: 1}
";

    fn problems(files: &[(&str, &str)]) -> Vec<String> {
        Library::with(files.iter().copied()).unwrap_err().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_ruleset_of_ones_own_stands_behind_the_built_in_ones() {
        let library = Library::with([("rules/own.yaml", OWN)]).unwrap();
        assert_eq!(library.all().count(), builtin::all().len() + 1);
        assert_eq!(library.names().next(), Some(builtin::DEFAULT));
        assert!(library.names().eq(library.all().map(|file| file.ruleset.name.as_str())));
        assert!(library.name_list().ends_with(", own"));
        assert_eq!(library.get("own").unwrap().text, OWN);
    }

    #[test]
    fn names_are_checked() {
        assert_eq!(
            problems(&[("rules/other.yaml", OWN)]),
            [
                "rules/other.yaml:2: the file is called other.yaml, but its ruleset is called own (call the file own.yaml)"
            ]
        );
        let taken = OWN.replace("name: own", &format!("name: {}", builtin::DEFAULT));
        let problem = problems(&[("x.yaml", &taken)]);
        assert!(problem[0].starts_with("x.yaml:2: ") && problem[0].contains("built-in"), "{problem:?}");
    }

    #[test]
    fn all_faults_of_all_files_are_told() {
        let bad = OWN.replace("role: deadEnd", "role: dead").replace("name: own", "name: one");
        let worse = OWN.replace("minRounds: 1", "minRounds: 40").replace("name: own", "name: TWO");
        let problems = problems(&[("one.yaml", &bad), ("two.yaml", &worse)]);
        assert_eq!(problems.len(), 3, "{problems:#?}");
        assert!(problems[0].starts_with("one.yaml:6: "), "{problems:#?}");
        assert!(problems[1].starts_with("two.yaml:2: "), "{problems:#?}");
        assert!(problems[2].starts_with("two.yaml:7: "), "{problems:#?}");
    }
}

//! The branches and tags that a command names, and whether they point elsewhere than they did.
//!
//! # Guarantees
//!
//! - A word of letters only, such as `main`, is read as a name only where git or a script is given it, or in the syntax of a
//!   revision, such as `main~2`, and not in `grep main` or `npm run dev`.
//! - A difference is put down to a name only if git was given it, or it is in the syntax of a revision, and if no run with the
//!   recorded result had the name where it is now.

use std::collections::BTreeSet;

use super::CapturedRun;
use super::evidence::COMMIT;
use super::inputs::SCRIPTS;
use crate::domain::run::{PROJECT, RunComparison, RunRef};
use crate::text::{one_line, shorten};

/// The maximum number of names that are looked up for a command.
pub const NAMES: usize = 50;
/// The maximum length of a name.
const NAME: usize = 200;

/// Returns the words of a command that may be names of branches, remote branches and tags.
pub fn ref_names(command: &[String]) -> BTreeSet<&str> {
    named(command).map(|(name, _)| name).take(NAMES).collect()
}

/// Returns the words of a command that may be names, and whether nothing else can be meant.
fn named(command: &[String]) -> impl Iterator<Item = (&str, bool)> {
    let (lines, words): (Vec<&String>, Vec<&String>) =
        command.iter().partition(|word| word.contains(char::is_whitespace));
    let parts = lines.into_iter().flat_map(|line| line.split(['|', ';', '&', '\n', '(', ')', '`']));
    let is_end = |c: char| c.is_whitespace() || "\"'=,[]<>".contains(c);
    let parts = parts.map(move |part| part.split(is_end).filter(|word| !word.is_empty()).collect());
    let whole = words.into_iter().flat_map(move |word| word.split(is_end)).filter(|word| !word.is_empty());
    let parts = parts.chain([whole.collect::<Vec<&str>>()]);
    parts.flat_map(names_in)
}

/// Returns the words of a single command that may be names, and whether nothing else can be meant.
fn names_in(words: Vec<&str>) -> Vec<(&str, bool)> {
    let is_git = |word: &str| word == "git" || word.ends_with("/git");
    let is_script = |word: &str| word.rsplit_once('.').is_some_and(|(_, kind)| SCRIPTS.contains(&kind));
    // Another repository has other names.
    let is_elsewhere = |pair: &[&str]| {
        pair[0] == "--git-dir" || pair[0] == "-C" && pair[1] != "." && !pair[1].starts_with(PROJECT)
    };
    if words.windows(2).any(is_elsewhere) {
        return Vec::new();
    }
    let gits = words.windows(2).position(|pair| is_git(pair[0]) && pair[1] != "grep");
    let is_given = |before: &[&str]| {
        before[0].contains('/') && !before[0].starts_with('/')
            || before.get(1).is_some_and(|word| is_script(word))
    };
    let mut names = Vec::new();
    for (at, word) in words.iter().enumerate().skip(1).take_while(|(_, word)| **word != "--") {
        let revisions = word.split("..").map(|part| part.trim_start_matches(['.', '^']));
        for revision in revisions {
            let name = revision.split(['~', '^', ':']).next().unwrap_or_default();
            let name = name.split("@{").next().unwrap_or_default();
            let is_revision = word.contains("..") || revision[name.len()..].starts_with(['~', '^', '@']);
            let is_plain = name.chars().all(char::is_alphabetic);
            let is_name = !name.is_empty() && name.len() <= NAME && !name.starts_with(['-', '/', '$']);
            let is_certain = is_revision || gits.is_some_and(|git| git + 1 < at);
            if is_name && name != "HEAD" && (!is_plain || is_certain || is_given(&words[..at])) {
                names.push((name, is_certain));
            }
        }
    }
    names
}

/// What became of the names of a command since a run of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct MovedRefs {
    /// The names that point elsewhere: `main was 3f2a91c, is 9b1d22e`.
    pub moved: Vec<String>,
    /// The names of which that is not known, or that this clone lacks, each with the recorded commit.
    pub missing: Vec<String>,
}

impl MovedRefs {
    /// Compares what the names of a captured run pointed to at one time with what they point to later.
    pub fn between(first: &[RunRef], then: &[RunRef], now: &[RunRef]) -> MovedRefs {
        let mut became = MovedRefs::default();
        let short = |commit: &str| commit.chars().take(COMMIT).collect::<String>();
        let commit =
            |refs: &[RunRef], name: &str| refs.iter().find(|it| it.name == name).map(|it| it.commit.clone());
        for RunRef { name, commit: recorded } in first {
            let named = shorten(&one_line(name), NAME);
            match (commit(then, name), commit(now, name)) {
                (Some(was), Some(is)) if was == is => {}
                (Some(was), Some(is)) => {
                    became.moved.push(format!("{named} was {}, is {}", short(&was), short(&is)));
                }
                _ => became.missing.push(format!("{named} (then {})", one_line(&short(recorded)))),
            }
        }
        became
    }
}

impl CapturedRun<'_> {
    /// Returns what became of the names in the command since the last run with the recorded result, if they are not where they were
    /// at any of these.
    pub fn moved_refs(&self, now: &[RunRef]) -> MovedRefs {
        self.moved_since(&self.ran.refs, now)
    }

    fn moved_since(&self, first: &[RunRef], now: &[RunRef]) -> MovedRefs {
        let same = self.repetitions.iter().filter(|it| it.verdict == RunComparison::Same);
        let mut then = same.map(|it| &it.ran.refs);
        match then.any(|then| MovedRefs::between(first, then, now) == MovedRefs::default()) {
            true => MovedRefs::default(),
            false => MovedRefs::between(first, first, now),
        }
    }

    /// Says why a repetition that differs did not ask what the captured run did: a branch or a tag that the command names is not
    /// here, or points elsewhere. Then it contests nothing.
    pub fn asks_otherwise(&self, now: &[RunRef]) -> Option<String> {
        let is_certain =
            |it: &&RunRef| named(&self.ran.command).any(|named| named == (it.name.as_str(), true));
        let certain: Vec<RunRef> = self.ran.refs.iter().filter(is_certain).cloned().collect();
        let MovedRefs { moved, missing } = self.moved_since(&certain, now);
        if let Some(name) = missing.first() {
            return Some(format!("the branch or tag {name} is not in this clone: fetch it"));
        }
        (!moved.is_empty()).then(|| format!("{}, so it asked something else: recheck", moved.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_in_a_command_are_those_that_git_or_a_script_is_given() {
        for (command, names) in [
            ("git log --oneline main..origin/next", "main origin/next"),
            ("sh -c|git diff main...topic | wc -l; npm run dev", "main topic"),
            ("git show v1.2:src/main.rs", "v1.2"),
            ("git -C $TOT_PROJECT log main~2 ^dev@{1} -- docs", "dev log main"),
            ("./compare.sh --base=main", "main"),
            ("python3 bench.py release-2", "bench.py release-2"),
            ("make main~3", "main"),
            ("git grep main", ""),
            ("git -C ../other log main", ""),
            ("grep -c main src/lib.rs", "src/lib.rs"),
            ("npm run dev", ""),
            ("git log HEAD~1..HEAD", ""),
        ] {
            let words: Vec<String> = match command.split_once('|').filter(|_| command.starts_with("sh")) {
                Some((shell, line)) => shell.split(' ').chain([line]).map(str::to_owned).collect(),
                None => command.split(' ').map(str::to_owned).collect(),
            };
            assert_eq!(ref_names(&words).into_iter().collect::<Vec<_>>().join(" "), names, "{command}");
            let is_certain = named(&words).any(|(_, is_certain)| is_certain);
            let is_asked = command.contains("git ") || command.contains('~');
            assert_eq!(is_certain, is_asked && !names.is_empty(), "{command}");
        }
    }
}

//! What became of the files that a command reads: decided from the recorded inputs and the project's files, without running
//! anything.
//!
//! # Guarantees
//!
//! - *Unchanged* is said only of declared or traced inputs, and only if each of them is as it was when the command last had the recorded
//!   result, no file was added to a declared folder, nothing in it was untracked or ignored, nothing changed that the command
//!   may name, and no passage that its node cites. What can't be told is *not recorded*.
//! - *Changed* is a reason to rerun a command, and says nothing about its result.
//! - Nothing is said in a repository that lacks the recorded commit.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use super::evidence::{COMMIT, EvidenceRuns};
use super::lacking::says_not_found;
use super::refs::MovedRefs;
use super::{Answer, Assessment, CapturedRun, Repetition};
use crate::domain::run::{PROJECT, ProjectState, Ran, RunComparison, RunInput, RunRef, sha256};
use crate::domain::{BoundAs, Investigation, Node, Pin, RunId};
use crate::text::{counted, one_line, shorten};

/// The mode of a symbolic link, in git's notation.
pub const LINK: &str = "120000";
/// The mode of a submodule, in git's notation.
pub const SUBMODULE: &str = "160000";
/// The mode of a folder in a trace.
const FOLDER: &str = "040000";
/// The mode of what a traced command looked for in vain.
const ABSENT: &str = "000000";
/// The maximum number of files that a sentence names.
const NAMED: usize = 3;
/// The maximum length of a pattern, in bytes. A longer one covers everything.
const PATTERN_MAX: usize = 1_000;
/// The maximum length of a path in a sentence, in characters.
const PATH: usize = 80;

/// The programs that start scripts.
pub(super) const INTERPRETERS: [&str; 11] =
    ["python", "sh", "bash", "zsh", "node", "deno", "bun", "ruby", "perl", "php", "Rscript"];
/// Programs that start commands on another machine or in a container.
const ELSEWHERE: [&str; 4] = ["docker", "podman", "kubectl", "ssh"];
/// The endings of scripts.
pub(super) const SCRIPTS: [&str; 10] = ["py", "sh", "js", "mjs", "ts", "rb", "pl", "sql", "php", "R"];
/// Folders that other machines have, too.
const SYSTEM: [&str; 5] = ["/usr/", "/opt/", "/nix/", "/System/", "/Library/"];

/// The files of a state by path, each with its mode and its blob.
pub type Files = BTreeMap<String, (String, String)>;

/// What a traced command did with a path. What it did first counts, but reading says more than asking what the path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathUse {
    /// It looked for the path in vain, and then created it.
    Made,
    /// It looked for the path in vain.
    Missed,
    /// It asked what the path is, such as its size.
    Seen,
    /// It opened or ran the file.
    Read,
    /// It listed the folder.
    Listed,
    /// It created the path, or wrote all of it.
    Written,
}

/// The paths that differ between a commit and a state, each with whether the commit has a file there.
pub type ChangedPaths = BTreeMap<String, bool>;

/// The files of a project at one of its states, to compare runs with.
pub trait ProjectView {
    /// Returns the paths that differ between a commit and this state. `None` if the repository lacks the commit.
    fn since(&self, commit: &str) -> Option<Arc<ChangedPaths>>;

    /// Returns the files of this state by path, each with its mode and its blob. `None` if they can't be read.
    fn files(&self) -> Option<&Files>;

    /// Returns whether a cited passage is no longer there, or can't be read.
    fn is_lost(&self, pin: &Pin) -> bool;

    /// Returns what these branches and tags point to now. Those that are not in the project are left out.
    fn refs(&self, recorded: &[RunRef]) -> Vec<RunRef>;
}

/// What became of the files that a command reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "state", content = "files")]
pub enum InputState {
    /// Each declared input is as it was when the command was last run.
    Unchanged,
    /// These files are not as they were, or these branches and tags point elsewhere: `main was 3f2a91c, is 9b1d22e`.
    Changed(Vec<String>),
    /// No inputs were declared, or the command may read something else that has changed.
    NotRecorded,
    /// The command reads fixed revisions only.
    Pinned,
    /// The repository lacks the recorded commit.
    NotChecked,
}

/// What became of the inputs of each command at one commit of the project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectInputs {
    /// The commit.
    pub commit: String,
    /// The state of each captured run.
    pub states: BTreeMap<RunId, InputState>,
}

impl InputState {
    /// Returns the CSS class: `unchanged`, `changed` or `quiet`.
    pub fn class(&self) -> &'static str {
        match self {
            InputState::Unchanged | InputState::Pinned => "unchanged",
            InputState::Changed(_) => "changed",
            InputState::NotRecorded | InputState::NotChecked => "quiet",
        }
    }

    /// Returns the state in words, as it is shown beside a command, whose inputs a trace may have found.
    pub fn words(&self, is_traced: bool) -> String {
        match self {
            InputState::Unchanged if is_traced => "inputs unchanged".to_owned(),
            InputState::Unchanged => "declared inputs unchanged".to_owned(),
            InputState::Changed(files) => format!("inputs changed: {}; recheck", named(files)),
            InputState::NotRecorded => "inputs not recorded".to_owned(),
            InputState::Pinned => "reads fixed revisions only".to_owned(),
            InputState::NotChecked => "inputs not checked here".to_owned(),
        }
    }
}

/// Names files, as far as a sentence can.
pub fn named(files: &[String]) -> String {
    let names: Vec<String> = files.iter().take(NAMED).map(|file| shorten(&one_line(file), PATH)).collect();
    match files.len().checked_sub(NAMED) {
        Some(more @ 1..) => format!("{} and {} more", names.join(", "), counted(more, "file")),
        _ => names.join(", "),
    }
}

/// Returns whether a declared input is a pattern rather than a path.
pub fn is_pattern(declared: &str) -> bool {
    declared.contains(['*', '?'])
}

/// Returns whether a declared folder or pattern covers a file. In a pattern, `*` and `?` stop at a slash, and `**` does not.
pub fn covers(declared: &str, path: &str) -> bool {
    let is_below = |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    // Nobody writes such a pattern, and matching takes as long as both are.
    declared.len() > PATTERN_MAX || declared == "." || declared == path || is_below(declared) || {
        let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
        is_pattern(declared) && folders.chain([path]).any(|path| matches(declared, path))
    }
}

/// Returns whether a declared folder or pattern may cover an untracked file, or something in a folder whose path ends with `/`.
fn may_cover(declared: &[String], untracked: &str) -> bool {
    declared.iter().any(|declared| {
        // What every file that the pattern covers begins with.
        let start = declared.split(['*', '?']).next().unwrap_or_default();
        covers(declared, untracked.trim_end_matches('/'))
            || untracked.ends_with('/')
                && (start.starts_with(untracked) || is_pattern(declared) && untracked.starts_with(start))
    })
}

/// Returns whether a command may read an untracked or ignored file, or something in a folder whose path ends with `/`: it
/// names it, or declares what covers it. Its own program may come from such a folder, as others come from the `PATH`.
pub fn may_read(ran: &Ran, unknown: &str) -> bool {
    let program =
        ran.command.first().and_then(|word| path_from(ran.folder.as_deref().unwrap_or_default(), word));
    let is_in = |name: &String| {
        name == unknown.trim_end_matches('/')
            || unknown.ends_with('/') && name.starts_with(unknown) && Some(name) != program.as_ref()
    };
    may_cover(&ran.input_folders, unknown) || named_paths(ran).iter().any(is_in)
}

fn matches(pattern: &str, path: &str) -> bool {
    let path: Vec<char> = path.chars().collect();
    // Whether what was read of the pattern matches the path up to each place.
    let mut ends = vec![false; path.len() + 1];
    ends[0] = true;
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        let is_deep = rest.starts_with("**");
        rest = &rest[if is_deep { 2 } else { first.len_utf8() }..];
        // `a/**/b` also matches `a/b`.
        let skipped = if is_deep { rest.strip_prefix('/') } else { None };
        rest = skipped.unwrap_or(rest);
        let mut reached = vec![false; ends.len()];
        let mut is_within = false;
        for at in 0..ends.len() {
            let before = at.checked_sub(1).map(|before| path[before]);
            is_within = ends[at] || is_within && (is_deep || before != Some('/'));
            reached[at] = match first {
                '*' if skipped.is_some() => ends[at] || is_within && before == Some('/'),
                '*' => is_within,
                first => before.is_some_and(|c| ends[at - 1] && (c == first || first == '?' && c != '/')),
            };
        }
        ends = reached;
    }
    ends.last() == Some(&true)
}

/// Returns the paths in a project that the words of a command may name, seen from its folder.
pub fn named_paths(ran: &Ran) -> BTreeSet<String> {
    let quoted = ran.command.iter().flat_map(|word| word.split(['\'', '"']).chain([word.as_str()]));
    let folder = ran.folder.as_deref().unwrap_or_default();
    let here = |part: &str| path_from(folder, part.strip_prefix("$PWD/").unwrap_or(part));
    words(ran).chain(quoted).filter_map(here).collect()
}

/// Returns what the captured run had and a repetition lacked, of which only the new output says that it was not found: a path outside
/// of the project that the command names or, in a work tree, an untracked or ignored file that it names. Then
/// the command did not get to judge.
pub fn not_found(again: &Ran, first: &Ran, is_in_place: bool) -> Option<String> {
    let state = again.project.as_ref()?;
    let is_lacked = |name: &String| {
        state.unknown().any(|path| path == name || path.ends_with('/') && name.starts_with(path.as_str()))
    };
    let is_said = |name: &str| {
        let file = name.trim_end_matches('/').rsplit('/').next().unwrap_or(name);
        let is_in =
            |ran: &Ran| ran.output.text.lines().any(|line| line.contains(file) && says_not_found(line));
        is_in(again) && !is_in(first)
    };
    // The command may itself make what it names outside, and may have judged without it.
    let is_silent = again.output.text.trim().is_empty();
    let mut outside = state.untracked.iter().filter(|path| is_outside(path));
    if let Some(outside) = outside.find(|path| is_silent || is_said(path)) {
        return Some(outside.clone());
    }
    // A word such as `test` is rarely a file.
    let mut names = named_paths(first).into_iter().filter(|name| !is_in_place && name.contains(['.', '/']));
    names.find(|name| is_lacked(name) && is_said(name))
}

/// Returns the words of a command, also those within a line for a shell.
fn words(ran: &Ran) -> impl Iterator<Item = &str> {
    let is_end = |c: char| c.is_whitespace() || "\"'`=:;,()[]{}<>|&@".contains(c);
    ran.command.iter().flat_map(move |word| word.split(is_end))
}

/// Returns the words of a command that are no options.
pub(super) fn operands(ran: &Ran) -> Vec<&str> {
    words(ran).filter(|word| !word.is_empty() && !word.starts_with('-')).collect()
}

/// Returns whether a command starts git, as far as its words tell.
pub fn starts_git(ran: &Ran) -> bool {
    words(ran).any(|word| word == "git" || word.ends_with("/git"))
}

/// Returns the scripts among the files of the project that a command starts by an interpreter, as far as its words tell.
pub fn started_scripts(ran: &Ran, files: &Files) -> impl Iterator<Item = String> {
    let folder = ran.folder.as_deref().unwrap_or_default();
    let words = operands(ran);
    let started = words.windows(2).filter(|pair| is_one_of(pair[0], &INTERPRETERS));
    let paths: Vec<String> = started.filter_map(|pair| path_from(folder, pair[1])).collect();
    paths.into_iter().filter(|path| files.contains_key(path))
}

/// Returns whether the command starts another one on another machine or in a container.
pub(super) fn starts_elsewhere(ran: &Ran) -> bool {
    ran.command.first().is_some_and(|word| is_one_of(word, &ELSEWHERE))
}

pub(super) fn is_one_of(word: &str, programs: &[&str]) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    programs.contains(&name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'))
}

/// Returns whether a path, seen from the root of the project, is outside of it.
pub fn is_outside(path: &str) -> bool {
    path == ".." || path.starts_with(['/', '\\']) || path.starts_with("../")
}

/// Returns a relative path seen from a folder as one seen from the root. `None` if it is no path in the project.
pub fn path_from(folder: &str, path: &str) -> Option<String> {
    from_root(folder, path).filter(|path| !is_outside(path))
}

/// Returns a relative path seen from a folder as one seen from the root, also if it is outside. `None` if it is none.
pub fn from_root(folder: &str, path: &str) -> Option<String> {
    let inside = path.strip_prefix(PROJECT).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let (folder, path) = match inside {
        Some(inside) => ("", inside.trim_start_matches('/')),
        None => (folder, path),
    };
    if path.is_empty() || path.starts_with(['/', '~', '$', '-']) {
        return None;
    }
    let mut whole: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." if whole.last().is_some_and(|last| *last != "..") => drop(whole.pop()),
            part => whole.push(part),
        }
    }
    (!whole.is_empty()).then(|| whole.join("/"))
}

/// Returns the files in a folder, by their paths in it, each with its mode.
fn inside<'f>(files: &'f Files, folder: &str) -> impl Iterator<Item = (&'f str, &'f str)> {
    let start = if folder == "." { String::new() } else { format!("{folder}/") };
    let from = files.range(start.clone()..);
    from.map_while(move |(path, (mode, _))| Some((path.strip_prefix(&start)?, mode.as_str())))
}

/// Returns whether there is a folder.
fn is_folder(files: &Files, folder: &str) -> bool {
    inside(files, folder).next().is_some()
}

/// Returns a hash of the names in a folder, each with its kind.
fn names_in(files: &Files, folder: &str) -> String {
    let names: BTreeSet<(&str, &str)> = inside(files, folder)
        .map(|(path, mode)| path.split_once('/').map_or((path, mode), |(name, _)| (name, FOLDER)))
        .collect();
    let listed: String = names.iter().map(|(name, mode)| format!("{mode} {name}\0")).collect();
    sha256(listed.as_bytes())
}

/// Returns whether an input is in this state as it was recorded.
fn is_same(input: &RunInput, files: &Files) -> bool {
    match (input.mode.as_str(), input.blob.as_str()) {
        (ABSENT, _) => !files.contains_key(&input.path) && !is_folder(files, &input.path),
        (FOLDER, "") => is_folder(files, &input.path),
        (FOLDER, names) => is_folder(files, &input.path) && names_in(files, &input.path) == names,
        (_, "") => false,
        (mode, blob) => files.get(&input.path).is_some_and(|(m, b)| (m.as_str(), b.as_str()) == (mode, blob)),
    }
}

/// Returns the inputs of a traced command, in the state of the project in which it ran, and the paths that it read of which git
/// knows nothing.
pub fn traced_inputs(paths: &BTreeMap<String, PathUse>, files: &Files) -> (Vec<RunInput>, Vec<String>) {
    let mut inputs: BTreeMap<&str, RunInput> = BTreeMap::new();
    let mut unknown = BTreeSet::new();
    let input = |path: &str, mode: &str, blob: String| RunInput {
        path: path.to_owned(),
        blob,
        mode: mode.to_owned(),
        seen: false,
    };
    for (path, what) in paths.iter().filter(|(_, what)| **what != PathUse::Written) {
        let above = || path.match_indices('/').map(|(at, _)| &path[..at]);
        let is_link = |path: &str| files.get(path).is_some_and(|(mode, _)| mode == LINK);
        // A link on the way leads elsewhere when it changes, and a submodule has other files. Of a file, only that it is none
        // matters.
        for on_the_way in above() {
            if let Some((mode, blob)) = files.get(on_the_way) {
                let known = || RunInput { seen: true, ..input(on_the_way, mode, blob.clone()) };
                inputs.entry(on_the_way).or_insert_with(known).seen &=
                    ![LINK, SUBMODULE].contains(&mode.as_str());
            }
        }
        // Of an opened file, the trace also tells where the links led.
        if *what <= PathUse::Seen && above().chain([path.as_str()]).any(is_link) {
            unknown.insert(path.clone());
        }
        // What git itself reads, it reads of all commits. Python's bytecode is written anew for each change of its source.
        let is_of = |name: &str| path.split('/').any(|part| part == name);
        if is_of(".git") {
            unknown.extend((*what >= PathUse::Read).then(|| ".git".to_owned()));
            continue;
        }
        let found = match files.get(path) {
            Some((mode, blob)) => {
                RunInput { seen: *what == PathUse::Seen, ..input(path, mode, blob.clone()) }
            }
            None if *what == PathUse::Listed && is_folder(files, path) => {
                input(path, FOLDER, names_in(files, path))
            }
            None if path == "." || is_folder(files, path) => input(path, FOLDER, String::new()),
            None if *what <= PathUse::Missed => {
                // Nothing is below a file.
                if above().any(|it| files.contains_key(it)) {
                    continue;
                }
                input(path, ABSENT, String::new())
            }
            None => {
                unknown.extend((!is_of("__pycache__")).then(|| path.clone()));
                continue;
            }
        };
        inputs.insert(path, found);
    }
    // A file in a folder says that it is there.
    let is_said = |folder: &str| {
        let inside = inputs
            .range(folder..)
            .map(|(_, it)| it)
            .take_while(|it| covers(folder, &it.path) || it.path.starts_with(folder));
        inside.filter(|it| it.mode != ABSENT && covers(folder, &it.path)).take(2).count() > 1
    };
    let is_seen = |it: &&RunInput| it.mode == FOLDER && it.blob.is_empty();
    let said = inputs.values().filter(is_seen).filter(|it| it.path == "." || is_said(&it.path));
    let said: Vec<String> = said.map(|it| it.path.clone()).collect();
    (inputs.into_values().filter(|it| !said.contains(&it.path)).collect(), unknown.into_iter().collect())
}

/// Returns whether a command of git reads only objects that it names by their whole ids, which never move. What `git log` and `git
/// diff` print depends on attributes, notes and `.mailmap`, too.
fn names_fixed(command: &[String]) -> bool {
    const OPTIONS: [&str; 7] = ["-p", "-t", "-s", "-r", "blob", "tree", "--name-only"];
    let [git, verb, rest @ ..] = command else { return false };
    let is_content = |word: &&str| {
        let id = word.split([':', '^', '~']).next().unwrap_or_default();
        let is_id = [40, 64].contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id && (verb != "show" || word.contains(':'))
    };
    let words: Vec<&str> = rest.iter().map(String::as_str).filter(|word| !OPTIONS.contains(word)).collect();
    let verbs = ["show", "cat-file", "ls-tree"];
    git == "git" && verbs.contains(&verb.as_str()) && !words.is_empty() && words.iter().all(is_content)
}

/// Returns whether declared inputs now lead to files that were not declared: a link among them, or a folder in place of a file.
/// `since` is what changed since they were declared.
fn lead_elsewhere(ran: &Ran, since: &ChangedPaths, view: &dyn ProjectView) -> bool {
    let Some(files) = view.files() else { return true };
    let is_link = |path: &&String| files.get(*path).is_some_and(|(mode, _)| mode == LINK);
    let mut links = since.keys().filter(is_link).peekable();
    ran.inputs.iter().any(|it| is_folder(files, &it.path))
        || links.peek().is_some() && {
            let declared = ran.inputs.iter().map(|it| &it.path).chain(&ran.input_folders);
            let declared: Vec<String> = declared.cloned().collect();
            links.any(|link| may_cover(&declared, &format!("{link}/")))
        }
}

/// Returns the changed `.gitattributes` above the inputs of a command: git may check the inputs out otherwise.
fn attributes<'c>(ran: &'c Ran, since: &'c ChangedPaths) -> impl Iterator<Item = &'c String> {
    let applies = |path: &&String| {
        let folder = path.strip_suffix(".gitattributes").filter(|it| it.is_empty() || it.ends_with('/'));
        let is_below = |it: &RunInput, folder| it.mode.starts_with("100") && it.path.starts_with(folder);
        folder.is_some_and(|folder| ran.inputs.iter().any(|it| is_below(it, folder)))
    };
    since.keys().filter(applies)
}

/// What a change touches of what a command reads.
struct TouchedInputs {
    /// Its declared inputs, the files that it names, and the passages that its node cites.
    files: BTreeSet<String>,
    /// True if the command may read something else that has changed.
    is_in_doubt: bool,
}

/// Returns whether a command may read a changed file that is none of its inputs. It may not have found the file when it ran, it
/// may name a folder above it, or reach it by another way than its path.
fn may_read_more(ran: &Ran, state: &ProjectState, since: &ChangedPaths, view: &dyn ProjectView) -> bool {
    let is_elsewhere = |word: &str| {
        let is_absolute =
            word.starts_with('/') && since.keys().any(|path| word.ends_with(&format!("/{path}")));
        ["cd", "pushd", "-C"].contains(&word) || is_absolute
    };
    let is_in_doubt = |path: &String| {
        let folder = path.split(['*', '?', '[']).next().unwrap_or_default();
        let folder = if folder == path { format!("{path}/") } else { folder.to_owned() };
        let is_below =
            since.range(folder.clone()..).next().is_some_and(|(path, _)| path.starts_with(&folder));
        let mut above = path.match_indices('/').map(|(at, _)| &path[..at]);
        let is_through = above.any(|folder| {
            let mode = view.files().and_then(|files| files.get(folder)).map(|(mode, _)| mode.as_str());
            since.contains_key(folder) || mode == Some(LINK)
        });
        is_below || is_through || since.get(path) == Some(&false) || state.unknown().any(|it| it == path)
    };
    !since.is_empty() && (words(ran).any(is_elsewhere) || named_paths(ran).iter().any(is_in_doubt))
}

/// Returns whether a changed path was added or removed.
fn is_moved(path: &String, since: &ChangedPaths, view: &dyn ProjectView) -> bool {
    since.get(path) == Some(&false) || view.files().is_some_and(|files| !files.contains_key(path))
}

/// Returns whether a changed path makes a name in a folder appear or vanish, as only the first or the last file below one does.
fn is_renamed(folder: &str, path: &str, since: &ChangedPaths, view: &dyn ProjectView) -> bool {
    let start = if folder == "." { 0 } else { folder.len() + 1 };
    // The folder itself may have become a file, a link or a submodule.
    let Some(rest) = path.get(start..) else { return true };
    let end = rest.find('/').map_or(path.len(), |end| start + end);
    let name = &path[..end];
    let Some(files) = view.files().filter(|_| name != path) else { return true };
    let below = |it: &&String| covers(name, it);
    let mut now = files
        .range(name.to_owned()..)
        .map(|(path, _)| path)
        .take_while(|it| it.starts_with(name))
        .filter(below);
    let was_there = since.range(name.to_owned()..).take_while(|(it, _)| it.starts_with(name));
    let was_there = was_there.filter(|(it, _)| covers(name, it)).any(|(_, was_there)| *was_there);
    let is_there = now.clone().next().is_some();
    is_there != (was_there || now.any(|it| !since.contains_key(it)))
}

/// Returns what a change touches of what a command reads.
fn touched(ran: &Ran, cited: &[&Pin], since: &ChangedPaths, view: &dyn ProjectView) -> TouchedInputs {
    let is_moved = |path: &String| is_moved(path, since, view);
    let is_input = |path: &&String| {
        let is_of = |it: &RunInput| match it.path == **path {
            true => !it.seen || is_moved(path),
            false => match it.mode.as_str() {
                FOLDER => covers(&it.path, path) && is_moved(path) && is_renamed(&it.path, path, since, view),
                ABSENT => covers(&it.path, path) && is_moved(path),
                _ => false,
            },
        };
        ran.inputs.iter().any(is_of) || ran.input_folders.iter().any(|it| covers(it, path))
    };
    let named = named_paths(ran).into_iter().filter(|path| since.get(path) == Some(&true));
    let cited = cited.iter().filter(|pin| since.contains_key(&pin.path) && view.is_lost(pin));
    let inputs = since.keys().filter(is_input).cloned();
    TouchedInputs {
        files: (inputs.chain(named).chain(cited.map(|pin| pin.path.clone())))
            .chain(attributes(ran, since).cloned())
            .collect(),
        // The size of a file may matter, or its time.
        is_in_doubt: match ran.traced {
            true => ran.inputs.iter().any(|it| it.seen && since.contains_key(&it.path)),
            false => may_read_more(ran, &ProjectState::default(), since, view),
        },
    }
}

/// Returns what differs from the state that a run recorded. As [`touched`], but of the declared inputs also what was not
/// committed then is known. `None` if the files can't be read.
fn touched_since_capture(
    ran: &Ran,
    state: &ProjectState,
    cited: &[&Pin],
    since: &ChangedPaths,
    view: &dyn ProjectView,
) -> Option<TouchedInputs> {
    let is_committed = |path: &String| !state.changed.contains(path);
    let named = named_paths(ran).into_iter().filter(|path| since.get(path) == Some(&true));
    let cited = cited.iter().filter(|pin| since.contains_key(&pin.path) || !is_committed(&pin.path));
    let cited = cited.filter(|pin| view.is_lost(pin)).map(|pin| pin.path.clone());
    let mut files: BTreeSet<String> = named.filter(is_committed).chain(cited).collect();
    let mut is_in_doubt = !ran.traced && may_read_more(ran, state, since, view);
    if ran.inputs.is_empty() && ran.input_folders.is_empty() && !ran.traced {
        return Some(TouchedInputs { files, is_in_doubt });
    }
    // What the command read of an untracked or ignored file is not known.
    is_in_doubt |= match ran.traced {
        true => !state.ignored.is_empty(),
        false => state.unknown().any(|path| may_read(ran, path)),
    };
    let now = view.files()?;
    for input in ran.inputs.iter().filter(|it| !is_same(it, now)) {
        let is_folder = [FOLDER, ABSENT].contains(&input.mode.as_str());
        let is_known = is_committed(&input.path)
            && !(is_folder && state.changed.iter().any(|path| covers(&input.path, path)));
        let is_there = now.get(&input.path).is_some_and(|(mode, _)| *mode == input.mode);
        // What was captured with uncommitted changes is another file than the committed one, which has not changed since. Of a file
        // that was only seen, the size may matter, or the time.
        match !(input.seen && is_there) && (is_known || since.contains_key(&input.path)) {
            true => {
                let is_new = |path: &&String| {
                    covers(&input.path, path)
                        && is_moved(path, since, view)
                        && is_renamed(&input.path, path, since, view)
                };
                let new: Vec<&String> =
                    since.keys().filter(|_| input.mode == FOLDER).filter(is_new).collect();
                files.extend(if new.is_empty() { vec![&input.path] } else { new }.into_iter().cloned());
            }
            false => is_in_doubt = true,
        }
    }
    for path in attributes(ran, since) {
        // What was not committed may be what is committed now.
        match is_committed(path) {
            true => drop(files.insert(path.clone())),
            false => is_in_doubt = true,
        }
    }
    // A file that the commit had, or that was deleted without a commit, would be an input.
    let added =
        since.iter().filter(|(_, was_there)| !**was_there).map(|(path, _)| path).chain(&state.changed);
    let recorded: BTreeSet<&str> = ran.inputs.iter().map(|it| it.path.as_str()).collect();
    let is_added = |path: &&String| {
        now.contains_key(*path)
            && !recorded.contains(path.as_str())
            && !state.unknown().any(|it| it == *path)
            && ran.input_folders.iter().any(|it| covers(it, path))
    };
    files.extend(added.filter(is_added).cloned());
    Some(TouchedInputs { files, is_in_doubt })
}

impl CapturedRun<'_> {
    /// Returns a script from outside the project that the command starts and that is not stored with it, so that others may not
    /// have it.
    pub(super) fn lost_script(&self) -> Option<&str> {
        let folder = self.ran.folder.as_deref().unwrap_or_default();
        let is_elsewhere = |word: &str| match word.starts_with('/') {
            true => !SYSTEM.iter().any(|system| word.starts_with(system)),
            false => word.starts_with("../") && path_from(folder, word).is_none(),
        };
        let is_script = |word: &str| word.rsplit_once('.').is_some_and(|(_, kind)| SCRIPTS.contains(&kind));
        // What another machine or a container starts lies there.
        if starts_elsewhere(self.ran) {
            return None;
        }
        let mut before = None;
        let mut words = words(self.ran).filter(|word| !word.is_empty() && !word.starts_with('-'));
        words.find(|word| {
            let is_started = before.replace(*word).is_none_or(|it| is_one_of(it, &INTERPRETERS));
            is_started && is_elsewhere(word) && is_script(word)
        })
    }

    /// Returns what changed since each run of the command that had the recorded result, the last one first and the captured
    /// one last.
    fn changes(
        &self,
        cited: &[&Pin],
        (state, first, since): (&ProjectState, &str, &ChangedPaths),
        refs: &[RunRef],
        view: &dyn ProjectView,
    ) -> Option<Vec<TouchedInputs>> {
        let ran = self.ran;
        let with_refs = |mut touched: TouchedInputs, then: &[RunRef]| {
            let became = MovedRefs::between(&ran.refs, then, refs);
            touched.files.extend(became.moved);
            touched.is_in_doubt |= !became.missing.is_empty();
            touched
        };
        // A later run of the command with the same result, or one that was judged to hold, at a commit alone, is as good as
        // the first.
        let is_alone = |it: &&Repetition<'_>| {
            let state = it.ran.project.as_ref();
            let may_read = |path: &String| !ran.traced && may_read(ran, path);
            state.is_some_and(|it| it.changed.is_empty() && !it.unknown().any(may_read))
        };
        let is_settled = |it: &&Repetition<'_>| {
            it.verdict == RunComparison::Same || it.judged().is_some_and(|(_, holds)| holds)
        };
        let again = self.repetitions.iter().rev().filter(is_settled);
        let mut seen = BTreeSet::from([(first, &ran.refs)]);
        let again = again.filter(is_alone).filter(|it| it.ran.traced || !ran.traced);
        let again =
            again.filter_map(|it| Some((it, it.at?))).filter(|(it, at)| seen.insert((at, &it.ran.refs)));
        let since_again = |(it, at): (&Repetition<'_>, &str)| {
            let since = view.since(at)?;
            let touched = match it.ran.traced {
                // It may read other files than the first run did.
                true => touched_since_capture(it.ran, &ProjectState::default(), cited, &since, view),
                false => Some(touched(ran, cited, &since, view)),
            };
            Some(with_refs(touched?, &it.ran.refs))
        };
        let mut changes: Vec<TouchedInputs> = again.filter_map(since_again).collect();
        changes.push(with_refs(touched_since_capture(ran, state, cited, since, view)?, &ran.refs));
        Some(changes)
    }

    /// Returns what became of the files that the command reads, since it was last run or, of what changed since then, since a
    /// commit. `cited` are the passages that its node cites.
    fn inputs(&self, cited: &[&Pin], base: Option<&str>, view: &dyn ProjectView) -> InputState {
        let ran = self.ran;
        let is_pinned = ran.pinned || names_fixed(&ran.command);
        let state = ran.project.as_ref();
        let Some((state, first)) = state.and_then(|state| Some((state, state.commit.as_ref()?))) else {
            return if is_pinned { InputState::Pinned } else { InputState::NotRecorded };
        };
        let Some(since) = view.since(first) else { return InputState::NotChecked };
        let refs = if ran.refs.is_empty() { Vec::new() } else { view.refs(&ran.refs) };
        if is_pinned {
            let moved = self.moved_refs(&refs).moved;
            return if moved.is_empty() { InputState::Pinned } else { InputState::Changed(moved) };
        }
        let Some(mut changes) = self.changes(cited, (state, first, &since), &refs, view) else {
            return InputState::NotChecked;
        };
        if let Some(base) = base.filter(|_| changes.iter().all(|it| !it.files.is_empty())) {
            let Some(since) = view.since(base) else { return InputState::NotChecked };
            // What a name pointed to at the base is not known.
            let is_named = !ran.refs.is_empty();
            changes = vec![touched(ran, cited, &since, view)];
            changes.iter_mut().for_each(|it| it.is_in_doubt |= is_named);
        }
        if !ran.traced && lead_elsewhere(ran, &since, view) {
            changes.iter_mut().for_each(|it| it.is_in_doubt = true);
        }
        let unchanged = || changes.iter().filter(|it| it.files.is_empty());
        match unchanged().any(|it| !it.is_in_doubt) {
            _ if unchanged().next().is_none() => {
                InputState::Changed(changes.swap_remove(0).files.into_iter().collect())
            }
            true if ran.traced || !ran.inputs.is_empty() => InputState::Unchanged,
            _ => InputState::NotRecorded,
        }
    }
}

impl ProjectInputs {
    /// Returns what became of the inputs of each command of an investigation, in a state of the project that `commit` names:
    /// since the commands were last run, or since another commit.
    pub fn of(
        investigation: &Investigation,
        commit: &str,
        base: Option<&str>,
        view: &dyn ProjectView,
    ) -> ProjectInputs {
        let runs = EvidenceRuns::of(investigation, None);
        let mut cited: HashMap<RunId, Vec<&Pin>> = HashMap::new();
        for (node, pin) in investigation.pins() {
            let Some(node) = node else { continue };
            // What a node cites is no input of a command that it only cites, too.
            let is_own = |id: &RunId| runs.captured[id].run.is_of(node);
            for run in runs.of_nodes(std::iter::once(&node.id)).into_iter().filter(is_own) {
                cited.entry(run).or_default().push(pin);
            }
        }
        let cited = |id| cited.get(id).map(Vec::as_slice).unwrap_or_default();
        let states = runs.captured.iter().map(|(id, run)| (*id, run.inputs(cited(id), base, view)));
        ProjectInputs { commit: commit.to_owned(), states: states.collect() }
    }
}

/// Something that changed, on which an answer rests.
#[derive(Clone, Debug)]
pub struct Touched<'s, 'a> {
    /// The node whose evidence it is.
    pub node: &'a Arc<Node>,
    /// The files.
    pub files: Vec<String>,
    /// The command that reads the files. `None` if the node cites them.
    pub run: Option<&'s CapturedRun<'a>>,
}

impl<'a> Assessment<'a> {
    /// Returns the answers of the conclusion or, while it names none, all answers, each with what changed of all that it rests
    /// on. What became of the inputs must be known. `is_lost` says whether a cited passage changed.
    pub fn touched(&self, is_lost: &dyn Fn(&Pin) -> bool) -> Vec<(&Answer<'a>, Vec<Touched<'_, 'a>>)> {
        let touched = |answer: &&Answer<'a>| -> Vec<Touched<'_, 'a>> {
            let (mut seen, mut touched) = (BTreeSet::new(), Vec::new());
            for node in answer.premises.iter().map(|premise| premise.node) {
                let mut read = BTreeSet::new();
                for run in self.runs_of(&node.id).filter(|run| seen.insert(run.run.id)) {
                    if let Some(InputState::Changed(files)) = &run.input_state {
                        read.extend(files);
                        touched.push(Touched { node, files: files.clone(), run: Some(run) });
                    }
                }
                let cited = node.pins().filter(|pin| !read.contains(&pin.path) && is_lost(pin));
                let cited: BTreeSet<String> = cited.map(|pin| pin.path.clone()).collect();
                if !cited.is_empty() {
                    touched.push(Touched { node, files: cited.into_iter().collect(), run: None });
                }
            }
            // The conclusion cites the rest.
            for run in self.evidence(answer).filter(|run| !seen.contains(&run.run.id)) {
                if let Some(InputState::Changed(files)) = &run.input_state {
                    touched.push(Touched { node: answer.node, files: files.clone(), run: Some(run) });
                }
            }
            touched
        };
        self.concluding().into_iter().map(|answer| (answer, touched(&answer))).collect()
    }

    /// Returns the answers that the conclusion rests on or, while it names none, all answers.
    pub fn concluding(&self) -> Vec<&Answer<'a>> {
        let bound = self.bound().filter(|bound| bound.role != BoundAs::Rival);
        let bound: Vec<&Answer<'a>> = bound.filter_map(|bound| bound.answer).collect();
        if bound.is_empty() { self.answers.iter().collect() } else { bound }
    }

    /// Adds what became of the inputs of the commands, if it is known.
    pub fn with_inputs(mut self, inputs: Option<&ProjectInputs>) -> Self {
        self.inputs_at = inputs.map(|inputs| inputs.commit.chars().take(COMMIT).collect());
        for (id, run) in &mut self.runs.captured {
            run.input_state = inputs.and_then(|inputs| inputs.states.get(id)).cloned();
        }
        self
    }

    /// Returns the number of commands whose inputs changed since they were run, if there are any.
    pub fn total_inputs_changed(&self) -> Option<usize> {
        let is_changed = |run: &&CapturedRun<'_>| matches!(run.input_state, Some(InputState::Changed(_)));
        Some(self.runs().filter(is_changed).count()).filter(|all| *all > 0)
    }

    /// Describes what became of the inputs of commands, each counted once: `what the commands read, at 3f2a91c: 2 changed since, 1 not
    /// recorded`. `None` if the project is not known.
    pub(super) fn inputs_in_words(&self, runs: &[&CapturedRun<'a>]) -> Option<String> {
        let at = self.inputs_at.as_deref()?;
        let read = if runs.len() == 1 { "what it reads" } else { "what the commands read" };
        if runs.iter().all(|run| run.input_state == Some(InputState::NotRecorded)) {
            return Some(format!("{read} was not recorded"));
        }
        let became = |run: &&CapturedRun<'_>| match &run.input_state {
            Some(InputState::Changed(_)) => 0,
            Some(InputState::Unchanged) if run.ran.traced => 1,
            Some(InputState::Unchanged) => 2,
            Some(InputState::Pinned) => 3,
            Some(InputState::NotRecorded) => 4,
            Some(InputState::NotChecked) | None => 5,
        };
        let words = [
            "changed since",
            "unchanged",
            "unchanged as declared",
            "of fixed revisions",
            "not recorded",
            "not checked here",
        ];
        let parts = words.iter().enumerate().filter_map(|(at, words)| {
            let number = runs.iter().filter(|run| became(run) == at).count();
            (number > 0).then(|| {
                if number == runs.len() { format!("all {words}") } else { format!("{number} {words}") }
            })
        });
        let parts = parts.collect::<Vec<_>>().join(", ");
        let parts = if runs.len() == 1 { parts.trim_start_matches("all ") } else { &parts };
        Some(format!("{read}, at {at}: {parts}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_covers_what_a_shell_would_expand_it_to_and_what_is_below() {
        for (declared, path, is_covered) in [
            ("src", "src/a/b.py", true),
            ("src", "src2/a.py", false),
            (".", "a", true),
            ("*.py", "src/a.py", false),
            ("src/*/x", "src/a/x/deep", true),
            ("src/**/*.py", "src/a.py", true),
            ("src/**/*.py", "src/a/b/c.py", true),
            ("src/**/*.py", "srcs/a.py", false),
            ("**/*.py", "a.py", true),
            ("é?.csv", "éö.csv", true),
            ("é?.csv", "é/.csv", false),
        ] {
            assert_eq!(covers(declared, path), is_covered, "{declared} {path}");
        }
        assert!(covers(&format!("{}b", "*a".repeat(2_000)), &"a".repeat(4_000)));
    }

    #[test]
    fn only_a_missing_file_that_the_command_names_and_asks_for_keeps_it_from_judging() {
        let at = crate::domain::Timestamp::from_milliseconds(0).unwrap();
        for (command, lacked, output, is_found) in [
            ("cat data.csv", "data.csv", "cat: data.csv: No such file or directory", true),
            (
                "node run.js in/x.csv",
                "in/",
                "Error: ENOENT: no such file or directory, open 'in/x.csv'",
                true,
            ),
            // An output of the command, another fault, a word that is no file, and a file that it does not name.
            ("sh bench.sh out.txt", "out.txt", "9 of 10 passed", false),
            ("cat data.csv", "data.csv", "cat: other.csv: No such file or directory", false),
            ("cargo test", "test", "test parser: not found", false),
            ("sh all.sh", "data.csv", "cat: data.csv: No such file or directory", false),
            ("sh -c /lab/x.py|cat", "/lab/x.py", "", true),
            ("python3 ../../lab/x.py", "../lab/x.py", "", true),
        ] {
            let mut first = Ran::new(command.split(' ').map(str::to_owned).collect(), at);
            let state = ProjectState { untracked: vec![lacked.to_owned()], ..ProjectState::default() };
            let mut again = Ran { project: Some(state), ..first.clone() };
            again.output.text = output.to_owned();
            assert_eq!(not_found(&again, &first, false).is_some(), is_found, "{command}: {output}");
            assert_eq!(not_found(&again, &first, true).is_some(), output.is_empty(), "{command}");
            first.output.text = output.to_owned();
            assert_eq!(not_found(&again, &first, false).is_some(), output.is_empty(), "{command}");
        }
    }
}

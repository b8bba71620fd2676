//! What kept a repetition from judging: it says that a program, a module, a revision or a file is not there.
//!
//! # Guarantees
//!
//! - Only lines count that the first run did not print, so a program whose result says such a thing is compared as ever.
//! - What the project itself had when the command was captured is not missing: that it is gone is a difference.

use std::collections::BTreeSet;

use super::inputs::{
    Files, INTERPRETERS, from_root, is_one_of, is_outside, operands, path_from, starts_elsewhere, starts_git,
};
use crate::domain::run::{Output, Ran};
use crate::text::{one_line, shorten, without_escapes};

/// What shells, programming languages and tools say: of what, the words before and after its name, and what the command or the
/// output must also contain, where `{}` is the name.
const SAID: [(Missing, &str, &str, &str); 35] = [
    (Missing::Program, ": ", ": command not found", ""),
    (Missing::Program, "command not found: ", "", ""),
    (Missing::Program, SHELL, ": not found", ""),
    (Missing::Program, "env: ", ": No such file or directory", ""),
    (Missing::Program, MAKE, ": No such file or directory", ""),
    (Missing::Program, "xargs: ", ": No such file or directory", ""),
    (Missing::Program, "find: ", ": No such file or directory", "-exec {} "),
    (Missing::Program, "find: ", ": No such file or directory", "-execdir {} "),
    (Missing::Program, "No such file or directory: ", "", "_execute_child"),
    (Missing::Program, "spawn ", " ENOENT", ""),
    (Missing::Program, "no such command: ", "", "cargo"),
    (Missing::Program, "toolchain ", " is not installed", ""),
    (Missing::Program, "exec: ", ": executable file not found", ""),
    (Missing::Program, "", " is not recognized as an internal", ""),
    (Missing::Program, "Command \"", "\" not found", ""),
    (Missing::Program, "canceled due to missing packages and no YES option: ", "", ""),
    (Missing::Program, "package was not found and will be installed: ", "", ""),
    (Missing::Program, "request to ", " failed", "npm error code E"),
    (Missing::Module, "No module named ", "", ""),
    (Missing::Module, "Cannot find module ", "", ""),
    (Missing::Module, "Cannot find package ", "", ""),
    (Missing::Module, "cannot load such file -- ", "", ""),
    (Missing::Module, "Can't locate ", " in @INC", ""),
    (Missing::Module, "there is no package called ", "", ""),
    (Missing::Revision, "fatal: bad object ", "", ""),
    (Missing::Revision, "error: bad object ", "", ""),
    (Missing::Revision, "fatal: bad revision ", "", ""),
    (Missing::Revision, "fatal: ambiguous argument ", ": unknown revision", ""),
    (Missing::Revision, "fatal: invalid object name ", "", ""),
    (Missing::Revision, "fatal: Not a valid object name ", "", ""),
    (Missing::Revision, "fatal: Invalid revision range ", "", ""),
    (Missing::Revision, "fatal: unable to read tree ", "", ""),
    (Missing::Revision, "error: Could not read ", "", ""),
    (Missing::Revision, "exists on disk, but not in ", "", ""),
    (Missing::Revision, "' does not exist in ", "", ""),
];
/// Stands for the name of a shell, with the number of a line: `sh: 1: `.
const SHELL: &str = "sh";
/// Stands for make at the beginning of a line, with its level: `make[1]: `.
const MAKE: &str = "make";
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "ash", "zsh", "ksh"];
/// What is said only of a file or folder that is not there, in lower case.
const NOT_THERE: [&str; 5] =
    ["no such file", "cannot find module", "module not found", "could not open input file", "can't cd to"];
/// What is said of it, and also of a file that is locked, or of what is in it.
const NOT_FOUND: [&str; 6] =
    ["cannot find", "can't open", "cannot open", "not found", "does not exist", "not a directory"];
/// What git says where no branch is checked out, as in the work tree of a rerun.
const NO_BRANCH: [&str; 5] =
    ["(no branch)", "HEAD detached at", "(HEAD,", "(HEAD)", "ref HEAD is not a symbolic ref"];
/// The maximum number of paths that are looked for.
const PATHS: usize = 50;
/// The maximum length of a name in a sentence, in characters.
const NAME: usize = 80;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Program,
    Module,
    Revision,
}

/// Says what a repetition lacked that differs from the first run, and what to do. `then` are the project's files when the command was
/// captured, and `lacks` says of a path in the project that it is missing now for a reason of its own, such as that git ignores it.
pub fn lacking(
    again: &Ran,
    first: &Ran,
    then: Option<&Files>,
    lacks: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let before = lines(&first.output).collect::<BTreeSet<_>>();
    let new: Vec<String> = lines(&again.output).filter(|line| !before.contains(line)).collect();
    let said: Vec<String> = new.iter().cloned().chain([again.command.join(" ")]).collect();
    let folder = again.folder.as_deref().unwrap_or_default();
    let had = |kind, name: &str| then.is_some_and(|files| had(files, kind, folder, name));
    let missing = new.iter().find_map(|line| {
        SAID.iter().find_map(|(kind, from, to, besides)| {
            let name = named(line, from, to, &again.command)?;
            let besides = besides.replace("{}", name);
            let is_known = said.iter().any(|line| line.contains(&besides)) && !had(*kind, name);
            is_known.then(|| (*kind, shorten(&one_line(name), NAME)))
        })
    });
    if let Some((kind, name)) = missing {
        return Some(match kind {
            Missing::Program => {
                format!("the program {name} is not here: install it, or rerun with --at here")
            }
            Missing::Module => format!("the module {name} is not here: install it, or rerun with --at here"),
            Missing::Revision => {
                format!("the revision {name} is not here; for a shallow clone: git fetch --unshallow")
            }
        });
    }
    let asks = |option: &str| again.command.iter().any(|word| word.contains(option));
    let has_none = |line: &String| line == "HEAD" || NO_BRANCH.iter().any(|said| line.contains(said));
    let is_unnamed = asks("--show-current") && again.output.text.trim().is_empty();
    if starts_git(again) && (is_unnamed || new.iter().any(has_none)) {
        return Some("it asks git for the branch, and none is checked out: rerun with --at here".to_owned());
    }
    let parts = new.iter().filter(|line| says_not_found(line)).flat_map(|line| line.split(is_end));
    // A word such as `test` is rarely a file, unless the command names it.
    let words = operands(again);
    let is_path = |path: &String| path.contains(['.', '/']) || words.contains(&path.as_str());
    let paths = parts.filter_map(|part| path_from(folder, part)).filter(is_path);
    // Of a pattern that fits nothing, the folder may be missing.
    let folders = paths.map(|path| path.split("/*").next().unwrap_or_default().to_owned());
    let path = folders.take(PATHS).find(|path| lacks(path))?;
    let path = shorten(&one_line(&path), NAME);
    Some(format!("{path} is not stored in the run, and not in the work tree: rerun with --at here"))
}

/// Returns the path outside of the project that a command names and of which the output of its repetition says that it is not there,
/// and that of the first run does not.
pub fn lost_outside(again: &Ran, first: &Ran) -> Option<String> {
    let lost = said_lost(again);
    let before = if lost.is_empty() { Vec::new() } else { said_lost(first) };
    lost.into_iter().find(|path| !before.contains(path)).filter(|_| !has_judged(again, first))
}

/// Returns whether a repetition judged all the same: it ended as the first run did, and each number was read, even if it is out of
/// its range.
pub fn has_judged(again: &Ran, first: &Ran) -> bool {
    again.ended == first.ended
        && !again.expectations.is_empty()
        && again.expectations.iter().all(|it| it.found.is_some())
}

/// Returns the paths outside of the project that a command names and of which its output says that they are not there.
pub(super) fn said_lost(ran: &Ran) -> Vec<String> {
    // What another machine or a container reads lies there.
    if starts_elsewhere(ran) {
        return Vec::new();
    }
    let says = |line: &String| NOT_THERE.iter().any(|said| line.to_lowercase().contains(said));
    let said: Vec<String> = lines(&ran.output).filter(says).collect();
    let folder = ran.folder.as_deref().unwrap_or_default();
    let is_elsewhere = |word: &str| {
        word.starts_with(['/', '~']) || from_root(folder, word).is_some_and(|path| is_outside(&path))
    };
    let is_said = |word: &str| {
        // A program may say where a path leads.
        let end = word.rfind("../").map_or(word.trim_start_matches('~'), |at| &word[at + 2..]);
        let is_named = |line: &String| line.split(is_end).any(|part| part.ends_with(end));
        end.starts_with('/') && said.iter().any(is_named)
    };
    let words = operands(ran);
    // What the command names before it reads it, it may have made itself.
    let is_made = |at: usize| {
        let is_started = at > 0 && (words[at - 1] == "cd" || is_one_of(words[at - 1], &INTERPRETERS));
        !is_started && words[at + 1..].contains(&words[at])
    };
    let named = words.iter().enumerate().filter(|(_, word)| is_elsewhere(word) && is_said(word));
    let lost = named.filter(|(at, word)| !words[..*at].contains(word) && !is_made(*at));
    lost.map(|(_, word)| (*word).to_owned()).collect()
}

/// Returns whether a line says that something is not there.
pub(super) fn says_not_found(line: &str) -> bool {
    let line = line.to_lowercase();
    NOT_THERE.iter().chain(&NOT_FOUND).any(|said| line.contains(said))
}

fn is_end(c: char) -> bool {
    c.is_whitespace() || "\"'`‘’=:;,()[]{}<>|&".contains(c)
}

fn lines(output: &Output) -> impl Iterator<Item = String> {
    let texts = [Some(&output.text), output.end.as_ref()];
    texts.into_iter().flatten().flat_map(|text| text.lines()).map(without_escapes)
}

/// Returns the name between two texts of a line. A name after a shell follows the shell's name, or the number of a line in a
/// script of the command.
fn named<'l>(line: &'l str, from: &str, to: &str, command: &[String]) -> Option<&'l str> {
    let end = if to.is_empty() { line.len() } else { line.rfind(to)? };
    let begin = match from {
        "" => 0,
        SHELL => {
            let (before, rest) = line[..end].split_once(": ")?;
            let program = before.rsplit(char::is_whitespace).next().unwrap_or_default();
            let has_number = rest.split(": ").next().is_some_and(|part| part.parse::<u32>().is_ok());
            let is_script = || has_number && command.iter().any(|word| word.contains(program));
            let name = program.rsplit('/').next().unwrap_or_default();
            (SHELLS.contains(&name) || name.ends_with(".sh") || is_script()).then_some(before.len())?
        }
        MAKE => {
            let rest = line[..end].strip_prefix("gmake").or(line[..end].strip_prefix(MAKE))?;
            rest.starts_with([':', '[']).then_some(end - rest.len())?
        }
        from => {
            let at = line[..end].find(from)?;
            let is_word = from.starts_with([':', '\'']) || !line[..at].ends_with(char::is_alphanumeric);
            is_word.then_some(at + from.len())?
        }
    };
    let name = if to.is_empty() { line[begin..end].trim_start() } else { &line[begin..end] };
    let name = if to.starts_with(':') { name.rsplit(": ").next()? } else { name };
    let name = if to.is_empty() { name.split([' ', ';', ',']).next()? } else { name };
    let name =
        name.trim_end_matches('.').trim_matches(|c: char| c.is_whitespace() || "\"'`‘’[]():".contains(c));
    // Of a commit, as opposed to a branch, what it contains never changes.
    let is_fixed = |least| name.len() >= least && name.chars().all(|c| c.is_ascii_hexdigit());
    let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
    let is_meant = match from.rsplit(' ').nth(1) {
        Some("in") => is_fixed(7) && line.contains("fatal: "),
        Some("read") => is_fixed(40),
        _ => true,
    };
    (is_name && is_meant).then_some(name)
}

/// Returns whether the project had what a name means: a file, a program, or a module of its own.
fn had(files: &Files, kind: Missing, folder: &str, name: &str) -> bool {
    // `HEAD:src/a.rs` is a file of a revision.
    let name = if kind == Missing::Revision { name.rsplit(':').next().unwrap_or_default() } else { name };
    let base = name.rsplit(['/', '\\']).next().unwrap_or_default();
    if kind == Missing::Program && files.keys().any(|path| path.rsplit('/').next() == Some(base)) {
        return true;
    }
    const CODE: [&str; 11] = ["py", "js", "mjs", "cjs", "ts", "rb", "pl", "pm", "php", "R", "json"];
    let is_path = name.contains('/') || kind == Missing::Revision;
    let path = path_from(folder, name).filter(|_| is_path);
    let is_there = path.is_some_and(|path| {
        let below = format!("{path}/");
        files.contains_key(&path)
            || files.range(below.clone()..).next().is_some_and(|it| it.0.starts_with(&below))
    });
    let module = name.split(['.', '/', ':']).next().unwrap_or_default();
    let is_module = |part: &str| {
        part == module
            || part.split_once('.').is_some_and(|(stem, end)| stem == module && CODE.contains(&end))
    };
    // A relative path is one of the project's own modules.
    let is_own = || module.is_empty() || files.keys().any(|path| path.split('/').any(is_module));
    is_there || kind == Missing::Module && is_own()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

    #[test]
    fn what_is_missing_keeps_a_command_from_judging_unless_the_project_had_it_or_it_was_said_before() {
        let at = Timestamp::from_milliseconds(0).unwrap();
        let then =
            ["data.txt", "lib/db.py", "run.sh", "docker/x"].map(|it| (it.to_owned(), Default::default()));
        let then = Files::from(then);
        for (command, output, found) in [
            ("sh -c jest", "sh: 1: jest: not found", "program jest"),
            ("npm test", "> t\n\nnpm ERR! /bin/sh: 1: jest: not found", "program jest"),
            ("./go", "./go: 3: jest: not found", "program jest"),
            ("bash x", "x: line 3: docker: command not found", "program docker"),
            ("zsh x", "zsh:1: command not found: jest", "program jest"),
            ("make", "make[1]: jest: No such file or directory", "program jest"),
            ("./x", "/usr/bin/env: ‘node’: No such file or directory", "program node"),
            ("find . -exec jest {} ;", "find: ‘jest’: No such file or directory", "program jest"),
            ("python3 x", "x, in _execute_child\nNo such file or directory: 'jest'", "program jest"),
            (
                "npx jest",
                "npm error npx canceled due to missing packages and no YES option: [\"jest@29\"]",
                "program jest@29",
            ),
            ("npx a", "npm error code ENOTCACHED\nnpm error request to x/a failed: …", "program x/a"),
            ("npx a", "The following package was not found and will be installed: a@2", "program a@2"),
            ("./get", "request to x.org/jest failed", ""),
            ("python3 -m pytest", "/usr/bin/python3: No module named pytest", "module pytest"),
            ("node x", "␛[31mError: Cannot find module 'left'␛[0m", "module left"),
            ("git show a", "fatal: bad object 3f2a91c", "revision 3f2a91c"),
            ("git show a", "fatal: path 'd' exists on disk, but not in '3f2a91c'", "revision 3f2a91c"),
            ("git show a", "fatal: path 'd' exists on disk, but not in 'main'", ""),
            (
                "git diff a",
                "fatal: ambiguous argument 'a..b': unknown revision or path not in…",
                "revision a..b",
            ),
            (
                "python3 x",
                "FileNotFoundError: [Errno 2] No such file or directory: 'in/a.csv'",
                "in/a.csv is",
            ),
            ("git rev-parse --abbrev-ref HEAD", "HEAD", "for the branch"),
            // What the project had, and what is no message of a shell or a tool.
            ("find data.txt", "find: ‘data.txt’: No such file or directory", ""),
            ("git diff data.txt", "fatal: ambiguous argument 'data.txt': unknown revision or path", ""),
            ("python3 x", "ModuleNotFoundError: No module named 'lib.db'", ""),
            ("node x", "Error: Cannot find module './left'", ""),
            ("sh x", "sh: 1: ./run.sh: not found", ""),
            ("./get", "user: key: not found", ""),
            ("cat v", "⚠ sh: jest: not found", "program jest"),
            ("cat cmake/x", "cat: cmake/x.txt: No such file or directory", ""),
            ("make -f run.sh", "make: run.sh: No such file or directory", ""),
            ("sh -c x", "sh: 1: $TOT_PROJECT/bin/run.sh: not found", ""),
            ("cat log", "ERROR: relation 'users' does not exist in db", ""),
            ("cat log", "Error: Could not read property x of undefined", ""),
            ("git ls-tree HEAD:lib", "fatal: Not a valid object name HEAD:lib", ""),
            ("./get", "No such file or directory: 'out.csv'", ""),
            ("sh -c cd /w2/m && ls", "sh: 1: cd: can't cd to /w2/m", "/w2/m"),
            ("python3 ../lab/x.py", "x.py: No such file: '/tmp/w/../lab/x.py'", "../lab/x.py"),
            ("cc -o /tmp/x a.c; /tmp/x", "bash: /tmp/x: No such file or directory", ""),
            ("cat in", "cat: in: No such file or directory", "in is not stored"),
            ("cat in/*", "cat: 'in/*': No such file or directory", "in is not stored"),
            ("sh x", "cat: in: No such file or directory", ""),
        ] {
            let mut first = Ran::new(command.split(' ').map(str::to_owned).collect(), at);
            let mut again = first.clone();
            again.output.text = output.to_owned();
            let lacks = |path: &str| path == "in" || path.starts_with("in/");
            let lack = |of: &Ran| lost_outside(&again, of).or(lacking(&again, of, Some(&then), &lacks));
            let said = lack(&first).unwrap_or_default();
            assert!(said.contains(found) && said.is_empty() == found.is_empty(), "{output}: {said}");
            first.output.text = format!("{output}\n1 passed");
            assert_eq!(lack(&first), None, "{output}");
        }
    }
}

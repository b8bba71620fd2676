//! Chooses the root, the folder of investigations, for all three programs.
//!
//! 1. [`Surroundings::here`] looks at the current folder and at `TOT_ROOT`.
//! 2. [`Surroundings::root`] takes the first that is given: `--root`, the folder around the current investigation,
//!    `TOT_ROOT`, and `investigations` in the project, or in the current folder if there is no project.
//! 3. [`written_path`] replaces the variables that a shell would replace. Clients start the server without a shell.
//!
//! Git hides the root, so it deletes a linked work tree without asking, together with the investigations in it. The root of
//! a project is therefore in its main work tree. Git's variables, such as `GIT_DIR` in a hook, have no effect.

use std::ffi::OsString;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser};

use crate::format::layout;
use crate::service::project::Project;
use crate::store::{Store, WorkTree};
use crate::text::counted;

/// The name of the root in a project.
const NAME: &str = "investigations";

/// The root that a program works on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Root {
    pub folder: PathBuf,
    /// The investigation around the current folder.
    pub inside: Option<PathBuf>,
    /// What users and agents should know about this root.
    pub note: Option<String>,
}

/// What the choice of the root depends on, besides `--root`.
#[derive(Debug, Default)]
struct Surroundings {
    /// The current folder. Empty if it was removed.
    folder: PathBuf,
    /// The investigation around the current folder. For a linked work tree, the investigation's own folder.
    investigation: Option<PathBuf>,
    /// The folder that was taken for an investigation, if it is a linked work tree.
    linked: Option<PathBuf>,
    /// The top of the project's work tree.
    project: Option<(PathBuf, WorkTree)>,
    /// The value of `TOT_ROOT`.
    variable: Option<OsString>,
}

/// Returns the root to work on.
pub(super) fn root(named: Option<&Path>) -> Result<Root, String> {
    let around = Surroundings::here();
    let mut root = around.root(named, holds)?;
    let is_default = root.inside.is_none() && named.is_none() && around.variable.is_none();
    if is_default && let Some(older) = around.older(&root.folder) {
        root.note = Some(root.note.map_or(older.clone(), |note| format!("{note} {older}")));
    }
    Ok(root)
}

impl Surroundings {
    fn here() -> Surroundings {
        let folder = std::env::current_dir().unwrap_or_default();
        let is_investigation = |dir: &&Path| dir.join(layout::META).is_file() && WorkTree::of(dir).is_some();
        let found = folder.ancestors().find(is_investigation).map(Path::to_owned);
        let origin = found.as_deref().and_then(WorkTree::origin);
        let project = Project::work_tree_around(&folder).map(|(top, tree)| (top.to_owned(), tree));
        Surroundings {
            linked: found.clone().filter(|_| origin.is_some()),
            investigation: origin.or(found),
            project,
            variable: std::env::var_os("TOT_ROOT").filter(|root| !root.is_empty()),
            folder,
        }
    }

    /// Chooses the root. `holds` returns whether an investigation is in a root.
    fn root(&self, named: Option<&Path>, holds: impl Fn(&Path, &Path) -> bool) -> Result<Root, String> {
        if let Some(inside) = &self.investigation {
            if let Some(named) = named.filter(|named| !holds(named, inside)) {
                return Err(format!(
                    "the current folder is in the investigation {}, which is not in --root {}: leave that folder, or leave \
                     out --root",
                    inside.display(),
                    named.display()
                ));
            }
            let around = inside.parent().unwrap_or(inside).to_owned();
            let note = self.linked.as_ref().map(|linked| {
                let (linked, inside) = (linked.display(), inside.display());
                format!("{linked} is a linked work tree of the investigation {inside}, which is read and written instead.")
            });
            return Ok(Root {
                folder: named.map_or(around, Path::to_owned),
                inside: Some(inside.clone()),
                note,
            });
        }
        let variable = || self.variable.clone().map(written_path).transpose();
        let given = match named {
            Some(named) => Some(named.to_owned()),
            None => variable().map_err(|error| format!("TOT_ROOT: {error}"))?,
        };
        if let Some(folder) = given {
            let at: PathBuf = self.folder.join(&folder).components().collect();
            let around = self.project.as_ref().filter(|(top, _)| at.starts_with(top));
            let note = around.and_then(|(_, tree)| note_of_risk(&at, tree));
            return Ok(Root { folder, inside: None, note });
        }
        let Some((top, tree)) = self.project.clone() else {
            return Ok(Root { folder: NAME.into(), inside: None, note: None });
        };
        let (top, tree) = match tree {
            WorkTree::Linked { main: Some(main), .. } => {
                (main.clone(), WorkTree::of(&main).unwrap_or(WorkTree::Main))
            }
            tree => (top, tree),
        };
        let note = note_of_risk(&top.join(NAME), &tree);
        let folder = if top == self.folder { PathBuf::from(NAME) } else { top.join(NAME) };
        Ok(Root { folder, inside: None, note })
    }

    /// Describes the investigations in other folders where earlier versions looked for them.
    fn older(&self, root: &Path) -> Option<String> {
        let (top, _) = self.project.as_ref()?;
        let root = self.folder.join(root);
        let places = self.folder.ancestors().take_while(|dir| dir.starts_with(top)).map(|dir| dir.join(NAME));
        let others = places.filter(|place| *place != root && place.is_dir());
        let found = others.map(|place| (Store::new(&place).folders().len(), place));
        let (number, place) = found.into_iter().find(|(number, _)| *number > 0)?;
        let (number, place) = (counted(number, "investigation"), place.display());
        Some(format!(
            "{place} holds {number} more: `tot --root {place} list` shows them. To have all in one place, move their folders \
             to {}.",
            root.display()
        ))
    }
}

/// Returns what to know of a root in a work tree that git deletes without asking.
fn note_of_risk(root: &Path, tree: &WorkTree) -> Option<String> {
    let (place, command) = match tree {
        WorkTree::Main => return None,
        WorkTree::Linked { main: Some(_), .. } => ("a linked work tree", "git worktree remove"),
        WorkTree::Linked { .. } => ("a linked work tree, and git knows no main one", "git worktree remove"),
        WorkTree::Submodule => ("a submodule", "git submodule deinit"),
    };
    Some(format!(
        "{} is in {place}: `{command}` deletes the investigations in it without asking. To keep them elsewhere, name a folder \
         with --root DIR or TOT_ROOT.",
        root.display()
    ))
}

/// Returns whether an investigation is in a root, possibly through a symbolic link.
fn holds(root: &Path, investigation: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let entries = || std::fs::read_dir(root).into_iter().flatten().flatten();
    let parent = investigation.parent().and_then(real);
    parent.is_some() && parent == real(root)
        || entries().any(|entry| real(&entry.path()) == real(investigation))
}

/// Parses the path in an option, with [`written_path`].
pub(super) fn path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(written_path)
}

/// Returns the path that someone wrote where no shell reads it, such as in a client's configuration.
pub(super) fn written_path(written: OsString) -> Result<PathBuf, String> {
    let Some(text) = written.to_str() else { return Ok(written.into()) };
    expanded(text, std::env::home_dir(), |name| std::env::var(name).ok()).map(PathBuf::from)
}

/// Replaces `~` and the variables in a path, if their values are known. A path that begins with `./` stays as it is.
fn expanded(
    text: &str,
    home: Option<PathBuf>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let refused = |part: &str, reason: &str| {
        let literal = "write the path in full, or ./ before the name of a folder that is called so";
        Err(format!("{part} {reason}: {literal}"))
    };
    let known = |name: &str| {
        let home = || home.as_ref().and_then(|home| home.to_str()).map(str::to_owned);
        let value = match name {
            "HOME" | "userHome" => variable("HOME").or_else(home),
            _ => variable(name),
        };
        value.filter(|value| !value.is_empty())
    };
    if text.is_empty() {
        return Err("the path is empty".to_owned());
    }
    if text.starts_with("./") || text.starts_with(".\\") {
        return Ok(text.to_owned());
    }
    if text.contains("://") {
        return refused(text, "is an address, not a folder");
    }
    let is_unreplaced = ["$(", "`", "{{"].iter().any(|mark| text.contains(mark))
        || ["\"", "'", "<", "env:"].iter().any(|mark| text.starts_with(mark));
    if text.trim() != text || is_unreplaced {
        return refused(text, "was replaced neither by a shell nor by a client");
    }
    let separators = ['/', MAIN_SEPARATOR];
    let first = text.split(separators).next().unwrap_or_default();
    let is_drive =
        |(drive, _): (&str, &str)| drive.len() == 1 && drive.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_of_windows =
        text.split_once([':']).is_some_and(|both| is_drive(both) && both.1.starts_with(['/', '\\']))
            || first.starts_with("\\\\")
            || first.starts_with(['~', '$', '%']) && first.contains('\\');
    if is_of_windows && !Path::new(text).has_root() {
        return refused(text, "is a path of another system");
    }
    let mut whole = String::new();
    for part in text.split_inclusive(separators) {
        let name = part.trim_end_matches(separators);
        let replaced = match name.strip_prefix('~').filter(|_| whole.is_empty()) {
            Some(user) => known("HOME").filter(|_| user.is_empty()),
            None => with_variables(name, known),
        };
        let Some(replaced) = replaced else {
            return refused(name, "was replaced neither by a shell nor by a client");
        };
        whole.push_str(&replaced);
        whole.push_str(&part[name.len()..]);
    }
    Ok(whole)
}

/// Replaces the variables in a component of a path, in the forms of shells and of clients' configurations. Returns `None` if
/// one is unknown.
fn with_variables(part: &str, known: impl Fn(&str) -> Option<String>) -> Option<String> {
    let is_name = |name: &&str| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        !name.is_empty() && name.chars().all(is_part) && !name.starts_with(|c: char| c.is_ascii_digit())
    };
    let plain = part.strip_prefix("$env:").or_else(|| part.strip_prefix('$'));
    if let Some(name) = plain.filter(is_name) {
        return known(name);
    }
    let percent = part.strip_prefix('%').and_then(|part| part.split_once('%'));
    if let Some((name, rest)) = percent.filter(|(name, _)| is_name(name)) {
        return Some(known(name)? + rest);
    }
    let (mut whole, mut rest) = (String::new(), part);
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after.split_once('}')?;
        let name = Some(name.strip_prefix("env:").unwrap_or(name)).filter(is_name)?;
        whole = whole + before + &known(name)?;
        rest = after;
    }
    Some(whole + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_nobody_expanded_is_expanded_or_refused() {
        let expand = |text: &str| {
            let variable = |name: &str| match name {
                "HOME" => Some("/home/ada".to_owned()),
                "WORK" => Some("w".to_owned()),
                "EMPTY" => Some(String::new()),
                _ => None,
            };
            expanded(text, None, variable)
        };
        for (text, path) in [
            ("~", "/home/ada"),
            ("~/research", "/home/ada/research"),
            ("$HOME/research/", "/home/ada/research/"),
            ("${HOME}/${WORK}-${env:WORK}//x", "/home/ada/w-w//x"),
            ("${userHome}", "/home/ada"),
            ("$env:HOME/x", "/home/ada/x"),
            ("%WORK%/x", "w/x"),
            ("a/~/b~/$5/100%/%20a%20b", "a/~/b~/$5/100%/%20a%20b"),
            ("./~/${workspaceFolder}", "./~/${workspaceFolder}"),
            ("/srv/~ada", "/srv/~ada"),
        ] {
            assert_eq!(expand(text).as_deref(), Ok(path), "{text}");
        }
        for text in [
            "",
            "~bob/research",
            "~\\research",
            "${workspaceFolder}/research",
            "/srv/$USER/x",
            "${HOME",
            "${HOME:-/x}/y",
            "$EMPTY/x",
            "%USERPROFILE%\\research",
            "%USERPROFILE%/research",
            "$HOME\\research",
            "file:///home/ada",
            "C:\\Users\\ada",
            "C:/Users/ada",
            "\\\\server\\share",
            "\"~/x\"",
            " ~/x",
            "$(pwd)/x",
            "env:HOME/x",
        ] {
            assert!(expand(text).is_err() || MAIN_SEPARATOR == '\\', "{text}: {:?}", expand(text));
        }
        assert_eq!(expanded("~/x", Some("/h".into()), |_| None).as_deref(), Ok("/h/x"));
        assert!(expanded("~/x", None, |_| None).is_err());
    }

    #[test]
    fn the_root_is_the_one_that_is_given_first() {
        let bare = WorkTree::Linked { repository: "/hub.git".into(), main: None };
        let linked = WorkTree::Linked { repository: "/p/.git".into(), main: Some("/p".into()) };
        let at = |tree: &WorkTree| Surroundings {
            folder: "/wt/src".into(),
            project: Some(("/wt".into(), tree.clone())),
            ..Surroundings::default()
        };
        let root = |around: &Surroundings, named: Option<&str>| {
            around.root(named.map(Path::new), |root, folder| folder.parent() == Some(root))
        };
        let folder = |around: &Surroundings, named| root(around, named).unwrap().folder;
        let notes = |tree: &WorkTree| root(&at(tree), None).unwrap().note.unwrap_or_default();

        assert_eq!(folder(&Surroundings::default(), None), Path::new("investigations"));
        assert_eq!(folder(&at(&WorkTree::Main), None), Path::new("/wt/investigations"));
        assert_eq!(folder(&at(&linked), None), Path::new("/p/investigations"));
        assert_eq!(notes(&linked), "");
        assert!(notes(&bare).contains("git worktree remove"), "{}", notes(&bare));
        assert!(notes(&WorkTree::Submodule).contains("git submodule deinit"));
        let mut around = Surroundings { variable: Some("/v".into()), ..at(&linked) };
        assert_eq!(folder(&around, None), Path::new("/v"));
        assert_eq!(folder(&around, Some("/n")), Path::new("/n"));
        assert_eq!(root(&around, None).unwrap().note, None);
        let note = root(&around, Some("research")).unwrap().note.unwrap_or_default();
        assert!(note.contains("/wt/src/research is in a linked work tree: `git worktree remove`"), "{note}");
        around.investigation = Some("/r/one".into());
        let root = root(&around, None).unwrap();
        assert_eq!((root.folder, root.inside), ("/r".into(), Some("/r/one".into())));
        assert_eq!(folder(&around, Some("/r")), Path::new("/r"));
        let error = around.root(Some(Path::new("/n")), |_, _| false).unwrap_err();
        assert!(error.contains("/r/one") && error.contains("--root /n"), "{error}");
    }
}

//! The files of a project at one of its states, to compare runs with.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use gix::diff::tree::{self, recorder::Change};
use gix::objs::TreeRefIter;

use super::{
    CANDIDATES, Drift, FileContent, INVESTIGATION, Project, bytes, content_of, drift, id_in, object,
};
use crate::assess::inputs::{
    ChangedPaths, Files, LINK, PathUse, SUBMODULE, covers, is_pattern, may_read, named_paths, path_from,
    traced_inputs,
};
use crate::assess::refs::NAMES;
use crate::assess::{ProjectInputs, ProjectView};
use crate::domain::run::{ProjectState, Ran, RunInput, RunRef};
use crate::domain::{Investigation, Pin};
use crate::service::remote::{GitProgram, RemoteError};
use crate::service::runs::TracedPaths;
use crate::text::{causes, counted, one_line};

/// The maximum number of files that a run declares.
const FILES_MAX: usize = 1_000;
/// The maximum number of ignored files and folders that a run names.
const IGNORED_MAX: usize = 100;
/// The places of tags, branches and remote branches.
const PLACES: [&str; 3] = ["refs/tags/", "refs/heads/", "refs/remotes/"];
/// Why no inputs can be stored.
const UNREAD: &str = "the project's files can't be read";

/// The files that differ from a commit, each with its mode and its blob, or `None` if it is gone. A blob that git has not
/// computed is empty.
pub type ChangedFiles = BTreeMap<String, Option<(String, String)>>;

/// The files of a project at a commit, possibly with changes. Everything is read once, when it is needed. Threads can share it.
pub struct ProjectFiles {
    project: Project,
    commit: gix::ObjectId,
    changes: ChangedFiles,
    files: OnceLock<Option<Files>>,
    since: Mutex<BTreeMap<String, Option<Arc<ChangedPaths>>>>,
}

impl Project {
    /// Returns the files at a commit, given by its id, or at HEAD. `None` if there is no such commit, or if the repository can't
    /// be read.
    pub fn files(&self, commit: Option<&str>) -> Option<ProjectFiles> {
        let repository = self.open().ok()?;
        let commit = match commit {
            Some(commit) => known_commit(&repository, commit)?,
            None => self.commit_of(&repository, "HEAD")??,
        };
        Some(ProjectFiles {
            project: self.clone(),
            commit,
            changes: ChangedFiles::new(),
            files: OnceLock::new(),
            since: Mutex::default(),
        })
    }

    /// Returns the files as they are in the work tree or, if `is_staged` is true, in the index. `None` as for [`Project::files`].
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn files_now(&self, git: &GitProgram, is_staged: bool) -> Result<Option<ProjectFiles>, RemoteError> {
        let Some(files) = self.files(None) else { return Ok(None) };
        let untracked = if is_staged { Vec::new() } else { git.untracked(&self.root, false)? };
        let changes = git.changes(&self.root, is_staged, &untracked, &|_| true)?;
        Ok(Some(ProjectFiles { changes, ..files }))
    }

    /// Returns the files in a state of the project, of those that differ from its commit only the wanted ones.
    ///
    /// # Errors
    ///
    /// Returns the reason, for people, if they can't be read.
    pub fn files_then(
        &self,
        git: &GitProgram,
        state: &ProjectState,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Result<ProjectFiles, String> {
        let commit = state.commit.as_deref().ok_or("the project has no commit yet")?;
        let changes = git.changes(self.root(), false, &state.changed, is_wanted);
        let changes = changes.map_err(|error| one_line(&causes(&error)))?;
        Ok(ProjectFiles { changes, ..self.files(Some(commit)).ok_or(UNREAD)? })
    }

    /// Stores what a trace found of a run in the work tree: its inputs, in the state of the project before it ran, and what git does
    /// not track of what it read or listed.
    ///
    /// # Errors
    ///
    /// Returns the reason, for people, if the inputs can't be stored.
    pub fn trace(
        &self,
        git: &GitProgram,
        traced: &TracedPaths,
        before: &ProjectFiles,
        ran: &mut Ran,
    ) -> Result<(), String> {
        let mut unknown = before.trace(traced, ran)?;
        let is_used = |path: &str, what| traced.as_ref().ok().and_then(|it| it.get(path)) == Some(&what);
        // Investigations often lie in the project, and whoever looks at a folder comes across them.
        let is_for_us = |path: &String| {
            self.is_investigation(path) || self.entries(path).iter().any(|it| self.is_investigation(it))
        };
        unknown.retain(|path| is_used(path, PathUse::Read) || !is_for_us(path));
        let is_listed = |path: &str| {
            let file = path.trim_end_matches('/');
            let folder = file.rsplit_once('/').map_or(".", |(above, _)| above);
            let is_made = [PathUse::Written, PathUse::Made].map(|what| is_used(file, what)).contains(&true);
            !is_made && is_used(folder, PathUse::Listed)
        };
        let none = ProjectState::default();
        let seen = self.unknown(git, &none, &is_listed).map_err(|error| one_line(&causes(&error)))?;
        unknown.extend(seen);
        unknown.sort();
        unknown.dedup();
        if let Some(state) = &mut ran.project {
            state.ignored =
                unknown.into_iter().filter(|path| !state.changed.contains(path)).take(IGNORED_MAX).collect();
        }
        Ok(())
    }

    /// Declares the inputs of a run in its state of the project: these files, folders and patterns, seen from the working
    /// folder, and the files that the command names. Resolves only paths of git, so nothing outside the project is read.
    ///
    /// # Errors
    ///
    /// Returns the reason, for people, if one of them is no tracked file, folder or pattern of files.
    pub fn declare(&self, git: &GitProgram, declared: &[String], ran: &mut Ran) -> Result<(), String> {
        let state = ran.project.clone().unwrap_or_default();
        let folder = self.folder().unwrap_or_default();
        let paths = declared.iter().map(|written| {
            let inside = written.strip_prefix(&format!("{}/", self.root().display())).unwrap_or(written);
            let from = if inside == written { folder.as_str() } else { "" };
            let is_root = Path::new(inside).components().all(|part| part == std::path::Component::CurDir);
            match path_from(from, inside) {
                None if is_root && from.is_empty() => Ok(".".to_owned()),
                None if is_root => Ok(from.to_owned()),
                path => path.ok_or_else(|| format!("{} is not in the project", one_line(written))),
            }
        });
        let paths = paths.collect::<Result<Vec<String>, String>>()?;
        let is_covered = |path: &str| paths.iter().any(|it| covers(it, path));
        let names = named_paths(ran);
        let is_wanted = |path: &str| is_covered(path) || names.contains(path);
        let then = self.files_then(git, &state, &is_wanted)?;
        let all = then.files().ok_or(UNREAD)?;
        let files: Files = all.iter().filter(|(path, _)| is_wanted(path)).map(owned).collect();
        for (path, written) in paths.iter().zip(declared) {
            if !files.keys().any(|file| covers(path, file)) {
                return Err(format!(
                    "{} is no tracked file, folder or pattern of them: commit it, or store it with --include",
                    one_line(written)
                ));
            }
        }
        if files.len() > FILES_MAX {
            let number = counted(files.len(), "file");
            return Err(format!("{number} are too many: name at most {FILES_MAX} that the command reads"));
        }
        let repository = self.open().map_err(|error| error.to_string())?;
        for (path, (mode, blob)) in &files {
            if mode == SUBMODULE && blob.is_empty() {
                return Err(format!("the submodule {} has uncommitted changes: commit them", one_line(path)));
            }
            // The blob of a link does not say what it leads to.
            let above = path.rsplit_once('/').map_or("", |(above, _)| above);
            let to = (mode == LINK).then(|| id_in(&repository, blob)).flatten();
            let to = to.map(|id| object(&repository, id).and_then(|it| String::from_utf8(it).ok()));
            let is_there = |to: &str| all.keys().any(|path| covers(to, path));
            let is_known =
                |to: &String| path_from(above, to).is_some_and(|to| is_covered(&to) && is_there(&to));
            if mode == LINK && !to.flatten().is_some_and(|to| is_known(&to)) {
                return Err(format!("{} is a link: name what it leads to, too", one_line(path)));
            }
        }
        let is_folder = |path: &&String| is_pattern(path) || !files.contains_key(*path);
        ran.input_folders = paths.iter().filter(is_folder).cloned().collect();
        ran.input_folders.sort();
        ran.input_folders.dedup();
        let input = |(path, (mode, blob))| RunInput { path, blob, mode, seen: false };
        ran.inputs = files.into_iter().map(input).collect();
        then.add_hidden(ran);
        let ignored = self.ignored(git, ran, &state).map_err(|error| one_line(&causes(&error)))?;
        if let Some(state) = &mut ran.project {
            state.ignored = ignored;
        }
        Ok(())
    }

    /// Returns what a command with declared inputs may read of what git ignores, of repositories within the project, and of
    /// untracked files that the project's state does not list, as where the user hides them. Leaves out Python's bytecode, which is
    /// written anew for each change of the source, and investigations, which often lie in the project.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn ignored(
        &self,
        git: &GitProgram,
        ran: &Ran,
        state: &ProjectState,
    ) -> Result<Vec<String>, RemoteError> {
        match ran.inputs.is_empty() {
            true => Ok(Vec::new()),
            false => self.unknown(git, state, &|path| may_read(ran, path)),
        }
    }

    /// Returns the branches, remote branches and tags among these names, with the commits to which they point.
    pub fn refs<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Vec<RunRef> {
        let mut names = names.into_iter().take(NAMES).peekable();
        let Some(repository) = names.peek().is_some().then(|| self.open().ok()).flatten() else {
            return Vec::new();
        };
        let commit = |name: &str| {
            // In the order in which git looks for them.
            let places = if name.starts_with("refs/") { &[""][..] } else { &PLACES };
            places.iter().find_map(|place| self.commit_of(&repository, &format!("{place}{name}")).flatten())
        };
        let found = |name: &str| Some(RunRef { name: name.to_owned(), commit: commit(name)?.to_string() });
        names.filter_map(found).collect()
    }

    fn is_investigation(&self, path: &str) -> bool {
        let folder = self.root().join(path);
        folder.join(INVESTIGATION).is_file() && folder.join(".git").exists()
    }

    /// Returns the paths of what lies in a folder, those of folders with `/` at the end.
    fn entries(&self, folder: &str) -> Vec<String> {
        let entries = self.root().join(folder).read_dir().into_iter().flatten().flatten();
        let folder = folder.trim_end_matches('/');
        let path = |it: std::fs::DirEntry| {
            let end = if it.file_type().is_ok_and(|it| it.is_dir()) { "/" } else { "" };
            format!("{folder}/{}{end}", it.file_name().to_string_lossy())
        };
        entries.map(path).collect()
    }

    /// Returns what git does not track and the project's state does not list, of what a command reads.
    fn unknown(
        &self,
        git: &GitProgram,
        state: &ProjectState,
        is_read: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<String>, RemoteError> {
        let is_in =
            |path: &str, listed: &String| path == listed || listed.ends_with('/') && path.starts_with(listed);
        let is_listed = |path: &str| state.changed.iter().chain(&state.untracked).any(|it| is_in(path, it));
        let mut paths = git.untracked(self.root(), false)?;
        paths.extend(git.untracked(self.root(), true)?);
        let is_investigation = |path: &String| self.is_investigation(path);
        let holds_some = |folder: &str| self.entries(folder).iter().any(is_investigation);
        let mut found: Vec<String> = Vec::new();
        for path in paths {
            match path.ends_with('/') && !is_investigation(&path) && holds_some(&path) {
                true => found.extend(self.entries(&path)),
                false => found.push(path),
            }
        }
        let is_unknown = |path: &String| {
            !path.split('/').any(|part| [".git", "__pycache__"].contains(&part))
                && !is_investigation(path)
                && !path.strip_suffix(".gitignore").is_some_and(holds_some)
                && !is_listed(path)
                && is_read(path)
        };
        Ok(found.into_iter().filter(is_unknown).take(IGNORED_MAX).collect())
    }
}

fn owned((path, file): (&String, &(String, String))) -> (String, (String, String)) {
    (path.clone(), file.clone())
}

impl ProjectFiles {
    /// Reads a file of this state.
    fn content(
        &self,
        repository: &gix::Repository,
        path: &str,
        (mode, blob): &(String, String),
    ) -> Option<FileContent> {
        if [LINK, SUBMODULE].contains(&mode.as_str()) {
            return None;
        }
        let id = id_in(repository, blob);
        let stored = id.and_then(|id| object(repository, id));
        // Git has not stored the content of a file that was not committed.
        let is_changed = self.changes.contains_key(path);
        let here = || self.project.plain_file(path).filter(|_| is_changed);
        let read = || here().and_then(|path| bytes(&self.project.root().join(path)));
        let mut content = content_of(repository, stored.or_else(read).as_deref());
        content.blobs.push(blob.clone());
        Some(content)
    }

    /// Stores what a trace found of the files that a command read in this state. Returns what it read and git does not track.
    ///
    /// # Errors
    ///
    /// Returns the reason, for people, if the inputs can't be stored.
    pub fn trace(&self, traced: &TracedPaths, ran: &mut Ran) -> Result<Vec<String>, String> {
        let traced = traced.as_ref().map_err(String::clone)?;
        let (mut inputs, unknown) = traced_inputs(traced, self.files().ok_or(UNREAD)?);
        inputs.retain(|it| !it.path.split('/').any(|part| part == ".git" || part == "__pycache__"));
        if inputs.len() > FILES_MAX {
            return Err(format!(
                "it uses more than {FILES_MAX} paths of the project: name those that matter with --input"
            ));
        }
        (ran.inputs, ran.traced) = (inputs, true);
        self.add_hidden(ran);
        Ok(unknown)
    }

    /// Counts an input among the changed files if git hides its change, as where it was told to assume the file unchanged. The
    /// patch does not hold the change, so it is not whole.
    fn add_hidden(&self, ran: &mut Ran) {
        let (Ok(repository), Some(state)) = (self.project.open(), &mut ran.project) else { return };
        let is_changed = |path: &&String| {
            self.changes.get(*path).is_some_and(|now| *now != file_at(&repository, self.commit, path))
        };
        let changed = ran.inputs.iter().map(|it| &it.path).filter(is_changed);
        let hidden: Vec<String> = changed.filter(|path| !state.changed.contains(path)).cloned().collect();
        if !hidden.is_empty() {
            state.patch = None;
            state.changed.extend(hidden);
        }
    }

    /// Returns the id of the commit.
    pub fn commit(&self) -> String {
        self.commit.to_string()
    }

    /// Returns what became of the inputs of each command of an investigation since it was last run.
    pub fn inputs(&self, investigation: &Investigation) -> ProjectInputs {
        self.inputs_since(investigation, None)
    }

    /// Returns what became of the inputs of each command of an investigation since a commit or, without one, since it was last
    /// run.
    pub fn inputs_since(&self, investigation: &Investigation, base: Option<&str>) -> ProjectInputs {
        ProjectInputs::of(investigation, &self.commit(), base, self)
    }
}

impl ProjectView for ProjectFiles {
    fn refs(&self, recorded: &[RunRef]) -> Vec<RunRef> {
        self.project.refs(recorded.iter().map(|it| it.name.as_str()))
    }

    fn since(&self, name: &str) -> Option<Arc<ChangedPaths>> {
        // The others wait for the thread that compares the trees, and then take its result.
        let mut known = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(name) {
            return known.clone();
        }
        let since = || {
            let repository = self.project.open().ok()?;
            let commit = known_commit(&repository, name)?;
            let mut found = differing(&repository, Some(commit), self.commit)?;
            for (path, change) in &self.changes {
                let before = file_at(&repository, commit, path);
                match before == *change {
                    true => drop(found.remove(path)),
                    false => drop(found.insert(path.clone(), [before, change.clone()])),
                }
            }
            let was_there = found.into_iter().map(|(path, [before, _])| (path, before.is_some()));
            Some(Arc::new(was_there.collect::<BTreeMap<_, _>>()))
        };
        known.entry(name.to_owned()).or_insert(since()).clone()
    }

    fn files(&self) -> Option<&Files> {
        let read = || {
            let found = differing(&self.project.open().ok()?, None, self.commit)?;
            let mut files: Files =
                found.into_iter().filter_map(|(path, [_, now])| Some((path, now?))).collect();
            for (path, change) in &self.changes {
                match change {
                    Some(file) => files.insert(path.clone(), file.clone()),
                    None => files.remove(path),
                };
            }
            Some(files)
        };
        self.files.get_or_init(read).as_ref()
    }

    fn is_lost(&self, pin: &Pin) -> bool {
        let Some(files) = self.files() else { return true };
        let file = files.get(&pin.path);
        if file.is_some_and(|(_, blob)| *blob == pin.blob) {
            return false;
        }
        let Ok(repository) = self.project.open() else { return true };
        let here = file.and_then(|file| self.content(&repository, &pin.path, file));
        let name = |path: &str| path.rsplit('/').next().map(str::to_owned);
        let is_like = |(path, (_, blob)): &(&String, &(String, String))| {
            *blob == pin.blob || name(path) == name(&pin.path)
        };
        let alike = files.iter().filter(|it| here.is_none() && is_like(it)).take(CANDIDATES);
        let elsewhere: Vec<(String, FileContent)> = alike
            .filter_map(|(path, file)| Some((path.clone(), self.content(&repository, path, file)?)))
            .collect();
        // What can't be read may have changed.
        let drift = drift(pin, here.as_ref(), &elsewhere);
        drift.is_lost() || drift == Drift::Unchecked
    }
}

/// Returns what became of the inputs of an investigation's commands at HEAD of the project around the current folder. `None`
/// outside a project.
pub fn inputs_here(investigation: &Investigation) -> Option<ProjectInputs> {
    let has_runs = investigation.counted_runs().next().is_some();
    has_runs.then(Project::here)??.files(None).map(|files| files.inputs(investigation))
}

/// Returns the commit with this id, if the repository has it.
fn known_commit(repository: &gix::Repository, id: &str) -> Option<gix::ObjectId> {
    let id = id_in(repository, id)?;
    repository.find_commit(id).ok().map(|commit| commit.id)
}

/// Returns the mode and the blob of a file in a commit.
fn file_at(repository: &gix::Repository, commit: gix::ObjectId, path: &str) -> Option<(String, String)> {
    let entry = repository.find_commit(commit).ok()?.tree().ok()?.lookup_entry(path.split('/')).ok()??;
    Some((mode_of(entry.mode()), entry.object_id().to_string()))
}

fn mode_of(mode: gix::objs::tree::EntryMode) -> String {
    mode.kind().as_octal_str().to_string()
}

/// The files that differ between two states, each before and after.
type Differing = BTreeMap<String, [Option<(String, String)>; 2]>;

/// Returns the files that differ between two commits, or all files of the second. `None` if a tree is missing, as in a partial
/// clone.
fn differing(
    repository: &gix::Repository,
    before: Option<gix::ObjectId>,
    after: gix::ObjectId,
) -> Option<Differing> {
    let tree = |commit| Some(repository.find_commit(commit).ok()?.tree().ok()?.detach().data);
    let before = match before {
        Some(commit) => tree(commit)?,
        None => Vec::new(),
    };
    let after = tree(after)?;
    let [before, after] =
        [&before, &after].map(|data| TreeRefIter::from_bytes(data, repository.object_hash()));
    let mut recorder = tree::Recorder::default();
    gix::diff::tree(before, after, tree::State::default(), &repository.objects, &mut recorder).ok()?;
    let mut found = Differing::new();
    for change in recorder.records {
        let (path, sides) = match change {
            Change::Addition { entry_mode, oid, path, .. } => (path, [None, Some((entry_mode, oid))]),
            Change::Deletion { entry_mode, oid, path, .. } => (path, [Some((entry_mode, oid)), None]),
            Change::Modification { previous_entry_mode, previous_oid, entry_mode, oid, path } => {
                (path, [Some((previous_entry_mode, previous_oid)), Some((entry_mode, oid))])
            }
        };
        let name = std::str::from_utf8(&path).map_or_else(|_| path.escape_ascii().to_string(), str::to_owned);
        for (side, entry) in sides.into_iter().enumerate() {
            if let Some((mode, id)) = entry.filter(|(mode, _)| !mode.is_tree()) {
                found.entry(name.clone()).or_default()[side] = Some((mode_of(mode), id.to_string()));
            }
        }
    }
    Some(found)
}

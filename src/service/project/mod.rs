//! The project: the repository that an investigation is about.
//!
//! Citations of project files are looked up when a result is stored, and compared with the current files later.
//!
//! # Guarantees
//!
//! - Only project files are read. Paths that lead elsewhere (`..`, an absolute path, a symbolic link) or into git's own
//!   folder are neither read nor reported.
//! - Only regular files of at most 8 MiB are read, so a pipe or a device can't block a call.
//! - Nothing is written. git objects are read in place, with the repository's own settings. Nothing is executed, except that
//!   git resolves the names of commits if references are in the reftable format.
//! - A file that is ignored by the repository's or the user's rules is cited by name without being read. A file whose
//!   ignore status is unknown is not read either.
//! - Lines that seem to contain a credential are not quoted, nor are lines from a hidden, untracked file such as
//!   `.env`.
//!
//! # Limitations
//!
//! - git filters are not applied. A file counts as uncommitted if its committed and checked-out versions differ by more
//!   than line endings.
//! - Files that have become too large are not compared, nor are files missing from both a sparse work tree and a
//!   partial clone.
//! - A local process that replaces a file with a symbolic link between two checks can cause the link's target to be read.
//! - Bare repositories are not supported.

mod drift;
mod forge;
mod inputs;
mod quote;

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use gix::bstr::ByteSlice;
use gix::objs::Kind;
use gix::objs::tree::EntryKind;
use serde::Serialize;

use crate::assess::{Assessment, ProjectInputs};
use crate::domain::{CitedPath, Investigation, Lines, LookedUp, LookedUpPaths, Pin};
use crate::secrets;
use crate::service::remote::GitProgram;
use crate::store::WorkTree;
use crate::text::{causes, counted, one_line, shorten};
pub use drift::{Drift, FileContent, drift};
pub use forge::{Forge, SourceUrlError};
pub use inputs::{ChangedFiles, ProjectFiles, inputs_here};
use quote::{QuoteLocation, locate};

/// The maximum size of a file to read, in bytes.
const FILE_MAX: u64 = 8 << 20;
/// The maximum number of lines in a quote.
const LINES_MAX: usize = 40;
/// The maximum size of a quote, in bytes.
const QUOTE_MAX: usize = 4 << 10;
/// The maximum length of a quote in a message, in characters.
const QUOTE_SHOWN: usize = 80;
/// The maximum number of lines in a credential. A private key has about 50.
const KEY_LINES: u64 = 100;
/// The maximum number of files compared with a missing file.
const CANDIDATES: usize = 20;

/// The file that marks a repository as an investigation rather than a project.
const INVESTIGATION: &str = "investigation.yaml";

/// The repository around a folder.
#[derive(Clone, Debug)]
pub struct Project {
    /// The root of the work tree.
    root: PathBuf,
    /// The agents' working folder. Relative paths are resolved from here, then from the root.
    folder: PathBuf,
}

/// The current state of a project's cited files.
#[derive(Clone, Debug, Default)]
pub struct ProjectEvidence {
    /// The drift of each citation.
    pub drift: HashMap<Pin, Drift>,
    /// The website that shows the committed files, if configured or if the remote is on a known forge.
    pub forge: Option<Forge>,
    /// What became of the inputs of the commands, if there is a project.
    pub inputs: Option<ProjectInputs>,
}

/// The reason why a folder can't be used as a project.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// The folder does not exist.
    #[error("the project {path} does not exist")]
    NotFound {
        /// The folder.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The folder is not in a repository, or is only in an investigation's repository.
    #[error("{path} is not in the git repository of a project: give the project's folder")]
    NoRepository {
        /// The folder.
        path: PathBuf,
    },
    /// The repository can't be read.
    #[error("the repository of the project {path} can't be read")]
    Unreadable {
        /// The root of the repository.
        path: PathBuf,
        /// The cause.
        source: Box<gix::Error>,
    },
}

/// The number of cited places in one state.
#[derive(Clone, Debug, Serialize)]
pub struct PlaceCount {
    /// The label: `12 cited places`.
    pub label: String,
    /// The state: `unchanged`.
    pub words: &'static str,
    /// The CSS class: `same`, `differs` or `quiet`.
    pub class: &'static str,
}

impl PlaceCount {
    /// Returns what became of the places that were compared, and whether one is lost.
    pub fn told(counts: &[PlaceCount]) -> (Vec<String>, bool) {
        let compared = counts.iter().filter(|it| it.class != "quiet");
        let told = compared.map(|it| format!("{} {}", it.label, it.words)).collect();
        (told, counts.iter().any(|it| it.class == "differs"))
    }
}

impl ProjectEvidence {
    /// Returns what became of a cited passage that is no longer there: `changed` or `gone`.
    pub fn lost(&self, pin: &Pin) -> Option<&'static str> {
        self.drift.get(pin).filter(|drift| drift.is_lost()).map(Drift::as_str)
    }

    /// Counts the places that the outcome cites or, without an outcome, all cited places by what became of them, lost ones first.
    pub fn places(&self, assessment: &Assessment<'_>) -> Vec<PlaceCount> {
        let nodes = assessment.whole_nodes();
        let nodes = if nodes.is_empty() { assessment.investigation.nodes().collect() } else { nodes };
        let mut counts: BTreeMap<(usize, &'static str, &'static str), HashSet<&Pin>> = BTreeMap::new();
        for pin in nodes.into_iter().flat_map(|node| node.pins()) {
            let kind = match self.drift.get(pin) {
                Some(drift) if drift.is_lost() => (0, drift.as_str(), "differs"),
                Some(drift @ (Drift::Unchanged | Drift::Moved { .. })) => (1, drift.as_str(), "same"),
                Some(_) | None => (2, "not compared with the current project", "quiet"),
            };
            counts.entry(kind).or_default().insert(pin);
        }
        let count = |((_, words, class), pins): (_, HashSet<_>)| PlaceCount {
            label: counted(pins.len(), "cited place"),
            words,
            class,
        };
        counts.into_iter().map(count).collect()
    }
}

impl Project {
    /// Returns the project that contains a folder: the nearest enclosing repository that is not an investigation.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder does not exist or is not in a project's repository, or if the repository is
    /// unreadable.
    pub fn around(folder: &Path) -> Result<Project, ProjectError> {
        let folder = fs::canonicalize(folder)
            .map_err(|source| ProjectError::NotFound { path: folder.to_owned(), source })?;
        let project = Project::containing(&folder).ok_or(ProjectError::NoRepository { path: folder })?;
        match project.open() {
            Ok(_) => Ok(project),
            Err(source) => Err(ProjectError::Unreadable { path: project.root, source: Box::new(source) }),
        }
    }

    /// Returns the work tree of the project that contains a folder, even if its repository is unreadable.
    pub fn work_tree_around(folder: &Path) -> Option<(&Path, WorkTree)> {
        let projects = folder.ancestors().filter(|dir| !dir.join(INVESTIGATION).is_file());
        projects.into_iter().find_map(|dir| Some((dir, WorkTree::of(dir)?)))
    }

    fn containing(folder: &Path) -> Option<Project> {
        let root = Project::work_tree_around(folder)?.0.to_owned();
        Some(Project { root, folder: folder.to_owned() })
    }

    /// Returns the project that contains the current folder, even if its repository is unreadable: what reads it says why.
    pub fn here() -> Option<Project> {
        Project::containing(&fs::canonicalize(std::env::current_dir().ok()?).ok()?)
    }

    /// Returns the root of the work tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of the working folder relative to the root, separated by `/`. The path of the root is empty.
    /// Returns `None` if the path is not UTF-8.
    pub fn folder(&self) -> Option<String> {
        path_in(&self.root, &self.folder)
    }

    /// Returns the path of a file relative to the root, given its path from the working folder. Returns `None` if it is
    /// not a file of the project.
    pub fn path_of(&self, file: &str) -> Option<String> {
        let path = self.folder.join(file);
        let folder = fs::canonicalize(path.parent()?).ok()?;
        let path = folder.join(path.file_name()?);
        let is_file = fs::symlink_metadata(&path).is_ok_and(|file| !file.is_dir());
        path_in(&self.root, &path).filter(|_| is_file)
    }

    /// Returns whether git tracks a file, given its path from the working folder.
    pub fn tracks(&self, file: &str) -> bool {
        let all = || self.open().map(|repository| tracked(&repository)).unwrap_or_default();
        self.path_of(file).is_some_and(|path| all().iter().any(|(tracked, _)| *tracked == path))
    }

    /// Returns a program named by an absolute path in the project as a path from the working folder, such as `./bench`, which
    /// is the same in every clone. Returns `None` for every other program.
    pub fn relative_program(&self, program: &str) -> Option<String> {
        let program = Path::new(program);
        let place = fs::canonicalize(program.parent().filter(|_| program.is_absolute())?).ok()?;
        let inside = path_in(&self.root, &place.join(program.file_name()?))?;
        let folder = self.folder()?;
        let folders: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
        let parts: Vec<&str> = inside.split('/').collect();
        let common = folders.iter().zip(&parts).take_while(|(one, other)| one == other).count();
        let up = "../".repeat(folders.len() - common);
        Some(format!("{}{}", if up.is_empty() { "./" } else { &up }, parts[common..].join("/")))
    }

    /// Looks up cited paths in the work tree or in the cited commits.
    pub fn look_up(&self, cited: &[CitedPath]) -> LookedUpPaths {
        if cited.is_empty() {
            return LookedUpPaths::new();
        }
        let repository = match self.open() {
            Ok(repository) => repository,
            Err(error) => {
                let said = LookedUp::Unread(self.reason(error));
                return cited.iter().map(|it| (it.clone(), said.clone())).collect();
            }
        };
        // The list is long in a large project, so it is read only if a file is missing.
        let all = OnceCell::new();
        let found = cited
            .iter()
            .filter_map(|cited| Some((cited.clone(), self.look_up_one(&repository, &all, cited)?)));
        found.collect()
    }

    /// Returns the drift of each citation and the website that shows the files. Reads each file only once, one at a time.
    pub fn evidence<'p>(&self, pins: impl IntoIterator<Item = &'p Pin>) -> ProjectEvidence {
        let Ok(repository) = self.open() else { return ProjectEvidence::default() };
        let all = OnceCell::new();
        let mut of_path: BTreeMap<&str, Vec<&Pin>> = BTreeMap::new();
        for pin in pins {
            of_path.entry(&pin.path).or_default().push(pin);
        }
        let mut drifts = HashMap::new();
        for (path, pins) in of_path {
            let inside = self.inside(path, &self.root);
            let here = inside.and_then(|path| self.content(&repository, &path));
            for pin in pins {
                let elsewhere = match here {
                    Some(_) => Vec::new(),
                    None => self.elsewhere(&repository, pin, all.get_or_init(|| tracked(&repository))),
                };
                drifts.insert(pin.clone(), drift(pin, here.as_ref(), &elsewhere));
            }
        }
        let remote = repository.config_snapshot().string("remote.origin.url");
        let forge = remote.and_then(|remote| Forge::of(&remote.to_string()));
        ProjectEvidence { drift: drifts, forge, inputs: None }
    }

    /// Returns the drift of each citation of an investigation, what became of the inputs of its commands, and the website that
    /// shows the files.
    pub fn evidence_for(&self, investigation: &Investigation) -> ProjectEvidence {
        let inputs = self.files(None).map(|files| files.inputs(investigation));
        ProjectEvidence { inputs, ..self.cited_in(investigation) }
    }

    /// Returns the drift of the citations of an investigation. A repository that has none of the cited commits and contents is
    /// another project: what it lacks is no news, so nothing is compared.
    pub fn cited_in(&self, investigation: &Investigation) -> ProjectEvidence {
        let Ok(repository) = self.open() else { return ProjectEvidence::default() };
        let has = |id: &str| id_in(&repository, id).is_some_and(|id| repository.has_object(id));
        let is_of_it = |pin: &Pin| pin.commit.as_deref().is_none_or(has) || has(&pin.blob);
        let pins = || investigation.pins().map(|(_, pin)| pin);
        if self.is_shallow() || pins().any(is_of_it) { self.evidence(pins()) } else { self.evidence([]) }
    }

    /// Returns whether the repository lacks commits that others have.
    pub fn is_shallow(&self) -> bool {
        self.open().is_ok_and(|repository| repository.is_shallow().unwrap_or(false))
    }

    /// Describes the error in each quote. Returns `None` if the quote is accurate or the cited content is unavailable.
    pub fn misquoted<'p>(&self, cited: impl IntoIterator<Item = (&'p Pin, &'p str)>) -> Vec<Option<String>> {
        let repository = self.open().ok();
        let misquoted = |(pin, quote): (&Pin, &str)| {
            let repository = repository.as_ref()?;
            let blob = id_in(repository, &pin.blob)?;
            let text = object(repository, blob).and_then(|bytes| text_of(&bytes));
            let here =
                || self.content(repository, &pin.path).filter(|here| here.blobs.contains(&pin.blob))?.text;
            misquote(&pin.path, &text.or_else(here)?, pin.lines, quote)
        };
        cited.into_iter().map(misquoted).collect()
    }

    fn open(&self) -> Result<gix::Repository, gix::Error> {
        gix::open_opts(&self.root, gix::open::Options::isolated())
    }

    /// Says why the repository can't be read: in git's words, which name the file, if git can't either.
    fn reason(&self, error: gix::Error) -> String {
        let git = GitProgram::find(false).and_then(|git| git.untracked(&self.root, false));
        one_line(&git.map_or_else(|refused| refused.to_string(), |_| causes(&error)))
    }

    /// Resolves the name of a commit. Supports only plain names and ids, since other revision expressions can be slow. The inner
    /// value is `None` if there is no such commit, and the outer one if the repository can't be read.
    fn commit_of(&self, repository: &gix::Repository, name: &str) -> Option<Option<gix::ObjectId>> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/~^".contains(c);
        let is_long = name.len() > repository.object_hash().len_in_hex()
            && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if name.len() > 200 || is_long || !name.chars().all(is_plain) {
            return Some(None);
        }
        // gix can't read references in the reftable format.
        if repository.common_dir().join("reftable").is_dir() {
            let found = GitProgram::find(false).ok()?.resolve(&self.root, name).ok()?;
            return Some(found.and_then(|id| gix::ObjectId::from_hex(id.as_bytes()).ok()));
        }
        let object = || repository.rev_parse_single(name).ok()?.object().ok();
        Some(object().and_then(|object| Some(object.peel_to_kind(Kind::Commit).ok()?.id)))
    }

    /// Returns whether a file is untracked and ignored.
    fn is_ignored(&self, repository: &gix::Repository, path: &str) -> Result<bool, gix::Error> {
        let index = repository.index_or_empty()?;
        if index.entry_by_path(path.into()).is_some() {
            return Ok(false);
        }
        // Includes the ignore rules of the user's git configuration.
        let mut permissions = gix::open::Permissions::isolated();
        permissions.config = gix::open::permissions::Config::all();
        let allow = gix::sec::Permission::Allow;
        permissions.env = gix::open::permissions::Environment {
            xdg_config_home: allow,
            home: allow,
            git_prefix: allow,
            ..permissions.env
        };
        let user = gix::open_opts(&self.root, gix::open::Options::default().permissions(permissions))?;
        let source = gix::worktree::stack::state::ignore::Source::WorktreeThenIdMappingIfNotSkipped;
        Ok(user.excludes(&index, None, source)?.at_path(path, None)?.is_excluded())
    }

    /// Looks up a path. Returns `None` if the path is outside the project or is not a readable regular file.
    fn look_up_one(
        &self,
        repository: &gix::Repository,
        all: &OnceCell<Vec<(String, String)>>,
        cited: &CitedPath,
    ) -> Option<LookedUp> {
        let candidates = self.candidates(&cited.path)?;
        let missing = |what: String| Some(LookedUp::Missing(what));
        if let Some(name) = &cited.commit {
            let Some(commit) = self.commit_of(repository, name)? else {
                return missing(format!("the project has no commit {name}"));
            };
            return match committed(repository, commit, &candidates) {
                Some((path, blob)) => {
                    found(repository, cited, &object(repository, blob)?, Some(commit), path, Some(blob))
                }
                None => missing(format!("{} is not in commit {name}", cited.path)),
            };
        }
        let head = self.commit_of(repository, "HEAD")?;
        let in_head = |paths: &[String]| committed(repository, head?, paths);
        if let Some(path) = candidates.iter().find_map(|path| self.plain_file(path)) {
            match self.is_ignored(repository, &path) {
                Ok(false) => {}
                Ok(true) => return Some(LookedUp::Ignored(path)),
                Err(error) => return Some(LookedUp::Unread(self.reason(error))),
            }
            let blob = in_head(std::slice::from_ref(&path)).map(|(_, blob)| blob);
            return found(repository, cited, &bytes(&self.root.join(&path))?, head, path, blob);
        }
        // Omitted from a sparse work tree, or deleted but still committed.
        if let Some((path, blob)) = in_head(&candidates) {
            return found(repository, cited, &object(repository, blob)?, head, path, Some(blob));
        }
        // A folder, or a symbolic link that leads outside the project.
        if candidates.iter().any(|path| self.root.join(path).symlink_metadata().is_ok()) {
            return None;
        }
        let name = cited.path.rsplit('/').next();
        let mut tracked = all.get_or_init(|| tracked(repository)).iter();
        // The author left out a leading folder.
        let longer = format!("/{}", cited.path);
        let mut below =
            tracked.clone().filter(|(path, _)| longer[1..].contains('/') && path.ends_with(&longer));
        if let (Some((path, _)), None) = (below.next(), below.next()) {
            return self.look_up_one(repository, all, &CitedPath { path: path.clone(), ..cited.clone() });
        }
        let like = tracked.find(|(path, _)| path.rsplit('/').next() == name);
        let like = like.map(|(path, _)| format!(" ({path} is)")).unwrap_or_default();
        missing(format!("{} is not in the project{like}", cited.path))
    }

    /// Returns the paths, relative to the root, that a cited path may refer to: from the current folder, the root, or the
    /// folder around the root. Returns `None` if the path is outside the project or in git's folder. Does not access
    /// files.
    fn candidates(&self, path: &str) -> Option<Vec<String>> {
        let path = path.replace('\\', "/");
        let from = [Some(self.folder.as_path()), Some(&self.root), self.root.parent()];
        let found: Vec<String> =
            from.into_iter().flatten().filter_map(|from| self.inside(&path, from)).collect();
        (!found.is_empty()).then_some(found)
    }

    /// Converts a path relative to a folder to a path relative to the root. Does not access files.
    fn inside(&self, path: &str, from: &Path) -> Option<String> {
        if path.starts_with('~') {
            return None;
        }
        let mut whole = PathBuf::new();
        for part in from.join(path).components() {
            match part {
                Component::ParentDir if !whole.pop() => return None,
                Component::ParentDir | Component::CurDir => {}
                part => whole.push(part),
            }
        }
        let path = path_in(&self.root, &whole)?;
        (!path.is_empty()).then_some(path)
    }

    /// Resolves symbolic links and returns the resulting path relative to the root. Returns `None` if there is no
    /// regular file at that path, or if the path is outside the project.
    fn plain_file(&self, path: &str) -> Option<String> {
        let real = fs::canonicalize(self.root.join(path)).ok()?;
        let path = path_in(&self.root, &real)?;
        fs::symlink_metadata(&real).ok().filter(fs::Metadata::is_file).map(|_| path)
    }

    /// Returns the current content of a file, or `None` if it is missing. If the file is omitted from a sparse work
    /// tree, reads the content from the index.
    fn content(&self, repository: &gix::Repository, path: &str) -> Option<FileContent> {
        match self.plain_file(path) {
            Some(path) => Some(content_of(repository, bytes(&self.root.join(path)).as_deref())),
            None => left_out(repository, path).map(|blob| FileContent {
                blobs: vec![blob.to_string()],
                ..content_of(repository, object(repository, blob).as_deref())
            }),
        }
    }

    /// Returns files that may have replaced a missing file because they have the same content or the same name.
    fn elsewhere(
        &self,
        repository: &gix::Repository,
        pin: &Pin,
        tracked: &[(String, String)],
    ) -> Vec<(String, FileContent)> {
        let name = |path: &str| path.rsplit('/').next().map(str::to_owned);
        let same = tracked.iter().filter(|(_, blob)| *blob == pin.blob);
        let alike = tracked.iter().filter(|(path, blob)| *blob != pin.blob && name(path) == name(&pin.path));
        let files = same.chain(alike).take(CANDIDATES);
        files.filter_map(|(path, _)| Some((path.clone(), self.content(repository, path)?))).collect()
    }
}

/// Returns a path relative to `root`, or `None` if it is not below `root` or is in git's folder.
fn path_in(root: &Path, path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> =
        path.strip_prefix(root).ok()?.components().map(|part| part.as_os_str().to_str()).collect();
    let parts = parts?;
    (!parts.iter().any(|part| part.eq_ignore_ascii_case(".git"))).then(|| parts.join("/"))
}

/// Reads a file. Returns `None` if it is unreadable or too large.
fn bytes(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(FILE_MAX + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= FILE_MAX).then_some(bytes)
}

/// Returns the content of a file with these bytes, or content marked as unread if there are no bytes.
fn content_of(repository: &gix::Repository, bytes: Option<&[u8]>) -> FileContent {
    let Some(bytes) = bytes else { return FileContent { blobs: Vec::new(), text: None, is_read: false } };
    let blobs = [hash(repository, bytes), hash(repository, &without_cr(bytes))].into_iter().flatten();
    FileContent { blobs: blobs.map(|id| id.to_string()).collect(), text: text_of(bytes), is_read: true }
}

/// Returns the blob of a tracked file that is omitted from a sparse work tree, either alone or with its folder.
fn left_out(repository: &gix::Repository, path: &str) -> Option<gix::ObjectId> {
    let index = repository.index_or_empty().ok()?;
    let is_left_out =
        |entry: &&gix::index::Entry| entry.flags.contains(gix::index::entry::Flags::SKIP_WORKTREE);
    if let Some(entry) = index.entry_by_path(path.into()) {
        return Some(entry).filter(is_left_out).map(|entry| entry.id);
    }
    let folders = path.match_indices('/').map(|(end, _)| path.split_at(end + 1));
    let mut found = folders.filter_map(|(folder, rest)| Some((index.entry_by_path(folder.into())?, rest)));
    let (folder, rest) = found.find(|(entry, _)| is_left_out(entry))?;
    let entry = repository.find_tree(folder.id).ok()?.lookup_entry(rest.split('/')).ok()??;
    Some(entry.object_id())
}

/// Returns the text of a file, or `None` if it is binary.
fn text_of(bytes: &[u8]) -> Option<String> {
    (!bytes.contains(&0)).then(|| String::from_utf8_lossy(&without_cr(bytes)).into_owned())
}

/// Converts CRLF to LF, as git does if configured to convert line endings.
fn without_cr(bytes: &[u8]) -> Vec<u8> {
    bytes.replace("\r\n", "\n")
}

fn hash(repository: &gix::Repository, bytes: &[u8]) -> Option<gix::ObjectId> {
    gix::objs::compute_hash(repository.object_hash(), Kind::Blob, bytes).ok()
}

/// Returns the first of these paths that is a file in a commit, together with the file's blob.
fn committed(
    repository: &gix::Repository,
    commit: gix::ObjectId,
    paths: &[String],
) -> Option<(String, gix::ObjectId)> {
    let tree = repository.find_commit(commit).ok()?.tree().ok()?;
    paths.iter().find_map(|path| {
        let entry = tree.lookup_entry(path.split('/')).ok()??;
        let is_file = matches!(entry.mode().kind(), EntryKind::Blob | EntryKind::BlobExecutable);
        is_file.then(|| (path.clone(), entry.object_id()))
    })
}

/// Returns an id that the repository may have: not one with another hash, for which gix panics.
fn id_in(repository: &gix::Repository, id: &str) -> Option<gix::ObjectId> {
    gix::ObjectId::from_hex(id.as_bytes()).ok().filter(|id| id.kind() == repository.object_hash())
}

/// Reads a committed file. Returns `None` if it is too large, or missing, as in a partial clone.
fn object(repository: &gix::Repository, blob: gix::ObjectId) -> Option<Vec<u8>> {
    let header = repository.find_header(blob).ok()?;
    let is_read = header.kind() == Kind::Blob && header.size() <= FILE_MAX;
    is_read.then(|| repository.find_object(blob).ok().map(|object| object.detach().data)).flatten()
}

/// Returns the result for an existing file, including its cited lines. `committed` is the blob at this path in the commit.
fn found(
    repository: &gix::Repository,
    cited: &CitedPath,
    bytes: &[u8],
    commit: Option<gix::ObjectId>,
    path: String,
    committed: Option<gix::ObjectId>,
) -> Option<LookedUp> {
    let text = text_of(bytes);
    if let (Some(text), Some(lines)) = (&text, cited.lines) {
        let number = text.lines().count();
        if number < lines.last as usize {
            let has = counted(number, "line");
            return Some(LookedUp::Missing(format!("{path} has {has}, but line {} is cited", lines.last)));
        }
    }
    let is_hidden = committed.is_none() && path.split('/').any(|part| part.starts_with('.'));
    let text = text.filter(|_| !is_hidden);
    let misquoted = text.as_deref().zip(cited.quote.as_deref());
    let misquoted = misquoted.and_then(|(text, quote)| misquote(&path, text, cited.lines, quote));
    let text = text.and_then(|text| quoted(&text, cited.lines?));
    let is_committed = |blob: &gix::ObjectId| {
        [hash(repository, bytes), hash(repository, &without_cr(bytes))].contains(&Some(*blob))
    };
    let same = committed.filter(is_committed);
    let pin = Pin {
        path,
        commit: commit.map(|commit| commit.to_string()),
        blob: same.or_else(|| hash(repository, bytes))?.to_string(),
        uncommitted: same.is_none(),
        lines: cited.lines,
        text,
    };
    Some(match misquoted {
        Some(what) => LookedUp::Misquoted(pin, what),
        None => LookedUp::Found(pin),
    })
}

/// Describes the error in a quote, as a clause. Returns `None` if its words occur in the given lines.
fn misquote(path: &str, text: &str, lines: Option<Lines>, quote: &str) -> Option<String> {
    let place = match (locate(text, lines, quote), lines) {
        (QuoteLocation::Expected, _) => return None,
        (QuoteLocation::Line(line), Some(lines)) => format!("at {path}:{lines} but at line {line}"),
        _ => format!("in {path}"),
    };
    Some(format!("“{}” is not {place}", shorten(&one_line(quote), QUOTE_SHOWN)))
}

/// Quotes the given lines within the size limits. Returns `None` if they are missing or may contain a credential.
fn quoted(text: &str, lines: Lines) -> Option<String> {
    let (first, last) = (u64::from(lines.first), u64::from(lines.last));
    let is_near = |line: u64| first.saturating_sub(KEY_LINES) <= line && line <= last;
    if secrets::suspects(text).iter().any(|suspect| is_near(suspect.line)) {
        return None;
    }
    let number = (lines.last - lines.first) as usize + 1;
    let mut quote = String::new();
    for line in text.lines().skip(lines.first as usize - 1).take(number.min(LINES_MAX)) {
        if quote.len() + line.len() + 1 > QUOTE_MAX {
            break;
        }
        quote.push_str(line);
        quote.push('\n');
    }
    (!quote.is_empty()).then_some(quote)
}

/// Lists the tracked files with the ids of their blobs.
fn tracked(repository: &gix::Repository) -> Vec<(String, String)> {
    let Ok(index) = repository.index_or_empty() else { return Vec::new() };
    let entries = index.entries().iter();
    entries.map(|entry| (entry.path(&index).to_string(), entry.id.to_string())).collect()
}

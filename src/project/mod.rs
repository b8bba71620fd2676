//! The project: the repository that an investigation is about. Citations of its files are looked up here when a
//! result is stored, and again to see whether they still hold.
//!
//! # Guarantees
//!
//! - Only files of the project are read. Paths that lead out of it (`..`, an absolute path, a symbolic link), and
//!   git's own folder, are neither read nor reported on.
//! - Only plain files are opened, and none larger than 8 MiB. So a pipe or a device can't make a call wait.
//! - Nothing is written and nothing is executed: git's objects are read in place, with the repository's own settings.
//! - A file that git ignores, by the rules of the repository or of the user, is not read: it is cited by its name. So is
//!   a file for which this is unknown.
//! - Lines that seem to contain a credential are not quoted, nor are those of a hidden, untracked file such as `.env`.
//!
//! # Limits
//!
//! - Git's filters are not applied: a file whose committed form differs from its checked-out form, except in line
//!   ends, counts as uncommitted.
//! - A file that is too large now, or that a sparse work tree leaves out and a partial clone lacks, is not judged.
//! - A process of the same machine that replaces a file with a link between two checks can have the target read.
//! - sha256 repositories and bare ones are not supported as projects.

mod drift;
mod forge;
mod quote;

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use gix::objs::Kind;
use gix::objs::tree::EntryKind;

use crate::domain::{CitedPath, Lines, LookedUp, LookedUpPaths, Pin};
use crate::secrets;
use crate::text::{counted, one_line, shorten};
pub use drift::{Content, Drift, judge};
pub use forge::{Forge, SourceUrlError};
use quote::{Stands, stands};

/// The maximum bytes of a file that is read.
const FILE_MAX: u64 = 8 << 20;
/// The maximum lines of a quote, and the maximum bytes of them.
const LINES_MAX: usize = 40;
const QUOTE_MAX: usize = 4 << 10;
/// The maximum characters of a quote in a message.
const QUOTE_SHOWN: usize = 80;
/// The maximum lines of a credential after its beginning: a private key has some fifty.
const KEY_LINES: u64 = 100;
/// The maximum number of files that are compared with a missing one.
const CANDIDATES: usize = 20;

/// The file that marks an investigation, which is not a project.
const INVESTIGATION: &str = "investigation.yaml";

/// The repository around a folder.
#[derive(Clone, Debug)]
pub struct Project {
    /// Its work tree.
    root: PathBuf,
    /// The folder for relative paths, tried before the root: agents work there.
    folder: PathBuf,
}

/// The present state of citations of a project.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// The drift of each cited file.
    pub drift: HashMap<Pin, Drift>,
    /// The website of the committed files, if configured, or if the project's remote is on a known forge.
    pub forge: Option<Forge>,
}

/// Why a folder is not in a project.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// The folder does not exist.
    #[error("the project {path} does not exist")]
    NotFound {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// No repository contains the folder.
    #[error("{path} is not in a git repository with files of a project: give the folder of the project")]
    NoRepository {
        /// The folder.
        path: PathBuf,
    },
    /// The repository can't be read.
    #[error("the repository of the project {path} can't be read")]
    Unreadable {
        /// Its folder.
        path: PathBuf,
        /// Why.
        source: Box<gix::Error>,
    },
}

impl Project {
    /// The project around a folder: the nearest repository that is not an investigation.
    ///
    /// # Errors
    ///
    /// The folder does not exist, is in no such repository, or its repository is unreadable.
    pub fn around(folder: &Path) -> Result<Project, ProjectError> {
        let folder = fs::canonicalize(folder)
            .map_err(|source| ProjectError::NotFound { path: folder.to_owned(), source })?;
        let is_project = |dir: &&Path| dir.join(".git").exists() && !dir.join(INVESTIGATION).is_file();
        let Some(root) = folder.ancestors().find(is_project).map(Path::to_owned) else {
            return Err(ProjectError::NoRepository { path: folder });
        };
        let project = Project { root, folder };
        match project.open() {
            Ok(_) => Ok(project),
            Err(source) => Err(ProjectError::Unreadable { path: project.root, source: Box::new(source) }),
        }
    }

    /// The project around the current folder, if any and readable.
    pub fn here() -> Option<Project> {
        Project::around(&std::env::current_dir().ok()?).ok()
    }

    /// Its root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder that it was found from, with `/` between the parts; empty for the root, `None` for a name that is not UTF-8.
    pub fn folder(&self) -> Option<String> {
        path_in(&self.root, &self.folder)
    }

    /// Looks up these paths in the work tree, or in the commits that they name.
    pub fn look_up(&self, cited: &[CitedPath]) -> LookedUpPaths {
        if cited.is_empty() {
            return LookedUpPaths::new();
        }
        let Ok(repository) = self.open() else { return LookedUpPaths::new() };
        // Read only if something is missing: the list is long in a large project.
        let all = OnceCell::new();
        let found = cited
            .iter()
            .filter_map(|cited| Some((cited.clone(), self.look_up_one(&repository, &all, cited)?)));
        found.collect()
    }

    /// The drift of each citation in the work tree, and the website of its original. A file is read once, however many
    /// citations it has, and dropped before the next.
    pub fn evidence<'p>(&self, pins: impl IntoIterator<Item = &'p Pin>) -> Evidence {
        let Ok(repository) = self.open() else { return Evidence::default() };
        let all = OnceCell::new();
        let mut of_path: BTreeMap<&str, Vec<&Pin>> = BTreeMap::new();
        for pin in pins {
            of_path.entry(&pin.path).or_default().push(pin);
        }
        let mut drift = HashMap::new();
        for (path, pins) in of_path {
            let inside = self.inside(path, &self.root);
            let here = inside.and_then(|path| self.content(&repository, &path));
            for pin in pins {
                let elsewhere = match here {
                    Some(_) => Vec::new(),
                    None => self.elsewhere(&repository, pin, all.get_or_init(|| tracked(&repository))),
                };
                drift.insert(pin.clone(), judge(pin, here.as_ref(), &elsewhere));
            }
        }
        let remote = repository.config_snapshot().string("remote.origin.url");
        Evidence { drift, forge: remote.and_then(|remote| Forge::of(&remote.to_string())) }
    }

    /// For each file cited with a quote, the fault of the quote in the cited content; `None` if it is accurate, or that content
    /// is missing.
    pub fn misquoted<'p>(&self, cited: impl IntoIterator<Item = (&'p Pin, &'p str)>) -> Vec<Option<String>> {
        let repository = self.open().ok();
        let misquoted = |(pin, quote): (&Pin, &str)| {
            let repository = repository.as_ref()?;
            let blob = gix::ObjectId::from_hex(pin.blob.as_bytes()).ok()?;
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

    /// Whether a file is untracked and ignored, or this is unknown.
    fn is_ignored(&self, repository: &gix::Repository, path: &str) -> bool {
        let excluded = || -> Result<bool, gix::Error> {
            let index = repository.index_or_empty()?;
            if index.entry_by_path(path.into()).is_some() {
                return Ok(false);
            }
            // The user's own rules count too, as configured in git.
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
        };
        excluded().unwrap_or(true)
    }

    /// `None`: it is outside of the project, not a plain file, or unreadable.
    fn look_up_one(
        &self,
        repository: &gix::Repository,
        all: &OnceCell<Vec<(String, String)>>,
        cited: &CitedPath,
    ) -> Option<LookedUp> {
        let candidates = self.candidates(&cited.path)?;
        let missing = |what: String| Some(LookedUp::Missing(what));
        if let Some(name) = &cited.commit {
            let Some(commit) = commit_of(repository, name) else {
                return missing(format!("the project has no commit {name}"));
            };
            return match committed(repository, commit, &candidates) {
                Some((path, blob)) => {
                    found(cited, &object(repository, blob)?, Some(commit), path, Some(blob))
                }
                None => missing(format!("{} is not in commit {name}", cited.path)),
            };
        }
        let head = repository.head_id().ok().map(|id| id.detach());
        let there = |paths: &[String]| committed(repository, head?, paths);
        if let Some(path) = candidates.iter().find_map(|path| self.plain_file(path)) {
            if self.is_ignored(repository, &path) {
                return Some(LookedUp::Ignored(path));
            }
            let blob = there(std::slice::from_ref(&path)).map(|(_, blob)| blob);
            return found(cited, &bytes(&self.root.join(&path))?, head, path, blob);
        }
        // Left out by a sparse work tree, or deleted and not committed yet.
        if let Some((path, blob)) = there(&candidates) {
            return found(cited, &object(repository, blob)?, head, path, Some(blob));
        }
        // A folder, or a link out of the project.
        if candidates.iter().any(|path| self.root.join(path).symlink_metadata().is_ok()) {
            return None;
        }
        let name = cited.path.rsplit('/').next();
        let mut tracked = all.get_or_init(|| tracked(repository)).iter();
        let like = tracked.find(|(path, _)| path.rsplit('/').next() == name);
        let like = like.map(|(path, _)| format!(" ({path} is)")).unwrap_or_default();
        missing(format!("{} is not in the project{like}", cited.path))
    }

    /// The paths from the root that a path may mean, without file access; `None` if it leads out, or into git's folder.
    fn candidates(&self, path: &str) -> Option<Vec<String>> {
        let path = path.replace('\\', "/");
        let found: Vec<String> =
            [&self.folder, &self.root].into_iter().filter_map(|from| self.inside(&path, from)).collect();
        (!found.is_empty()).then_some(found)
    }

    /// The path from the root for a path from a folder, without file access.
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

    /// The path from the root of the plain file that a path leads to; `None` if there is none, or it is outside.
    fn plain_file(&self, path: &str) -> Option<String> {
        let real = fs::canonicalize(self.root.join(path)).ok()?;
        let path = path_in(&self.root, &real)?;
        fs::symlink_metadata(&real).ok().filter(fs::Metadata::is_file).map(|_| path)
    }

    /// The present content of the file at a path from the root; `None` if missing. A file that a sparse work tree leaves out
    /// is read from git's index.
    fn content(&self, repository: &gix::Repository, path: &str) -> Option<Content> {
        match self.plain_file(path) {
            Some(path) => Some(content_of(bytes(&self.root.join(path)).as_deref())),
            None => left_out(repository, path).map(|blob| Content {
                blobs: vec![blob.to_string()],
                ..content_of(object(repository, blob).as_deref())
            }),
        }
    }

    /// The files that a missing one may have become: those with its content, and those of its name.
    fn elsewhere(
        &self,
        repository: &gix::Repository,
        pin: &Pin,
        tracked: &[(String, String)],
    ) -> Vec<(String, Content)> {
        let name = |path: &str| path.rsplit('/').next().map(str::to_owned);
        let same = tracked.iter().filter(|(_, blob)| *blob == pin.blob);
        let alike = tracked.iter().filter(|(path, blob)| *blob != pin.blob && name(path) == name(&pin.path));
        let files = same.chain(alike).take(CANDIDATES);
        files.filter_map(|(path, _)| Some((path.clone(), self.content(repository, path)?))).collect()
    }
}

/// The path from `root` of a file below it, unless it is in git's folder.
fn path_in(root: &Path, path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> =
        path.strip_prefix(root).ok()?.components().map(|part| part.as_os_str().to_str()).collect();
    let parts = parts?;
    (!parts.iter().any(|part| part.eq_ignore_ascii_case(".git"))).then(|| parts.join("/"))
}

/// The bytes of a plain file; `None` if it is unreadable or too large.
fn bytes(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(FILE_MAX + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= FILE_MAX).then_some(bytes)
}

/// The content of a file with these bytes; without them, only that it was not read.
fn content_of(bytes: Option<&[u8]>) -> Content {
    let Some(bytes) = bytes else { return Content { blobs: Vec::new(), text: None, is_read: false } };
    let blobs = [hash(bytes), hash(&without_cr(bytes))].into_iter().flatten();
    Content { blobs: blobs.map(|id| id.to_string()).collect(), text: text_of(bytes), is_read: true }
}

/// The content of a tracked file that a sparse work tree leaves out, by itself or with its folder.
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

/// The text of a file; `None` if it is binary.
fn text_of(bytes: &[u8]) -> Option<String> {
    (!bytes.contains(&0)).then(|| String::from_utf8_lossy(&without_cr(bytes)).into_owned())
}

/// The bytes with the line ends that git stores if it converts them.
fn without_cr(bytes: &[u8]) -> Vec<u8> {
    let next = bytes.iter().skip(1).chain(&[0]);
    let kept = bytes.iter().zip(next).filter(|(byte, next)| (**byte, **next) != (b'\r', b'\n'));
    kept.map(|(byte, _)| *byte).collect()
}

fn hash(bytes: &[u8]) -> Option<gix::ObjectId> {
    gix::objs::compute_hash(gix::hash::Kind::Sha1, Kind::Blob, bytes).ok()
}

/// The commit of that name. Only plain names and ids are looked up, since other revisions can be slow.
fn commit_of(repository: &gix::Repository, name: &str) -> Option<gix::ObjectId> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/~^".contains(c);
    if name.len() > 200 || !name.chars().all(is_plain) {
        return None;
    }
    let object = repository.rev_parse_single(name).ok()?.object().ok()?;
    Some(object.peel_to_kind(Kind::Commit).ok()?.id)
}

/// The first of these paths that is a file in a commit, and its content.
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

/// The bytes of a committed file; `None` if it is missing, as in a partial clone, or too large.
fn object(repository: &gix::Repository, blob: gix::ObjectId) -> Option<Vec<u8>> {
    let header = repository.find_header(blob).ok()?;
    let is_read = header.kind() == Kind::Blob && header.size() <= FILE_MAX;
    is_read.then(|| repository.find_object(blob).ok().map(|object| object.detach().data)).flatten()
}

/// The result for an existing file, with its lines if they exist. `committed` is the content of that commit at its path.
fn found(
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
    let is_committed = |blob: &gix::ObjectId| [hash(bytes), hash(&without_cr(bytes))].contains(&Some(*blob));
    let same = committed.filter(is_committed);
    let pin = Pin {
        path,
        commit: commit.map(|commit| commit.to_string()),
        blob: same.or_else(|| hash(bytes))?.to_string(),
        uncommitted: same.is_none(),
        lines: cited.lines,
        text,
    };
    Some(match misquoted {
        Some(what) => LookedUp::Misquoted(pin, what),
        None => LookedUp::Found(pin),
    })
}

/// The fault of a quote, as a clause; `None` if its words occur at the given place.
fn misquote(path: &str, text: &str, lines: Option<Lines>, quote: &str) -> Option<String> {
    let stand = match stands(text, lines, quote) {
        Stands::There => return None,
        Stands::At(line) => format!("it is at line {line}"),
        Stands::Nowhere => "it is not in that file".to_owned(),
    };
    let lines = lines.map(|lines| format!(":{lines}")).unwrap_or_default();
    Some(format!("“{}” is not at {path}{lines}, {stand}", shorten(&one_line(quote), QUOTE_SHOWN)))
}

/// These lines, up to the limit of a quote; `None` if there is nothing to quote, or they contain a credential.
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

/// The tracked files, with the ids of their contents.
fn tracked(repository: &gix::Repository) -> Vec<(String, String)> {
    let Ok(index) = repository.index_or_empty() else { return Vec::new() };
    let entries = index.entries().iter();
    entries.map(|entry| (entry.path(&index).to_string(), entry.id.to_string())).collect()
}

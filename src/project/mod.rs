//! The project: the repository that an investigation is about. What a result cites of it is looked up here when it is
//! stored, and again when somebody asks whether it still stands.
//!
//! # Guarantees
//!
//! - Only files of the project are read: what leads out of it (`..`, an absolute path, a symbolic link), and git's own
//!   folder, is not, and nothing is said of it.
//! - Only plain files are opened, and none larger than 8 MiB. So a pipe or a device can't make a call wait.
//! - Nothing is written and nothing is executed: git's objects are read in place, with the repository's own settings.
//! - Of a file that git ignores, by the rules of the repository or of the user, nothing is read: it is cited by its name.
//!   So is a file of which it can't be told.
//! - Lines that seem to hold a credential are not quoted, nor are those of a hidden file that git does not track, such as
//!   `.env`.
//!
//! # Limits
//!
//! - Git's filters are not applied: a file that is committed in another form than it is checked out, but for its line
//!   ends, counts as uncommitted.
//! - Of a file that is too large now, or that a sparse work tree leaves out and a partial clone does not have, nobody says
//!   how it stands.
//! - A process of the same machine that swaps a file for a link in the instant between two looks can have that read.
//! - sha256 repositories and bare ones are no projects.

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

/// The most bytes of a file that is read.
const FILE_MAX: u64 = 8 << 20;
/// The most lines that are quoted, and the most bytes of them.
const LINES_MAX: usize = 40;
const QUOTE_MAX: usize = 4 << 10;
/// The most characters of a quote that a message holds.
const QUOTE_SHOWN: usize = 80;
/// How many lines after its beginning a credential may still go on: a private key has some fifty.
const KEY_LINES: u64 = 100;
/// The most files that are looked into for one that is gone.
const CANDIDATES: usize = 20;

/// A file that marks an investigation, which is no project.
const INVESTIGATION: &str = "investigation.yaml";

/// The repository around a folder.
#[derive(Clone, Debug)]
pub struct Project {
    /// Its work tree.
    root: PathBuf,
    /// Where relative paths begin, before those from the root: agents work there.
    folder: PathBuf,
}

/// How what is cited of a project stands.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// What became of each cited file.
    pub drift: HashMap<Pin, Drift>,
    /// Where people see the committed ones, if that was said or the project's remote is on a forge that is known.
    pub forge: Option<Forge>,
}

/// Why a folder is no project.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// The folder can't be found.
    #[error("the project {path} can't be found")]
    NotFound {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is no repository around it.
    #[error(
        "{path} is in no git repository with files, apart from investigations: give the folder of the project"
    )]
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
    /// The project around a folder: the nearest repository that is no investigation.
    ///
    /// # Errors
    ///
    /// A folder that is not there, or in no such repository, and a repository that can't be read.
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

    /// The one around the current folder, if there is one that can be read.
    pub fn here() -> Option<Project> {
        Project::around(&std::env::current_dir().ok()?).ok()
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder that it was found from, with `/` between the parts; empty for the root, `None` where it has no name in text.
    pub fn folder(&self) -> Option<String> {
        path_in(&self.root, &self.folder)
    }

    /// What is there of these paths now, or was in the commits that they name.
    pub fn look_up(&self, cited: &[CitedPath]) -> LookedUpPaths {
        if cited.is_empty() {
            return LookedUpPaths::new();
        }
        let Ok(repository) = self.open() else { return LookedUpPaths::new() };
        // Read only where something is missing: the list is long in a large project.
        let all = OnceCell::new();
        let found = cited
            .iter()
            .filter_map(|cited| Some((cited.clone(), self.look_up_one(&repository, &all, cited)?)));
        found.collect()
    }

    /// How each of these stands in the work tree now, and where people see it as it was. A file is read once, however many
    /// cite it, and dropped before the next.
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

    /// Of each file that is cited with a quote, what is wrong of that in the content that was cited; `None` where it stands there, or
    /// where that content is not here.
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

    /// Whether git does not track a file and ignores it, or that can't be told.
    fn is_ignored(&self, repository: &gix::Repository, path: &str) -> bool {
        let excluded = || -> Result<bool, gix::Error> {
            let index = repository.index_or_empty()?;
            if index.entry_by_path(path.into()).is_some() {
                return Ok(false);
            }
            // The user's own rules count too, as git's settings name them.
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

    /// `None`: it is outside the project, not a plain file, or can't be read.
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
        // In a sparse work tree, or deleted and not committed yet.
        if let Some((path, blob)) = there(&candidates) {
            return found(cited, &object(repository, blob)?, head, path, Some(blob));
        }
        // A folder, or what leads out.
        if candidates.iter().any(|path| self.root.join(path).symlink_metadata().is_ok()) {
            return None;
        }
        let name = cited.path.rsplit('/').next();
        let mut tracked = all.get_or_init(|| tracked(repository)).iter();
        let like = tracked.find(|(path, _)| path.rsplit('/').next() == name);
        let like = like.map(|(path, _)| format!(" ({path} is)")).unwrap_or_default();
        missing(format!("{} is not in the project{like}", cited.path))
    }

    /// The paths from the root that a path may mean, by its letters alone; `None` where it leads out, or into git's folder.
    fn candidates(&self, path: &str) -> Option<Vec<String>> {
        let path = path.replace('\\', "/");
        let found: Vec<String> =
            [&self.folder, &self.root].into_iter().filter_map(|from| self.inside(&path, from)).collect();
        (!found.is_empty()).then_some(found)
    }

    /// The path from the root that a path from a folder is, by its letters alone.
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

    /// The path from the root of the plain file that a path leads to; `None` where there is none, or outside.
    fn plain_file(&self, path: &str) -> Option<String> {
        let real = fs::canonicalize(self.root.join(path)).ok()?;
        let path = path_in(&self.root, &real)?;
        fs::symlink_metadata(&real).ok().filter(fs::Metadata::is_file).map(|_| path)
    }

    /// What the file at a path from the root holds now; `None` where there is none. What a sparse work tree leaves out is as
    /// git's index has it.
    fn content(&self, repository: &gix::Repository, path: &str) -> Option<Content> {
        match self.plain_file(path) {
            Some(path) => Some(content_of(bytes(&self.root.join(path)).as_deref())),
            None => left_out(repository, path).map(|blob| Content {
                blobs: vec![blob.to_string()],
                ..content_of(object(repository, blob).as_deref())
            }),
        }
    }

    /// The files that one that is gone may have become: those with its content, and those of its name.
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

/// The path from `root` of a file below it, outside of git's folder.
fn path_in(root: &Path, path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> =
        path.strip_prefix(root).ok()?.components().map(|part| part.as_os_str().to_str()).collect();
    let parts = parts?;
    (!parts.iter().any(|part| part.eq_ignore_ascii_case(".git"))).then(|| parts.join("/"))
}

/// All of a plain file; `None` where it can't be read, or is too large.
fn bytes(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(FILE_MAX + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= FILE_MAX).then_some(bytes)
}

/// What a file of these bytes holds; of one that was not read nothing is known.
fn content_of(bytes: Option<&[u8]>) -> Content {
    let Some(bytes) = bytes else { return Content { blobs: Vec::new(), text: None, is_read: false } };
    let blobs = [hash(bytes), hash(&without_cr(bytes))].into_iter().flatten();
    Content { blobs: blobs.map(|id| id.to_string()).collect(), text: text_of(bytes), is_read: true }
}

/// The content of a file that git tracks and that a sparse work tree leaves out, by itself or with its folder.
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

/// The text of a file; `None` of a binary one.
fn text_of(bytes: &[u8]) -> Option<String> {
    (!bytes.contains(&0)).then(|| String::from_utf8_lossy(&without_cr(bytes)).into_owned())
}

/// With the line ends that git stores where it converts them.
fn without_cr(bytes: &[u8]) -> Vec<u8> {
    let next = bytes.iter().skip(1).chain(&[0]);
    let kept = bytes.iter().zip(next).filter(|(byte, next)| (**byte, **next) != (b'\r', b'\n'));
    kept.map(|(byte, _)| *byte).collect()
}

fn hash(bytes: &[u8]) -> Option<gix::ObjectId> {
    gix::objs::compute_hash(gix::hash::Kind::Sha1, Kind::Blob, bytes).ok()
}

/// The commit of that name. Only plain names and ids are looked up, since others can take long.
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

/// All of a committed file; `None` where it is not there, as in a partial clone, or is too large.
fn object(repository: &gix::Repository, blob: gix::ObjectId) -> Option<Vec<u8>> {
    let header = repository.find_header(blob).ok()?;
    let is_read = header.kind() == Kind::Blob && header.size() <= FILE_MAX;
    is_read.then(|| repository.find_object(blob).ok().map(|object| object.detach().data)).flatten()
}

/// What is found of a file that is there, with its lines if they are. `committed` is what that commit has at its path.
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
            return Some(LookedUp::Missing(format!("{path} has {has}, and line {} is cited", lines.last)));
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

/// What is wrong of a quote, as a clause; `None` where its words stand where it is said.
fn misquote(path: &str, text: &str, lines: Option<Lines>, quote: &str) -> Option<String> {
    let stand = match stands(text, lines, quote) {
        Stands::There => return None,
        Stands::At(line) => format!("it stands at line {line}"),
        Stands::Nowhere => "it stands nowhere in that file".to_owned(),
    };
    let lines = lines.map(|lines| format!(":{lines}")).unwrap_or_default();
    Some(format!("“{}” is not at {path}{lines}, {stand}", shorten(&one_line(quote), QUOTE_SHOWN)))
}

/// These lines, as many as are quoted; `None` where there is nothing to quote, or a credential in them.
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

/// The files that git tracks, with the ids of their contents.
fn tracked(repository: &gix::Repository) -> Vec<(String, String)> {
    let Ok(index) = repository.index_or_empty() else { return Vec::new() };
    let entries = index.entries().iter();
    entries.map(|entry| (entry.path(&index).to_string(), entry.id.to_string())).collect()
}

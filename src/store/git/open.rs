//! Creates and opens repositories.

use std::fs;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::odb::loose;
use gix::odb::pack::cache::lru::MemoryCappedHashmap;
use gix::zlib::Compression;

use super::durability::{Disk, EVERYTHING};
use super::error::{StoreResult, io_error, library_error};
use super::identity::identity;
use super::lock::IndexLock;
use super::paths::check_changes;
use super::refuse::{check_format, check_layout, check_locations, refuse_strange_entries};
use super::worktree::optional_metadata;
use super::{CommitId, Configuration, Durability, Git, GitOptions, WorkTree, settings};
use crate::format::FileChange;
use crate::store::{StoreError, StoreErrorKind};

/// The maximum size of a decompressed object, in bytes.
pub(super) const ALLOCATION_LIMIT: u64 = 256 << 20;
/// The size of an open repository's object cache, in bytes. The cache helps because folders are looked up repeatedly.
const OBJECTS_KEPT: usize = 4 << 20;
/// The size of the cache for packed objects, in bytes. Most packed objects are deltas.
const PACKED_KEPT: usize = 16 << 20;

/// Creating and opening repositories.
impl Git {
    /// Creates the repository `dir` on branch `main` with `files` as its first commit.
    ///
    /// The repository is built in `.tmp-<suffix>` next to `dir` and then renamed, so that it is never visible in an
    /// incomplete state. `at` is the time of the commit in seconds since 1970.
    pub fn init(
        options: GitOptions,
        dir: &Path,
        suffix: &str,
        files: &[FileChange],
        message: &str,
        at: i64,
    ) -> StoreResult<(Git, CommitId)> {
        check_changes(files)?;
        let already_exists =
            || StoreError::new(StoreErrorKind::AlreadyExists, format!("{} already exists", dir.display()));
        if fs::symlink_metadata(dir).is_ok() {
            return Err(already_exists());
        }
        let parent = match dir.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        fs::create_dir_all(parent).map_err(io_error("create", parent))?;
        let aside = parent.join(format!(".tmp-{suffix}"));
        fs::create_dir(&aside).map_err(io_error("create", &aside))?;
        let built = build_in(options, &aside, files, message, at).and_then(|commit| {
            fs::rename(&aside, dir).map_err(|source| match fs::symlink_metadata(dir) {
                Ok(_) => already_exists(),
                Err(_) => io_error("rename the new repository to", dir)(source),
            })?;
            Ok(commit)
        });
        // Report the original error. If a hidden folder remains, nothing reads it.
        let commit = built.inspect_err(|_| drop(fs::remove_dir_all(&aside)))?;
        let opened = Git::open(dir, options).and_then(|git| {
            if git.disk.syncs(EVERYTHING) {
                git.disk.sync(&[], &[parent.to_owned()])?;
            }
            Ok((git, CommitId(commit)))
        });
        opened.inspect_err(|_| drop(fs::remove_dir_all(dir)))
    }

    /// Opens the repository `dir`, with or without a work tree. Parent folders are not searched.
    ///
    /// Any owner is accepted. Links that lead out of the repository are refused.
    pub fn open(dir: &Path, options: GitOptions) -> StoreResult<Git> {
        let (git_dir, has_work_tree) = locate(dir)?;
        check_layout(&git_dir)?;
        refuse_strange_entries(&git_dir.join("refs"))?;
        refuse_strange_entries(&git_dir.join("logs"))?;
        let mut repository = open_options(options.configuration)
            .open_path_as_is(true)
            .open(git_dir.clone())
            .map_err(|source| {
                let error = broken_configuration(&git_dir)
                    .unwrap_or_else(|| not_a_repository(StoreErrorKind::Unopenable, dir));
                error.caused_by(source)
            })?
            .to_thread_local()
            // This in-memory store contains the objects written since the repository was opened.
            .with_object_memory();
        check_format(&repository, &git_dir)?;
        check_locations(&repository, dir, &git_dir, has_work_tree)?;
        // A namespace from the environment or configuration would select a different branch than git shows.
        repository.clear_namespace();
        repository.object_cache_size(OBJECTS_KEPT);
        repository.objects.set_pack_cache(|| Box::new(MemoryCappedHashmap::new(PACKED_KEPT)));
        let work_dir = (has_work_tree && repository.workdir().is_some()).then(|| dir.to_owned());
        let author = identity(&repository, "author", options.author);
        let committer = identity(&repository, "committer", options.author);
        let disk = Disk::new(options.durability, &repository.config_snapshot());
        let compression = compression(&repository.config_snapshot());
        let objects = loose::Store::at_opts(
            git_dir.join("objects"),
            gix::hash::Kind::Sha1,
            loose::Options { compression, ..Default::default() },
        );
        Ok(Git { repository, git_dir, work_dir, author, committer, disk, objects })
    }
}

/// Builds a repository in the empty folder `aside`.
pub(super) fn build_in(
    options: GitOptions,
    aside: &Path,
    files: &[FileChange],
    message: &str,
    at: i64,
) -> StoreResult<ObjectId> {
    let created = gix::ThreadSafeRepository::init_opts(
        aside,
        gix::create::Kind::WithWorktree,
        gix::create::Options::default(),
        open_options(options.configuration),
    );
    created.map_err(|source| match broken_configuration(&aside.join(".git")) {
        Some(error) => error.caused_by(source),
        None => library_error("create a repository", aside)(source).hinting(
            "Check that the disk has space, and with `git config --list` that git can read its settings",
        ),
    })?;
    // Sample hooks would only be clutter.
    let hooks = aside.join(".git").join("hooks");
    fs::remove_dir_all(&hooks).map_err(io_error("remove", &hooks))?;
    settings::configure(&aside.join(".git")).map_err(io_error("configure", aside))?;
    // All files are synced together at the end.
    let git = Git::open(aside, GitOptions { durability: Durability::Git, ..options })?;
    let draft = git.draft(None, files, message, at)?;
    // No journal is needed: a process killed here leaves a hidden folder that is not a repository yet.
    git.sync_new_objects(&draft.objects)?;
    let lock = IndexLock::take(&git.git_dir)?;
    git.publish(&draft, Some(lock), None)??;
    let disk = Disk::new(options.durability, &git.repository.config_snapshot());
    if disk.syncs(EVERYTHING) {
        disk.sync_tree(aside)?;
    }
    Ok(draft.commit)
}

pub(super) fn open_options(configuration: Configuration) -> gix::open::Options {
    use gix::open::permissions::{Attributes, Config, Environment};
    use gix::sec::Permission::{Allow, Deny};

    let permissions = match configuration {
        Configuration::Isolated => gix::open::Permissions::isolated(),
        Configuration::User => gix::open::Permissions {
            config: Config::all(),
            attributes: Attributes::isolated(),
            // `git_prefix` is required for GIT_CONFIG_GLOBAL and similar variables. Its other variables are
            // ignored.
            env: Environment {
                xdg_config_home: Allow,
                home: Allow,
                identity: Allow,
                git_prefix: Allow,
                objects: Deny,
                http_transport: Deny,
                ssh_prefix: Deny,
                other: Deny,
            },
        },
    };
    let options = gix::open::Options::default().permissions(permissions).lossy_config(true);
    // What the environment says about a repository, such as GIT_WORK_TREE, is about that of the caller.
    let is_ours = |section: &gix::config::file::Metadata| {
        gix::config::section::is_trusted(section) && section.source != gix::config::Source::EnvOverride
    };
    options.filter_config_section(is_ours).config_overrides([
        "init.defaultBranch=main",
        // A damaged commit-graph, which only saves time, must not stop anything.
        "core.commitGraph=false",
        // Ids must refer to the original objects, not to replacements.
        "core.useReplaceRefs=false",
        // Milliseconds, the same as for git's index.
        "core.filesRefLockTimeout=1000",
        "core.packedRefsTimeout=1000",
        // The value of `ALLOCATION_LIMIT`.
        "gitoxide.objects.allocLimit=268435456",
    ])
}

/// Returns the configured compression level. The default is the fastest, as in git.
fn compression(config: &gix::config::Snapshot<'_>) -> Compression {
    let level = ["core.looseCompression", "core.compression"].iter().find_map(|name| config.integer(*name));
    match level {
        None => Compression::BEST_SPEED,
        Some(level) => i32::try_from(level).ok().and_then(Compression::new).unwrap_or_default(),
    }
}

/// Returns the git folder of `dir` and whether `dir` is its work tree.
pub(super) fn locate(dir: &Path) -> StoreResult<(PathBuf, bool)> {
    let inner = dir.join(".git");
    match optional_metadata(&inner)? {
        Some(metadata) if metadata.is_dir() => Ok((inner, true)),
        Some(metadata) if metadata.is_symlink() => {
            let hint = "Open the repository it points to, or make a clone";
            Err(StoreError::refused(&inner, "is a symbolic link", hint))
        }
        Some(_) => {
            let hint = match WorkTree::origin(dir) {
                Some(origin) => {
                    format!("Open {}, of which it is a linked work tree, or make a clone", origin.display())
                }
                None if fs::read_to_string(&inner).is_ok_and(|text| text.contains("/modules/")) => {
                    "It is the work tree of a submodule: clone the repository that the submodule comes from with `tot clone`"
                        .to_owned()
                }
                None => {
                    "If it is a linked work tree, run `git worktree repair` in the main one and open that"
                        .to_owned()
                }
            };
            Err(StoreError::refused(&inner, "is a file that points to another folder", &hint))
        }
        None if dir.join("HEAD").is_file() && dir.join("objects").is_dir() => Ok((dir.to_owned(), false)),
        None => Err(not_a_repository(StoreErrorKind::NotARepository, dir)),
    }
}

/// Returns an error that names the first of git's configuration files that can't be read, if there is one.
fn broken_configuration(git_dir: &Path) -> Option<StoreError> {
    use gix::config::Source::{Git, System, User};
    let places =
        [System, Git, User].map(|source| source.storage_location(&mut |name| std::env::var_os(name)));
    let mut files =
        places.into_iter().flatten().chain([git_dir.join("config")]).filter(|file| file.is_file());
    let broken = files.find(|file| gix::config::File::from_path_no_includes(file.clone(), User).is_err())?;
    let message = format!("git's configuration file {} can't be read", broken.display());
    Some(
        StoreError::new(StoreErrorKind::Unopenable, message)
            .hinting("Correct it: `git config --list` names the line"),
    )
}

fn not_a_repository(kind: StoreErrorKind, dir: &Path) -> StoreError {
    let dir = dir.display();
    StoreError::new(kind, format!("{dir} is not a git repository that can be opened"))
        .hinting(format!("Check the path, or run `git -C {dir} status`"))
}

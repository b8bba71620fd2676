//! Commit ancestry. The readable history may be incomplete if a clone is shallow or damaged.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::fs::File;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _};

use gix::ObjectId;
use gix::bstr::ByteSlice as _;
use gix::objs::{CommitRefIter, Kind};

use super::error::{StoreResult, io_error};
use super::{CommitId, CommitInfo, Git};

/// The maximum number of commits visited by one query. No investigation has this many.
const MAX_COMMITS: usize = 500_000;
/// The maximum number of abandoned commits listed individually.
const NAMED: usize = 5;
/// The maximum number of lost commits reported.
const MAX_LOST: usize = 10_000;
/// The maximum number of bytes read from a reflog.
const MAX_REFLOG: u64 = 64 << 20;

/// The result of a descent check between two commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Descent {
    /// The commit is a descendant, or both commits are identical.
    Yes,
    /// The commit is not a descendant.
    No,
    /// No relation was found, but the history is incomplete. Contains a description of the point where the history
    /// ends.
    Unknown(String),
}

impl Git {
    /// Returns whether `later` descends from `earlier`, following all parents.
    pub fn descent(&self, earlier: CommitId, later: CommitId) -> StoreResult<Descent> {
        let mut walk = Walk::new(self)?;
        Ok(match walk.find(later.0, |id| id == earlier.0) {
            true => Descent::Yes,
            false => walk.end.map_or(Descent::No, Descent::Unknown),
        })
    }

    /// Returns the number of ancestors of `tip`, including itself, that are not ancestors of `base`. Fails if a commit
    /// cannot be read. (gix 0.90 miscounts if commits have the same time, such as a merge and its parent.)
    pub fn count_beyond(&self, base: Option<CommitId>, tip: CommitId) -> StoreResult<usize> {
        let mut walk = Walk::new(self)?;
        let mut count = 0;
        for (start, weight) in base.map(|base| (base.0, 0)).into_iter().chain([(tip.0, 1)]) {
            let is_unreadable = |id| {
                count += weight;
                self.object(id, Kind::Commit).is_err()
            };
            if walk.find(start, is_unreadable) {
                return Err(self.missing(Kind::Commit, start));
            }
        }
        Ok(count)
    }
}

/// Commits with their parents, in an order that lists parents first.
pub(in crate::store) struct Lineage<'a> {
    parents: &'a HashMap<CommitId, Vec<CommitId>>,
    order: HashMap<CommitId, usize>,
}

impl<'a> Lineage<'a> {
    pub(in crate::store) fn new(parents: &'a HashMap<CommitId, Vec<CommitId>>) -> Self {
        let (mut seen, mut order) = (HashSet::new(), HashMap::new());
        let mut next: Vec<(CommitId, bool)> = parents.keys().map(|id| (*id, false)).collect();
        while let Some((id, are_parents_listed)) = next.pop() {
            if are_parents_listed {
                order.insert(id, order.len());
            } else if seen.insert(id) {
                next.push((id, true));
                next.extend(parents.get(&id).into_iter().flatten().map(|parent| (*parent, false)));
            }
        }
        Lineage { parents, order }
    }

    /// Returns the commits that only the first side has, and those that only the second side has. Visits few others.
    pub(in crate::store) fn apart(&self, sides: [CommitId; 2]) -> [HashSet<CommitId>; 2] {
        const BOTH: [bool; 2] = [true, true];
        let mut on: HashMap<CommitId, [bool; 2]> = HashMap::new();
        let mut next = BTreeSet::new();
        for (side, id) in sides.into_iter().enumerate() {
            on.entry(id).or_default()[side] = true;
            next.insert((self.order.get(&id), id));
        }
        while next.iter().any(|(_, id)| on.get(id) != Some(&BOTH)) {
            let Some((at, id)) = next.pop_last() else { break };
            let [one, other] = on.get(&id).copied().unwrap_or_default();
            for parent in self.parents.get(&id).into_iter().flatten() {
                let before = on.entry(*parent).or_default();
                *before = [before[0] || one, before[1] || other];
                // Replaced commits may form a circle.
                let order = self.order.get(parent);
                next.extend((order < at).then_some((order, *parent)));
            }
        }
        let only = |side| on.iter().filter(move |(_, on)| **on == side).map(|(id, _)| *id).collect();
        [only([true, false]), only([false, true])]
    }
}

/// The state of a commit that HEAD has moved away from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Left {
    /// The commit is reachable from this branch or tag, named as in git commands.
    KeptBy(String),
    /// The commit is not reachable from any branch or tag.
    Astray {
        /// The ids and subjects of the newest unreachable commits.
        newest: Vec<(CommitId, String)>,
        /// The number of unreachable commits.
        number: usize,
        /// The point where the readable history ends, if it is incomplete.
        end: Option<String>,
    },
    /// The commit no longer exists.
    Gone,
}

/// A chain of commits that are not reachable from any branch. The newest commit descends from all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostChain<T> {
    /// The newest commit.
    pub tip: CommitId,
    /// True if, according to the reflog, HEAD once pointed to the newest commit. Otherwise, that commit was never
    /// published because its writer was killed or lost a race.
    pub was_head: bool,
    /// The descriptions of the commits, newest first.
    pub commits: Vec<T>,
}

/// Finding lost commits.
impl Git {
    /// Returns the state of `from`, a former HEAD, or `None` if HEAD descends from it.
    pub fn left_behind(&self, from: CommitId) -> StoreResult<Option<Left>> {
        let Some(head) = self.head()?.commit else { return Ok(None) };
        let mut walk = Walk::new(self)?;
        if walk.find(head.0, |id| id == from.0) {
            return Ok(None);
        }
        if self.object(from.0, Kind::Commit).is_err() {
            return Ok(Some(Left::Gone));
        }
        for (name, tip) in self.references_under(&["refs/heads/", "refs/remotes/", "refs/tags/"])? {
            if walk.find(tip, |id| id == from.0) {
                return Ok(Some(Left::KeptBy(name)));
            }
        }
        let mut astray = Vec::new();
        walk.find(from.0, |id| {
            astray.push(CommitId(id));
            false
        });
        let named = astray
            .iter()
            .take(NAMED)
            .filter_map(|id| Some((*id, self.commit_info(*id).ok()?.subject().to_owned())));
        Ok(Some(Left::Astray { newest: named.collect(), number: astray.len(), end: walk.end }))
    }

    /// Returns the unreachable commits that `describe` accepts, newest chain first. Searches all objects.
    pub fn lost<T>(&self, describe: impl Fn(CommitInfo) -> Option<T>) -> StoreResult<Vec<LostChain<T>>> {
        let mut kept = Walk::new(self)?;
        let head = self.head()?.commit.map(|commit| commit.0);
        let branches = self.references_under(&["refs/heads/", "refs/remotes/"])?;
        for tip in head.into_iter().chain(branches.into_iter().map(|(_, tip)| tip)) {
            kept.find(tip, |_| false);
        }
        let failed = self.library("list the objects");
        let mut lost = HashMap::new();
        for id in self.repository.objects.iter().map_err(&failed)? {
            let id = id.map_err(|error| failed(gix::Error::from_error(error)))?;
            let is_commit =
                |id| self.repository.find_header(id).is_ok_and(|header| header.kind() == Kind::Commit);
            if lost.len() == MAX_LOST || kept.seen.contains(&id) || !is_commit(id) {
                continue;
            }
            // An unreadable commit can't be restored.
            let Ok(commit) = self.commit_info(CommitId(id)) else { continue };
            let seconds = commit.seconds;
            lost.extend(describe(commit).map(|described| (id, (seconds, described))));
        }
        let mut chains = Walk { seen: kept.seen.clone(), ..Walk::new(self)? };
        let mut older = kept;
        for id in lost.keys() {
            for parent in older.parents(*id) {
                older.find(parent, |_| false);
            }
        }
        let mut tips: Vec<(i64, ObjectId)> =
            lost.iter().filter(|(id, _)| !older.seen.contains(*id)).map(|(id, (at, _))| (*at, *id)).collect();
        tips.sort_by(|a, b| b.cmp(a));
        let heads = self.logged_heads()?;
        let chain = |(_, tip): (i64, ObjectId)| {
            let mut commits = Vec::new();
            chains.find(tip, |id| {
                commits.extend(lost.remove(&id).map(|(_, described)| described));
                false
            });
            LostChain { tip: CommitId(tip), was_head: heads.contains(&tip), commits }
        };
        Ok(tips.into_iter().map(chain).collect())
    }

    /// Returns the references that have one of these prefixes and point to a commit. The prefix is removed from their
    /// names.
    pub(super) fn references_under(&self, beginnings: &[&str]) -> StoreResult<Vec<(String, ObjectId)>> {
        let failed = self.library("list the references");
        let platform = self.repository.references().map_err(&failed)?;
        let mut names = Vec::new();
        // A broken reference must not hide the others.
        for mut reference in platform.all().map_err(&failed)?.flatten() {
            let name = reference.name().as_bstr().to_str_lossy().into_owned();
            let Some(short) = beginnings.iter().find_map(|beginning| name.strip_prefix(beginning)) else {
                continue;
            };
            let Ok(id) = reference.peel_to_id().map(|id| id.detach()) else { continue };
            names.extend(self.peel(id).map(|commit| (short.to_owned(), commit.0)));
        }
        Ok(names)
    }

    /// Returns all commits that HEAD has pointed to, according to its reflog.
    fn logged_heads(&self) -> StoreResult<HashSet<ObjectId>> {
        let path = self.git_dir.join("logs").join("HEAD");
        let failed = io_error("read", &path);
        let log = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(HashSet::new()),
            log => log.map_err(&failed)?,
        };
        let mut heads = HashSet::new();
        for line in BufReader::new(log.take(MAX_REFLOG)).split(b'\n') {
            let line = line.map_err(&failed)?;
            heads.extend(line.get(41..81).and_then(|id| ObjectId::from_hex(id).ok()));
        }
        Ok(heads)
    }
}

/// A walk over commits that visits each commit once, even from several tips.
pub(super) struct Walk<'g> {
    git: &'g Git,
    shallow: HashSet<ObjectId>,
    seen: HashSet<ObjectId>,
    /// The first point where the walk was cut off, with the reason.
    end: Option<String>,
}

impl<'g> Walk<'g> {
    pub(super) fn new(git: &'g Git) -> StoreResult<Walk<'g>> {
        let shallow = git.shallow_boundary()?.into_iter().map(|end| end.0).collect();
        Ok(Walk { git, shallow, seen: HashSet::new(), end: None })
    }

    /// Visits `tip` and its ancestors, nearest first, and stops at the first commit for which `is_it` returns true.
    /// Skips commits that were already visited. Returns whether a matching commit was found.
    pub(super) fn find(&mut self, tip: ObjectId, mut is_it: impl FnMut(ObjectId) -> bool) -> bool {
        let mut next = VecDeque::from([tip]);
        while let Some(id) = next.pop_front() {
            if self.seen.contains(&id) {
                continue;
            }
            if self.seen.len() == MAX_COMMITS {
                self.ends(|| format!("the search stopped after {MAX_COMMITS} commits"));
                return false;
            }
            self.seen.insert(id);
            if is_it(id) {
                return true;
            }
            next.extend(self.parents(id));
        }
        false
    }

    pub(super) fn parents(&mut self, id: ObjectId) -> Vec<ObjectId> {
        if self.shallow.contains(&id) {
            self.ends(|| "this is a shallow clone, and `git fetch --unshallow` fetches the rest".to_owned());
            return Vec::new();
        }
        match self.git.object(id, Kind::Commit) {
            Ok(data) => CommitRefIter::from_bytes(&data, gix::hash::Kind::Sha1).parent_ids().collect(),
            Err(_) => {
                self.ends(|| format!("the commit {id} can't be read; `git fsck` reports details"));
                Vec::new()
            }
        }
    }

    fn ends(&mut self, why: impl FnOnce() -> String) {
        self.end.get_or_insert_with(why);
    }
}

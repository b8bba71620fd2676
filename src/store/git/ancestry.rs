//! Which commits came from which, as far as that can be read: a shallow or damaged clone ends somewhere.

use std::collections::{HashSet, VecDeque};

use gix::ObjectId;
use gix::objs::{CommitRefIter, Kind};

use super::error::Result;
use super::{CommitId, Git};

/// How many commits are looked at for one question: more than an investigation has nodes.
const MAX_COMMITS: usize = 500_000;

/// Whether one commit came from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Descent {
    /// It did, or they are one commit.
    Yes,
    /// It did not.
    No,
    /// It was not found, and not all could be read: where the history ends.
    Unknown(String),
}

impl Git {
    /// Whether `later` came from `earlier`, by any of its parents.
    pub fn descent(&self, earlier: CommitId, later: CommitId) -> Result<Descent> {
        let mut walk = Walk::new(self)?;
        Ok(match walk.find(later.0, |id| id == earlier.0) {
            true => Descent::Yes,
            false => walk.end.map_or(Descent::No, Descent::Unknown),
        })
    }
}

/// A walk over commits that looks at each once, also from several tips.
pub(super) struct Walk<'g> {
    git: &'g Git,
    shallow: HashSet<ObjectId>,
    pub(super) seen: HashSet<ObjectId>,
    /// Where it could not go on, the first time.
    pub(super) end: Option<String>,
}

impl<'g> Walk<'g> {
    pub(super) fn new(git: &'g Git) -> Result<Walk<'g>> {
        let shallow = git.repository.shallow_commits();
        let shallow = shallow.map_err(git.library("read the ends of a shallow clone"))?;
        let shallow = shallow.iter().flat_map(|ends| ends.iter().copied()).collect();
        Ok(Walk { git, shallow, seen: HashSet::new(), end: None })
    }

    /// Goes from `tip` to the commits that it came from, nearest first, without those that were seen before. Says whether
    /// one was what is looked for.
    pub(super) fn find(&mut self, tip: ObjectId, mut is_it: impl FnMut(ObjectId) -> bool) -> bool {
        let mut next = VecDeque::from([tip]);
        while let Some(id) = next.pop_front() {
            if self.seen.contains(&id) {
                continue;
            }
            if self.seen.len() == MAX_COMMITS {
                self.ends(|| format!("more than {MAX_COMMITS} commits are not looked at"));
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

    fn parents(&mut self, id: ObjectId) -> Vec<ObjectId> {
        if self.shallow.contains(&id) {
            self.ends(|| "this is a shallow clone, and `git fetch --unshallow` gets the rest".to_owned());
            return Vec::new();
        }
        match self.git.object(id, Kind::Commit) {
            Ok(data) => CommitRefIter::from_bytes(&data, gix::hash::Kind::Sha1).parent_ids().collect(),
            Err(_) => {
                self.ends(|| format!("the commit {id} can't be read, and `git fsck` tells more"));
                Vec::new()
            }
        }
    }

    fn ends(&mut self, why: impl FnOnce() -> String) {
        self.end.get_or_insert_with(why);
    }
}

//! Checks the people named in files against the authors recorded by git.
//!
//! A tool call writes the author of its commit into the file. If a commit by another author adds a person's name, that
//! person is not credited and the file counts as manually changed.
//!
//! The author of an import is the program itself, so an import contradicts no one. The history of a shallow clone is
//! incomplete, so the contents of its oldest commits are accepted as is.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::Fault;
use super::git::{BlobId, CommitInfo, Git};
use super::hands::Ancestry;
use super::read;
use crate::domain::{Caller, Code, Comment, Conclusion, Investigation, Node, Person, Run, Timestamp};
use crate::format::layout::{self, FileRole};
use crate::format::record::Record;

/// A claim that a person wrote part of a file at the given time.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Attribution {
    path: String,
    person: Person,
    at: Timestamp,
}

/// The number of times each claim is made.
type Claims = HashMap<Attribution, usize>;

impl Ancestry<'_> {
    /// Disowns every person named in these records but not confirmed by git.
    pub(super) fn disown(
        &self,
        nodes: &mut [Arc<Node>],
        comments: &mut [Arc<Comment>],
        runs: &mut [Arc<Run>],
        conclusion: &mut Option<Conclusion>,
    ) {
        let mut claims = Claims::new();
        for claim in claims_in(nodes.iter(), comments.iter(), runs.iter(), conclusion.as_ref()) {
            *claims.entry(claim).or_default() += 1;
        }
        let moved = nodes.iter().filter(|node| node.renamed_from.is_some());
        let moved: HashSet<String> = moved.map(|node| layout::node(&node.id)).collect();
        let before = self.before.map(|before| before.investigation.as_ref());
        for claim in before.into_iter().flat_map(|before| {
            claims_in(before.nodes(), before.comments(), before.runs(), before.conclusion())
        }) {
            remove_claim(&mut claims, &moved, claim);
        }
        if claims.is_empty() {
            return;
        }
        let disowned = before.map(disowned).unwrap_or_default();
        let mut unfounded = Claims::new();
        claims.retain(|claim, number| {
            let is_known = disowned.contains(&(claim.person.clone(), claim.at));
            is_known.then(|| unfounded.insert(claim.clone(), *number)).is_none()
        });
        self.confirm(&mut claims, &moved);
        unfounded.extend(claims);
        if unfounded.is_empty() {
            return;
        }
        let is_false = |path: &str, person: &Person, at: Timestamp| {
            unfounded.contains_key(&Attribution { path: path.to_owned(), person: person.clone(), at })
        };
        for node in nodes.iter_mut() {
            let path = layout::node(&node.id);
            if of_node(node).any(|claim| unfounded.contains_key(&claim)) {
                Arc::make_mut(node).visit_callers(disowning(|person, at| is_false(&path, person, at)));
            }
        }
        disown_records(comments, &unfounded);
        disown_records(runs, &unfounded);
        if let Some(end) = conclusion {
            end.visit_callers(disowning(|person, at| is_false(layout::CONCLUSION, person, at)));
        }
    }

    /// Removes the claims that were added in a commit by the claimed author.
    fn confirm(&self, claims: &mut Claims, moved: &HashSet<String>) {
        let is_of = |commit: &CommitInfo, person: &Person| {
            let is_address = |email: &String| email.eq_ignore_ascii_case(&commit.author_email);
            commit.has_no_author()
                || (person.name == commit.author_name && person.email.as_ref().is_none_or(is_address))
        };
        let people: HashSet<Person> = claims.keys().map(|claim| claim.person.clone()).collect();
        if self.ends.is_empty() {
            // A person who is the author of every commit wrote everything.
            let alone =
                people.iter().filter(|person| self.commits.iter().all(|commit| is_of(&commit.info, person)));
            let alone: HashSet<&Person> = alone.collect();
            claims.retain(|claim, _| !alone.contains(&claim.person));
        } else {
            claims.retain(|claim, _| !moved.contains(&claim.path));
        }
        for end in &self.ends {
            for file in self.git.files(*end).into_iter().flatten() {
                if claims.keys().any(|claim| claim.path == file.path) {
                    for (person, at) in named_in(self.git, &file.path, Some(file.blob)) {
                        remove_claim(claims, moved, Attribution { path: file.path.clone(), person, at });
                    }
                }
            }
        }
        // A call commits in the same second as the times it writes, so commits at claimed times are examined first.
        let times: HashSet<i64> = claims.keys().map(|claim| claim.at.seconds()).collect();
        let commits = self.commits.iter().map(|commit| &commit.info);
        let mut commits: Vec<&CommitInfo> = commits.filter(|it| it.parents.len() < 2).collect();
        commits.retain(|commit| people.iter().any(|person| is_of(commit, person)));
        commits.sort_by_key(|commit| !times.contains(&commit.seconds));
        let mut is_whole = self.is_whole;
        for commit in commits {
            if claims.is_empty() {
                return;
            }
            let files = self.git.diff(commit.parents.first().copied(), commit.id);
            is_whole &= files.is_ok();
            for file in files.into_iter().flatten() {
                let mut stood = named_in(self.git, &file.path, file.before);
                for (person, at) in named_in(self.git, &file.path, file.after) {
                    let same = stood.iter().position(|it| *it == (person.clone(), at));
                    if same.map(|same| stood.swap_remove(same)).is_none() && is_of(commit, &person) {
                        remove_claim(claims, moved, Attribution { path: file.path.clone(), person, at });
                    }
                }
            }
        }
        if !is_whole {
            claims.clear();
        }
    }
}

/// Returns a fault for each part of a file that names a person not confirmed by git.
pub(super) fn faults(investigation: &Investigation) -> impl Iterator<Item = Fault> {
    false_names(investigation).map(|(path, Person { name, .. }, _)| {
        // Replies and sites show the fault, so it has no address.
        let reason = format!(
            "the file names {name} as its author, but git has another name or address; it counts as unsigned"
        );
        Fault::of_history(path, reason, Code::AuthorDiffers)
    })
}

/// Returns the disowned people in an investigation, with the time of each attributed part.
pub(super) fn disowned(investigation: &Investigation) -> HashSet<(Person, Timestamp)> {
    false_names(investigation).map(|(_, person, at)| (person.clone(), at)).collect()
}

/// Returns the people not confirmed by git, with the file and time of each attributed part.
fn false_names(investigation: &Investigation) -> impl Iterator<Item = (String, &Person, Timestamp)> {
    let nodes = investigation.nodes().flat_map(|node| {
        let false_names = node.written_by().filter_map(|(at, by)| Some((by.disowned.as_ref()?, at)));
        false_names.map(|(person, at)| (layout::node(&node.id), person, at))
    });
    let comments = investigation.comments().filter_map(|it| false_name(it.as_ref()));
    let runs = investigation.runs().filter_map(|it| false_name(it.as_ref()));
    let ends = investigation.conclusion().into_iter().flat_map(|end| {
        let false_names = end.written_by().filter_map(|(at, by)| Some((by.disowned.as_ref()?, at)));
        false_names.map(|(person, at)| (layout::CONCLUSION.to_owned(), person, at))
    });
    nodes.chain(comments).chain(runs).chain(ends)
}

/// Returns a visitor that disowns each person for whom `is_false` returns true.
pub(super) fn disowning(is_false: impl Fn(&Person, Timestamp) -> bool) -> impl Fn(Timestamp, &mut Caller) {
    move |at, caller| {
        if caller.person.as_ref().is_some_and(|person| is_false(person, at)) {
            caller.disown();
        }
    }
}

fn of_node(node: &Node) -> impl Iterator<Item = Attribution> {
    node.written_by().filter_map(|(at, caller)| {
        Some(Attribution { path: layout::node(&node.id), person: caller.person.clone()?, at })
    })
}

fn of_conclusion(end: &Conclusion) -> impl Iterator<Item = Attribution> {
    end.written_by().filter_map(|(at, caller)| {
        Some(Attribution { path: layout::CONCLUSION.to_owned(), person: caller.person.clone()?, at })
    })
}

/// Returns the claim made by a comment or run, or `None` if its author is disowned. The author is the git user even if
/// an agent wrote the comment or run.
fn of_record<T: Record>(record: &T) -> Option<Attribution> {
    let author = record.author();
    let person = Person { name: author.name.clone(), email: author.email.clone() };
    author.caller.disowned.is_none().then(|| Attribution {
        path: T::path(record.id()),
        person,
        at: record.at(),
    })
}

/// Returns all claims in these records.
fn claims_in<'f>(
    nodes: impl Iterator<Item = &'f Arc<Node>>,
    comments: impl Iterator<Item = &'f Arc<Comment>>,
    runs: impl Iterator<Item = &'f Arc<Run>>,
    conclusion: Option<&'f Conclusion>,
) -> impl Iterator<Item = Attribution> {
    let claims = nodes.flat_map(|node| of_node(node));
    let claims = claims.chain(comments.filter_map(|comment| of_record(comment.as_ref())));
    let claims = claims.chain(runs.filter_map(|run| of_record(run.as_ref())));
    claims.chain(conclusion.into_iter().flat_map(of_conclusion))
}

/// Disowns the authors of records with unfounded claims.
fn disown_records<T: Record>(records: &mut [Arc<T>], unfounded: &Claims) {
    for record in records {
        if of_record(record.as_ref()).is_some_and(|claim| unfounded.contains_key(&claim)) {
            Arc::make_mut(record).author_mut().disown();
        }
    }
}

/// Returns the record's claimed author, if git does not confirm it.
fn false_name<T: Record>(record: &T) -> Option<(String, &Person, Timestamp)> {
    Some((T::path(record.id()), record.author().caller.disowned.as_ref()?, record.at()))
}

/// Returns the people named in a file, with the time of each attributed part. The list is empty if the file is
/// unreadable.
fn named_in(git: &Git, path: &str, blob: Option<BlobId>) -> Vec<(Person, Timestamp)> {
    let Some(blob) = blob else { return Vec::new() };
    let claims: Vec<Attribution> = match layout::file_role(path) {
        FileRole::Node(id) => read::node(git, path, blob, &id).iter().flat_map(of_node).collect(),
        FileRole::Comment(id) => {
            read::record::<Comment>(git, path, blob, id).iter().filter_map(of_record).collect()
        }
        FileRole::Run(id) => read::record::<Run>(git, path, blob, id).iter().filter_map(of_record).collect(),
        FileRole::Conclusion => read::conclusion(git, path, blob).iter().flat_map(of_conclusion).collect(),
        _ => Vec::new(),
    };
    claims.into_iter().map(|claim| (claim.person, claim.at)).collect()
}

/// Removes one occurrence of a confirmed claim. If no claim matches exactly, removes the matching claim in a node
/// renamed by a merge.
fn remove_claim(claims: &mut Claims, moved: &HashSet<String>, claim: Attribution) {
    let key = match claims.contains_key(&claim) {
        true => Some(claim),
        false => {
            let is_it = |it: &&Attribution| {
                it.person == claim.person && it.at == claim.at && moved.contains(&it.path)
            };
            claims.keys().find(is_it).cloned()
        }
    };
    let Some(key) = key else { return };
    if let Some(number) = claims.get_mut(&key) {
        *number -= 1;
        if *number == 0 {
            claims.remove(&key);
        }
    }
}

//! The current state of cited files: `tot check` on a project that was changed at random, compared with the known
//! changes.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use proptest::sample::Index;
use tree_of_thoughts::domain::{CitedPath, Lines, LookedUp, Pin};
use tree_of_thoughts::service::project::{Drift, Project};

use super::{commit_all, look_up, project, write};
use crate::support::Sandbox;

/// A change to the project.
#[derive(Clone, Debug)]
enum Step {
    /// Inserts lines before a line.
    Insert(Index, Index, u8),
    /// Removes lines.
    Delete(Index, Index, u8),
    /// Replaces a line.
    Edit(Index, Index),
    /// Moves lines within a file.
    Shift(Index, Index, Index, u8),
    /// Moves a file to another folder, under the same name.
    Move(Index),
    /// Renames a file.
    Rename(Index),
    /// Removes a file.
    Remove(Index),
    /// Commits everything.
    Commit,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (any::<Index>(), any::<Index>(), 1..5_u8).prop_map(|(file, at, number)| Step::Insert(file, at, number)),
        2 => (any::<Index>(), any::<Index>(), 1..4_u8).prop_map(|(file, at, number)| Step::Delete(file, at, number)),
        2 => (any::<Index>(), any::<Index>()).prop_map(|(file, at)| Step::Edit(file, at)),
        2 => (any::<Index>(), any::<Index>(), any::<Index>(), 1..6_u8)
            .prop_map(|(file, from, to, number)| Step::Shift(file, from, to, number)),
        1 => any::<Index>().prop_map(Step::Move),
        1 => any::<Index>().prop_map(Step::Rename),
        1 => any::<Index>().prop_map(Step::Remove),
        2 => Just(Step::Commit),
    ]
}

/// The files, with each line represented by a number. No two lines are alike, and a rewritten line gets a new number.
struct World<'a> {
    sandbox: &'a Sandbox,
    root: &'a Path,
    files: BTreeMap<String, Vec<usize>>,
    /// The current paths of the original files.
    places: BTreeMap<String, Option<String>>,
    lines: usize,
    names: usize,
}

impl World<'_> {
    fn take(&mut self, step: &Step) {
        if self.files.is_empty() {
            return;
        }
        let (Step::Insert(at, ..)
        | Step::Delete(at, ..)
        | Step::Edit(at, ..)
        | Step::Shift(at, ..)
        | Step::Move(at)
        | Step::Rename(at)
        | Step::Remove(at)) = step
        else {
            commit_all(self.sandbox, self.root);
            return;
        };
        let file = self.files.keys().nth(at.index(self.files.len())).unwrap().clone();
        let lines = self.files.get_mut(&file).unwrap();
        let cut = |at: &Index, number: &u8, lines: &mut Vec<usize>| -> Vec<usize> {
            let at = at.index(lines.len() + 1);
            lines.drain(at..lines.len().min(at + usize::from(*number))).collect()
        };
        match step {
            Step::Insert(_, at, number) => {
                let new = self.lines..self.lines + usize::from(*number);
                self.lines = new.end;
                let at = at.index(lines.len() + 1);
                lines.splice(at..at, new);
            }
            Step::Delete(_, at, number) => drop(cut(at, number, lines)),
            Step::Edit(_, at) if !lines.is_empty() => {
                let at = at.index(lines.len());
                lines[at] = self.lines;
                self.lines += 1;
            }
            Step::Shift(_, from, to, number) => {
                let taken = cut(from, number, lines);
                let to = to.index(lines.len() + 1);
                lines.splice(to..to, taken);
            }
            Step::Move(_) => {
                let to = format!("folder{}/{}", self.names, file.rsplit('/').next().unwrap());
                return self.rename(&file, to);
            }
            Step::Rename(_) => return self.rename(&file, format!("renamed{}.txt", self.names)),
            Step::Remove(_) => {
                self.sandbox.git(self.root, &["rm", "-q", "-f", &file]);
                self.files.remove(&file);
                return self.place(&file, None);
            }
            Step::Edit(..) | Step::Commit => {}
        }
        self.write(&file);
    }

    /// Notes that an original file, which was here, is now there.
    fn place(&mut self, from: &str, to: Option<&String>) {
        let places = self.places.values_mut().filter(|place| place.as_deref() == Some(from));
        places.for_each(|place| *place = to.cloned());
    }

    fn write(&self, file: &str) {
        write(self.root, file, &self.text(file));
        // Stages the changes, as a developer would.
        self.sandbox.git(self.root, &["add", "-A"]);
    }

    fn text(&self, file: &str) -> String {
        self.files[file].iter().map(|line| format!("line number {line}\n")).collect()
    }

    fn rename(&mut self, from: &str, to: String) {
        self.names += 1;
        std::fs::create_dir_all(self.root.join(&to).parent().unwrap()).unwrap();
        self.sandbox.git(self.root, &["mv", from, &to]);
        let lines = self.files.remove(from).unwrap();
        self.place(from, Some(&to));
        self.files.insert(to, lines);
    }

    /// Returns the expected report on lines that were cited when the file contained `before`.
    fn expected(&self, pin: &Pin, before: &[usize]) -> Drift {
        let Some(place) = &self.places[&pin.path] else { return Drift::Gone };
        let now = &self.files[place];
        let whole = now.as_slice() == before;
        let is_here = *place == pin.path;
        let same_name = place.rsplit('/').next() == pin.path.rsplit('/').next();
        let Some(lines) = pin.lines else {
            return match (whole, is_here) {
                (true, true) => Drift::Unchanged,
                (true, false) => Drift::Moved { path: place.clone(), lines: None },
                (false, true) => Drift::Changed,
                (false, false) => Drift::Gone,
            };
        };
        let cited = &before[lines.first as usize - 1..lines.last as usize];
        let found = now.windows(cited.len()).position(|window| window == cited);
        match found {
            Some(at) if is_here && at + 1 == lines.first as usize => Drift::Unchanged,
            // A renamed file is recognized by its content, a file with the same name by its lines.
            Some(at) if is_here || whole || same_name => {
                Drift::Moved { path: place.clone(), lines: Some(lines.from(at as u32 + 1)) }
            }
            None if is_here => Drift::Changed,
            _ => Drift::Gone,
        }
    }
}

proptest! {
    #![proptest_config(crate::support::testing::sampled(24))]

    #[test]
    fn the_check_knows_what_was_moved_changed_and_removed(
        steps in prop::collection::vec(step(), 0..12),
        cited in prop::collection::vec((0..3_usize, 0..30_usize, 0..6_usize, any::<bool>()), 1..6),
    ) {
        let sandbox = Sandbox::new();
        let root = sandbox.path("project");
        std::fs::create_dir(&root).unwrap();
        sandbox.git(&root, &["init", "-q"]);
        let names = ["a.txt", "src/b.txt", "src/deep/c.txt"];
        let mut world = World {
            sandbox: &sandbox,
            root: &root,
            files: names.iter().enumerate().map(|(at, name)| ((*name).to_owned(), (at * 30..at * 30 + 30).collect())).collect(),
            places: names.iter().map(|name| ((*name).to_owned(), Some((*name).to_owned()))).collect(),
            lines: 90,
            names: 0,
        };
        names.iter().for_each(|name| world.write(name));
        commit_all(&sandbox, &root);
        let before = world.files.clone();
        let cited: Vec<CitedPath> = cited.into_iter().map(|(file, first, more, is_whole)| {
            let first = first as u32 + 1;
            let lines = Lines { first, last: (first + more as u32).min(30) };
            CitedPath { path: names[file].to_owned(), lines: (!is_whole).then_some(lines), commit: None, quote: None }
        }).collect();
        let project = Project::around(&root).unwrap();
        let known = project.look_up(&cited);
        let pins: Vec<Pin> = cited.iter().map(|cited| match &known[cited] {
            LookedUp::Found(pin) => pin.clone(),
            other => panic!("{other:?}"),
        }).collect();
        steps.iter().for_each(|step| world.take(step));
        let said = project.evidence(&pins).drift;
        for pin in &pins {
            prop_assert_eq!(&said[pin], &world.expected(pin, &before[&pin.path]), "{:?}", pin);
        }
    }
}

/// Looks up a file, as citing it does.
fn cited(project: &Path, path: &str, lines: Option<Lines>) -> Pin {
    match look_up(project, path, lines) {
        Some(LookedUp::Found(pin)) => pin,
        other => panic!("{path}: {other:?}"),
    }
}

fn line(line: u32) -> Option<Lines> {
    Some(Lines { first: line, last: line })
}

#[test]
fn what_stands_several_times_has_not_moved_and_what_grew_beyond_the_limit_has_not_changed() {
    let sandbox = Sandbox::new();
    let project = project(&sandbox);
    write(&project, "run.log", "one\n}\ntwo\n");
    let around = Project::around(&project).unwrap();
    let pin = cited(&project, "run.log", line(2));
    let drift = || around.evidence([&pin]).drift.remove(&pin).unwrap();
    for (text, expected) in [
        ("one\nelse\n}\ntwo\n}\n", Drift::Changed),
        ("}\n}\n}\n", Drift::Unchanged),
        (&format!("one\n}}\n{}", "three\n".repeat(1_500_000)), Drift::Unchecked),
    ] {
        write(&project, "run.log", text);
        assert_eq!(drift(), expected);
    }
    std::fs::rename(project.join("run.log"), project.join("src/run.log")).unwrap();
    assert_eq!(drift(), Drift::Gone, "git does not track it");
    sandbox.git(&project, &["add", "-A"]);
    assert_eq!(drift(), Drift::Unchecked);
}

#[test]
fn a_file_that_a_sparse_work_tree_leaves_out_is_not_called_gone() {
    for sparse in [&["--cone"][..], &["--no-cone"], &["--cone", "--sparse-index"]] {
        let sandbox = Sandbox::new();
        let project = project(&sandbox);
        write(&project, "docs/deep/guide.md", "one\ntwo\n");
        commit_all(&sandbox, &project);
        let around = Project::around(&project).unwrap();
        let pins = ["docs/deep/guide.md", "src/db.py"].map(|path| cited(&project, path, line(2)));
        write(&project, "docs/deep/guide.md", "zero\none\ntwo\n");
        commit_all(&sandbox, &project);
        sandbox.git(&project, &[&["sparse-checkout", "set"], sparse, &["src"]].concat());
        assert!(!project.join("docs").exists() && project.join("src/db.py").exists());
        let drift = around.evidence(&pins).drift;
        let moved = Drift::Moved { path: "docs/deep/guide.md".into(), lines: line(3) };
        assert_eq!((&drift[&pins[0]], &drift[&pins[1]]), (&moved, &Drift::Unchanged), "{sparse:?}");
        // Removed files are reported as gone, even in a sparse work tree.
        std::fs::remove_file(project.join("src/db.py")).unwrap();
        assert_eq!(around.evidence([&pins[1]]).drift[&pins[1]], Drift::Gone, "{sparse:?}");
    }
}

#[test]
fn a_file_is_not_read_anew_for_each_citation_of_it() {
    let sandbox = Sandbox::new();
    let project = project(&sandbox);
    write(&project, "large.txt", &"a line of it\n".repeat(300_000));
    commit_all(&sandbox, &project);
    let around = Project::around(&project).unwrap();
    let pin = cited(&project, "large.txt", None);
    let pins: Vec<Pin> = (1..=100).map(|at| Pin { lines: line(at), ..pin.clone() }).collect();
    // The shortest of a few runs, because other processes use the machine too.
    let time = |pins: &[Pin]| {
        let times = (0..3).map(|_| {
            let since = std::time::Instant::now();
            assert!(around.evidence(pins).drift.values().all(|drift| *drift == Drift::Unchanged));
            since.elapsed()
        });
        times.min().unwrap()
    };
    let (one, all) = (time(&pins[..1]), time(&pins));
    assert!(all < one * 20, "{one:?} for one, {all:?} for a hundred");
}

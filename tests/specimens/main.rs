//! Writes the specimens, for the tests in a browser and the bench of the report:
//!
//! ```text
//! cargo run -p bench --bin specimens -- large 1000 DIR     # one investigation of 1,000 nodes, as a repository
//! cargo run -p bench --bin specimens -- many 1000 20 DIR   # a folder of 1,000 investigations of 20 nodes
//! cargo run -p bench --bin specimens -- runs 1000 40 DIR   # one investigation of 40 nodes with 1,000 runs
//! cargo run -p bench --bin specimens -- texts 1000 DIR     # its findings as Markdown files, and a SUMMARY.md of them
//! cargo run -p bench --bin specimens -- graph 1000 5 FILE  # its graph in DOT, and drawn five times for a stopwatch
//! cargo run -p bench --bin specimens -- hostile DIR        # a folder of investigations, one per hostile text
//! ```

#![allow(missing_docs, clippy::unwrap_used, reason = "a program of the tests that can't go on has failed")]

mod hostile;
mod large;
mod payloads;
mod repository;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use tree_of_thoughts::assess::Assessment;
use tree_of_thoughts::graph::{self, DrawnTree, SvgOptions};
use tree_of_thoughts::ruleset::{EffectiveRules, builtin};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["large", size, dir] => large::write(Path::new(dir), size.parse().unwrap()),
        ["many", number, size, dir] => {
            large::write_many(Path::new(dir), number.parse().unwrap(), size.parse().unwrap());
        }
        ["runs", runs, size, dir] => {
            large::write_runs(Path::new(dir), runs.parse().unwrap(), size.parse().unwrap());
        }
        ["texts", size, dir] => texts(Path::new(dir), size.parse().unwrap()),
        ["graph", size, times, file] => {
            graph(size.parse().unwrap(), times.parse().unwrap(), Path::new(file));
        }
        ["hostile", dir] => drop(hostile::write(Path::new(dir), &payloads::payloads())),
        _ => {
            eprintln!(
                "usage: specimens large SIZE DIR | many NUMBER SIZE DIR | runs RUNS SIZE DIR | texts SIZE DIR | graph SIZE TIMES FILE | hostile DIR"
            );
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Prints the graph as Graphviz text, and draws it this many times.
fn graph(size: usize, times: usize, file: &Path) {
    let investigation = large::investigation(size);
    let ruleset = &builtin::all()[0].ruleset;
    let rules = EffectiveRules::new(ruleset, investigation.meta());
    let assessment = Assessment::new(&investigation, Some(rules));
    fs::write(file, graph::dot(&assessment)).unwrap();
    for _ in 0..times {
        let whole = DrawnTree::new(&assessment);
        let svg = graph::svg(&whole, &SvgOptions { standalone: true, ..SvgOptions::default() });
        assert!(svg.markup.ends_with("</svg>") || svg.markup.ends_with("</svg>\n"));
    }
}

/// Writes the findings as the chapters of a book.
fn texts(dir: &Path, size: usize) {
    fs::create_dir_all(dir).unwrap();
    let mut summary = String::from("# Summary\n\n");
    for (id, title, findings) in large::texts(size) {
        summary.push_str(&format!("- [{id} {title}]({id}.md)\n"));
        fs::write(dir.join(format!("{id}.md")), format!("# {id} {title}\n\n{findings}")).unwrap();
    }
    fs::write(dir.join("SUMMARY.md"), summary).unwrap();
}

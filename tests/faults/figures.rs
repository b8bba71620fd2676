//! Counters.

use std::time::{SystemTime, UNIX_EPOCH};

/// What must never happen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// An acknowledged call is missing from the history or incomplete there.
    Lost,
    /// Git calls the repository broken.
    Broken,
    /// A call is refused because of what a kill left behind, or remains would disturb git or a person after the next call.
    NeedsRepair,
    /// The user's own files have changed.
    Touched,
}

/// The counters of one part.
#[derive(Default)]
pub struct Figures {
    /// The name of the part.
    pub part: String,
    /// The number of servers killed during a call.
    pub kills: usize,
    /// The number of acknowledged calls: calls whose reply named a commit.
    pub acknowledged: usize,
    /// The faults with their explanations. There should be none.
    pub faults: Vec<(Fault, String)>,
}

impl Figures {
    pub fn of(part: impl Into<String>) -> Self {
        Figures { part: part.into(), ..Figures::default() }
    }

    pub fn fault(&mut self, fault: Fault, problem: String) {
        self.faults.push((fault, problem));
    }
}

/// Formats the counters as a Markdown table with totals.
pub fn table(rows: &[Figures]) -> String {
    let line = |part: &str, rows: &[Figures]| {
        let sum = |count: &dyn Fn(&Figures) -> usize| rows.iter().map(count).sum::<usize>();
        let faults = |fault| sum(&|row| row.faults.iter().filter(|(kind, _)| *kind == fault).count());
        let figures = [
            sum(&|row| row.kills),
            sum(&|row| row.acknowledged),
            faults(Fault::Lost),
            faults(Fault::Broken),
            faults(Fault::NeedsRepair),
            faults(Fault::Touched),
        ];
        format!("| {part} | {} |\n", figures.map(|figure| figure.to_string()).join(" | "))
    };
    let mut text = "| part | kills | acknowledged | lost | broken | needed repair | user's files changed |\n\
                    |---|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    for row in rows {
        text += &line(&row.part, std::slice::from_ref(row));
    }
    text + &line("sum", rows)
}

/// Returns a seed that no earlier run used.
pub fn any_seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64 % 1_000_000_007
}

//! Counters and random numbers.

use std::time::{SystemTime, UNIX_EPOCH};

/// The counters of one part. All but the first two should be zero.
#[derive(Default)]
pub struct Figures {
    /// The name of the part.
    pub part: String,
    /// The number of servers killed during a call.
    pub kills: usize,
    /// The number of acknowledged calls: calls whose reply named a commit.
    pub acknowledged: usize,
    /// The number of acknowledged calls that are missing from the history or incomplete there.
    pub lost: usize,
    /// The number of times that git called the repository broken.
    pub broken: usize,
    /// The number of calls refused because of what a kill left behind, plus the number of remains that would disturb
    /// git or a person after the next call.
    pub by_hand: usize,
    /// The number of times that the user's own files were changed.
    pub touched: usize,
    /// Explanations for counters that are not zero.
    pub problems: Vec<String>,
}

impl Figures {
    pub fn of(part: impl Into<String>) -> Self {
        Figures { part: part.into(), ..Figures::default() }
    }

    pub fn lost(&mut self, problem: String) {
        self.lost += 1;
        self.problems.push(format!("LOST: {problem}"));
    }

    pub fn broken(&mut self, problem: String) {
        self.broken += 1;
        self.problems.push(format!("BROKEN: {problem}"));
    }

    pub fn by_hand(&mut self, problem: String) {
        self.by_hand += 1;
        self.problems.push(format!("NEEDS A HAND: {problem}"));
    }

    pub fn touched(&mut self, problem: String) {
        self.touched += 1;
        self.problems.push(format!("TOUCHED: {problem}"));
    }

    /// Adds the counters of another run of the same part.
    pub fn add(&mut self, other: Figures) {
        self.kills += other.kills;
        self.acknowledged += other.acknowledged;
        self.lost += other.lost;
        self.broken += other.broken;
        self.by_hand += other.by_hand;
        self.touched += other.touched;
        self.problems.extend(other.problems);
    }
}

/// Formats the counters as a Markdown table with totals.
pub fn table(rows: &[Figures]) -> String {
    let mut text = "| part | kills | acknowledged | lost | broken | needed repair | user's files changed |\n\
                    |---|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    let mut sum = Figures::of("sum");
    let line = |row: &Figures| {
        let figures = [row.kills, row.acknowledged, row.lost, row.broken, row.by_hand, row.touched];
        format!("| {} | {} |\n", row.part, figures.map(|figure| figure.to_string()).join(" | "))
    };
    for row in rows {
        text.push_str(&line(row));
        sum.kills += row.kills;
        sum.acknowledged += row.acknowledged;
        sum.lost += row.lost;
        sum.broken += row.broken;
        sum.by_hand += row.by_hand;
        sum.touched += row.touched;
    }
    text + &line(&sum)
}

/// Returns a seed that no earlier run used.
pub fn any_seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64 % 1_000_000_007
}

/// Random numbers that are determined by a seed (splitmix64).
pub struct Random(pub u64);

impl Random {
    /// Returns a number below the limit.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

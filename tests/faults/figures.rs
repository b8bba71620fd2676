//! What is counted, and random numbers.

use std::time::{SystemTime, UNIX_EPOCH};

/// The figures of one part. All but the first two should be zero.
#[derive(Default)]
pub struct Figures {
    /// What was done.
    pub part: String,
    /// How many servers were killed in a call.
    pub kills: usize,
    /// How many calls were acknowledged: answered with a commit.
    pub acknowledged: usize,
    /// How many of those are not in the history afterwards, whole.
    pub lost: usize,
    /// How often git called the repository broken.
    pub broken: usize,
    /// How often a call was refused for what a kill had left behind, or something was left that git or a person would
    /// stumble over after the next call.
    pub by_hand: usize,
    /// How often something of the user's own was changed.
    pub touched: usize,
    /// What is behind the figures that are not zero.
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

    /// Adds the figures of the same part.
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

/// The figures as a Markdown table, with their sum.
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

/// A seed that no run had.
pub fn any_seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64 % 1_000_000_007
}

/// Random numbers that follow from a seed (splitmix64).
pub struct Random(pub u64);

impl Random {
    /// A number below the limit.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

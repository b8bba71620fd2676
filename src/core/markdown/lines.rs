//! Lines with the prefixes of the blocks that contain them, such as quotes and list items.

use crate::text::columns;

/// The prefix of the first line of a block, and the prefix of all other lines.
struct Prefix {
    first: Option<String>,
    rest: String,
}

/// Writes lines with their prefixes.
#[derive(Default)]
pub(super) struct LineWriter {
    pub(super) out: String,
    /// True if a blank line must precede the next line.
    pub(super) gap: bool,
    /// The next item number of each open list. `None` for lists without numbers.
    pub(super) lists: Vec<Option<u64>>,
    prefixes: Vec<Prefix>,
    /// The number of enclosing blocks whose prefix does not fit.
    too_deep: usize,
}

impl LineWriter {
    pub(super) fn write(&mut self, text: &str) {
        self.end_gap();
        let mut line = String::new();
        for prefix in &mut self.prefixes {
            line.push_str(prefix.first.take().as_ref().unwrap_or(&prefix.rest));
        }
        line.push_str(text);
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    /// Writes the pending blank line.
    fn end_gap(&mut self) {
        if std::mem::take(&mut self.gap) && !self.out.is_empty() {
            let begun = self.prefixes.iter().take_while(|prefix| prefix.first.is_none());
            let prefix: String = begun.map(|prefix| prefix.rest.as_str()).collect();
            self.out.push_str(prefix.trim_end());
            self.out.push('\n');
        }
    }

    /// Begins a block. If its prefix does not fit, neither it nor the prefixes of blocks inside it are written.
    pub(super) fn indent(&mut self, fits: bool, first: Option<String>, rest: &str) {
        // The blank line comes before the indented text and is not part of it.
        self.end_gap();
        match fits && self.too_deep == 0 {
            true => self.prefixes.push(Prefix { first, rest: rest.to_owned() }),
            false => self.too_deep += 1,
        }
    }

    pub(super) fn outdent(&mut self) {
        match self.too_deep.checked_sub(1) {
            Some(less) => self.too_deep = less,
            None => drop(self.prefixes.pop()),
        }
    }

    /// Returns the mark of the next item of the innermost list.
    pub(super) fn item_mark(&mut self, bullet: &str) -> String {
        let Some(Some(number)) = self.lists.last_mut() else { return bullet.to_owned() };
        let mark = format!("{number}. ");
        // Markdown has no longer numbers.
        *number = (*number + 1).min(999_999_999);
        mark
    }

    /// Returns whether no line of the innermost block has been written.
    pub(super) fn is_unwritten(&self) -> bool {
        self.too_deep == 0 && self.prefixes.last().is_some_and(|prefix| prefix.first.is_some())
    }

    /// Returns the number of prefixes.
    pub(super) fn depth(&self) -> usize {
        self.prefixes.len()
    }

    /// Returns the number of columns that the prefixes occupy.
    pub(super) fn taken(&self) -> usize {
        self.prefixes.iter().map(|prefix| columns(&prefix.rest)).sum()
    }
}

//! Lists split into several pages: `NAME.html`, `NAME-2.html`, … The caller says how many entries a page has, such as
//! `PER_PAGE` in [`super::history`].

use serde::Serialize;

/// One page of a list.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Pager {
    /// The page number, starting at 1.
    pub number: usize,
    pub page_count: usize,
    /// The file name of the previous page.
    pub before: Option<String>,
    /// The file name of the next page.
    pub after: Option<String>,
}

/// Returns the file name of a page. Page numbers start at 1.
pub(super) fn page_file(name: &str, number: usize) -> String {
    if number == 1 { format!("{name}.html") } else { format!("{name}-{number}.html") }
}

/// Returns the pages of a list and their file names. There is always at least one page.
pub(super) fn pages(
    name: &'static str,
    items: usize,
    per_page: usize,
) -> impl Iterator<Item = (String, Pager)> {
    let page_count = items.div_ceil(per_page).max(1);
    (1..=page_count).map(move |number| {
        let pager = Pager {
            number,
            page_count,
            before: (number > 1).then(|| page_file(name, number - 1)),
            after: (number < page_count).then(|| page_file(name, number + 1)),
        };
        (page_file(name, number), pager)
    })
}

//! `tot report --open`: opens an investigation's site in the browser, after rendering it if it is missing or outdated.

use std::io::{self, IsTerminal};

use super::render_one;
use crate::base::platform;
use crate::base::world::World;
use crate::cli::place::{self, PlaceArguments};
use crate::cli::print::say;
use crate::cli::{CommandResult, Progress};
use crate::report::{self, ReadOptions, SiteOptions};
use crate::service::Service;

/// Opens the page of an investigation, or of the node named after it. The site is in `site` in the root, where tot_report writes
/// it.
pub(super) fn run(
    node: &[String],
    place: &PlaceArguments,
    reading: ReadOptions,
    options: &SiteOptions,
) -> CommandResult {
    let place = place.place()?;
    let folder = place.folder()?;
    let investigation = place.store.load(&folder)?.investigation;
    let page = match node {
        [] => "index.html".to_owned(),
        words => format!("nodes/{}.html", place::node(&investigation, words)?.id),
    };
    let service = Service::new(place.store.root().to_owned(), World::Machine, None);
    let site = report::folder_in(service.site(), investigation.meta().id)?;
    let progress = Progress::new();
    render_one(folder, reading, options, &site, &progress)?;
    progress.clear();
    let page = std::path::absolute(site.join(page))?;
    say(&format!("{}\n", page.display()))?;
    let browser = std::env::var("BROWSER").ok();
    // The variable may name several browsers; the first is used.
    let browser =
        browser.as_deref().and_then(|browsers| browsers.split(':').next()).filter(|it| !it.is_empty());
    if io::stdout().is_terminal() && (browser.is_some() || has_display()) {
        let opened =
            browser.map_or_else(|| open::that_detached(&page), |browser| open::with_detached(&page, browser));
        opened.map_err(|error| format!("cannot start a browser: {error}. Set BROWSER to choose one"))?;
    }
    Ok(())
}

/// Returns whether there is a display for a browser.
fn has_display() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    platform::HAS_SCREEN || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

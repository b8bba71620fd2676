//! The site generator, as a command.

mod compare;
mod hostile;
mod incremental;
mod judge;
mod leaks;
mod publishing;
mod serve;
mod site;
mod summary;
mod withheld;

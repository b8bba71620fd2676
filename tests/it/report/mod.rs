//! The site generator, as a command.

mod hostile;
mod judge;
mod site;

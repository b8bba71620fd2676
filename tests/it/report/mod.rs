//! The site generator, as a command.

mod compare;
mod serve;
mod site;

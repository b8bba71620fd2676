//! The site generator, as a command.

mod compare;
mod publishing;
mod serve;
mod site;

//! The site generator, as a command.

mod site;

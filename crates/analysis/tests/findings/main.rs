//! What pages say of runs that are kept in the repository, and of catalogues: `make findings` writes it into the
//! pages, between markers such as `<!-- generated: space -->` and `<!-- end -->`. As tests these say which page
//! differs from its runs.

mod catalogue;
mod figures;
mod fileio;
mod flush;
mod headlines;
mod images;
mod kept;
mod page;
mod placement;
mod power_cut;
mod rails;
mod redis;
mod redmine;
mod shop_cuts;
mod tarantool;
mod text_oltp;
mod vote;

//! SQL: its tokens, the tables of `schema.sql`, and statements for each dialect.

pub use compiled_statement::{CompiledStatement, StatementKind, compile_statement};
pub use found_schema::{DeclaredTable, FoundSchema, list_declared_columns, write_name};
pub use parameters::{ParameterSource, SqlLiteral};
pub use schema_file::{SchemaReference, SqlSchema};
pub use split::split_statements;
pub use token_list::{TokenCursor, TokenList};
pub use tokens::{TokenKind, read_token};

mod column_type;
mod compiled_statement;
mod differences;
mod fit;
mod found_schema;
mod keywords;
mod parameters;
mod result_columns;
mod rights;
mod schema_file;
mod split;
mod table_uses;
mod token_list;
mod tokens;
mod translate;

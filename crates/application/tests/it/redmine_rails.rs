//! The built-in client of Redmine where Redmine is not as it should be: each fault is said in words.

use std::fs;
use std::process::Command;

use bakeoff_application::find_built_in;

const VERSION: &str = "lib/redmine/version.rb";
const APPLICATION: &str = "config/application.rb";
const RIGHT: &str = "MAJOR = 5\nMINOR = 0\nTINY = 4\n";

/// What of Rails is asked, with a server that refuses a statement of a migration.
const REFUSING: &str = r#"
module RedmineApp; class Application; def self.config = @config ||= Struct.new(:log_level).new; end; end
module ActiveRecord
  class StatementInvalid < StandardError; def sql = "CREATE TABLE boards (id int)"; end
  class Migration; class << self; attr_accessor :verbose; end; end
  class SchemaMigration; end
  class Base; def self.connection = Class.new { def execute(sql) = sql }.new; end
  class MigrationContext
    def initialize(*) = nil
    def migrate
      raise StatementInvalid, "no key with this collation"
    rescue StatementInvalid
      raise "all later migrations canceled"
    end
  end
end
"#;

/// Files and their texts, the engine, and what is said.
type FaultCase<'a> = (&'a [(&'a str, &'a str)], &'a str, &'a [&'a str]);

#[test]
fn a_redmine_that_cannot_be_used_is_told_with_what_brings_one() {
    let redmine = find_built_in("redmine-rails").expect("it is built in");
    let program = redmine.program().expect("its program");
    let fill = program.fill.as_deref().expect("it fills");
    let [ruby, word, text] = fill else { panic!("{fill:?}") };
    assert!(!text.contains("\nrequire_relative"), "all that it needs is in it");
    if Command::new(ruby).arg("--version").output().is_err() {
        eprintln!("skipped: no ruby");
        return;
    }
    let other = "MAJOR = 4\nMINOR = 2\nTINY = 11\n";
    let broken = "raise LoadError, 'no such file -- rouge'";
    let cases: [FaultCase<'_>; 5] = [
        (&[], "sqlite", &["install the package redmine"]),
        (&[(VERSION, other)], "sqlite", &["written for Redmine 5.0", "has 4.2.11"]),
        (
            &[(VERSION, RIGHT), (APPLICATION, broken)],
            "postgres",
            &["rouge", "--reinstall redmine ruby-pg"],
        ),
        (&[(VERSION, RIGHT)], "tarantool:memtx", &["no adapter for tarantool:memtx"]),
        (
            &[
                (VERSION, RIGHT),
                (APPLICATION, REFUSING),
                ("config/environment.rb", ""),
                ("config/locales/en.yml", "a: \"some words\""),
            ],
            "sqlite",
            &["a migration of Redmine fails", "no key with", "CREATE TABLE boards (id int)"],
        ),
    ];
    for (files, engine, said) in cases {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, content) in files {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, content).expect("a file");
        }
        let mut command = Command::new(ruby);
        command.args([word, text]).env("BAKEOFF_REDMINE", folder.path());
        command.env("BAKEOFF_ENGINE", engine).env("BAKEOFF_DATABASE", folder.path().join("db"));
        command.env("BAKEOFF_SCALE", "1").env("BAKEOFF_SEED", "1").env("BAKEOFF_DIR", "/");
        let ended = command.output().expect("ruby");
        let told = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{told}");
        assert!(said.iter().all(|words| told.contains(words)), "{said:?}: {told}");
        assert_eq!(told.lines().count(), 1, "a sentence: {told}");
    }
}

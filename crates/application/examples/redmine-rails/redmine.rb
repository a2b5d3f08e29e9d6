# Loads Debian's Redmine in this process, on the database that bakeoff has started.
# Nothing of an installed Redmine's own database or settings is read or written.

FOLDER = ENV.fetch("BAKEOFF_REDMINE", "/usr/share/redmine")
VERSION = "5.0"

def give_up(why)
  warn(why)
  exit!(1)
end

def check_version
  file = File.join(FOLDER, "lib/redmine/version.rb")
  give_up("Redmine is not in #{FOLDER}: install the package redmine") unless File.readable?(file)
  found = File.read(file)
  parts = %w[MAJOR MINOR TINY].map { |part| found[/^\s*#{part}\s*=\s*(\d+)/, 1] }
  return if parts.first(2).join(".") == VERSION

  give_up("this client is written for Redmine #{VERSION}, and #{FOLDER} has #{parts.join('.')}")
end

ENGINE = ENV.fetch("BAKEOFF_ENGINE")
# The adapter of Rails, the package that it comes in, and what it is told.
ADAPTERS = {
  "sqlite" => ["sqlite3", "ruby-sqlite3", -> { { "timeout" => 10_000 } }],
  "postgres" => ["postgresql", "ruby-pg", -> { { "host" => ENV.fetch("BAKEOFF_DIR") } }],
  "mariadb" => ["mysql2", "ruby-mysql2", -> { { "socket" => ENV.fetch("BAKEOFF_SOCKET"), "encoding" => "utf8mb4" } }],
}.freeze

def describe_connection
  adapter, _, own = ADAPTERS.fetch(ENGINE.split(":").first) { give_up("Redmine has no adapter for #{ENGINE}") }
  login = { "username" => ENV["BAKEOFF_USER"], "password" => ENV["BAKEOFF_PASSWORD"] }.compact
  { "adapter" => adapter, "database" => ENV.fetch("BAKEOFF_DATABASE"), "prepared_statements" => true }
    .merge(login, own.call)
end

# What the Gemfile of Redmine names. It also reads the settings of an installed Redmine, which are not
# this user's to read; so Bundler is left out.
GEMS = %w[rouge request_store mini_mime action_pack/xml_parser roadie-rails marcel mail csv nokogiri i18n rbpdf
          addressable zip rotp rqrcode net/ldap mini_magick redcarpet html/pipeline commonmarker sanitize
          task_list].freeze

module Bundler
  def self.require(*)
    GEMS.each { |gem| TOPLEVEL_BINDING.receiver.send(:require, gem) }
  end
end

def load_redmine
  ENV.update("RAILS_ENV" => "production", "RAILS_LOG_TO_STDOUT" => "1", "SECRET_KEY_BASE" => "0" * 64,
             "BUNDLE_GEMFILE" => "/nonexistent", "REDMINE_INSTANCE" => "bakeoff")
  connection = describe_connection
  require(File.join(FOLDER, "config/application"))
  RedmineApp::Application.config.define_singleton_method(:database_configuration) { { "production" => connection } }
  RedmineApp::Application.config.log_level = :error
  require(File.join(FOLDER, "config/environment"))
  ActiveRecord::Base.connection.execute("SELECT 1")
rescue LoadError, StandardError => e
  package = ADAPTERS.fetch(ENGINE.split(":").first)[1]
  give_up("Redmine can't be loaded: #{e.class}: #{e.message.lines.first(3).join.strip}; reinstall its gems: apt-get install " \
          "--reinstall redmine #{package}")
end

check_version
load_redmine
if (first = ENV["BAKEOFF_FIRST"])
  first.split(";").each { |statement| ActiveRecord::Base.connection.execute(statement) }
end

# Makes Redmine's schema by its own migrations, fills it by SQL, and has Rails check it.

require_relative "redmine"
require_relative "people"

# Migrations of old versions of Rails name InnoDB.
module StorageEngine
  NAMES = { "rocksdb" => "ROCKSDB", "aria" => "Aria" }.freeze
  WANTED = NAMES.fetch(ENGINE.split(":").last, "InnoDB")

  def execute(sql, name = nil)
    super(sql.sub("ENGINE=InnoDB", "ENGINE=#{WANTED}"), name)
  end
end

def migrate
  ActiveRecord::ConnectionAdapters::Mysql2Adapter.prepend(StorageEngine) if ENGINE.start_with?("mariadb")
  ActiveRecord::Migration.verbose = false
  migrations = ActiveRecord::MigrationContext.new(File.join(FOLDER, "db/migrate"), ActiveRecord::SchemaMigration)
  migrations.migrate
  ActiveRecord::Base.descendants.each(&:reset_column_information)
rescue StandardError => e
  refused = e
  refused = refused.cause until refused.nil? || refused.is_a?(ActiveRecord::StatementInvalid)
  give_up("a migration of Redmine fails: #{(refused || e).message.strip}#{"; its statement: #{refused.sql}" if refused}")
end

def put(model, rows)
  rows.each_slice(500) { |slice| model.insert_all!(slice) }
  ActiveRecord::Base.connection.reset_pk_sequence!(model.table_name) if ENGINE == "postgres"
  puts("#{model.table_name}: #{model.count}")
  $stdout.flush
end

BEGINNING = Time.utc(2012)
STEP = (Time.utc(2016, 9, 20) - BEGINNING).to_i / ISSUES

def fill_people(text)
  put(User, (0...USERS).map { |user|
    { id: FIRST_USER + user, login: "user#{user}", hashed_password: "0" * 40, firstname: "First#{user}",
      lastname: "Last#{user}", admin: false, status: 1, language: "en", type: "User",
      mail_notification: "only_my_events", salt: "0" * 32, created_on: BEGINNING, updated_on: BEGINNING }
  })
  put(Project, (0...PROJECTS).map { |project|
    { id: project + 1, name: text.subject, description: text.cut(600), homepage: "", is_public: true, status: 1,
      identifier: "project-#{project}", lft: 2 * project + 1, rgt: 2 * project + 2, inherit_members: false,
      created_on: BEGINNING, updated_on: BEGINNING }
  })
  modules = %w[issue_tracking time_tracking news documents files wiki repository boards calendar gantt]
  put(EnabledModule, (1..PROJECTS).flat_map { |project| modules.map { |name| { project_id: project, name: name } } })
  slots = (0...PROJECTS * MEMBERS).map { |slot| [slot + 1, *slot.divmod(MEMBERS)] }
  put(Member, slots.map { |id, project, place|
    { id: id, user_id: FIRST_USER + member(project, place), project_id: project + 1, created_on: BEGINNING }
  })
  manager, developer, reporter = Role.givable.sorted.ids
  put(MemberRole, slots.map { |id, _, place|
    { member_id: id, role_id: place.zero? ? manager : (place <= 6 ? developer : reporter) }
  })
end

# Three fields of four in each project and tracker. Users leave them empty.
def fill_fields
  fields = %w[Customer Platform Reproducible Component].map do |name|
    IssueCustomField.create!(name: name, field_format: "string", is_filter: true, editable: true, visible: true)
  end
  trackers = Tracker.sorted.to_a
  trackers.each.with_index(1) { |tracker, number| tracker.custom_fields = fields.rotate(number % 2).first(3) }
  Project.find_each do |project|
    project.trackers = trackers.drop(project.id % 3)
    project.issue_custom_fields = fields[project.id % 2, 3]
  end
end

def fill_issues(text)
  status, priority = IssueStatus.sorted.first.id, IssuePriority.default.id
  trackers = Tracker.sorted.ids
  (0...ISSUES).each_slice(10_000) do |numbers|
    put(Issue, numbers.map { |number|
      project, author, assignee = find_roots(number)
      created = BEGINNING + number * STEP
      { id: number + 1, tracker_id: trackers[(project + 1) % 3], project_id: project + 1, subject: text.subject,
        description: text.description, status_id: status, priority_id: priority,
        assigned_to_id: FIRST_USER + member(project, assignee), author_id: FIRST_USER + member(project, author),
        lock_version: 1 + COMMENTS, created_on: created, updated_on: created, start_date: created.to_date,
        done_ratio: 0, root_id: number + 1, lft: 1, rgt: 2, is_private: false }
    })
    put(Journal, numbers.flat_map { |number|
      project, author, = find_roots(number)
      (0...COMMENTS).map do |comment|
        { journalized_id: number + 1, journalized_type: "Issue", private_notes: false, notes: text.notes,
          user_id: FIRST_USER + member(project, author + 1 + comment % (MEMBERS - 1)),
          created_on: BEGINNING + number * STEP + (comment + 1) * (5 + number % 19) * 3600 }
      end
    })
    put(Watcher, numbers.flat_map { |number|
      project, author, = find_roots(number)
      (1...MEMBERS).map do |place|
        { watchable_type: "Issue", watchable_id: number + 1, user_id: FIRST_USER + member(project, author + place) }
      end
    })
  end
end

def check
  counts = { User => USERS + 1, Project => PROJECTS, Issue => ISSUES, Journal => ISSUES * COMMENTS,
             Watcher => ISSUES * (MEMBERS - 1) }
  counts.each do |model, count|
    model = model.where(type: "User") if model == User
    found = model.count
    give_up("Rails counts #{found} rows of #{model.table_name}, not #{count}") unless found == count
  end
  issue = Issue.find(ISSUES)
  User.current = issue.assigned_to
  told = issue.valid? ? nil : issue.errors.full_messages.join(", ")
  give_up("Rails finds issue #{ISSUES} not valid: #{told}") if told
  give_up("Rails finds #{issue.journals.count} comments of issue #{ISSUES}") unless issue.journals.count == COMMENTS
end

text = TextSource.new(Random.new(Integer(ENV.fetch("BAKEOFF_SEED"))))
migrate
Redmine::DefaultData::Loader.load("en")
# No mail is sent, so nobody is looked up who would get it.
Setting.notified_events = []
fill_people(text)
fill_fields
fill_issues(text)
check

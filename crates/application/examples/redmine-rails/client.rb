# One client: it works through Redmine's own models, as several users in turn.

require_relative "redmine"
require_relative "people"
require_relative "bakeoff"

CLIENTS = Integer(ENV.fetch("BAKEOFF_CLIENTS"))
RANDOM = Random.new(Bakeoff::SEED * 1_024 + Bakeoff::CLIENT)
TEXT = TextSource.new(RANDOM)
OWN = (0...USERS).select { |user| user % CLIENTS == Bakeoff::CLIENT % [CLIENTS, USERS].min }.shuffle(random: RANDOM)
REFUSED = [ActiveRecord::StaleObjectError, ActiveRecord::Deadlocked, ActiveRecord::LockWaitTimeout,
           ActiveRecord::SerializationFailure].freeze
LISTED = 10
MOST_TRIES = 100

# Statements, and the time that they took.
$statements = 0
$database_s = 0.0
ActiveSupport::Notifications.subscribe("sql.active_record") do |_, from, to, _, statement|
  next if statement[:cached]

  $statements += 1
  $database_s += to - from
end

def refused?(error)
  REFUSED.any? { |kind| error.is_a?(kind) } || error.cause.class.name == "SQLite3::BusyException"
end

# Runs a save again that met another client's.
def save_as(user)
  tries ||= 0
  User.current = User.find(user)
  yield
rescue ActiveRecord::ActiveRecordError => e
  raise unless refused?(e) && (tries += 1) < MOST_TRIES

  Bakeoff.retried
  retry
end

def next_user
  OWN.push(OWN.shift).last
end

def create_issue(_number)
  user = next_user
  project, place = memberships(user).sample(random: RANDOM)
  assignee = FIRST_USER + member(project, place + RANDOM.rand(1...MEMBERS))
  subject, description = TEXT.subject, TEXT.description
  issue = save_as(FIRST_USER + user) do
    project = Project.find(project + 1) unless project.is_a?(Project)
    created = Issue.new(project: project, tracker: project.trackers.first, author: User.current, subject: subject,
                        priority: IssuePriority.default, description: description, assigned_to_id: assignee)
    created.tap(&:save!)
  end
  COMMENTS.times do |comment|
    notes = TEXT.notes
    save_as(FIRST_USER + member(project.id - 1, place + 1 + comment % (MEMBERS - 1))) do
      commented = Issue.find(issue.id)
      commented.init_journal(User.current, notes)
      commented.save!
    end
  end
end

def change(user, id, status)
  save_as(user) do
    issue = Issue.find(id)
    issue.init_journal(User.current)
    issue.status = IssueStatus.find(status)
    yield issue if block_given?
    issue.save!
  end
end

# Users of this client in turn, until ten issues are found.
def list_issues
  listed = []
  OWN.size.times do
    user = FIRST_USER + next_user
    open = Issue.open.where(assigned_to_id: user).limit(LISTED - listed.size)
    listed += open.map { |issue| [user, issue.id] }
    break if listed.size == LISTED
  end
  raise "only #{listed.size} open issues are assigned to this client's users" if listed.size < LISTED

  listed
end

_, IN_PROGRESS, RESOLVED = IssueStatus.sorted.ids
def process_issues(_number)
  list_issues.each do |user, id|
    change(user, id, IN_PROGRESS)
    change(user, id, RESOLVED) { |issue| issue.assigned_to = issue.author }
  end
end

# The operation, and what of it was the database's.
def measured(operation)
  lambda do |number|
    $statements = 0
    $database_s = 0.0
    operation.call(number)
  ensure
    Bakeoff::SOCKET.puts("database #{$statements} #{($database_s * 1e6).to_i}")
  end
end

# The settings are cached after their first use.
Setting.clear_cache
Bakeoff.serve("create_issue" => measured(method(:create_issue)),
              "process_issues" => measured(method(:process_issues)))
